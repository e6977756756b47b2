/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * The figures that the phases of a simulation add.
 */

#include "models/forecast/measure.h"

#include "sim/contract.h"
#include "sim/recorder.h"

#include <math.h>

/* The responses of a round. */
void runner_measure_generated(struct forecast_runner *runner,
                              const struct forecast_flight *flight) {
    const struct forecast_samples *samples = &flight->samples;
    struct forecast_measures *measures = runner->measures;
    for (size_t i = samples->fresh; i < samples->sequences; i++) {
        measures->response_tokens += samples->response_tokens[i];
        runner->length_counts[samples->response_tokens[i]]++;
    }
    measures->responses += (double)(samples->sequences - samples->fresh);
    measures->cut += (double)samples->cut;
    measures->rounds += 1.0;
}

/* The samples that a step trains on. */
void runner_measure_trained(struct forecast_runner *runner, const struct forecast_flight *flight) {
    const struct forecast_samples *samples = &flight->samples;
    struct forecast_measures *measures = runner->measures;
    size_t sequences =
        samples->count * (size_t)runner->plan->scenario->algorithm.type->sequences_per_sample;
    for (size_t i = 0; i < sequences; i++)
        measures->tokens += samples->prompt_tokens[i] + samples->response_tokens[i];
    measures->samples += (double)samples->count;
    measures->trained_responses += (double)sequences;
    measures->exhausted += samples->exhausted ? 1.0 : 0.0;
}

/* What a phase of several pools did is each one's by its GPUs. */
static void measure_pools(const struct forecast_lane *lane, struct forecast_measures *measures) {
    const struct forecast_plan *plan = lane->runner->plan;
    int gpus = forecast_pool_gpus(plan, lane->pools);
    measures->busy_gpu_s += lane->phase_busy_gpu_s;
    for (size_t i = 0; i < plan->pool_count; i++)
        if (lane->pools >> i & 1u)
            measures->pool_busy_gpu_s[i] += lane->phase_busy_gpu_s / gpus * plan->pools[i].gpus;
}

void runner_measure_phase(struct forecast_runner *runner, const struct forecast_lane *lane) {
    struct forecast_measures *measures = runner->measures;
    enum algorithm_phase phase = runner_phase_of(lane);
    int gpus = forecast_pool_gpus(runner->plan, lane->pools);
    sim_time end = sim_now(runner->sim);
    double length_s = sim_time_to_s(end - lane->phase_start);
    double busy_s = lane->phase_busy_gpu_s / gpus;
    double idle_s = fmax(0.0, length_s - busy_s);
    measures->phase_s[phase] += length_s;
    measure_pools(lane, measures);
    if (phase == ALGORITHM_PHASE_ROLLOUT)
        measures->tail_idle_s += idle_s;
    if (phase == ALGORITHM_PHASE_ACTOR_UPDATE || phase == ALGORITHM_PHASE_CRITIC_UPDATE)
        measures->training_gpu_s += length_s * gpus;
    if (runner->options->files != NULL)
        results_files_phase(runner->options->files, lane->flight->step, phase, lane->phase_start,
                            end, busy_s, idle_s);
}

/* What is stored has been there since the last change. */
void runner_account_storage(struct forecast_runner *runner, bool saved) {
    struct forecast_measures *measures = runner->measures;
    const struct checkpoint_plan *checkpoint = &runner->plan->checkpoint;
    double now_s = sim_time_to_s(sim_now(runner->sim));
    measures->storage_byte_s += measures->stored_bytes * (now_s - runner->stored_since_s);
    runner->stored_since_s = now_s;
    if (!saved)
        return;
    measures->saves++;
    measures->stored_bytes = fmin(measures->stored_bytes + checkpoint->bytes,
                                  checkpoint->bytes * (double)checkpoint->keep);
}

/* The type-1 quantile of whole numbers: the smallest length that 99 % do not exceed. */
static double length_quantile(const struct forecast_runner *runner, double share) {
    double below = 0.0, wanted = share * runner->measures->responses;
    for (int64_t tokens = 0; tokens <= runner->plan->response_limit; tokens++) {
        below += runner->length_counts[tokens];
        if (below >= wanted)
            return (double)tokens;
    }
    return (double)runner->plan->response_limit;
}

/* ---- the end -------------------------------------------------------------------------------- */

/* Little's law, L = lambda W, as an identity over a run that has emptied: the time integral of the
 * tasks at a resource is the sum of their sojourns. */
static void check_littles_law(const struct sim *sim) {
    for (sim_resource_id id = 0; id < sim_resource_count(sim); id++) {
        struct sim_resource_statistics s;
        sim_resource_statistics(sim, id, &s);
        CONTRACT(fabs(s.system_integral_ns - s.sojourn_total_ns) <=
                     1e-9 * fmax(1.0, s.sojourn_total_ns),
                 "Little's law does not hold");
    }
}

/* What the neighbour does during the run is one span. */
static void record_neighbour(struct forecast_runner *runner) {
    const struct hardware_neighbour *window = &runner->neighbour.window;
    double end_s = sim_time_to_s(sim_now(runner->sim));
    double until_s = fmin(window->until_s, end_s);
    if (!runner->neighbour.present || runner->options->files == NULL || window->from_s >= end_s)
        return;
    struct sim_span span = {
        .start = sim_time_from_s(window->from_s),
        .end = sim_time_from_s(until_s),
        .resource = runner->neighbour_links,
        .tag = {.activity = FORECAST_ACTIVITY_BACKGROUND,
                .owner = FORECAST_OWNER_SYSTEM,
                .bytes = forecast_neighbour_bytes(&runner->plan->scenario->cluster, window->from_s,
                                                  until_s)}};
    sim_recorder_span(runner->sim, &span);
}

void runner_measure_end(struct forecast_runner *runner) {
    struct forecast_measures *measures = runner->measures;
    record_neighbour(runner);
    check_littles_law(runner->sim);
    runner_account_storage(runner, false);
    measures->steps = runner->step;
    measures->total_s = sim_time_to_s(sim_now(runner->sim));
    measures->events = sim_events_executed(runner->sim);
    measures->response_p50 = length_quantile(runner, 0.50);
    measures->response_p90 = length_quantile(runner, 0.90);
    measures->response_p99 = length_quantile(runner, 0.99);
    measures->response_max = length_quantile(runner, 1.0);
}
