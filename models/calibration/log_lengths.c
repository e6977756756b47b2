/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/calibration/log_lengths.h"

#include <math.h>
#include <stdio.h>

/* A mean of the log as settings of one of the two lengths. */
struct change {
    char sets[2][96];
    size_t count;
};

#define NEAR_THE_CAP 0.98 /* a quantile stays below the cap */
#define SAME 1e-3         /* of a mean */

static void set_quantile(const struct generation_length_moments *moments, const char *key,
                         const char *name, double quantile, double ratio, struct change *change) {
    double scaled = quantile * ratio;
    if (moments->limit > 0.0)
        scaled = fmin(scaled, NEAR_THE_CAP * moments->limit);
    (void)snprintf(change->sets[change->count++], sizeof change->sets[0], "rollout.%s.%s=%.0f", key,
                   name, scaled);
}

/* Why the scenario's length stays, or NULL with the settings. */
static const char *change_of(const struct scenario_lengths *lengths, const char *key, double mean,
                             struct change *change) {
    const struct generation_length_moments *moments = &lengths->moments;
    change->count = 0;
    if (moments->law == GENERATION_LENGTH_HISTOGRAM || moments->law == GENERATION_LENGTH_TRACE)
        return "its law is from a file";
    if (moments->uncut)
        return "its mean is the one before the cut";
    (void)snprintf(change->sets[change->count++], sizeof change->sets[0],
                   moments->law == GENERATION_LENGTH_FIXED ? "rollout.%s.mean=%.0f"
                                                           : "rollout.%s.mean=%.9g",
                   key, mean);
    double ratio = mean / moments->mean;
    if (moments->law != GENERATION_LENGTH_FIXED && moments->p99 > 0.0)
        set_quantile(moments, key, "p99", moments->p99, ratio, change);
    else if (moments->law != GENERATION_LENGTH_FIXED && moments->p90 > 0.0)
        set_quantile(moments, key, "p90", moments->p90, ratio, change);
    return NULL;
}

/* Loads the scenario again; its mistakes are nobody's but ours. */
static enum rlhfsim_status reload(const struct rlhfsim_source *source, const struct change *change,
                                  struct rlhfsim_scenario **scenario) {
    const char *sets[2] = {change->sets[0], change->sets[1]};
    struct rlhfsim_diagnostics *unseen = rlhfsim_diagnostics_new();
    if (unseen == NULL)
        return RLHFSIM_NO_MEMORY;
    enum rlhfsim_status status =
        rlhfsim_source_scenario(source, sets, change->count, unseen, scenario);
    rlhfsim_diagnostics_free(unseen);
    return status;
}

static bool is_same(double mean, double other) {
    return fabs(mean - other) <= SAME * other;
}

/* One of the lengths. *taken: the scenario has the log's mean. */
static enum rlhfsim_status take(const struct rlhfsim_source *source,
                                const struct scenario_lengths *lengths, const char *key,
                                double mean, struct log_steps *notes, struct change *change,
                                bool *taken) {
    struct rlhfsim_scenario *changed = NULL;
    const char *reason;
    *taken = is_same(mean, lengths->moments.mean);
    change->count = 0;
    if (!(mean > 0.0) || *taken)
        return RLHFSIM_OK;
    reason = change_of(lengths, key, mean, change);
    enum rlhfsim_status status =
        reason == NULL ? reload(source, change, &changed) : RLHFSIM_INVALID;
    rlhfsim_scenario_free(changed);
    if (status == RLHFSIM_NO_MEMORY)
        return status;
    *taken = status == RLHFSIM_OK;
    if (*taken)
        return log_steps_note(notes,
                              "the log's mean of %.6g is taken for rollout.%s (scenario: %.6g)",
                              mean, key, lengths->moments.mean)
                   ? RLHFSIM_OK
                   : RLHFSIM_NO_MEMORY;
    change->count = 0;
    return log_steps_note(notes, "the log's mean of %.6g is not taken for rollout.%s: %s", mean,
                          key, reason == NULL ? "its law does not allow it" : reason)
               ? RLHFSIM_OK
               : RLHFSIM_NO_MEMORY;
}

/* Both lengths together; a length that is not taken keeps its settings. */
static enum rlhfsim_status load_both(const struct rlhfsim_source *source,
                                     const struct change *prompt, const struct change *response,
                                     struct rlhfsim_scenario **scenario) {
    const char *sets[4];
    size_t count = 0;
    struct rlhfsim_scenario *changed = NULL;
    for (size_t i = 0; i < prompt->count; i++)
        sets[count++] = prompt->sets[i];
    for (size_t i = 0; i < response->count; i++)
        sets[count++] = response->sets[i];
    if (count == 0)
        return RLHFSIM_OK;
    struct rlhfsim_diagnostics *unseen = rlhfsim_diagnostics_new();
    enum rlhfsim_status status =
        unseen == NULL ? RLHFSIM_NO_MEMORY
                       : rlhfsim_source_scenario(source, sets, count, unseen, &changed);
    rlhfsim_diagnostics_free(unseen);
    if (status == RLHFSIM_OK) {
        rlhfsim_scenario_free(*scenario);
        *scenario = changed;
    }
    return status;
}

enum rlhfsim_status log_lengths_take(const struct rlhfsim_source *source,
                                     const struct log_measure *measure, struct log_steps *notes,
                                     struct rlhfsim_scenario **scenario, bool *known) {
    struct change prompt, response;
    bool prompt_known;
    enum rlhfsim_status status = take(source, &(*scenario)->rollout.prompt, "prompt_tokens",
                                      measure->prompt_tokens, notes, &prompt, &prompt_known);
    if (status == RLHFSIM_OK)
        status = take(source, &(*scenario)->rollout.response, "response_tokens",
                      measure->response_tokens, notes, &response, known);
    if (status == RLHFSIM_OK)
        status = load_both(source, &prompt, &response, scenario);
    if (status != RLHFSIM_INVALID)
        return status;
    *known = false; /* each is legal, but not both at once */
    return log_steps_note(notes, "the log's mean lengths do not go together in the scenario")
               ? RLHFSIM_OK
               : RLHFSIM_NO_MEMORY;
}
