/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The laws of prompt and response lengths: which keys each law takes, its limit, its fit or its
 * file; and how the mean of responses drifts. */
#include "models/scenario/draft.h"
#include "models/scenario/length_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The keys of one length. KEY_COUNT: this length has no such key. */
enum length_key { LAW, MEAN, P99, P90, CV, UNCUT_CV, LIMIT, UNCUT, CSV, CAP_SHARE, GROUPING, KEYS };

struct length_keys {
    enum scenario_key at[KEYS];
    const char *section, *limit_name;
};

static const struct length_keys prompt_keys = {
    {KEY_PROMPT_TOKENS_LAW, KEY_PROMPT_TOKENS_MEAN, KEY_PROMPT_TOKENS_P99, KEY_PROMPT_TOKENS_P90,
     KEY_PROMPT_TOKENS_CV, KEY_PROMPT_TOKENS_UNCUT_CV, KEY_PROMPT_TOKENS_LIMIT,
     KEY_PROMPT_TOKENS_UNCUT, KEY_PROMPT_TOKENS_FILE, KEY_COUNT, KEY_COUNT},
    "rollout.prompt_tokens",
    "limit"};
static const struct length_keys response_keys = {
    {KEY_RESPONSE_TOKENS_LAW, KEY_RESPONSE_TOKENS_MEAN, KEY_RESPONSE_TOKENS_P99,
     KEY_RESPONSE_TOKENS_P90, KEY_RESPONSE_TOKENS_CV, KEY_RESPONSE_TOKENS_UNCUT_CV,
     KEY_RESPONSE_TOKENS_LIMIT, KEY_RESPONSE_TOKENS_UNCUT, KEY_RESPONSE_TOKENS_FILE,
     KEY_RESPONSE_TOKENS_CAP_SHARE, KEY_RESPONSE_TOKENS_GROUP_CORRELATION},
    "rollout.response_tokens",
    "max_new_tokens"};

/* ---- which keys a law takes --------------------------------------------------------------------
 */

#define BIT(key) (1U << (key))
#define SECOND_MOMENTS (BIT(P99) | BIT(P90) | BIT(CV) | BIT(UNCUT_CV))
#define MOMENTS (BIT(MEAN) | SECOND_MOMENTS | BIT(UNCUT))

/* What a law has no use for. */
static const unsigned idle_keys[GENERATION_LENGTH_LAWS] = {
    [GENERATION_LENGTH_FIXED] = SECOND_MOMENTS | BIT(UNCUT) | BIT(CSV) | BIT(GROUPING),
    [GENERATION_LENGTH_LOGNORMAL] = BIT(CSV),
    [GENERATION_LENGTH_GAMMA] = BIT(CSV),
    [GENERATION_LENGTH_WEIBULL] = BIT(CSV),
    [GENERATION_LENGTH_HISTOGRAM] = MOMENTS,
    [GENERATION_LENGTH_TRACE] = MOMENTS | BIT(CAP_SHARE) | BIT(GROUPING),
};

static enum generation_length_law law_of(const struct scenario_draft *draft,
                                         const struct length_keys *keys) {
    return (enum generation_length_law)draft->values.at[keys->at[LAW]].integer;
}

static bool is_written(const struct scenario_draft *draft, const struct length_keys *keys,
                       enum length_key key) {
    return keys->at[key] != KEY_COUNT && scenario_written(draft, keys->at[key]);
}

static bool check_idle(struct scenario_draft *draft, const struct length_keys *keys) {
    enum generation_length_law law = law_of(draft, keys);
    for (int key = 0; key < KEYS; key++) {
        if ((idle_keys[law] & BIT(key)) == 0 || !is_written(draft, keys, (enum length_key)key))
            continue;
        scenario_blame_key(draft, keys->at[key], "%s is not used by law %s%s; leave it out",
                           scenario_schema_at(keys->at[key])->path, generation_length_law_name(law),
                           law == GENERATION_LENGTH_FIXED ? ", where every length is the mean"
                                                          : "");
        return false;
    }
    return true;
}

static bool require(struct scenario_draft *draft, enum scenario_key key, const char *by,
                    const char *value, const char *meaning) {
    if (!scenario_given(draft, key))
        scenario_blame_key(draft, key, "%s is required by %s %s: %s", scenario_schema_at(key)->path,
                           by, value, meaning);
    return scenario_known(draft, key);
}

/* One of p99, p90, cv and uncut_cv; a law as wide as its file needs none. */
static bool check_second_moment(struct scenario_draft *draft, const struct length_keys *keys) {
    enum length_key found = KEYS;
    for (int key = P99; key <= UNCUT_CV; key++) {
        if (!scenario_given(draft, keys->at[key]))
            continue;
        if (found != KEYS) {
            scenario_blame_key(
                draft, keys->at[key], "%s is written beside %s, expected one of them",
                scenario_schema_at(keys->at[key])->path, scenario_schema_at(keys->at[found])->path);
            return false;
        }
        found = (enum length_key)key;
    }
    if (found == UNCUT_CV && draft->values.at[keys->at[UNCUT]].integer != 0) {
        scenario_blame_key(draft, keys->at[UNCUT_CV],
                           "%s is written beside uncut: true, which makes cv that of the law: "
                           "write cv",
                           scenario_schema_at(keys->at[UNCUT_CV])->path);
        return false;
    }
    const char *law = generation_length_law_name(law_of(draft, keys));
    return found != KEYS ? scenario_known(draft, keys->at[found])
                         : require(draft, keys->at[P99], "law", law,
                                   "the length that 99 in 100 do not exceed (or p90, cv or "
                                   "uncut_cv)");
}

static bool check_keys(struct scenario_draft *draft, const struct length_keys *keys) {
    enum generation_length_law law = law_of(draft, keys);
    const char *name = generation_length_law_name(law);
    if (!check_idle(draft, keys))
        return false;
    if (law == GENERATION_LENGTH_HISTOGRAM || law == GENERATION_LENGTH_TRACE)
        return require(draft, keys->at[CSV], "law", name, "the path of a CSV file");
    return require(draft, keys->at[MEAN], "law", name, "the mean length, in tokens") &&
           (law == GENERATION_LENGTH_FIXED || check_second_moment(draft, keys));
}

/* ---- fits ---------------------------------------------------------------------------------------
 */

/* Moments of what is seen can tell the law only while the cut is rare. */
static bool check_cut(struct scenario_draft *draft, const struct length_keys *keys,
                      const struct generation_length_moments *moments) {
    double length = moments->p99 > 0.0 ? moments->p99 : moments->p90;
    enum length_key key = moments->p99 > 0.0 ? P99 : P90;
    if (moments->limit == 0.0 || moments->uncut || length < moments->limit)
        return true;
    scenario_blame(draft, keys->at[key],
                   "%s is %g, expected less than %s (%g): after that cut no length is longer; "
                   "write uncut: true if mean and %s are those before the cut",
                   scenario_schema_at(keys->at[key])->path, length, keys->limit_name,
                   moments->limit, key == P99 ? "p99" : "p90");
    return false;
}

/* The key of the moment that a message begins with. */
static enum scenario_key blamed(const struct length_keys *keys, const char *message) {
    static const struct {
        const char *name;
        enum length_key key;
    } names[] = {
        {"p99", P99}, {"p90", P90}, {"cv", CV}, {"uncut_cv", UNCUT_CV}, {"cap_share", CAP_SHARE}};
    size_t length = strcspn(message, " ");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strlen(names[i].name) == length && strncmp(names[i].name, message, length) == 0 &&
            keys->at[names[i].key] != KEY_COUNT)
            return keys->at[names[i].key];
    return keys->at[MEAN];
}

static bool fit(struct scenario_draft *draft, const struct length_keys *keys,
                struct scenario_lengths *lengths) {
    char message[512];
    if (!check_cut(draft, keys, &lengths->moments))
        return false;
    if (!generation_lengths_fit(&lengths->moments, &lengths->fitted, message, sizeof message)) {
        scenario_blame(draft, blamed(keys, message), "%s: %s", keys->section, message);
        return false;
    }
    if (generation_lengths_tabulate(&lengths->fitted))
        return true;
    draft->fatal = RLHFSIM_NO_MEMORY;
    return false;
}

/* ---- files --------------------------------------------------------------------------------------
 */

static bool use_bins(struct scenario_draft *draft, struct scenario_lengths *lengths) {
    if (lengths->bins == NULL) {
        draft->fatal = RLHFSIM_NO_MEMORY;
        return false;
    }
    lengths->fitted =
        generation_lengths_of_bins(lengths->moments.law, lengths->bins, lengths->moments.limit);
    lengths->fitted.cap_share = lengths->moments.cap_share;
    return true;
}

/* Rows are drawn together: prompts and responses of traces are those of one. */
static bool read_trace(struct scenario_draft *draft, enum scenario_key key) {
    struct rlhfsim_scenario *scenario = draft->scenario;
    const char *prompt = draft->values.at[KEY_PROMPT_TOKENS_FILE].text;
    if (scenario->rollout.trace == NULL)
        return scenario_read_trace(draft, key, &scenario->rollout.trace);
    if (strcmp(draft->values.at[key].text, prompt) == 0)
        return true;
    scenario_blame(draft, key,
                   "%s is not the file of rollout.prompt_tokens, expected one trace, whose prompts "
                   "and responses belong together",
                   scenario_schema_at(key)->path);
    return false;
}

static bool use_trace(struct scenario_draft *draft, const struct length_keys *keys,
                      struct scenario_lengths *lengths) {
    if (!read_trace(draft, keys->at[CSV]))
        return false;
    const struct generation_trace *trace = draft->scenario->rollout.trace;
    const uint32_t *values = keys == &prompt_keys ? trace->prompt : trace->response;
    lengths->bins = generation_length_bins_of_values(values, trace->rows);
    return use_bins(draft, lengths);
}

static bool resolve(struct scenario_draft *draft, const struct length_keys *keys, double limit,
                    struct scenario_lengths *lengths) {
    for (int key = 0; key < KEYS; key++)
        if (keys->at[key] != KEY_COUNT && scenario_given(draft, keys->at[key]) &&
            !scenario_known(draft, keys->at[key]))
            return false;
    if (!scenario_known(draft, keys->at[LAW]) || !check_keys(draft, keys))
        return false;
    lengths->moments.limit = limit;
    switch (lengths->moments.law) {
    case GENERATION_LENGTH_HISTOGRAM:
        return scenario_read_histogram(draft, keys->at[CSV], &lengths->bins) &&
               use_bins(draft, lengths);
    case GENERATION_LENGTH_TRACE:
        return use_trace(draft, keys, lengths);
    default:
        return fit(draft, keys, lengths);
    }
}

/* ---- drift --------------------------------------------------------------------------------------
 */

/* In the order of the kinds: which of the keys it takes, and which of these it must have. */
static const enum scenario_key drift_keys[] = {
    KEY_RESPONSE_TOKENS_DRIFT_MEAN, KEY_RESPONSE_TOKENS_DRIFT_STEPS,
    KEY_RESPONSE_TOKENS_DRIFT_MIDPOINT, KEY_RESPONSE_TOKENS_DRIFT_FILE};
#define DRIFT_KEYS (sizeof drift_keys / sizeof drift_keys[0])

static const struct {
    const char *name;
    bool taken[DRIFT_KEYS], required[DRIFT_KEYS];
} drifts[] = {
    [GENERATION_LENGTH_DRIFT_NONE] = {"none", {0}, {0}},
    [GENERATION_LENGTH_DRIFT_LINEAR] = {"linear", {true, true}, {true}},
    [GENERATION_LENGTH_DRIFT_LOGISTIC] = {"logistic", {true, true, true}, {true, true, true}},
    [GENERATION_LENGTH_DRIFT_TABLE] = {"table", {[3] = true}, {[3] = true}},
};

static bool check_drift_keys(struct scenario_draft *draft, int kind) {
    for (size_t i = 0; i < DRIFT_KEYS; i++) {
        const char *path = scenario_schema_at(drift_keys[i])->path;
        if (!drifts[kind].taken[i] && scenario_written(draft, drift_keys[i])) {
            scenario_blame_key(draft, drift_keys[i], "%s is not used by drift %s; leave it out",
                               path, drifts[kind].name);
            return false;
        }
        if (drifts[kind].required[i] && !require(draft, drift_keys[i], "drift", drifts[kind].name,
                                                 scenario_schema_at(drift_keys[i])->meaning))
            return false;
        if (scenario_given(draft, drift_keys[i]) && !scenario_known(draft, drift_keys[i]))
            return false;
    }
    return true;
}

/* Whether the law can have the mean; if not, the error at the key that brings it. */
static bool check_mean(struct scenario_draft *draft, enum scenario_key key, double mean) {
    const struct generation_lengths *fitted = &draft->scenario->rollout.response.fitted;
    struct generation_lengths stretched;
    if (generation_lengths_stretch(fitted, mean, &stretched))
        return true;
    scenario_blame(draft, key,
                   "%s brings a mean of %g, expected one that the law can have: above %g "
                   "(cap_share x max_new_tokens) and below max_new_tokens (%g)",
                   scenario_schema_at(key)->path, mean, fitted->cap_share * fitted->limit,
                   fitted->limit);
    return false;
}

static bool resolve_drift(struct scenario_draft *draft) {
    struct generation_length_drift *drift = &draft->scenario->rollout.response.drift;
    if (!scenario_known(draft, KEY_RESPONSE_TOKENS_DRIFT) ||
        !check_drift_keys(draft, (int)drift->kind))
        return false;
    if (drift->kind == GENERATION_LENGTH_DRIFT_NONE)
        return true;
    double start = generation_lengths_stated_mean(&draft->scenario->rollout.response.fitted);
    if (drift->kind != GENERATION_LENGTH_DRIFT_TABLE) /* other means are between these */
        return check_mean(draft, KEY_RESPONSE_TOKENS_DRIFT, start) &&
               check_mean(draft, KEY_RESPONSE_TOKENS_DRIFT_MEAN, drift->mean);
    bool good = scenario_read_drift(draft, KEY_RESPONSE_TOKENS_DRIFT_FILE, drift);
    for (size_t i = 0; good && i < drift->count; i++)
        good = check_mean(draft, KEY_RESPONSE_TOKENS_DRIFT_FILE, drift->table_mean[i]);
    return good;
}

/* ---- the two lengths ----------------------------------------------------------------------------
 */

static bool resolve_prompt(struct scenario_draft *draft) {
    const struct scenario_value *limit = &draft->values.at[KEY_PROMPT_TOKENS_LIMIT];
    return resolve(draft, &prompt_keys, limit->known ? (double)limit->integer : 0.0,
                   &draft->scenario->rollout.prompt);
}

static bool resolve_response(struct scenario_draft *draft) {
    const struct scenario_value *limit = &draft->values.at[KEY_RESPONSE_TOKENS_LIMIT];
    int64_t cut = draft->scenario->rollout.max_new_tokens;
    if (!scenario_known(draft, KEY_ROLLOUT_MAX_NEW_TOKENS) || (limit->given && !limit->known))
        return false;
    if (limit->given && limit->integer != cut) {
        scenario_blame(draft, KEY_RESPONSE_TOKENS_LIMIT,
                       "rollout.response_tokens.limit is %" PRId64
                       ", but rollout.max_new_tokens cuts responses at %" PRId64
                       "; leave the limit out",
                       limit->integer, cut);
        return false;
    }
    return resolve(draft, &response_keys, (double)cut, &draft->scenario->rollout.response) &&
           resolve_drift(draft);
}

void scenario_resolve_lengths(struct scenario_draft *draft) {
    draft->prompt_known = resolve_prompt(draft);
    draft->response_known = resolve_response(draft);
    /* The user's figures; nothing here says that they were measured. */
    draft->scenario->length_provenance = "assumed";
}
