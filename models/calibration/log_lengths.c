/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/calibration/log_lengths.h"

#include <math.h>

#define SAME 1e-3 /* of a mean */
#define HALVINGS 60

static double seen_mean(const struct generation_lengths *lengths) {
    return generation_lengths_mean(lengths);
}

/* The law's own mean is before the cut where it is `uncut`: looked for between the seen mean and
 * many times it, above which hardly anything is left uncut. */
static bool stretch_to_seen(const struct generation_lengths *lengths, double mean,
                            struct generation_lengths *stretched) {
    double low = 0.5 * mean, high = 64.0 * mean;
    if (generation_lengths_stretch(lengths, mean, stretched) &&
        fabs(seen_mean(stretched) - mean) <= SAME * mean)
        return true;
    for (int i = 0; i < HALVINGS; i++) {
        double middle = 0.5 * (low + high);
        if (generation_lengths_stretch(lengths, middle, stretched) && seen_mean(stretched) < mean)
            low = middle;
        else
            high = middle;
    }
    return generation_lengths_stretch(lengths, low, stretched) &&
           fabs(seen_mean(stretched) - mean) <= SAME * mean;
}

/* One of the lengths. *taken: it has the log's mean now. */
static bool take(struct scenario_lengths *lengths, const char *key, double mean, bool allowed,
                 struct log_steps *notes, bool *taken) {
    struct generation_lengths stretched;
    double before = seen_mean(&lengths->fitted);
    *taken = mean > 0.0 && fabs(mean - before) <= SAME * before;
    if (!(mean > 0.0) || *taken)
        return true;
    *taken = allowed && stretch_to_seen(&lengths->fitted, mean, &stretched);
    if (!*taken)
        return log_steps_note(
            notes, "the log's mean of %.6g is not taken for %s: its law cannot have it", mean, key);
    lengths->fitted = stretched;
    return log_steps_note(notes, "the log's mean of %.6g is taken for %s (scenario: %.6g)", mean,
                          key, before);
}

bool log_lengths_take(const struct log_measure *measure, struct log_steps *notes,
                      struct rlhfsim_scenario *scenario, bool *known) {
    bool prompts;
    struct scenario_lengths *prompt = &scenario->rollout.prompt;
    return take(prompt, "rollout.prompt_tokens", measure->prompt_tokens,
                prompt->moments.law != GENERATION_LENGTH_TRACE, notes, &prompts) &&
           take(&scenario->rollout.response, "rollout.response_tokens", measure->response_tokens,
                true, notes, known);
}
