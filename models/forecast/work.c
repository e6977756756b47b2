/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * What each kind of phase unfolds into. Passes of the trainer become one task per data-parallel
 * rank and segment, on the rank's GPUs; ranks meet at a barrier where the algorithm or the sharding
 * makes them (ZeRO-3 gathers in every micro-batch, gradients are reduced in every mini-batch), so
 * that uneven sequences show as idle time. Rollouts are one process per engine replica.
 *
 * With a pipeline a rank's micro-batches go through its stages together (training/step.h), all of a
 * mini-batch or of an inference pass; its idle stages are inside the rank's task. Where ranks meet
 * in every micro-batch, all of them go at the pace of the largest one in each place.
 */

#include "models/forecast/runner.h"

#include "models/generation/floor.h"
#include "models/training/flops.h"
#include "models/training/links.h"
#include "sim/contract.h"
#include "sim/recorder.h"

#include <math.h>
#include <string.h>

/* ---- tasks -------------------------------------------------------------------------------- */

static const struct algorithm_step *current(const struct forecast_runner *runner) {
    return &runner->plan->steps[runner->phase];
}

static struct sim_task_tag tag_of(const struct forecast_runner *runner, double bytes,
                                  double flops) {
    const struct algorithm_step *step = current(runner);
    return (struct sim_task_tag){.activity = step->phase,
                                 .owner = step->role,
                                 .step = (int32_t)runner->step,
                                 .bytes = bytes,
                                 .flops = flops};
}

/* GPUs [first, first + count), and as many again every `apart` further on, `times` in all. */
struct gpus {
    uint32_t first, count, apart, times;
};

/* A task of `seconds` on some GPUs after the last barrier. */
static enum sim_status add_gpu_task(struct forecast_runner *runner, struct gpus gpus,
                                    double seconds, double bytes, double flops, sim_task_id *task) {
    struct sim_task_spec spec = {.duration_ns = sim_time_from_s(seconds),
                                 .recorded = true,
                                 .tag = tag_of(runner, bytes, flops)};
    enum sim_status status = sim_task_new(runner->sim, &spec, task);
    if (status == SIM_OK)
        status = sim_task_after(runner->sim, *task, runner->barrier);
    for (uint32_t i = 0; i < gpus.times && status == SIM_OK; i++)
        status = sim_task_demand_range(runner->sim, *task,
                                       runner->first_gpu + gpus.first + i * gpus.apart, gpus.count);
    runner->phase_busy_gpu_s += sim_time_to_s(spec.duration_ns) * gpus.count * gpus.times;
    return status;
}

/* The barrier that the next tasks come after; the tasks that it waits for are added by the caller.
 */
static enum sim_status new_barrier(struct forecast_runner *runner, sim_task_func *on_done,
                                   sim_task_id *barrier) {
    struct sim_task_spec spec = {.on_done = on_done, .subject = runner};
    return sim_task_new(runner->sim, &spec, barrier);
}

/* ---- segments ----------------------------------------------------------------------------- */

static bool segment_is_level(const struct forecast_runner *runner) {
    const struct forecast_segment *segment = &runner->segment;
    for (int rank = 1; rank < runner->plan->dp; rank++)
        if (segment->seconds[rank] != segment->seconds[0])
            return false;
    return true;
}

/* A rank's GPUs: neighbours in each stage of the pipeline, stages behind one another. */
static struct gpus rank_gpus(const struct forecast_plan *plan, int rank) {
    uint32_t group = (uint32_t)(plan->scenario->training.tp * plan->scenario->training.cp);
    return (struct gpus){.first = (uint32_t)rank * group,
                         .count = group,
                         .apart = (uint32_t)plan->dp * group,
                         .times = (uint32_t)plan->scenario->training.pp};
}

/* Turns the segment into tasks and a barrier. */
static enum sim_status segment_flush(struct forecast_runner *runner, sim_task_func *on_done) {
    struct forecast_segment *segment = &runner->segment;
    sim_task_id barrier;
    enum sim_status status = new_barrier(runner, on_done, &barrier);
    for (int rank = 0; rank < runner->plan->dp && status == SIM_OK; rank++) {
        sim_task_id task;
        struct gpus gpus = rank_gpus(runner->plan, rank);
        status = add_gpu_task(runner, gpus, segment->seconds[rank], segment->bytes[rank],
                              segment->flops[rank] / (gpus.count * gpus.times), &task);
        if (status == SIM_OK)
            status = sim_task_after(runner->sim, barrier, task);
        if (status == SIM_OK)
            sim_task_release(runner->sim, task);
        segment->seconds[rank] = segment->flops[rank] = segment->bytes[rank] = 0.0;
    }
    if (status != SIM_OK)
        return status;
    sim_task_release(runner->sim, barrier);
    runner->barrier = barrier;
    return SIM_OK;
}

/* The ranks meet here. */
static enum sim_status segment_sync(struct forecast_runner *runner) {
    return segment_is_level(runner) ? SIM_OK : segment_flush(runner, NULL);
}

static void segment_add(struct forecast_runner *runner, int rank,
                        const struct training_cost *cost) {
    runner->segment.seconds[rank] += cost->total_s;
    runner->segment.flops[rank] += cost->flops;
    runner->segment.bytes[rank] += cost->bytes;
    runner->measures->flops += cost->flops;
    runner->measures->zone_bytes +=
        cost->zone_bytes * (double)(runner->plan->gpus / runner->plan->dp);
}

static void segment_add_seconds(struct forecast_runner *runner, double seconds) {
    for (int rank = 0; rank < runner->plan->dp; rank++)
        runner->segment.seconds[rank] += seconds;
}

/* ---- passes of the trainer ---------------------------------------------------------------- */

enum pass { PASS_FORWARD, PASS_TRAIN, PASS_TRAIN_REDUCING };

/* The cost of a micro-batch; the same one as last time is not worked out again. */
static const struct training_cost *pass_cost(struct forecast_runner *runner, enum pass pass,
                                             const struct llm_batch *batch) {
    const struct training_plan *passes = &runner->plan->passes[current(runner)->role];
    uint32_t key = 1u + (uint32_t)current(runner)->role * 4u + (uint32_t)pass;
    if (key == runner->last_key && memcmp(batch, &runner->last_batch, sizeof *batch) == 0)
        return &runner->last_cost;
    if (pass == PASS_FORWARD)
        training_forward(passes, batch, &runner->last_cost);
    else
        training_forward_backward(passes, batch, pass == PASS_TRAIN_REDUCING, &runner->last_cost);
    runner->last_key = key;
    runner->last_batch = *batch;
    return &runner->last_cost;
}

/* Micro-batch k of every rank that has one. */
static void add_microbatch(struct forecast_runner *runner, size_t k, bool training) {
    const struct forecast_plan *plan = runner->plan;
    const struct training_plan *passes = &plan->passes[current(runner)->role];
    const struct forecast_split *split = &runner->split;
    for (int rank = 0; rank < plan->dp; rank++) {
        if (k >= split->counts[rank])
            continue;
        bool last = k + 1 == split->counts[rank];
        enum pass pass = !training                        ? PASS_FORWARD
                         : training_reduces(passes, last) ? PASS_TRAIN_REDUCING
                                                          : PASS_TRAIN;
        const struct training_cost *cost =
            pass_cost(runner, pass, &split->batches[(size_t)rank * split->stride + k]);
        segment_add(runner, rank, cost);
        if (training)
            runner->measures->training_flops += cost->flops;
    }
}

/* Ranks wait for each other in every micro-batch when collectives are in it. */
static bool meets_in_microbatch(const struct training_plan *passes, bool training) {
    return passes->zero_stage == 3 || passes->ep > 1 ||
           (training && training_reduces(passes, false));
}

/* ---- pipelines ------------------------------------------------------------------------------ */

/* More than passes in a row: stages, or new weights that come in behind a mini-batch's first. */
static bool is_pipeline(const struct training_plan *passes, bool training) {
    return passes->pp > 1 || (training && passes->overlap_update && training_renews(passes));
}

static double pass_flops(const struct training_plan *passes, const struct llm_batch *batch,
                         bool training) {
    double flops = training_forward_flops(passes, batch);
    return training ? flops + training_backward_flops(passes, batch) : flops;
}

/* Of each place the largest micro-batch of all ranks. */
static struct training_work slowest_work(struct forecast_runner *runner,
                                         const struct training_plan *passes) {
    struct forecast_split *split = &runner->split;
    for (size_t k = 0; k < split->most; k++) {
        double most = -1.0;
        for (int rank = 0; rank < runner->plan->dp; rank++) {
            const struct llm_batch *batch = &split->batches[(size_t)rank * split->stride + k];
            double flops = k < split->counts[rank] ? pass_flops(passes, batch, false) : -1.0;
            if (flops <= most)
                continue;
            most = flops;
            split->slowest[k] = *batch;
        }
    }
    return (struct training_work){split->slowest, split->most, false};
}

static bool same_work(const struct training_work *a, const struct training_work *b) {
    return a->count == b->count &&
           memcmp(a->batches, b->batches, a->count * sizeof *a->batches) == 0;
}

static enum sim_status play(const struct training_plan *passes, const struct training_work *work,
                            bool training, struct training_step *step) {
    return training ? training_step_passes(passes, work, step)
                    : training_step_forward(passes, work, step);
}

/* Seconds and bytes of `step`, FLOPs of the rank's own micro-batches. */
static void add_rank(struct forecast_runner *runner, const struct training_plan *passes, int rank,
                     const struct training_step *step, bool training) {
    const struct forecast_split *split = &runner->split;
    struct training_cost cost = {
        .total_s = step->total_s, .bytes = step->bytes, .zone_bytes = step->zone_bytes};
    for (size_t k = 0; k < split->counts[rank]; k++)
        cost.flops +=
            pass_flops(passes, &split->batches[(size_t)rank * split->stride + k], training);
    segment_add(runner, rank, &cost);
    if (training)
        runner->measures->training_flops += cost.flops;
}

/* Every rank's micro-batches through its stages; equal ranks are played once. */
static enum sim_status add_pipelines(struct forecast_runner *runner,
                                     const struct training_plan *passes, bool training) {
    const struct forecast_split *split = &runner->split;
    bool together = meets_in_microbatch(passes, training);
    struct training_work before = {.count = 0};
    struct training_step step = {0};
    enum sim_status status = SIM_OK;
    for (int rank = 0; rank < runner->plan->dp && status == SIM_OK; rank++) {
        struct training_work work = {split->batches + (size_t)rank * split->stride,
                                     split->counts[rank], false};
        if (together)
            work = rank == 0 ? slowest_work(runner, passes) : before;
        if (work.count == 0)
            continue;
        if (!runner_go_on(runner))
            return SIM_OK;
        if (!same_work(&work, &before))
            status = play(passes, &work, training, &step);
        before = work;
        add_rank(runner, passes, rank, &step, training);
    }
    return status;
}

static enum sim_status add_microbatches(struct forecast_runner *runner, size_t first, size_t count,
                                        bool training) {
    const struct training_plan *passes = &runner->plan->passes[current(runner)->role];
    enum sim_status status = SIM_OK;
    forecast_split_make(runner->plan, &runner->samples, first, count,
                        training ? FORECAST_PASS_UPDATE : FORECAST_PASS_SCORE, &runner->split);
    if (runner->cancelled)
        return SIM_OK;
    if (is_pipeline(passes, training))
        return add_pipelines(runner, passes, training);
    for (size_t k = 0; k < runner->split.most && status == SIM_OK; k++) {
        if (!runner_go_on(runner))
            return SIM_OK;
        add_microbatch(runner, k, training);
        if (meets_in_microbatch(passes, training))
            status = segment_sync(runner);
    }
    return status;
}

/* Parameters kept on the host come before the pass; trained ones go back after it. */
static double parameter_transfers_s(const struct training_plan *passes) {
    if (passes->offload != TRAINING_OFFLOAD_PARAMETERS &&
        passes->offload != TRAINING_OFFLOAD_OPTIMIZER_PARAMETERS)
        return 0.0;
    return training_parameter_transfer_s(passes) * (passes->trained ? 2.0 : 1.0);
}

static enum sim_status work_forward(struct forecast_runner *runner) {
    const struct training_plan *passes = &runner->plan->passes[current(runner)->role];
    segment_add_seconds(runner, parameter_transfers_s(passes));
    enum sim_status status = add_microbatches(runner, 0, runner->samples.count, false);
    return status == SIM_OK ? segment_flush(runner, runner->phase_done) : status;
}

static enum sim_status add_minibatch(struct forecast_runner *runner, size_t first, size_t count) {
    const struct training_plan *passes = &runner->plan->passes[current(runner)->role];
    struct training_cost optimizer;
    enum sim_status status = add_microbatches(runner, first, count, true);
    if (status == SIM_OK)
        status = segment_sync(runner);
    training_optimizer(passes, &optimizer);
    for (int rank = 0; rank < runner->plan->dp; rank++)
        segment_add(runner, rank, &optimizer);
    if (current(runner)->role == ALGORITHM_ROLE_ACTOR)
        runner->measures->optimizer_steps++;
    return status;
}

static enum sim_status work_update(struct forecast_runner *runner) {
    const struct rlhfsim_scenario *scenario = runner->plan->scenario;
    const struct training_plan *passes = &runner->plan->passes[current(runner)->role];
    size_t size = (size_t)scenario->algorithm.minibatch_samples, count = runner->samples.count;
    enum sim_status status = SIM_OK;
    segment_add_seconds(runner, parameter_transfers_s(passes));
    for (int64_t epoch = 0; epoch < scenario->algorithm.epochs; epoch++)
        for (size_t first = 0; first < count && status == SIM_OK && !runner->cancelled;
             first += size)
            status = add_minibatch(runner, first, first + size < count ? size : count - first);
    return status == SIM_OK ? segment_flush(runner, runner->phase_done) : status;
}

/* ---- rewards by a rule -------------------------------------------------------------------- */

/* The samples are dealt out to the CPU workers of all nodes, each taking its share in turn. */
static enum sim_status work_rule(struct forecast_runner *runner) {
    const struct rlhfsim_scenario *scenario = runner->plan->scenario;
    size_t workers = (size_t)(scenario->reward.workers * scenario->cluster.nodes);
    size_t samples = runner->samples.count;
    sim_task_id barrier;
    enum sim_status status = new_barrier(runner, runner->phase_done, &barrier);
    for (size_t w = 0; w < workers && w < samples && status == SIM_OK; w++) {
        size_t share = samples / workers + (w < samples % workers);
        struct sim_task_spec spec = {.duration_ns =
                                         sim_time_from_s((double)share * scenario->reward.sample_s),
                                     .recorded = true,
                                     .tag = tag_of(runner, 0.0, 0.0)};
        sim_task_id task;
        status = sim_task_new(runner->sim, &spec, &task);
        if (status == SIM_OK)
            status = sim_task_demand(
                runner->sim, task,
                runner->first_cpu + (uint32_t)(w % (size_t)scenario->cluster.nodes), 1);
        if (status == SIM_OK)
            status = sim_task_after(runner->sim, barrier, task);
        if (status == SIM_OK)
            sim_task_release(runner->sim, task);
    }
    if (status == SIM_OK)
        sim_task_release(runner->sim, barrier);
    return status;
}

static enum sim_status work_score(struct forecast_runner *runner) {
    return runner->plan->present[ALGORITHM_ROLE_REWARD] ? work_forward(runner) : work_rule(runner);
}

/* ---- the engine --------------------------------------------------------------------------- */

static void record_rollout(struct forecast_runner *runner, int replica,
                           const struct generation_outcome *outcome) {
    uint32_t gpus = (uint32_t)generation_plan_gpus(&runner->plan->generation);
    for (uint32_t gpu = 0; gpu < gpus; gpu++) {
        struct sim_span span = {.start = runner->phase_start,
                                .end = sim_now(runner->sim),
                                .resource = runner->first_gpu + (uint32_t)replica * gpus + gpu,
                                .tag = tag_of(runner, outcome->bytes, outcome->flops / gpus)};
        sim_recorder_span(runner->sim, &span);
    }
    runner->phase_busy_gpu_s += sim_time_to_s(sim_now(runner->sim) - runner->phase_start) * gpus;
    runner->measures->flops += outcome->flops;
    runner->measures->preemptions += outcome->preemptions;
}

static void replica_done(struct sim *sim, void *subject, uint64_t replica,
                         const struct generation_outcome *outcome) {
    struct forecast_runner *runner = subject;
    record_rollout(runner, (int)replica, outcome);
    if (--runner->replicas_running == 0)
        runner->phase_done(sim, runner, 0);
}

static void make_requests(struct forecast_runner *runner) {
    const struct forecast_samples *samples = &runner->samples;
    uint32_t copies = (uint32_t)runner->plan->scenario->algorithm.samples_per_prompt;
    const struct generation_request *longest = runner->requests;
    for (size_t i = 0; i < samples->sequences; i++) {
        runner->requests[i] = (struct generation_request){
            .prompt_tokens = samples->prompt_tokens[i],
            .response_tokens = samples->response_tokens[i],
            .group = (uint32_t)i / copies,
        };
        if (runner->requests[i].response_tokens > longest->response_tokens)
            longest = &runner->requests[i];
    }
    runner->measures->tail_floor_s += generation_alone_s(&runner->plan->generation, longest);
}

/* Requests of one replica lie side by side: a prompt moves with its samples. */
static void move_prompt(struct forecast_runner *runner, size_t prompt, size_t place) {
    const struct forecast_samples *samples = &runner->samples;
    size_t copies = (size_t)runner->plan->scenario->algorithm.samples_per_prompt;
    for (size_t k = 0; k < copies; k++)
        runner->requests[place * copies + k] = (struct generation_request){
            .prompt_tokens = samples->prompt_tokens[prompt * copies + k],
            .response_tokens = samples->response_tokens[prompt * copies + k],
            .group = (uint32_t)prompt,
        };
}

/* Equal numbers of prompts, the first replicas taking one more where they do not divide. */
static void deal_out(struct forecast_runner *runner) {
    size_t prompts = runner->samples.prompts, replicas = (size_t)runner->plan->replicas;
    for (size_t r = 0; r < replicas; r++)
        runner->shares[r] = prompts / replicas + (r < prompts % replicas);
}

/* Every prompt in turn to the replica with the fewest prompt tokens so far, the first of several;
 * how long its answers get nobody knows. */
static void route(struct forecast_runner *runner) {
    size_t prompts = runner->samples.prompts;
    size_t copies = (size_t)runner->plan->scenario->algorithm.samples_per_prompt;
    size_t replicas = (size_t)runner->plan->replicas;
    memset(runner->shares, 0, replicas * sizeof *runner->shares);
    memset(runner->loads, 0, replicas * sizeof *runner->loads);
    for (size_t p = 0; p < prompts; p++) {
        size_t least = 0;
        for (size_t r = 1; r < replicas; r++)
            if (runner->loads[r] < runner->loads[least])
                least = r;
        runner->loads[least] += runner->samples.prompt_tokens[p * copies];
        runner->routes[p] = (uint32_t)least;
        runner->shares[least]++;
    }
}

/* Sorts the prompts by their replica, those of one in their order. */
static void balance_load(struct forecast_runner *runner) {
    size_t prompts = runner->samples.prompts;
    uint64_t next = 0;
    route(runner);
    for (int r = 0; r < runner->plan->replicas; r++) {
        runner->loads[r] = next; /* from here on: where its next prompt goes */
        next += runner->shares[r];
    }
    for (size_t p = 0; p < prompts; p++)
        move_prompt(runner, p, (size_t)runner->loads[runner->routes[p]]++);
}

/* All samples of a prompt go to one replica; a replica without prompts is idle. */
static enum sim_status work_generate(struct forecast_runner *runner) {
    const struct forecast_plan *plan = runner->plan;
    size_t copies = (size_t)plan->scenario->algorithm.samples_per_prompt, next = 0;
    enum sim_status status = SIM_OK;
    make_requests(runner);
    if (plan->scenario->rollout.routing == SCENARIO_ROUTING_LEAST_LOADED)
        balance_load(runner);
    else
        deal_out(runner);
    runner->replicas_running = 0;
    for (int r = 0; r < plan->replicas; r++)
        runner->replicas_running += runner->shares[r] > 0;
    for (int r = 0; r < plan->replicas && status == SIM_OK; r++) {
        size_t share = runner->shares[r];
        if (share > 0)
            status = generation_replica_start(runner->replicas[r], runner->requests + next * copies,
                                              share * copies, replica_done, runner, (uint64_t)r);
        next += share;
    }
    return status;
}

/* ---- what all GPUs do together ------------------------------------------------------------ */

static enum sim_status work_everywhere(struct forecast_runner *runner, double seconds,
                                       double bytes) {
    sim_task_id task, barrier;
    enum sim_status status = new_barrier(runner, runner->phase_done, &barrier);
    struct gpus all = {.count = (uint32_t)runner->plan->gpus, .times = 1};
    if (status == SIM_OK)
        status = add_gpu_task(runner, all, seconds, bytes, 0.0, &task);
    if (status == SIM_OK)
        status = sim_task_after(runner->sim, barrier, task);
    if (status != SIM_OK)
        return status;
    sim_task_release(runner->sim, task);
    sim_task_release(runner->sim, barrier);
    return SIM_OK;
}

enum sim_status runner_work_start(struct forecast_runner *runner) {
    const struct forecast_plan *plan = runner->plan;
    if (runner->loading)
        return runner_work_load(runner);
    if (runner->phase == plan->step_count)
        return runner_work_checkpoint(runner);
    switch (current(runner)->work) {
    case ALGORITHM_WORK_GENERATE:
        return work_generate(runner);
    case ALGORITHM_WORK_SLEEP:
        return work_everywhere(runner, plan->sleep_s, 0.0);
    case ALGORITHM_WORK_WAKE:
        return work_everywhere(runner, plan->wake_s, 0.0);
    case ALGORITHM_WORK_SCORE:
        return work_score(runner);
    case ALGORITHM_WORK_FORWARD:
        return work_forward(runner);
    case ALGORITHM_WORK_UPDATE:
        return work_update(runner);
    case ALGORITHM_WORK_SYNC:
        runner->measures->zone_bytes += plan->sync_zone_bytes;
        return work_everywhere(runner, plan->sync_s, plan->sync_bytes);
    }
    CONTRACT(false, "a kind of work without a case");
    return SIM_OK;
}
