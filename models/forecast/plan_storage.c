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

#include "models/forecast/plan_storage.h"

#include "models/network/collective.h"
#include "models/network/zone_traffic.h"
#include "models/training/footprint.h"
#include "sim/contract.h"

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
    bool gathered = scenario->checkpoint.layout == SCENARIO_SAVE_GATHERED;
    double copiers =
        gathered ? 1.0 : forecast_pool_gpus(plan, forecast_step_pools(plan, plan->step_count));
    double host =
        hardware_host_link(&scenario->cluster, gathered ? 1 : scenario->cluster.gpus_per_node);
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

double forecast_save_zone_bytes(const struct forecast_plan *plan) {
    return plan->checkpoint.gather_s > 0.0
               ? zone_bytes(plan, NETWORK_GATHER, plan->checkpoint.bytes)
               : 0.0;
}
