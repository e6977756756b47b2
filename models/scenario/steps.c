/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/scenario/steps.h"

int64_t scenario_data_set(const struct rlhfsim_scenario *scenario) {
    return scenario->algorithm.type->has_rollout ? scenario->dataset.prompts
                                                 : scenario->dataset.pairs;
}

struct scenario_step scenario_step_at(const struct rlhfsim_scenario *scenario, int64_t step) {
    int64_t full = scenario->algorithm.prompts_per_step;
    int64_t epoch_steps = scenario->dataset.epoch_steps;
    if (epoch_steps == 0)
        return (struct scenario_step){(step - 1) * full, full};
    int64_t first = (step - 1) % epoch_steps * full;
    int64_t left = scenario_data_set(scenario) - first;
    return (struct scenario_step){first, left < full ? left : full};
}

int64_t scenario_short_prompts(const struct rlhfsim_scenario *scenario) {
    int64_t full = scenario->algorithm.prompts_per_step;
    int64_t last = scenario_step_at(scenario, scenario->dataset.epoch_steps).prompts;
    return scenario->dataset.epoch_steps > 0 && last < full ? last : 0;
}

int64_t scenario_dropped_prompts(const struct rlhfsim_scenario *scenario) {
    if (scenario->dataset.epoch_steps == 0 || !scenario->dataset.drop_last)
        return 0;
    return scenario_data_set(scenario) % scenario->algorithm.prompts_per_step;
}

/* ceil(samples / minibatch) for each pass over the samples of a step of `prompts`. */
static int64_t step_updates(const struct rlhfsim_scenario *scenario, int64_t prompts) {
    int64_t samples = prompts * scenario->algorithm.kept_samples_per_prompt;
    int64_t size = scenario->algorithm.minibatch_samples;
    return scenario->algorithm.epochs * ((samples + size - 1) / size);
}

int64_t scenario_optimizer_steps(const struct rlhfsim_scenario *scenario) {
    int64_t rest = scenario_short_prompts(scenario);
    int64_t short_steps = rest > 0 ? scenario->dataset.epochs : 0;
    int64_t warmup = scenario->algorithm.critic_warmup_steps;
    int64_t full = step_updates(scenario, scenario->algorithm.prompts_per_step);
    int64_t all =
        (scenario->steps - short_steps) * full + short_steps * step_updates(scenario, rest);
    if (warmup >= scenario->steps)
        return 0;
    for (int64_t step = 1; step <= warmup; step++)
        all -= step_updates(scenario, scenario_step_at(scenario, step).prompts);
    return all;
}
