/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * The mechanisms as frameworks have them.
 *
 *   in_place          DeepSpeed-Chat's hybrid engine: trainer and engine share the tensors, the
 *                     shards are gathered once a rollout
 *   ipc_bucket        verl, NeMo-RL, slime, colocated: every rank gathers full tensors in buckets
 *                     and hands them by CUDA IPC to the engine's process on its GPU
 *   gather_broadcast  OpenRLHF, TRL's server, verl's split pools: rank 0 gathers and broadcasts
 *                     through its own link
 *   adapters_only     LoRA: the gather for the adapters alone
 *
 * Every engine process walks through all tensors and keeps its part, so loading goes with the bytes
 * of the whole model, whatever the engine's tensor parallelism: NeMo-RL takes 4-5 s for 8B at TP 1
 * and 14-15 s for 70B at TP 4 (NVIDIA-NeMo blog, NeMo-RL v0.3).
 *
 * What the wire costs follows from the cluster; the pause, the cost per tensor and the rate of
 * load_weights are software, and dominate: of 24 s for 72B the sender's assembly took 23.5 and the
 * wire 0.5 to 1.8 (verl, checkpoint_engine README @1dda039b9). Left out: overlap of a bucket's
 * gather with the loading of the one before, conversions of number formats.
 */

#include "models/network/weight_sync.h"

#include "models/network/collective.h"
#include "sim/contract.h"

#include <string.h>

static double software_s(const struct network_weight_sync_cost *cost,
                         const struct network_weight_sync_request *request) {
    return cost->pause_s + request->tensors * cost->tensor_s;
}

/* Every trainer rank gets the whole model from the shards of all. */
static double gather_s(const struct network_weight_sync_request *request) {
    struct network_group group = network_group_strided(request->cluster, request->trainer_ranks, 1);
    return network_collective_s(request->cluster, NETWORK_ALL_GATHER, group, request->total_bytes);
}

/* One sender's link: its share of the node's NICs, or NVLink where there is one node. The ring of a
 * pipelined broadcast passes the bytes once over it. */
static double wire_s(const struct network_weight_sync_request *request) {
    const struct hardware_cluster *cluster = request->cluster;
    struct network_group pair = {.ranks = 2, .ranks_per_node = cluster->nodes > 1 ? 1 : 2};
    return request->total_bytes / network_ring_bandwidth(cluster, pair);
}

static double load_s(const struct network_weight_sync_cost *cost,
                     const struct network_weight_sync_request *request) {
    CONTRACT(cost->load_bandwidth_bytes_per_s > 0.0, "an engine that never loads");
    return request->total_bytes / cost->load_bandwidth_bytes_per_s;
}

static double in_place_s(const struct network_weight_sync_cost *cost,
                         const struct network_weight_sync_request *request) {
    return software_s(cost, request) + gather_s(request);
}

static double ipc_bucket_s(const struct network_weight_sync_cost *cost,
                           const struct network_weight_sync_request *request) {
    return software_s(cost, request) + gather_s(request) + load_s(cost, request);
}

static double gather_broadcast_s(const struct network_weight_sync_cost *cost,
                                 const struct network_weight_sync_request *request) {
    return software_s(cost, request) + gather_s(request) + wire_s(request) + load_s(cost, request);
}

static double adapters_only_s(const struct network_weight_sync_cost *cost,
                              const struct network_weight_sync_request *request) {
    return software_s(cost, request) + gather_s(request) + load_s(cost, request);
}

static const struct network_weight_sync_type types[] = {
    {"in_place", "trainer and engine share the tensors: one gather of the shards", false,
     in_place_s},
    {"ipc_bucket", "all ranks gather buckets, the engine on the same GPU loads them by CUDA IPC",
     false, ipc_bucket_s},
    {"gather_broadcast", "rank 0 gathers and broadcasts to the engines over its own link", false,
     gather_broadcast_s},
    {"adapters_only", "LoRA adapters are gathered and loaded, the base stays", true,
     adapters_only_s},
};

#define TYPES (sizeof(types) / sizeof(*types))

const struct network_weight_sync_type *network_weight_sync_at(unsigned index) {
    return index < TYPES ? &types[index] : NULL;
}

const struct network_weight_sync_type *network_weight_sync_find(const char *name) {
    for (size_t i = 0; i < TYPES; i++)
        if (strcmp(types[i].name, name) == 0)
            return &types[i];
    return NULL;
}
