/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * What a simulation has (GPUs, hosts, replicas, buffers), and its beginning and end. Which phase
 * runs when is in schedule.c, what phases come to in measure.c.
 */

#include "models/forecast/run.h"
#include "models/forecast/footprint.h"

#include "models/forecast/async.h"
#include "models/forecast/durations.h"
#include "models/forecast/measure.h"
#include "models/forecast/schedule.h"
#include "sim/contract.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- what is there ------------------------------------------------------------------------ */

static enum sim_status add_memories(struct forecast_runner *runner) {
    const struct hardware_cluster *cluster = &runner->plan->scenario->cluster;
    enum sim_status status = SIM_OK;
    char name[32];
    sim_memory_id id;
    for (int gpu = 0; gpu < runner->plan->gpus && status == SIM_OK; gpu++) {
        snprintf(name, sizeof name, "gpu%d", gpu);
        status = sim_memory_new(runner->sim, name, cluster->gpu.memory_bytes, FORECAST_OWNER_COUNT,
                                FORECAST_CATEGORY_COUNT, gpu == 0 ? &runner->first_memory : &id);
    }
    for (int node = 0; node < cluster->nodes && status == SIM_OK; node++) {
        snprintf(name, sizeof name, "node%d/host", node);
        status =
            sim_memory_new(runner->sim, name, cluster->node.host_memory_bytes, FORECAST_OWNER_COUNT,
                           FORECAST_CATEGORY_COUNT, node == 0 ? &runner->first_host : &id);
    }
    for (int node = 0;
         forecast_uses_disks(runner->plan) && node < cluster->nodes && status == SIM_OK; node++) {
        snprintf(name, sizeof name, "node%d/nvme", node);
        status = sim_memory_new(runner->sim, name, cluster->node.nvme_bytes, FORECAST_OWNER_COUNT,
                                FORECAST_CATEGORY_COUNT, node == 0 ? &runner->first_disk : &id);
    }
    return status;
}

static enum sim_status add_resources(struct forecast_runner *runner) {
    const struct rlhfsim_scenario *scenario = runner->plan->scenario;
    enum sim_status status = SIM_OK;
    char name[32];
    sim_resource_id id;
    for (int gpu = 0; gpu < runner->plan->gpus && status == SIM_OK; gpu++) {
        snprintf(name, sizeof name, "gpu%d", gpu);
        status = sim_resource_new(runner->sim, name, 1, SIM_QUEUE_FIFO,
                                  gpu == 0 ? &runner->first_gpu : &id);
    }
    for (int node = 0; node < scenario->cluster.nodes && status == SIM_OK; node++) {
        snprintf(name, sizeof name, "node%d/cpu", node);
        status = sim_resource_new(runner->sim, name, (uint32_t)scenario->reward.workers,
                                  SIM_QUEUE_FIFO, node == 0 ? &runner->first_cpu : &id);
    }
    if (status == SIM_OK)
        status = sim_resource_new(runner->sim, "store", 1, SIM_QUEUE_FIFO, &runner->store);
    if (status == SIM_OK && runner->neighbour.present)
        status =
            sim_resource_new(runner->sim, "neighbour", 1, SIM_QUEUE_FIFO, &runner->neighbour_links);
    return status;
}

/* Of a rollout, or of a validation. */
static size_t most_requests(const struct forecast_runner *runner) {
    const struct rlhfsim_scenario *scenario = runner->plan->scenario;
    size_t rollout = runner->flights[0].samples.capacity;
    size_t validation =
        (size_t)(scenario->validation.prompts * scenario->validation.samples_per_prompt);
    return validation > rollout ? validation : rollout;
}

/* Requests of a replica at once; asynchronous ones come from several steps. */
static size_t most_concurrent(const struct forecast_runner *runner) {
    const struct forecast_plan *plan = runner->plan;
    return plan->scenario->placement.mode == SCENARIO_ASYNC
               ? (size_t)plan->generation.max_sequences * (size_t)plan->generation.dp
               : most_requests(runner);
}

static enum rlhfsim_status add_replicas(struct forecast_runner *runner) {
    const struct forecast_plan *plan = runner->plan;
    if (plan->replicas == 0)
        return RLHFSIM_OK;
    runner->requests = calloc(most_requests(runner), sizeof *runner->requests);
    if (plan->scenario->rollout.turns > 1) {
        size_t turns = most_requests(runner) * (size_t)(plan->scenario->rollout.turns - 1);
        runner->turns = calloc(turns, sizeof *runner->turns);
        if (runner->turns == NULL)
            return RLHFSIM_NO_MEMORY;
    }
    runner->replicas = calloc((size_t)plan->replicas, sizeof *runner->replicas);
    runner->shares = calloc((size_t)plan->replicas, sizeof *runner->shares);
    runner->loads = calloc((size_t)plan->replicas, sizeof *runner->loads);
    runner->routes = calloc(runner->flights[0].samples.capacity, sizeof *runner->routes);
    runner->costs = generation_costs_new(&plan->generation, most_concurrent(runner));
    if (!runner->requests || !runner->costs || !runner->replicas || !runner->shares ||
        !runner->loads || !runner->routes)
        return RLHFSIM_NO_MEMORY;
    for (int i = 0; i < plan->replicas; i++) {
        runner->replicas[i] = generation_replica_new(runner->sim, &plan->generation);
        if (runner->replicas[i] == NULL)
            return RLHFSIM_NO_MEMORY;
        generation_replica_share(runner->replicas[i], runner->costs);
    }
    return RLHFSIM_OK;
}

static enum rlhfsim_status lane_new(struct forecast_runner *runner, size_t pool) {
    struct forecast_lane *lane = &runner->lanes[pool];
    size_t ranks = (size_t)runner->plan->pools[pool].dp;
    lane->runner = runner;
    lane->pool = pool;
    if (runner->plan->replicas > 0 && runner->plan->pool_count > 1 &&
        pool == runner->plan->engine_pool)
        return RLHFSIM_OK; /* no passes */
    lane->segment.seconds = calloc(ranks, sizeof *lane->segment.seconds);
    lane->segment.flops = calloc(ranks, sizeof *lane->segment.flops);
    lane->segment.bytes = calloc(ranks, sizeof *lane->segment.bytes);
    lane->segment.crowded = calloc(ranks, sizeof *lane->segment.crowded);
    if (!lane->segment.seconds || !lane->segment.flops || !lane->segment.bytes ||
        !lane->segment.crowded)
        return RLHFSIM_NO_MEMORY;
    return forecast_split_new(runner->plan, (int)ranks, &lane->split);
}

static void lane_free(struct forecast_lane *lane) {
    free(lane->segment.seconds);
    free(lane->segment.flops);
    free(lane->segment.bytes);
    free(lane->segment.crowded);
    forecast_split_free(&lane->split);
}

/* Rewards one by one need the time of each. */
static enum rlhfsim_status add_checks(struct forecast_runner *runner) {
    const struct rlhfsim_scenario *scenario = runner->plan->scenario;
    size_t samples = runner->flights[0].samples.capacity;
    size_t workers = (size_t)(scenario->reward.workers * scenario->cluster.nodes);
    if (!runner_checks_each(scenario))
        return RLHFSIM_OK;
    runner->checks.arrivals = calloc(samples, sizeof *runner->checks.arrivals);
    runner->checks.lengths = calloc(samples, sizeof *runner->checks.lengths);
    runner->checks.free_at = calloc(workers, sizeof *runner->checks.free_at);
    for (size_t i = 0; i < FORECAST_FLIGHTS; i++)
        runner->flights[i].ends_s = calloc(samples, sizeof *runner->flights[i].ends_s);
    for (size_t i = 0; i < FORECAST_FLIGHTS; i++)
        if (runner->flights[i].ends_s == NULL)
            return RLHFSIM_NO_MEMORY;
    return runner->checks.arrivals && runner->checks.lengths && runner->checks.free_at
               ? RLHFSIM_OK
               : RLHFSIM_NO_MEMORY;
}

/* Steps that can be under way at once. */
static size_t flights_of(const struct forecast_plan *plan) {
    return plan->scenario->placement.mode == SCENARIO_ONE_STEP_OFF ? FORECAST_FLIGHTS : 1;
}

static enum rlhfsim_status add_buffers(struct forecast_runner *runner) {
    enum rlhfsim_status status = RLHFSIM_OK;
    runner->length_counts =
        calloc((size_t)runner->plan->response_limit + 1, sizeof *runner->length_counts);
    if (runner->length_counts == NULL)
        return RLHFSIM_NO_MEMORY;
    for (size_t i = 0; i < flights_of(runner->plan) && status == RLHFSIM_OK; i++)
        status = forecast_samples_new(runner->plan, &runner->flights[i].samples);
    if (status == RLHFSIM_OK)
        status = add_checks(runner);
    for (size_t i = 0; i < runner->plan->pool_count && status == RLHFSIM_OK; i++)
        status = lane_new(runner, i);
    return status;
}

static void runner_free(struct forecast_runner *runner) {
    for (int i = 0; runner->replicas != NULL && i < runner->plan->replicas; i++)
        generation_replica_free(runner->replicas[i]);
    free(runner->replicas);
    generation_costs_free(runner->costs);
    forecast_async_free(runner->async);
    free(runner->requests);
    free(runner->turns);
    free(runner->shares);
    free(runner->loads);
    free(runner->routes);
    free(runner->length_counts);
    for (size_t i = 0; i < SCENARIO_POOLS; i++)
        lane_free(&runner->lanes[i]);
    for (size_t i = 0; i < FORECAST_FLIGHTS; i++) {
        forecast_samples_free(&runner->flights[i].samples);
        free(runner->flights[i].ends_s);
    }
    free(runner->checks.arrivals);
    free(runner->checks.lengths);
    free(runner->checks.free_at);
    sim_free(runner->sim);
}

static enum rlhfsim_status runner_fill(struct forecast_runner *runner) {
    forecast_neighbour_make(runner->plan, &runner->neighbour);
    runner->sim = sim_new(NULL);
    if (runner->sim == NULL || add_resources(runner) != SIM_OK)
        return RLHFSIM_NO_MEMORY;
    if (runner->options->files != NULL &&
        (add_memories(runner) != SIM_OK ||
         results_files_attach(runner->options->files, runner->sim) != SIM_OK))
        return RLHFSIM_NO_MEMORY;
    enum rlhfsim_status status = add_buffers(runner);
    if (status == RLHFSIM_OK)
        status = add_replicas(runner);
    if (status == RLHFSIM_OK && runner->plan->scenario->placement.mode == SCENARIO_ASYNC)
        status = forecast_async_new(runner, &runner->async);
    return status;
}

/* ---- beginning and end ---------------------------------------------------------------------- */

static bool watch_samples(void *subject) {
    return runner_go_on(subject);
}

/* So that a long step can be stopped, too. */
static void runner_watch(struct forecast_runner *runner) {
    if (runner->options->progress == NULL)
        return;
    for (size_t i = 0; i < FORECAST_FLIGHTS; i++) {
        runner->flights[i].samples.go_on = watch_samples;
        runner->flights[i].samples.watcher = runner;
    }
}

static void begin(struct sim *sim, void *subject, uint64_t argument) {
    (void)sim;
    (void)argument;
    runner_begin(subject);
}

static enum rlhfsim_status report_deadlock(const struct forecast_runner *runner,
                                           struct rlhfsim_diagnostics *diagnostics) {
    char report[2048];
    sim_deadlock_report(runner->sim, 8, NULL, report, sizeof report);
    return rlhfsim_diagnostics_add(diagnostics, RLHFSIM_INTERNAL, NULL, 0, 0,
                                   "the simulation stopped with unfinished tasks:\n%s", report);
}

/* What is under way, of the first pool at work. */
static enum rlhfsim_status report_too_long(const struct forecast_runner *runner,
                                           struct rlhfsim_diagnostics *diagnostics) {
    const struct forecast_plan *plan = runner->plan;
    enum algorithm_phase phase = plan->steps[plan->step_count - 1].phase;
    for (size_t i = plan->pool_count; i-- > 0 && !runner->too_slow;)
        if (runner->lanes[i].flight != NULL && runner->lanes[i].busy)
            phase = runner_phase_of(&runner->lanes[i]);
    return forecast_too_long(plan, runner->step, phase, sim_time_to_s(sim_now(runner->sim)),
                             diagnostics);
}

enum rlhfsim_status forecast_run(const struct forecast_plan *plan,
                                 const struct forecast_run_options *options,
                                 struct rlhfsim_diagnostics *diagnostics,
                                 struct forecast_measures *measures) {
    struct forecast_runner runner = {.plan = plan,
                                     .options = options,
                                     .measures = measures,
                                     .phase_done = runner_phase_done,
                                     .proceed = runner_proceed};
    *measures = (struct forecast_measures){0};
    enum rlhfsim_status status = runner_fill(&runner);
    runner_watch(&runner);
    if (status == RLHFSIM_OK &&
        sim_schedule(runner.sim, 0, SIM_PHASE_DECISION, begin, &runner, 0, NULL) != SIM_OK)
        status = RLHFSIM_NO_MEMORY;
    if (status != RLHFSIM_OK)
        goto done;
    switch (sim_run(runner.sim, SIM_TIME_MAX)) {
    case SIM_OK:
        status = runner.cancelled  ? RLHFSIM_CANCELLED
                 : runner.too_slow ? report_too_long(&runner, diagnostics)
                                   : RLHFSIM_OK;
        break;
    case SIM_NO_MEMORY:
        status = RLHFSIM_NO_MEMORY;
        break;
    case SIM_DEADLOCK:
        status = report_deadlock(&runner, diagnostics);
        break;
    case SIM_TOO_LONG:
        status = runner.cancelled ? RLHFSIM_CANCELLED : report_too_long(&runner, diagnostics);
        break;
    }
    if (status == RLHFSIM_OK)
        runner_measure_end(&runner);
done:
    runner_free(&runner);
    return status;
}
