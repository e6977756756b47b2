/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_FORECAST_MICROBATCH_H
#define MODELS_FORECAST_MICROBATCH_H

/*
 * How large the micro-batches of a step are, and how many.
 */

#include "models/forecast/plan.h"

/* Samples of the fullest step of the run: a data set can be smaller than prompts_per_step. */
int64_t forecast_fullest_step(const struct rlhfsim_scenario *scenario);

/* What micro-batches are for: updates, or passes without gradients (log-probs, values, rewards). */
enum forecast_pass { FORECAST_PASS_UPDATE, FORECAST_PASS_SCORE };

struct forecast_microbatch {
    int64_t samples, tokens; /* one of them, the other 0 */
};
struct forecast_microbatch forecast_microbatch_of(const struct forecast_plan *plan,
                                                  enum forecast_pass pass);

/* Tokens of the largest micro-batch that can occur in a step of `samples`, all context-parallel
 * ranks together. Updates cut a step into mini-batches first, other passes do not. */
struct llm_batch forecast_largest_batch(const struct forecast_plan *plan, enum forecast_pass pass,
                                        int64_t samples);

/* Micro-batches of a data-parallel rank in an optimizer step of a step of `step_samples`; with a
 * token budget the mean. */
double forecast_microbatches(const struct forecast_plan *plan, int64_t step_samples);

#endif
