/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Saves and the load of a run as tasks and flows; what they move is in plan_storage.c.
 */

#include "models/forecast/work_storage.h"

#include "models/forecast/measure.h"
#include "models/forecast/plan_storage.h"
#include "sim/flow.h"
#include "sim/recorder.h"

/* ---- playing a save -------------------------------------------------------------------------- */

static struct sim_task_tag tag_of(const struct forecast_lane *lane, enum algorithm_phase phase,
                                  double bytes) {
    return (struct sim_task_tag){.activity = phase,
                                 .owner = ALGORITHM_ROLE_ACTOR,
                                 .step = (int32_t)lane->flight->step,
                                 .bytes = bytes};
}

/* The write, on the store; `after` some task. */
static enum sim_status new_write(struct forecast_lane *lane, double seconds, sim_task_func *on_done,
                                 const sim_task_id *after, sim_task_id *task) {
    struct sim_task_spec spec = {
        .duration_ns = sim_time_from_s(seconds),
        .recorded = true,
        .tag = tag_of(lane, ALGORITHM_PHASE_CHECKPOINT, lane->runner->plan->checkpoint.bytes),
        .on_done = on_done,
        .subject = lane};
    enum sim_status status = sim_task_new(lane->runner->sim, &spec, task);
    if (status == SIM_OK)
        status = sim_task_demand(lane->runner->sim, *task, lane->runner->store, 1);
    if (status == SIM_OK && after != NULL)
        status = sim_task_after(lane->runner->sim, *task, *after);
    return status;
}

/* The GPUs wait while their states are written. */
static enum sim_status save_synchronously(struct forecast_lane *lane) {
    sim_task_id task;
    enum sim_status status = new_write(lane, checkpoint_blocking_s(&lane->runner->plan->checkpoint),
                                       lane->runner->phase_done, NULL, &task);
    if (status == SIM_OK)
        sim_task_release(lane->runner->sim, task);
    return status;
}

static enum sim_status demand_pools(const struct forecast_lane *lane, sim_task_id task) {
    const struct forecast_plan *plan = lane->runner->plan;
    enum sim_status status = SIM_OK;
    for (size_t i = 0; i < plan->pool_count && status == SIM_OK; i++)
        if (lane->pools >> i & 1u)
            status =
                sim_task_demand_range(lane->runner->sim, task,
                                      lane->runner->first_gpu + (uint32_t)plan->pools[i].first_gpu,
                                      (uint32_t)plan->pools[i].gpus);
    return status;
}

/* The copy that the GPUs wait for, when the write before is over. */
static enum sim_status new_stage(struct forecast_lane *lane, sim_task_func *on_done,
                                 sim_task_id *task) {
    const struct forecast_plan *plan = lane->runner->plan;
    int gpus = forecast_pool_gpus(plan, lane->pools);
    struct sim_task_spec spec = {
        .duration_ns = sim_time_from_s(checkpoint_blocking_s(&plan->checkpoint)),
        .recorded = true,
        .tag = tag_of(lane, ALGORITHM_PHASE_CHECKPOINT, plan->checkpoint.bytes / gpus),
        .on_done = on_done,
        .subject = lane};
    enum sim_status status = sim_task_new(lane->runner->sim, &spec, task);
    if (status == SIM_OK)
        status = sim_task_after(lane->runner->sim, *task, lane->runner->writing);
    if (status == SIM_OK)
        status = demand_pools(lane, *task);
    lane->phase_busy_gpu_s += sim_time_to_s(spec.duration_ns) * gpus;
    return status;
}

static void written(struct sim *sim, void *subject, uint64_t argument) {
    const struct forecast_lane *lane = subject;
    (void)sim;
    (void)argument;
    runner_account_storage(lane->runner, true);
}

/* After the last step nothing is left to do but wait. */
static enum sim_status save_asynchronously(struct forecast_lane *lane) {
    bool last = lane->flight->step == lane->runner->plan->scenario->steps;
    struct sim_task_spec end = {.on_done = lane->runner->phase_done, .subject = lane};
    sim_task_id stage, write, barrier;
    enum sim_status status = new_stage(lane, last ? NULL : lane->runner->phase_done, &stage);
    if (status == SIM_OK)
        status = new_write(lane, checkpoint_write_s(&lane->runner->plan->checkpoint), written,
                           &stage, &write);
    if (status == SIM_OK && last)
        status = sim_task_new(lane->runner->sim, &end, &barrier);
    if (status == SIM_OK && last)
        status = sim_task_after(lane->runner->sim, barrier, write);
    if (status != SIM_OK)
        return status;
    sim_task_release(lane->runner->sim, stage);
    sim_task_release(lane->runner->sim, write);
    if (last)
        sim_task_release(lane->runner->sim, barrier);
    lane->runner->writing = write;
    return SIM_OK;
}

enum sim_status runner_work_checkpoint(struct forecast_lane *lane) {
    lane->runner->measures->zone_bytes += forecast_save_zone_bytes(lane->runner->plan);
    return lane->runner->plan->checkpoint.asynchronous ? save_asynchronously(lane)
                                                       : save_synchronously(lane);
}

/* ---- playing the load ------------------------------------------------------------------------ */

/* On all GPUs, when the last read is over. */
static enum sim_status broadcast(struct forecast_lane *lane) {
    const struct forecast_plan *plan = lane->runner->plan;
    struct sim_task_spec spec = {.duration_ns = sim_time_from_s(plan->load.broadcast_s),
                                 .recorded = true,
                                 .tag = tag_of(lane, ALGORITHM_PHASE_LOAD, 0.0),
                                 .on_done = lane->runner->phase_done,
                                 .subject = lane};
    sim_task_id task;
    enum sim_status status = sim_task_new(lane->runner->sim, &spec, &task);
    if (status == SIM_OK)
        status = sim_task_demand_range(lane->runner->sim, task, lane->runner->first_gpu,
                                       (uint32_t)plan->gpus);
    if (status == SIM_OK)
        sim_task_release(lane->runner->sim, task);
    lane->phase_busy_gpu_s += sim_time_to_s(spec.duration_ns) * plan->gpus;
    return status;
}

static void read_done(struct sim *sim, void *subject, uint64_t transfer) {
    struct forecast_lane *lane = subject;
    (void)transfer;
    if (--lane->runner->reads_running > 0)
        return;
    struct sim_span span = {
        .start = lane->phase_start,
        .end = sim_now(sim),
        .resource = lane->runner->store,
        .tag = tag_of(lane, ALGORITHM_PHASE_LOAD, forecast_load_bytes(lane->runner->plan))};
    sim_recorder_span(sim, &span);
    if (lane->runner->plan->load.broadcast_s <= 0.0) {
        lane->runner->phase_done(sim, lane, 0);
        return;
    }
    enum sim_status status = broadcast(lane);
    if (status != SIM_OK)
        sim_fail(sim, status);
}

static enum sim_status start_read(struct forecast_lane *lane, const sim_link_id *link,
                                  const struct store_transfer *transfer) {
    const struct store *store = &lane->runner->plan->checkpoint.store;
    struct sim_flow_spec spec = {
        .route = link,
        .hop_count = link == NULL ? 0 : 1,
        .amount = transfer->bytes,
        .cap = transfer->clients * store_client_limit(store, STORE_READ),
        .latency_ns = sim_time_from_s(store->latency_s),
        .on_done = read_done,
        .subject = lane,
    };
    return sim_flow_start(lane->runner->sim, &spec, NULL);
}

/* All at once; they share what the store gives. */
enum sim_status runner_work_load(struct forecast_lane *lane) {
    const struct forecast_load *load = &lane->runner->plan->load;
    double shared = store_shared_limit(&lane->runner->plan->checkpoint.store, STORE_READ);
    enum sim_status status = SIM_OK;
    sim_link_id link;
    if (shared > 0.0)
        status = sim_link_new(lane->runner->sim, "store/read", shared, &link);
    lane->runner->reads_running = (int)load->count;
    lane->runner->measures->zone_bytes += load->zone_bytes;
    for (size_t i = 0; i < load->count && status == SIM_OK; i++)
        status = start_read(lane, shared > 0.0 ? &link : NULL, &load->transfers[i]);
    return status;
}
