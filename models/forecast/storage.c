/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * What a run writes to and reads from its store: checkpoints, and what it loads before the first
 * step.
 *
 *     weights      every node reads the files of every model once (its GPUs share them), gathered:
 *                  one node does, and sends them to all
 *     checkpoint   trained models as they were saved, each byte once; the others' weights as above,
 *                  as the frozen weights below adapters
 *     data set     every node reads all of it
 *
 * All of that shares the store (sim/flow.h). Left out: unpacking and copying to the GPUs, which
 * stream behind the reads; the engine's own reading of the weights (they are in the page cache).
 */

#include "models/forecast/runner.h"

#include "models/network/collective.h"
#include "models/network/zone_traffic.h"
#include "models/training/footprint.h"
#include "sim/contract.h"
#include "sim/flow.h"
#include "sim/recorder.h"

#include <math.h>

/* ---- checkpoints ----------------------------------------------------------------------------- */

static struct network_group everyone(const struct forecast_plan *plan) {
    return network_group_strided(&plan->scenario->cluster, plan->gpus, 1);
}

/* From zone to zone, of something that all GPUs take part in. */
static double zone_bytes(const struct forecast_plan *plan, enum network_collective kind,
                         double bytes) {
    return plan->gpus * network_zone_bytes(&plan->scenario->cluster, kind, plan->gpus, 1, bytes);
}

/* Each GPU copies its part, or one all of it; on to a store as fast as that takes it. */
static double stage_s(const struct forecast_plan *plan) {
    const struct rlhfsim_scenario *scenario = plan->scenario;
    const struct checkpoint_plan *checkpoint = &plan->checkpoint;
    double copiers = scenario->checkpoint.layout == SCENARIO_SAVE_GATHERED
                         ? 1.0
                         : forecast_pool_gpus(plan, forecast_step_pools(plan, plan->step_count));
    double host = scenario->cluster.gpu.host_bandwidth_bytes_per_s;
    double copy_s = host > 0.0 ? checkpoint->bytes / copiers / host : 0.0;
    if (!scenario->checkpoint.staged_on_store)
        return copy_s;
    return fmax(copy_s, store_transfer_s(&scenario->checkpoint.staging, STORE_WRITE,
                                         checkpoint->clients, checkpoint->bytes));
}

static void plan_mode(struct forecast_plan *plan) {
    const struct rlhfsim_scenario *scenario = plan->scenario;
    struct checkpoint_plan *checkpoint = &plan->checkpoint;
    checkpoint->staged_host_bytes = checkpoint->bytes / checkpoint->clients;
    if (scenario->checkpoint.layout == SCENARIO_SAVE_GATHERED)
        checkpoint->gather_s = network_collective_s(&scenario->cluster, NETWORK_GATHER,
                                                    everyone(plan), checkpoint->bytes);
    if (!checkpoint->asynchronous)
        return;
    checkpoint->stage_s = stage_s(plan);
    if (scenario->checkpoint.staged_on_store)
        checkpoint->staged_read_bytes_per_s =
            store_rate(&scenario->checkpoint.staging, STORE_READ, checkpoint->clients);
}

static void plan_checkpoint(struct forecast_plan *plan) {
    const struct rlhfsim_scenario *scenario = plan->scenario;
    bool gathered = scenario->checkpoint.layout == SCENARIO_SAVE_GATHERED;
    plan->checkpoint = (struct checkpoint_plan){
        .every_steps = scenario->checkpoint.every_steps,
        .keep = scenario->checkpoint.keep,
        .store = scenario->checkpoint.store,
        .clients = gathered ? 1 : forecast_saving_nodes(plan),
        .asynchronous = scenario->checkpoint.mode == SCENARIO_SAVE_ASYNCHRONOUS,
    };
    for (int role = 0; role < ALGORITHM_ROLE_COUNT; role++)
        if (plan->present[role] && plan->passes[role].trained)
            plan->checkpoint.bytes += training_checkpoint_bytes(&plan->passes[role]);
    if (plan->checkpoint.every_steps > 0)
        plan_mode(plan);
}

/* ---- loading --------------------------------------------------------------------------------- */

static void add_transfer(struct forecast_load *load, double bytes, int clients) {
    CONTRACT(load->count < STORE_TRANSFERS, "too much is loaded at once");
    if (bytes > 0.0)
        load->transfers[load->count++] = (struct store_transfer){bytes, clients};
}

/* Nodes that read weights. */
static int readers_of(const struct forecast_plan *plan) {
    bool gathered = plan->scenario->checkpoint.layout == SCENARIO_SAVE_GATHERED;
    return gathered ? 1 : plan->scenario->cluster.nodes;
}

/* From one node to all, where one reads. */
static void add_broadcast(struct forecast_plan *plan, double bytes) {
    const struct hardware_cluster *cluster = &plan->scenario->cluster;
    if (readers_of(plan) == cluster->nodes)
        return;
    plan->load.broadcast_s +=
        network_collective_s(cluster, NETWORK_BROADCAST, everyone(plan), bytes);
    plan->load.zone_bytes += zone_bytes(plan, NETWORK_BROADCAST, bytes);
}

static void load_weights(struct forecast_plan *plan, const struct training_plan *passes) {
    int readers = readers_of(plan);
    double bytes = training_element_bytes(passes) * training_parameters(passes);
    add_transfer(&plan->load, bytes * readers, readers);
    add_broadcast(plan, bytes);
}

static void load_checkpoint(struct forecast_plan *plan, const struct training_plan *passes) {
    double bytes = training_checkpoint_bytes(passes);
    add_transfer(&plan->load, bytes, readers_of(plan));
    add_broadcast(plan, bytes);
}

static void plan_load(struct forecast_plan *plan) {
    const struct rlhfsim_scenario *scenario = plan->scenario;
    bool resumes = scenario->checkpoint.load == SCENARIO_LOAD_CHECKPOINT;
    if (scenario->checkpoint.load == SCENARIO_LOAD_NONE)
        return;
    for (int role = 0; role < ALGORITHM_ROLE_COUNT; role++) {
        const struct training_plan *passes = &plan->passes[role];
        if (!plan->resident[role])
            continue;
        bool saved = resumes && passes->trained;
        if (!saved || passes->lora_rank > 0)
            load_weights(plan, passes);
        if (saved)
            load_checkpoint(plan, passes);
    }
    add_transfer(&plan->load, scenario->dataset.bytes * scenario->cluster.nodes,
                 scenario->cluster.nodes);
}

double forecast_load_bytes(const struct forecast_plan *plan) {
    double bytes = 0.0;
    for (size_t i = 0; i < plan->load.count; i++)
        bytes += plan->load.transfers[i].bytes;
    return bytes;
}

double forecast_load_s(const struct forecast_plan *plan) {
    return store_shared_s(&plan->checkpoint.store, STORE_READ, plan->load.transfers,
                          plan->load.count, NULL) +
           plan->load.broadcast_s;
}

void forecast_plan_storage(struct forecast_plan *plan) {
    plan_checkpoint(plan);
    plan_load(plan);
}

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
    if (lane->runner->plan->checkpoint.gather_s > 0.0)
        lane->runner->measures->zone_bytes +=
            zone_bytes(lane->runner->plan, NETWORK_GATHER, lane->runner->plan->checkpoint.bytes);
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
