/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/forecast/microbatch.h"

#include "models/scenario/steps.h"

#include <math.h>

int64_t forecast_fullest_step(const struct rlhfsim_scenario *scenario) {
    return scenario_step_at(scenario, 1).prompts * scenario->algorithm.samples_per_prompt;
}

/* Of the first rank, which has one more than others where they do not divide. */
static double rank_samples(const struct forecast_plan *plan, enum forecast_pass pass,
                           int64_t samples) {
    int64_t minibatch = plan->scenario->algorithm.minibatch_samples;
    if (pass == FORECAST_PASS_UPDATE && samples > minibatch)
        samples = minibatch;
    return (double)((samples + plan->dp - 1) / plan->dp);
}

struct forecast_microbatch forecast_microbatch_of(const struct forecast_plan *plan,
                                                  enum forecast_pass pass) {
    const struct rlhfsim_scenario *scenario = plan->scenario;
    if (pass == FORECAST_PASS_SCORE)
        return (struct forecast_microbatch){scenario->training.logprob_microbatch_samples,
                                            scenario->training.logprob_microbatch_tokens};
    return (struct forecast_microbatch){scenario->training.microbatch_samples,
                                        scenario->training.microbatch_tokens};
}

/* A budget below the longest sequence makes way for it; one above all sequences of a rank is not
 * filled. */
struct llm_batch forecast_largest_batch(const struct forecast_plan *plan, enum forecast_pass pass,
                                        int64_t samples) {
    struct forecast_microbatch size = forecast_microbatch_of(plan, pass);
    double longest = (double)(plan->prompt_limit + plan->response_limit);
    double budget = (double)size.tokens;
    double per_sample = plan->scenario->algorithm.type->sequences_per_sample;
    double most = rank_samples(plan, pass, samples) * per_sample;
    double sequences = (double)size.samples * per_sample;
    if (budget > 0.0)
        sequences = fmax(1.0, floor(budget / longest));
    sequences = fmin(sequences, most);
    double tokens = fmin(fmax(budget, sequences * longest), most * longest);
    return (struct llm_batch){
        .sequences = sequences,
        .tokens = tokens,
        .score_pairs = sequences * llm_causal_pairs(longest, 0.0),
        .logit_tokens = tokens,
        .window_pairs =
            plan->window > 0.0 ? sequences * llm_window_pairs(longest, 0.0, plan->window) : 0.0};
}

/* Packed sequences fill their budgets but for what the last one leaves: the mean is a lower bound
 * of what a run needs (where the mean drifts: of what it needs at the start). */
double forecast_microbatches(const struct forecast_plan *plan, int64_t step_samples) {
    const struct rlhfsim_scenario *scenario = plan->scenario;
    double tokens = generation_lengths_mean(&scenario->rollout.prompt.fitted) +
                    generation_lengths_mean(&scenario->rollout.response.fitted);
    double samples = rank_samples(plan, FORECAST_PASS_UPDATE, step_samples);
    if (scenario->training.microbatch_samples > 0)
        return samples / (double)scenario->training.microbatch_samples;
    return samples * scenario->algorithm.type->sequences_per_sample * tokens /
           (double)scenario->training.microbatch_tokens;
}
