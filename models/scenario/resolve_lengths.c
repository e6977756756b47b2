/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The laws of prompt and response lengths: which moments each law takes, its limit, its fit. */
#include "models/scenario/draft.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The five keys of one length, in the order of the schema. */
struct length_keys {
    enum scenario_key law, mean, p99, limit, uncut;
    const char *section;
};

static const struct length_keys prompt_keys = {KEY_PROMPT_TOKENS_LAW,   KEY_PROMPT_TOKENS_MEAN,
                                               KEY_PROMPT_TOKENS_P99,   KEY_PROMPT_TOKENS_LIMIT,
                                               KEY_PROMPT_TOKENS_UNCUT, "rollout.prompt_tokens"};
static const struct length_keys response_keys = {
    KEY_RESPONSE_TOKENS_LAW,   KEY_RESPONSE_TOKENS_MEAN,  KEY_RESPONSE_TOKENS_P99,
    KEY_RESPONSE_TOKENS_LIMIT, KEY_RESPONSE_TOKENS_UNCUT, "rollout.response_tokens"};

/* A fixed length has neither a p99 nor a tail that could be cut; a lognormal one needs its p99. */
static bool check_moments(struct scenario_draft *draft, const struct length_keys *keys) {
    bool fixed = draft->values.at[keys->law].integer == GENERATION_LENGTH_FIXED;
    enum scenario_key idle = scenario_written(draft, keys->p99) ? keys->p99 : keys->uncut;
    if (fixed && scenario_written(draft, idle)) {
        scenario_blame_key(draft, idle,
                           "%s is not used by law fixed, where every length is the mean; leave it "
                           "out",
                           scenario_schema_at(idle)->path);
        return false;
    }
    if (!fixed && !scenario_given(draft, keys->p99)) {
        scenario_blame_key(draft, keys->p99,
                           "%s.p99 is required by law lognormal: the length that 99 in 100 do not "
                           "exceed",
                           keys->section);
        return false;
    }
    return fixed || scenario_known(draft, keys->p99);
}

/* Moments of what is seen can tell the law only while the cut is rare. */
static bool check_cut(struct scenario_draft *draft, const struct length_keys *keys,
                      const struct generation_length_moments *moments, const char *limit_name) {
    bool cut =
        moments->law == GENERATION_LENGTH_LOGNORMAL && moments->limit > 0.0 && !moments->uncut;
    if (!cut || moments->p99 < moments->limit)
        return true;
    scenario_blame(draft, keys->p99,
                   "%s.p99 is %g, expected less than %s (%g): after that cut no length is longer; "
                   "write uncut: true if mean and p99 are those before the cut",
                   keys->section, moments->p99, limit_name, moments->limit);
    return false;
}

static bool fit(struct scenario_draft *draft, const struct length_keys *keys,
                struct scenario_lengths *lengths) {
    char message[512];
    if (generation_lengths_fit(&lengths->moments, &lengths->fitted, message, sizeof message))
        return true;
    bool p99 = strncmp(message, "p99", 3) == 0;
    scenario_blame(draft, p99 ? keys->p99 : keys->mean, "%s: %s", keys->section, message);
    return false;
}

static bool resolve(struct scenario_draft *draft, const struct length_keys *keys, double limit,
                    const char *limit_name, struct scenario_lengths *lengths) {
    if (!scenario_known(draft, keys->law) || !scenario_known(draft, keys->mean) ||
        !scenario_known(draft, keys->uncut))
        return false;
    lengths->moments.limit = limit;
    return check_moments(draft, keys) && check_cut(draft, keys, &lengths->moments, limit_name) &&
           fit(draft, keys, lengths);
}

static bool resolve_prompt(struct scenario_draft *draft) {
    const struct scenario_value *limit = &draft->values.at[KEY_PROMPT_TOKENS_LIMIT];
    if (limit->given && !limit->known)
        return false;
    return resolve(draft, &prompt_keys, limit->known ? (double)limit->integer : 0.0, "limit",
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
    return resolve(draft, &response_keys, (double)cut, "max_new_tokens",
                   &draft->scenario->rollout.response);
}

void scenario_resolve_lengths(struct scenario_draft *draft) {
    draft->prompt_known = resolve_prompt(draft);
    draft->response_known = resolve_response(draft);
    /* The user's figures; nothing here says that they were measured. */
    draft->scenario->length_provenance = "assumed";
}
