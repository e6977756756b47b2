/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * The loop over steps and phases. A phase is unfolded when the one before it has ended, so memory
 * is bounded by one phase of one step; phases of a colocated run follow one another without a gap,
 * and the whole of a run is the sum of its phases.
 */

#include "models/forecast/run.h"

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

static enum rlhfsim_status add_replicas(struct forecast_runner *runner) {
    const struct forecast_plan *plan = runner->plan;
    if (plan->replicas == 0)
        return RLHFSIM_OK;
    runner->requests = calloc(runner->samples.capacity, sizeof *runner->requests);
    runner->replicas = calloc((size_t)plan->replicas, sizeof *runner->replicas);
    runner->shares = calloc((size_t)plan->replicas, sizeof *runner->shares);
    runner->loads = calloc((size_t)plan->replicas, sizeof *runner->loads);
    runner->routes =
        calloc((size_t)plan->scenario->algorithm.prompts_per_step, sizeof *runner->routes);
    runner->costs = generation_costs_new(&plan->generation, runner->samples.capacity);
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

static enum rlhfsim_status add_buffers(struct forecast_runner *runner) {
    size_t ranks = (size_t)runner->plan->dp;
    runner->segment.seconds = calloc(ranks, sizeof *runner->segment.seconds);
    runner->segment.flops = calloc(ranks, sizeof *runner->segment.flops);
    runner->segment.bytes = calloc(ranks, sizeof *runner->segment.bytes);
    runner->length_counts =
        calloc((size_t)runner->plan->response_limit + 1, sizeof *runner->length_counts);
    if (!runner->segment.seconds || !runner->segment.flops || !runner->segment.bytes ||
        !runner->length_counts)
        return RLHFSIM_NO_MEMORY;
    enum rlhfsim_status status = forecast_samples_new(runner->plan, &runner->samples);
    return status == RLHFSIM_OK ? forecast_split_new(runner->plan, &runner->split) : status;
}

static void runner_free(struct forecast_runner *runner) {
    for (int i = 0; runner->replicas != NULL && i < runner->plan->replicas; i++)
        generation_replica_free(runner->replicas[i]);
    free(runner->replicas);
    generation_costs_free(runner->costs);
    free(runner->requests);
    free(runner->shares);
    free(runner->loads);
    free(runner->routes);
    free(runner->segment.seconds);
    free(runner->segment.flops);
    free(runner->segment.bytes);
    free(runner->length_counts);
    forecast_samples_free(&runner->samples);
    forecast_split_free(&runner->split);
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
    return status == RLHFSIM_OK ? add_replicas(runner) : status;
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

/* Every GPU and host holds what the plan says for the phase. Loading and checkpoints change
 * nothing. Gathered checkpoints are staged on the first node alone. */
static void enter_memory(struct forecast_runner *runner) {
    const struct forecast_plan *plan = runner->plan;
    int per_node = plan->scenario->cluster.gpus_per_node, stage = -1;
    struct forecast_memory_state state, node = {0};
    if (runner->options->files == NULL || runner->loading || runner->phase == plan->step_count)
        return;
    sim_memory_context(runner->sim, (uint32_t)runner->phase);
    for (int gpu = 0; gpu < plan->gpus; gpu++) {
        if (forecast_stage_of(plan, gpu) != stage) {
            stage = forecast_stage_of(plan, gpu);
            forecast_memory_at(plan, runner->phase, stage, (int64_t)runner->samples.count, &state);
        }
        set_memory(runner, runner->first_memory + (sim_memory_id)gpu, state.gpu);
        add_host(&node, &state);
        if ((gpu + 1) % per_node != 0)
            continue;
        if (gpu / per_node >= plan->checkpoint.clients)
            node.host[FORECAST_OWNER_SYSTEM][FORECAST_CATEGORY_STAGING] = 0.0;
        set_memory(runner, runner->first_host + (sim_memory_id)(gpu / per_node), node.host);
        node = (struct forecast_memory_state){0};
    }
}

/* ---- measuring ---------------------------------------------------------------------------- */

static void measure_samples(struct forecast_runner *runner) {
    const struct forecast_samples *samples = &runner->samples;
    struct forecast_measures *measures = runner->measures;
    for (size_t i = 0; i < samples->sequences; i++) {
        measures->response_tokens += samples->response_tokens[i];
        measures->tokens += samples->prompt_tokens[i] + samples->response_tokens[i];
        runner->length_counts[samples->response_tokens[i]]++;
    }
    measures->responses += (double)samples->sequences;
    measures->samples += (double)samples->count;
    measures->cut += (double)samples->cut;
}

static enum algorithm_phase phase_of(const struct forecast_runner *runner) {
    if (runner->loading)
        return ALGORITHM_PHASE_LOAD;
    return runner->phase == runner->plan->step_count ? ALGORITHM_PHASE_CHECKPOINT
                                                     : runner->plan->steps[runner->phase].phase;
}

static void measure_phase(struct forecast_runner *runner) {
    struct forecast_measures *measures = runner->measures;
    enum algorithm_phase phase = phase_of(runner);
    sim_time end = sim_now(runner->sim);
    double length_s = sim_time_to_s(end - runner->phase_start);
    double busy_s = runner->phase_busy_gpu_s / runner->plan->gpus;
    double idle_s = fmax(0.0, length_s - busy_s);
    measures->phase_s[phase] += length_s;
    measures->busy_gpu_s += runner->phase_busy_gpu_s;
    if (phase == ALGORITHM_PHASE_ROLLOUT)
        measures->tail_idle_s += idle_s;
    if (phase == ALGORITHM_PHASE_ACTOR_UPDATE || phase == ALGORITHM_PHASE_CRITIC_UPDATE)
        measures->training_gpu_s += length_s * runner->plan->gpus;
    if (runner->options->files != NULL)
        results_files_phase(runner->options->files, runner->step, phase, runner->phase_start, end,
                            busy_s, idle_s);
}

/* What is stored has been there since the last change. */
static void account_storage(struct forecast_runner *runner, bool saved) {
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

/* ---- the loop ----------------------------------------------------------------------------- */

static void fail(struct forecast_runner *runner, enum sim_status status) {
    if (status != SIM_OK)
        sim_fail(runner->sim, status);
}

static void start_phase(struct forecast_runner *runner) {
    runner->phase_start = sim_now(runner->sim);
    runner->phase_busy_gpu_s = 0.0;
    enter_memory(runner);
    fail(runner, runner_work_start(runner));
}

/* The step under way does not count. */
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

static void watch_replica(struct sim *sim, void *subject, uint64_t argument, size_t ended) {
    struct forecast_runner *runner = subject;
    (void)sim;
    (void)argument;
    (void)ended;
    if (++runner->listened % LISTENED == 0)
        (void)runner_go_on(runner);
}

static void start_step(struct forecast_runner *runner) {
    runner->steps_done = runner->step;
    runner->too_slow =
        forecast_pace_too_slow(runner->plan, runner->step, sim_time_to_s(sim_now(runner->sim)));
    if (runner->too_slow)
        sim_stop(runner->sim);
    if (runner->too_slow || !runner_go_on(runner) || runner->step == runner->options->steps)
        return;
    runner->step++;
    runner->phase = runner->plan->loop_first;
    forecast_samples_draw(runner->plan, runner->options->replicate, runner->step, &runner->samples);
    if (runner->cancelled)
        return;
    measure_samples(runner);
    start_phase(runner);
}

static void start_chunk(struct forecast_runner *runner) {
    if (runner->plan->loop_first == 0 || runner->chunk == forecast_samples_chunks(runner->plan)) {
        start_step(runner);
        return;
    }
    runner->chunk++;
    runner->phase = 0;
    forecast_samples_draw_chunk(runner->plan, runner->options->replicate, runner->chunk,
                                &runner->samples);
    if (!runner->cancelled)
        start_phase(runner);
}

static bool checkpoint_follows(const struct forecast_runner *runner) {
    return checkpoint_due(&runner->plan->checkpoint, runner->step, runner->plan->scenario->steps);
}

static void phase_done(struct sim *sim, void *subject, uint64_t argument) {
    struct forecast_runner *runner = subject;
    (void)sim;
    (void)argument;
    measure_phase(runner);
    if (runner->loading) {
        runner->loading = false;
        start_chunk(runner);
        return;
    }
    if (runner->phase == runner->plan->step_count) {
        if (!runner->plan->checkpoint.asynchronous)
            account_storage(runner, true);
        start_step(runner);
        return;
    }
    runner->phase++;
    if (runner->step == 0)
        start_chunk(runner);
    else if (runner->phase < runner->plan->step_count || checkpoint_follows(runner))
        start_phase(runner);
    else
        start_step(runner);
}

static void written(struct sim *sim, void *subject, uint64_t argument) {
    (void)sim;
    (void)argument;
    account_storage(subject, true);
}

static void begin(struct sim *sim, void *subject, uint64_t argument) {
    struct forecast_runner *runner = subject;
    (void)sim;
    (void)argument;
    runner->loading = runner->plan->load.count > 0;
    if (runner->loading)
        start_phase(runner);
    else
        start_chunk(runner);
}

static enum rlhfsim_status report_deadlock(const struct forecast_runner *runner,
                                           struct rlhfsim_diagnostics *diagnostics) {
    char report[2048];
    sim_deadlock_report(runner->sim, 8, NULL, report, sizeof report);
    return rlhfsim_diagnostics_add(diagnostics, RLHFSIM_INTERNAL, NULL, 0, 0,
                                   "the simulation stopped with unfinished tasks:\n%s", report);
}

static enum rlhfsim_status report_too_long(const struct forecast_runner *runner,
                                           struct rlhfsim_diagnostics *diagnostics) {
    enum algorithm_phase phase = runner->too_slow
                                     ? runner->plan->steps[runner->plan->step_count - 1].phase
                                     : phase_of(runner);
    return forecast_too_long(runner->plan, runner->step, phase, sim_time_to_s(sim_now(runner->sim)),
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
    account_storage(runner, false);
    measures->steps = runner->step;
    measures->total_s = sim_time_to_s(sim_now(runner->sim));
    measures->events = sim_events_executed(runner->sim);
    measures->response_p50 = length_quantile(runner, 0.50);
    measures->response_p90 = length_quantile(runner, 0.90);
    measures->response_p99 = length_quantile(runner, 0.99);
    measures->response_max = length_quantile(runner, 1.0);
}

/* So that a long step can be stopped, too. */
static void runner_watch(struct forecast_runner *runner) {
    if (runner->options->progress == NULL)
        return;
    runner->samples.go_on = watch_samples;
    runner->samples.watcher = runner;
    for (int i = 0; runner->replicas != NULL && i < runner->plan->replicas; i++)
        if (runner->replicas[i] != NULL)
            generation_replica_listen(runner->replicas[i], watch_replica);
}

enum rlhfsim_status forecast_run(const struct forecast_plan *plan,
                                 const struct forecast_run_options *options,
                                 struct rlhfsim_diagnostics *diagnostics,
                                 struct forecast_measures *measures) {
    struct forecast_runner runner = {.plan = plan,
                                     .options = options,
                                     .measures = measures,
                                     .written = written,
                                     .phase_done = phase_done};
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
