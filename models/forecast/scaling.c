/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/forecast/scaling.h"

#include "models/forecast/limits.h"
#include "models/forecast/planning.h"
#include "models/forecast/run.h"
#include "models/network/topology.h"

#include <stdlib.h>

static bool divides(int64_t part, int64_t whole) {
    return part > 0 && whole % part == 0;
}

/* Mini-batches divide over twice the ranks, and what a rank gets over its micro-batches. */
static bool is_divisible(const struct forecast_plan *plan) {
    const struct rlhfsim_scenario *scenario = plan->scenario;
    int64_t micro = scenario->training.microbatch_samples;
    const struct network_topology_type *topology = scenario->cluster.topology.type;
    if (topology != NULL && topology->keys != 0)
        return false; /* its links are for so many nodes */
    for (size_t i = 0; i < plan->pool_count; i++) {
        int64_t ranks = 2 * (int64_t)plan->pools[i].dp;
        int64_t share = scenario->algorithm.minibatch_samples / ranks;
        if (plan->replicas > 0 && plan->pool_count > 1 && i == plan->engine_pool)
            continue;
        if (!divides(ranks, scenario->algorithm.minibatch_samples) ||
            (micro > 0 && !divides(micro, share)))
            return false;
        if (scenario->training.vpp > 1 &&
            (micro == 0 || !divides(scenario->training.pp, share / micro)))
            return false;
    }
    return true;
}

enum rlhfsim_status forecast_short_run(const struct rlhfsim_scenario *scenario,
                                       const struct rlhfsim_forecast_options *how,
                                       struct rlhfsim_diagnostics *diagnostics,
                                       struct forecast_measures *measures) {
    struct forecast_plan plan;
    struct forecast_run_options options = {
        .steps = forecast_short_steps(scenario),
        .progress = how->progress,
        .progress_subject = how->progress_subject,
        .progress_from = 1.0,
        .progress_to = 1.0,
    };
    forecast_plan_make(scenario, &plan);
    plan.checkpoint.every_steps = 0;
    plan.load.count = 0;
    return forecast_run(&plan, &options, diagnostics, measures);
}

static void compare(const struct forecast_measures *before, const struct forecast_measures *after,
                    struct forecast_scaling *scaling) {
    int longest = 0;
    for (int phase = 1; phase < ALGORITHM_PHASE_COUNT; phase++)
        if (after->critical_s[phase] > after->critical_s[longest])
            longest = phase;
    *scaling = (struct forecast_scaling){
        .known = true,
        .time_fraction = 1.0 - after->total_s / before->total_s,
        .cost_fraction = 2.0 * after->total_s / before->total_s - 1.0,
        .phase = (enum algorithm_phase)longest,
        .phase_share = after->critical_s[longest] / after->total_s,
        .phase_fraction = before->phase_s[longest] > 0.0
                              ? 1.0 - after->phase_s[longest] / before->phase_s[longest]
                              : 0.0};
}

enum rlhfsim_status forecast_scaling_find(const struct forecast_plan *plan,
                                          const struct rlhfsim_forecast_options *how,
                                          struct rlhfsim_diagnostics *diagnostics,
                                          struct forecast_scaling *scaling) {
    struct forecast_measures before, after;
    struct rlhfsim_scenario *twice = malloc(sizeof *twice);
    *scaling = (struct forecast_scaling){0};
    if (twice == NULL)
        return RLHFSIM_NO_MEMORY;
    *twice = *plan->scenario;
    twice->cluster.nodes *= 2;
    for (int pool = 0; pool < SCENARIO_POOLS; pool++)
        twice->placement.gpus[pool] *= 2;
    enum rlhfsim_status status = RLHFSIM_OK;
    if (is_divisible(plan)) {
        status = forecast_short_run(plan->scenario, how, diagnostics, &before);
        if (status == RLHFSIM_OK)
            status = forecast_short_run(twice, how, diagnostics, &after);
        if (status == RLHFSIM_OK)
            compare(&before, &after, scaling);
    }
    free(twice);
    return status;
}
