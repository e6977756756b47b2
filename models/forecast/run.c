/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * What a simulation has (GPUs, hosts, replicas, buffers), what its phases are measured by, and its
 * beginning and end. Which phase runs when is in schedule.c.
 */

#include "models/forecast/run.h"

#include "models/forecast/async.h"
#include "models/forecast/durations.h"
#include "models/forecast/runner.h"
#include "sim/contract.h"
#include "sim/recorder.h"

#include <math.h>
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
    if (!lane->segment.seconds || !lane->segment.flops || !lane->segment.bytes)
        return RLHFSIM_NO_MEMORY;
    return forecast_split_new(runner->plan, (int)ranks, &lane->split);
}

static void lane_free(struct forecast_lane *lane) {
    free(lane->segment.seconds);
    free(lane->segment.flops);
    free(lane->segment.bytes);
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

/* ---- memory ------------------------------------------------------------------------------- */

static void set_memory(struct forecast_runner *runner, sim_memory_id id,
                       double held[FORECAST_OWNER_COUNT][FORECAST_CATEGORY_COUNT]) {
    for (uint32_t owner = 0; owner < FORECAST_OWNER_COUNT; owner++)
        for (uint32_t category = 0; category < FORECAST_CATEGORY_COUNT; category++)
            sim_memory_set(runner->sim, id, owner, category, held[owner][category]);
}

static void add_host(struct forecast_memory_state *node, const struct forecast_memory_state *gpu) {
    for (int owner = 0; owner < FORECAST_OWNER_COUNT; owner++)
        for (int category = 0; category < FORECAST_CATEGORY_COUNT; category++)
            node->host[owner][category] += gpu->host[owner][category];
}

/* What the GPUs of one place hold, and add to their nodes' hosts. What one node saves is staged on
 * the first alone. */
static void enter_gpu(struct forecast_runner *runner, int gpu, struct forecast_memory_state *state,
                      struct forecast_memory_state *node) {
    int per_node = runner->plan->scenario->cluster.gpus_per_node;
    set_memory(runner, runner->first_memory + (sim_memory_id)gpu, state->gpu);
    add_host(node, state);
    if ((gpu + 1) % per_node != 0)
        return;
    forecast_host_of_node(runner->plan, gpu / per_node, node);
    set_memory(runner, runner->first_host + (sim_memory_id)(gpu / per_node), node->host);
    *node = (struct forecast_memory_state){0};
}

/* All GPUs and hosts hold what they do at an instant in which no model works. */
static void enter_all(struct forecast_runner *runner, size_t instant) {
    const struct forecast_plan *plan = runner->plan;
    struct forecast_memory_state state, node = {0};
    sim_memory_context(runner->sim, (uint32_t)instant);
    for (int gpu = 0; gpu < plan->gpus; gpu++) {
        forecast_memory_at(plan, instant, forecast_place_of(plan, gpu), 0, &state);
        enter_gpu(runner, gpu, &state, &node);
    }
}

void runner_enter_loading(struct forecast_runner *runner) {
    if (runner->options->files != NULL &&
        runner->plan->scenario->training.load != SCENARIO_RANK_LOAD_SHARDED)
        enter_all(runner, FORECAST_LOADING);
}

/* Copies go before anything else comes: an instant of its own, even where loading takes no time. */
void runner_leave_loading(struct forecast_runner *runner) {
    if (runner->options->files == NULL)
        return;
    for (int node = 0; node < runner->plan->scenario->cluster.nodes; node++)
        for (uint32_t role = 0; role < ALGORITHM_ROLE_COUNT; role++)
            sim_memory_set(runner->sim, runner->first_host + (sim_memory_id)node, role,
                           FORECAST_CATEGORY_LOADING, 0.0);
}

/* Rollouts of an asynchronous run are no phase: what its GPUs hold is there from the start. */
void runner_enter_rollouts(struct forecast_runner *runner) {
    if (runner->options->files != NULL)
        enter_all(runner, runner->plan->loop_first);
}

/* Every pool holds what its phase does. Where pools share a node, its host has what each has. */
static void enter_phases(struct forecast_runner *runner, int64_t samples) {
    const struct forecast_plan *plan = runner->plan;
    struct forecast_place place = {SCENARIO_POOLS, 0};
    struct forecast_memory_state state, node = {0};
    for (int gpu = 0; gpu < plan->gpus; gpu++) {
        struct forecast_place next = forecast_place_of(plan, gpu);
        if (next.pool != place.pool || next.stage != place.stage)
            forecast_memory_at(plan, runner->pool_phase[next.pool], next, samples, &state);
        place = next;
        enter_gpu(runner, gpu, &state, &node);
    }
}

void runner_enter_memory(struct forecast_runner *runner, const struct forecast_lane *lane) {
    const struct forecast_plan *plan = runner->plan;
    bool saving = lane->phase == plan->step_count;
    size_t instant = saving ? FORECAST_SAVING : lane->phase;
    if (runner->options->files == NULL || runner->loading)
        return;
    for (size_t pool = 0; pool < plan->pool_count; pool++) {
        if (!(lane->pools >> pool & 1u))
            continue;
        if (saving)
            runner->pool_before[pool] = runner->pool_phase[pool];
        runner->pool_phase[pool] = instant;
    }
    sim_memory_context(runner->sim, (uint32_t)instant);
    enter_phases(runner, (int64_t)lane->flight->samples.count);
}

/* What was staged has gone. */
void runner_leave_saving(struct forecast_runner *runner, const struct forecast_lane *lane) {
    if (runner->options->files == NULL)
        return;
    for (size_t pool = 0; pool < runner->plan->pool_count; pool++)
        if (lane->pools >> pool & 1u)
            runner->pool_phase[pool] = runner->pool_before[pool];
    enter_phases(runner, (int64_t)lane->flight->samples.count);
}

/* ---- measuring ---------------------------------------------------------------------------- */

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

enum algorithm_phase runner_phase_of(const struct forecast_lane *lane) {
    const struct forecast_plan *plan = lane->runner->plan;
    if (lane->runner->loading)
        return ALGORITHM_PHASE_LOAD;
    return lane->phase == plan->step_count ? ALGORITHM_PHASE_CHECKPOINT
                                           : plan->steps[lane->phase].phase;
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

/* ---- beginning and end ---------------------------------------------------------------------- */

/* The steps under way do not count. */
static bool report_progress(const struct forecast_runner *runner) {
    const struct forecast_run_options *options = runner->options;
    double share = (double)runner->steps_done / (double)options->steps;
    if (options->progress == NULL)
        return true;
    return options->progress(options->progress_subject,
                             options->progress_from +
                                 share * (options->progress_to - options->progress_from));
}

bool runner_go_on(struct forecast_runner *runner) {
    if (!runner->cancelled && report_progress(runner))
        return true;
    runner->cancelled = true;
    sim_stop(runner->sim);
    return false;
}

static bool watch_samples(void *subject) {
    return runner_go_on(subject);
}

/* Not every time: a rollout has very many ends. */
#define LISTENED 64

void runner_listen(struct forecast_runner *runner) {
    if (++runner->listened % LISTENED == 0)
        (void)runner_go_on(runner);
}

static void watch_replica(struct sim *sim, void *subject, uint64_t argument, size_t ended) {
    struct forecast_lane *lane = subject;
    (void)sim;
    (void)argument;
    (void)ended;
    runner_listen(lane->runner);
}

/* So that a long step can be stopped, too. */
static void runner_watch(struct forecast_runner *runner) {
    if (runner->options->progress == NULL)
        return;
    for (size_t i = 0; i < FORECAST_FLIGHTS; i++) {
        runner->flights[i].samples.go_on = watch_samples;
        runner->flights[i].samples.watcher = runner;
    }
    for (int i = 0; runner->replicas != NULL && i < runner->plan->replicas; i++)
        if (runner->replicas[i] != NULL && runner->async == NULL)
            generation_replica_listen(runner->replicas[i], watch_replica);
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

static void measure_end(struct forecast_runner *runner) {
    struct forecast_measures *measures = runner->measures;
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

enum rlhfsim_status forecast_run(const struct forecast_plan *plan,
                                 const struct forecast_run_options *options,
                                 struct rlhfsim_diagnostics *diagnostics,
                                 struct forecast_measures *measures) {
    struct forecast_runner runner = {
        .plan = plan, .options = options, .measures = measures, .phase_done = runner_phase_done};
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
        measure_end(&runner);
done:
    runner_free(&runner);
    return status;
}
