/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * What each kind of phase unfolds into. Passes of the trainer become one task per data-parallel
 * rank and segment, on the rank's GPUs; ranks meet at a barrier where the algorithm or the sharding
 * makes them (ZeRO-3 gathers in every micro-batch, gradients are reduced in every mini-batch), so
 * that uneven sequences show as idle time. Rollouts are in work_rollout.c, saves in work_storage.c.
 *
 * With a pipeline a rank's micro-batches go through its stages together (training/step.h), all of a
 * mini-batch or of an inference pass; its idle stages are inside the rank's task. Where ranks meet
 * in every micro-batch, all of them go at the pace of the largest one in each place.
 */

#include "models/forecast/work.h"

#include "models/forecast/draw.h"
#include "models/forecast/microbatch.h"
#include "models/forecast/rewards.h"
#include "models/forecast/work_rollout.h"
#include "models/forecast/work_storage.h"

#include "models/generation/floor.h"
#include "models/training/flops.h"
#include "models/training/links.h"
#include "sim/contract.h"
#include "sim/recorder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- tasks -------------------------------------------------------------------------------- */

static int lane_ranks(const struct forecast_lane *lane) {
    return lane->runner->plan->pools[lane->pool].dp;
}

/* GPUs [first, first + count), and as many again every `apart` further on, `times` in all. */
struct gpus {
    uint32_t first, count, apart, times;
};

/* A task of `seconds` on some GPUs after the last barrier. */
static enum sim_status add_gpu_task(struct forecast_lane *lane, struct gpus gpus, double seconds,
                                    double bytes, double flops, sim_task_id *task) {
    struct sim_task_spec spec = {.duration_ns = sim_time_from_s(seconds),
                                 .recorded = true,
                                 .tag = runner_tag(lane, bytes, flops)};
    enum sim_status status = sim_task_new(lane->runner->sim, &spec, task);
    if (status == SIM_OK)
        status = sim_task_after(lane->runner->sim, *task, lane->barrier);
    for (uint32_t i = 0; i < gpus.times && status == SIM_OK; i++)
        status = sim_task_demand_range(lane->runner->sim, *task,
                                       lane->runner->first_gpu + gpus.first + i * gpus.apart,
                                       gpus.count);
    lane->phase_busy_gpu_s += sim_time_to_s(spec.duration_ns) * gpus.count * gpus.times;
    return status;
}

/* The barrier that the next tasks come after; the tasks that it waits for are added by the caller.
 */
static enum sim_status new_barrier(struct forecast_lane *lane, sim_task_func *on_done,
                                   sim_task_id *barrier) {
    struct sim_task_spec spec = {.on_done = on_done, .subject = lane};
    return sim_task_new(lane->runner->sim, &spec, barrier);
}

/* ---- segments ----------------------------------------------------------------------------- */

static bool segment_is_level(const struct forecast_lane *lane) {
    const struct forecast_segment *segment = &lane->segment;
    for (int rank = 1; rank < lane_ranks(lane); rank++)
        if (segment->seconds[rank] != segment->seconds[0] ||
            segment->crowded[rank] != segment->crowded[0])
            return false;
    return true;
}

/* A rank's GPUs: neighbours in each stage of the pipeline, stages behind one another. */
static struct gpus rank_gpus(const struct forecast_plan *plan, const struct forecast_pool *pool,
                             int rank) {
    uint32_t group = (uint32_t)(plan->scenario->training.tp * plan->scenario->training.cp);
    return (struct gpus){.first = (uint32_t)pool->first_gpu + (uint32_t)rank * group,
                         .count = group,
                         .apart = (uint32_t)pool->dp * group,
                         .times = (uint32_t)plan->scenario->training.pp};
}

/* Seconds of work that begins at the last barrier. */
static double beside_neighbour_s(const struct forecast_lane *lane, double calm_s,
                                 double crowded_s) {
    const struct forecast_neighbour *neighbour = &lane->runner->neighbour;
    return neighbour->present
               ? forecast_neighbour_s(&neighbour->window, sim_time_to_s(lane->barrier_at), calm_s,
                                      crowded_s)
               : calm_s;
}

/* Turns the segment into tasks and a barrier. */
static enum sim_status segment_flush(struct forecast_lane *lane, sim_task_func *on_done) {
    struct forecast_segment *segment = &lane->segment;
    sim_task_id barrier;
    double slowest_s = 0.0;
    enum sim_status status = new_barrier(lane, on_done, &barrier);
    for (int rank = 0; rank < lane_ranks(lane) && status == SIM_OK; rank++) {
        sim_task_id task;
        double seconds = beside_neighbour_s(lane, segment->seconds[rank], segment->crowded[rank]);
        struct gpus gpus =
            rank_gpus(lane->runner->plan, &lane->runner->plan->pools[lane->pool], rank);
        status = add_gpu_task(lane, gpus, seconds, segment->bytes[rank],
                              segment->flops[rank] / (gpus.count * gpus.times), &task);
        if (status == SIM_OK)
            status = sim_task_after(lane->runner->sim, barrier, task);
        if (status == SIM_OK)
            sim_task_release(lane->runner->sim, task);
        segment->seconds[rank] = segment->flops[rank] = segment->bytes[rank] = 0.0;
        segment->crowded[rank] = 0.0;
        slowest_s = fmax(slowest_s, seconds);
    }
    if (status != SIM_OK)
        return status;
    sim_task_release(lane->runner->sim, barrier);
    lane->barrier = barrier;
    lane->barrier_at = sim_time_sum(lane->barrier_at, sim_time_from_s(slowest_s));
    return SIM_OK;
}

/* The ranks meet here. */
static enum sim_status segment_sync(struct forecast_lane *lane) {
    return segment_is_level(lane) ? SIM_OK : segment_flush(lane, NULL);
}

/* What a calibration of the user's makes of the trainer's seconds. */
static double training_factor(const struct forecast_lane *lane) {
    return scenario_factor(lane->runner->plan->scenario, SCENARIO_PART_TRAINING);
}

static void segment_add(struct forecast_lane *lane, int rank, const struct training_cost *cost,
                        double crowded_s) {
    lane->segment.seconds[rank] += training_factor(lane) * cost->total_s;
    lane->segment.crowded[rank] += training_factor(lane) * crowded_s;
    lane->segment.flops[rank] += cost->flops;
    lane->segment.bytes[rank] += cost->bytes;
    lane->runner->measures->flops += cost->flops;
    lane->runner->measures->zone_bytes +=
        cost->zone_bytes * (double)(lane->runner->plan->pools[lane->pool].gpus / lane_ranks(lane));
}

static void segment_add_seconds(struct forecast_lane *lane, double seconds) {
    for (int rank = 0; rank < lane_ranks(lane); rank++) {
        lane->segment.seconds[rank] += training_factor(lane) * seconds;
        lane->segment.crowded[rank] += training_factor(lane) * seconds;
    }
}

/* ---- passes of the trainer ---------------------------------------------------------------- */

/* A pass of the role under way beside the neighbour; `calm_s` where there is none. */
static double crowded_pass_s(struct forecast_lane *lane, enum forecast_cost pass,
                             const struct llm_batch *batch, double calm_s) {
    struct forecast_neighbour *neighbour = &lane->runner->neighbour;
    enum algorithm_role role = runner_current(lane)->role;
    return neighbour->present
               ? forecast_pass_cost(&neighbour->cache, &neighbour->passes[role], role, pass, batch)
                     ->total_s
               : calm_s;
}

/* Micro-batch k of every rank that has one. */
static void add_microbatch(struct forecast_lane *lane, size_t k, bool training) {
    const struct forecast_plan *plan = lane->runner->plan;
    const struct training_plan *passes = &plan->passes[runner_current(lane)->role];
    const struct forecast_split *split = &lane->split;
    for (int rank = 0; rank < lane_ranks(lane); rank++) {
        if (k >= split->counts[rank])
            continue;
        bool last = k + 1 == split->counts[rank];
        enum forecast_cost pass = !training                        ? FORECAST_COST_FORWARD
                                  : training_reduces(passes, last) ? FORECAST_COST_UPDATE_REDUCING
                                                                   : FORECAST_COST_UPDATE;
        const struct llm_batch *batch = &split->batches[(size_t)rank * split->stride + k];
        const struct training_cost *cost = forecast_pass_cost(
            &lane->runner->pass_cache, passes, runner_current(lane)->role, pass, batch);
        segment_add(lane, rank, cost, crowded_pass_s(lane, pass, batch, cost->total_s));
        if (training)
            lane->runner->measures->training_flops += cost->flops;
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
static struct training_work slowest_work(struct forecast_lane *lane,
                                         const struct training_plan *passes) {
    struct forecast_split *split = &lane->split;
    for (size_t k = 0; k < split->most; k++) {
        double most = -1.0;
        for (int rank = 0; rank < lane_ranks(lane); rank++) {
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
static void add_rank(struct forecast_lane *lane, const struct training_plan *passes, int rank,
                     const struct training_step *step, double crowded_s, bool training) {
    const struct forecast_split *split = &lane->split;
    struct training_cost cost = {
        .total_s = step->total_s, .bytes = step->bytes, .zone_bytes = step->zone_bytes};
    for (size_t k = 0; k < split->counts[rank]; k++)
        cost.flops +=
            pass_flops(passes, &split->batches[(size_t)rank * split->stride + k], training);
    segment_add(lane, rank, &cost, crowded_s);
    if (training)
        lane->runner->measures->training_flops += cost.flops;
}

/* The same work beside the neighbour. */
static enum sim_status play_crowded(const struct forecast_lane *lane,
                                    const struct training_work *work, bool training, double calm_s,
                                    double *crowded_s) {
    const struct forecast_neighbour *neighbour = &lane->runner->neighbour;
    struct training_step step = {0};
    *crowded_s = calm_s;
    if (!neighbour->present)
        return SIM_OK;
    enum sim_status status =
        play(&neighbour->passes[runner_current(lane)->role], work, training, &step);
    *crowded_s = step.total_s;
    return status;
}

/* Every rank's micro-batches through its stages; equal ranks are played once. */
static enum sim_status add_pipelines(struct forecast_lane *lane, const struct training_plan *passes,
                                     bool training) {
    const struct forecast_split *split = &lane->split;
    bool together = meets_in_microbatch(passes, training);
    struct training_work before = {.count = 0};
    struct training_step step = {0};
    double crowded_s = 0.0;
    enum sim_status status = SIM_OK;
    for (int rank = 0; rank < lane_ranks(lane) && status == SIM_OK; rank++) {
        struct training_work work = {split->batches + (size_t)rank * split->stride,
                                     split->counts[rank], false};
        if (together)
            work = rank == 0 ? slowest_work(lane, passes) : before;
        if (work.count == 0)
            continue;
        if (!runner_go_on(lane->runner))
            return SIM_OK;
        if (!same_work(&work, &before)) {
            status = play(passes, &work, training, &step);
            if (status == SIM_OK)
                status = play_crowded(lane, &work, training, step.total_s, &crowded_s);
        }
        before = work;
        add_rank(lane, passes, rank, &step, crowded_s, training);
    }
    return status;
}

static enum sim_status add_microbatches(struct forecast_lane *lane, size_t first, size_t count,
                                        bool training) {
    const struct training_plan *passes = &lane->runner->plan->passes[runner_current(lane)->role];
    enum sim_status status = SIM_OK;
    forecast_split_make(lane->runner->plan, &lane->flight->samples, first, count,
                        training ? FORECAST_PASS_UPDATE : FORECAST_PASS_SCORE, &lane->split);
    if (lane->runner->cancelled)
        return SIM_OK;
    if (is_pipeline(passes, training))
        return add_pipelines(lane, passes, training);
    for (size_t k = 0; k < lane->split.most && status == SIM_OK; k++) {
        if (!runner_go_on(lane->runner))
            return SIM_OK;
        add_microbatch(lane, k, training);
        if (meets_in_microbatch(passes, training))
            status = segment_sync(lane);
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

/* Passes over samples [first, first + count), as often as the step says. */
static enum sim_status work_forward(struct forecast_lane *lane, size_t first, size_t count) {
    const struct training_plan *passes = &lane->runner->plan->passes[runner_current(lane)->role];
    segment_add_seconds(lane, parameter_transfers_s(passes));
    enum sim_status status = SIM_OK;
    int times = runner_current(lane)->passes > 0 ? runner_current(lane)->passes : 1;
    for (int i = 0; i < times && status == SIM_OK; i++)
        status = add_microbatches(lane, first, count, false);
    return status == SIM_OK ? segment_flush(lane, lane->runner->phase_done) : status;
}

/* New weights may be gathered in it. */
static double crowded_optimizer_s(const struct forecast_lane *lane, double calm_s) {
    const struct forecast_neighbour *neighbour = &lane->runner->neighbour;
    struct training_cost optimizer;
    if (!neighbour->present)
        return calm_s;
    training_optimizer(&neighbour->passes[runner_current(lane)->role], &optimizer);
    return optimizer.total_s;
}

static enum sim_status add_minibatch(struct forecast_lane *lane, size_t first, size_t count) {
    const struct training_plan *passes = &lane->runner->plan->passes[runner_current(lane)->role];
    struct training_cost optimizer;
    enum sim_status status = add_microbatches(lane, first, count, true);
    if (status == SIM_OK)
        status = segment_sync(lane);
    training_optimizer(passes, &optimizer);
    double crowded_s = crowded_optimizer_s(lane, optimizer.total_s);
    for (int rank = 0; rank < lane_ranks(lane); rank++)
        segment_add(lane, rank, &optimizer, crowded_s);
    if (runner_current(lane)->role == ALGORITHM_ROLE_ACTOR)
        lane->runner->measures->optimizer_steps++;
    return status;
}

static enum sim_status work_update(struct forecast_lane *lane) {
    const struct rlhfsim_scenario *scenario = lane->runner->plan->scenario;
    const struct training_plan *passes = &lane->runner->plan->passes[runner_current(lane)->role];
    size_t size = (size_t)scenario->algorithm.minibatch_samples,
           count = lane->flight->samples.count;
    enum sim_status status = SIM_OK;
    segment_add_seconds(lane, parameter_transfers_s(passes));
    for (int64_t epoch = 0; epoch < scenario->algorithm.epochs; epoch++)
        for (size_t first = 0; first < count && status == SIM_OK && !lane->runner->cancelled;
             first += size)
            status = add_minibatch(lane, first, first + size < count ? size : count - first);
    return status == SIM_OK ? segment_flush(lane, lane->runner->phase_done) : status;
}

/* ---- rewards by a rule -------------------------------------------------------------------- */

/* The samples are dealt out to the CPU workers of all nodes, each taking its share in turn. */
static enum sim_status work_rule(struct forecast_lane *lane) {
    const struct rlhfsim_scenario *scenario = lane->runner->plan->scenario;
    size_t workers = (size_t)(scenario->reward.workers * scenario->cluster.nodes);
    size_t samples = lane->flight->samples.sequences - lane->flight->samples.fresh;
    sim_task_id barrier;
    enum sim_status status = new_barrier(lane, lane->runner->phase_done, &barrier);
    for (size_t w = 0; w < workers && w < samples && status == SIM_OK; w++) {
        size_t share = samples / workers + (w < samples % workers);
        struct sim_task_spec spec = {.duration_ns =
                                         sim_time_from_s((double)share * scenario->reward.sample_s),
                                     .recorded = true,
                                     .tag = runner_tag(lane, 0.0, 0.0)};
        sim_task_id task;
        status = sim_task_new(lane->runner->sim, &spec, &task);
        if (status == SIM_OK)
            status = sim_task_demand(
                lane->runner->sim, task,
                lane->runner->first_cpu + (uint32_t)(w % (size_t)scenario->cluster.nodes), 1);
        if (status == SIM_OK)
            status = sim_task_after(lane->runner->sim, barrier, task);
        if (status == SIM_OK)
            sim_task_release(lane->runner->sim, task);
    }
    if (status == SIM_OK)
        sim_task_release(lane->runner->sim, barrier);
    return status;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The fresh samples, from now on or from the ends of their rollout: until the last one is done. */
static double checks_left_s(struct forecast_lane *lane, size_t samples) {
    struct forecast_runner *runner = lane->runner;
    const struct rlhfsim_scenario *scenario = runner->plan->scenario;
    struct forecast_checks *checks = &runner->checks;
    struct forecast_checker checker = {
        .sample_s = scenario->reward.sample_s,
        .sample_p99_s = scenario->reward.sample_p99_s,
        .timeout_s = scenario->reward.timeout_s,
        .calls_per_s = scenario->reward.calls_per_s,
        .workers = (size_t)(scenario->reward.workers * scenario->cluster.nodes)};
    struct forecast_draw draw;
    double now_s = sim_time_to_s(sim_now(runner->sim));
    forecast_draw_start(runner->plan, runner->options->replicate, lane->flight->step, &draw);
    for (size_t i = 0; i < samples; i++) {
        checks->arrivals[i] = scenario->reward.during_rollout ? lane->flight->ends_s[i] : now_s;
        checks->lengths[i] = forecast_check_s(
            &checker, forecast_draw_reward(&draw, lane->flight->samples.fresh + i));
    }
    qsort(checks->arrivals, samples, sizeof *checks->arrivals, ascending);
    double last_s =
        forecast_checked_at(&checker, checks->arrivals, checks->lengths, samples, checks->free_at);
    return fmax(0.0, last_s - now_s);
}

/* Rewards one by one; the timeline has what is left of them after the rollout, on the first node's
 * CPUs. */
static enum sim_status work_checks(struct forecast_lane *lane) {
    size_t samples = lane->flight->samples.sequences - lane->flight->samples.fresh;
    struct sim_task_spec spec = {.duration_ns = sim_time_from_s(checks_left_s(lane, samples)),
                                 .recorded = true,
                                 .tag = runner_tag(lane, 0.0, 0.0),
                                 .on_done = lane->runner->phase_done,
                                 .subject = lane};
    sim_task_id task;
    enum sim_status status = sim_task_new(lane->runner->sim, &spec, &task);
    if (status == SIM_OK)
        status = sim_task_demand(lane->runner->sim, task, lane->runner->first_cpu, 1);
    if (status == SIM_OK)
        sim_task_release(lane->runner->sim, task);
    return status;
}

static enum sim_status work_score(struct forecast_lane *lane) {
    const struct forecast_samples *samples = &lane->flight->samples;
    return lane->runner->plan->present[ALGORITHM_ROLE_REWARD]
               ? work_forward(lane, samples->fresh, samples->sequences - samples->fresh)
           : runner_checks_each(lane->runner->plan->scenario) ? work_checks(lane)
                                                              : work_rule(lane);
}

/* ---- what all GPUs do together ------------------------------------------------------------ */

/* One task on all GPUs of the lane's pools. */
static enum sim_status new_pool_task(struct forecast_lane *lane, double seconds, double bytes,
                                     sim_task_id *task) {
    const struct forecast_plan *plan = lane->runner->plan;
    struct sim_task_spec spec = {.duration_ns = sim_time_from_s(seconds),
                                 .recorded = true,
                                 .tag = runner_tag(lane, bytes, 0.0)};
    enum sim_status status = sim_task_new(lane->runner->sim, &spec, task);
    if (status == SIM_OK)
        status = sim_task_after(lane->runner->sim, *task, lane->barrier);
    for (size_t i = 0; i < plan->pool_count && status == SIM_OK; i++)
        if (lane->pools >> i & 1u)
            status =
                sim_task_demand_range(lane->runner->sim, *task,
                                      lane->runner->first_gpu + (uint32_t)plan->pools[i].first_gpu,
                                      (uint32_t)plan->pools[i].gpus);
    lane->phase_busy_gpu_s +=
        sim_time_to_s(spec.duration_ns) * forecast_pool_gpus(plan, lane->pools);
    return status;
}

static enum sim_status work_everywhere(struct forecast_lane *lane, double seconds, double bytes) {
    sim_task_id task, barrier;
    enum sim_status status = new_barrier(lane, lane->runner->phase_done, &barrier);
    if (status == SIM_OK)
        status = new_pool_task(lane, seconds, bytes, &task);
    if (status == SIM_OK)
        status = sim_task_after(lane->runner->sim, barrier, task);
    if (status != SIM_OK)
        return status;
    sim_task_release(lane->runner->sim, task);
    sim_task_release(lane->runner->sim, barrier);
    return SIM_OK;
}

enum sim_status runner_work_start(struct forecast_lane *lane) {
    const struct forecast_plan *plan = lane->runner->plan;
    lane->barrier_at = sim_now(lane->runner->sim);
    if (lane->runner->loading)
        return runner_work_load(lane);
    if (lane->phase == plan->step_count)
        return runner_work_checkpoint(lane);
    switch (runner_current(lane)->work) {
    case ALGORITHM_WORK_GENERATE:
    case ALGORITHM_WORK_GREEDY:
        return runner_work_generate(lane);
    case ALGORITHM_WORK_VALIDATE:
        return runner_work_validate(lane);
    case ALGORITHM_WORK_SLEEP:
        return work_everywhere(lane, plan->sleep_s, 0.0);
    case ALGORITHM_WORK_WAKE:
        return work_everywhere(lane, plan->wake_s, 0.0);
    case ALGORITHM_WORK_SCORE:
        return work_score(lane);
    case ALGORITHM_WORK_FORWARD:
        return work_forward(lane, 0, lane->flight->samples.count);
    case ALGORITHM_WORK_UPDATE:
        return work_update(lane);
    case ALGORITHM_WORK_SYNC:
        lane->runner->measures->zone_bytes += plan->sync_zone_bytes;
        return work_everywhere(
            lane, beside_neighbour_s(lane, plan->sync_s, lane->runner->neighbour.sync_s),
            plan->sync_bytes);
    }
    CONTRACT(false, "a kind of work without a case");
    return SIM_OK;
}
