/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * The mechanisms as frameworks have them.
 *
 *   in_place           DeepSpeed-Chat's hybrid engine: trainer and engine share the tensors, the
 *                      shards are gathered once a rollout
 *   ipc_bucket         verl, NeMo-RL, slime, colocated: every rank gathers full tensors in buckets
 *                      and hands them by CUDA IPC to the engine's process on its GPU
 *   gather_broadcast   OpenRLHF, TRL's server, verl's split pools: rank 0 gathers and broadcasts
 *                      through its own link
 *   shard_to_shard     NeMo-RL's reshard: every engine GPU fetches the parts it holds, all at once;
 *                      no full tensor is made
 *   checkpoint_engine  Moonshot's checkpoint-engine: weights lie in host memory, every GPU brings a
 *                      part up, buckets are broadcast to all
 *   peer_to_peer       the same, or NIXL and Mooncake: engines read from the trainer's nodes
 *   delta              verl's sharded deltas: every rank finds what changed in its shard; positions
 *                      and values are gathered and broadcast
 *   adapters_only      LoRA: the gather for the adapters alone
 *   metadata           the list of names and shapes that checkpoint-engine collects beforehand
 *
 * Every engine process walks through all tensors and keeps its part, so loading goes with the bytes
 * of the whole model, whatever the engine's tensor parallelism: NeMo-RL takes 4-5 s for 8B at TP 1
 * and 14-15 s for 70B at TP 4 (NVIDIA-NeMo blog, NeMo-RL v0.3).
 *
 * What the wire costs follows from the cluster; the pause, the cost per tensor and the rate of
 * load_weights are software, and dominate: of 24 s for 72B the sender's assembly took 23.5 and the
 * wire 0.5 to 1.8 (verl, checkpoint_engine README @1dda039b9). More nodes add what a broadcast
 * takes more: 700 GB of DeepSeek-V3 took 10.2 s on 2 nodes and 11.3 s on 32 (checkpoint-engine
 * README @59a3c4f), while reading from peers took 11.8 s on both. Left out: overlap of a bucket's
 * gather with the loading of the one before (but for checkpoint_engine and peer_to_peer, whose
 * stages are a pipeline), conversions of number formats.
 */

#include "models/network/weight_sync.h"

#include "models/network/collective.h"
#include "models/network/zone_traffic.h"
#include "models/network/zones.h"
#include "sim/contract.h"

#include <math.h>
#include <string.h>

/* A position beside each changed value: 4 bytes beside 2. */
#define DELTA_GROWTH 3.0

static double software_s(const struct network_weight_sync_cost *cost,
                         const struct network_weight_sync_request *request) {
    double buckets =
        cost->bucket_bytes > 0.0 ? ceil(request->total_bytes / cost->bucket_bytes) : 0.0;
    return cost->pause_s + request->tensors * cost->tensor_s + buckets * cost->bucket_s +
           cost->hop_s * log2(request->cluster->nodes);
}

/* Every trainer rank gets `bytes` from the shards of all. */
static double gather_s(const struct network_weight_sync_request *request, double bytes) {
    struct network_group group = network_group_strided(request->cluster, request->trainer_ranks, 1);
    return network_collective_s(request->cluster, NETWORK_ALL_GATHER, group, bytes);
}

/* One sender's link: its share of the node's NICs, or NVLink where there is one node. The ring of a
 * pipelined broadcast passes the bytes once over it. */
static double one_link(const struct network_weight_sync_request *request) {
    const struct hardware_cluster *cluster = request->cluster;
    struct network_group pair = {.ranks = 2, .ranks_per_node = cluster->nodes > 1 ? 1 : 2};
    double link = network_ring_bandwidth(cluster, pair);
    return network_zones(cluster) > 1 ? fmin(link, cluster->zones.bandwidth_bytes_per_s) : link;
}

/* Ranks of one engine replica. */
static int engine_ranks(const struct network_weight_sync_request *request) {
    return request->engine_ranks > 0 ? request->engine_ranks : request->trainer_ranks;
}

/* What replicas read from shards in other zones: a shard of a copy that is spread over zones is
 * elsewhere with the probability that two of its ranks are apart, one's own rank among them. */
static double fetched_bytes(const struct network_weight_sync_request *request) {
    int gpus = hardware_cluster_gpus(request->cluster), ranks = request->trainer_ranks;
    double apart = network_zones_apart(request->cluster, ranks, 1) * (ranks - 1.0) / ranks;
    return (double)(gpus / engine_ranks(request)) * request->total_bytes * apart;
}

/* The zones' links carry that together. */
static double fetch_s(const struct network_weight_sync_request *request) {
    int zones = network_zones(request->cluster);
    return zones == 1
               ? 0.0
               : fetched_bytes(request) / (zones * request->cluster->zones.bandwidth_bytes_per_s);
}

/* All NICs of a node, or NVLink within one. */
static double all_links(const struct network_weight_sync_request *request) {
    const struct hardware_cluster *cluster = request->cluster;
    struct network_group all = network_group_strided(cluster, hardware_cluster_gpus(cluster), 1);
    return network_ring_bandwidth(cluster, all);
}

static double load_s(const struct network_weight_sync_cost *cost, double bytes) {
    CONTRACT(cost->load_bandwidth_bytes_per_s > 0.0, "an engine that never loads");
    return bytes / cost->load_bandwidth_bytes_per_s;
}

/* ---- mechanisms ------------------------------------------------------------------------------ */

static double in_place_s(const struct network_weight_sync_cost *cost,
                         const struct network_weight_sync_request *request) {
    return software_s(cost, request) + gather_s(request, request->total_bytes);
}

static double ipc_bucket_s(const struct network_weight_sync_cost *cost,
                           const struct network_weight_sync_request *request) {
    return in_place_s(cost, request) + load_s(cost, request->total_bytes);
}

static double gather_broadcast_s(const struct network_weight_sync_cost *cost,
                                 const struct network_weight_sync_request *request) {
    return ipc_bucket_s(cost, request) + request->total_bytes / one_link(request);
}

static double shard_to_shard_s(const struct network_weight_sync_cost *cost,
                               const struct network_weight_sync_request *request) {
    double share = request->total_bytes / engine_ranks(request);
    return software_s(cost, request) + fmax(share / one_link(request), fetch_s(request)) +
           load_s(cost, share);
}

/* Its three stages work on different buckets at a time: the slowest decides. */
static double checkpoint_engine_s(const struct network_weight_sync_cost *cost,
                                  const struct network_weight_sync_request *request) {
    const struct hardware_cluster *cluster = request->cluster;
    double up =
        hardware_host_link(cluster, cluster->gpus_per_node) * hardware_cluster_gpus(cluster);
    double raised = up > 0.0 ? request->total_bytes / up : 0.0;
    double wire = request->total_bytes / all_links(request);
    return software_s(cost, request) + fmax(fmax(raised, wire), load_s(cost, request->total_bytes));
}

static double peer_to_peer_s(const struct network_weight_sync_cost *cost,
                             const struct network_weight_sync_request *request) {
    double wire = fmax(request->total_bytes / all_links(request), fetch_s(request));
    return software_s(cost, request) + fmax(wire, load_s(cost, request->total_bytes));
}

static double delta_s(const struct network_weight_sync_cost *cost,
                      const struct network_weight_sync_request *request) {
    double bytes = DELTA_GROWTH * cost->changed_fraction * request->total_bytes;
    return software_s(cost, request) + gather_s(request, bytes) + bytes / one_link(request) +
           load_s(cost, bytes);
}

static double metadata_s(const struct network_weight_sync_cost *cost,
                         const struct network_weight_sync_request *request) {
    return software_s(cost, request);
}

static const struct network_weight_sync_type types[] = {
    {"in_place", "trainer and engine share the tensors: one gather of the shards", false, false,
     NETWORK_SYNC_GATHERS, in_place_s},
    {"ipc_bucket", "all ranks gather buckets, the engine on the same GPU loads them by CUDA IPC",
     false, true, NETWORK_SYNC_GATHERS, ipc_bucket_s},
    {"gather_broadcast", "rank 0 gathers and broadcasts to the engines over its own link", false,
     true, NETWORK_SYNC_GATHERS | NETWORK_SYNC_BROADCASTS, gather_broadcast_s},
    {"adapters_only", "LoRA adapters are gathered and loaded, the base stays", true, true,
     NETWORK_SYNC_GATHERS, ipc_bucket_s},
    {"shard_to_shard", "every engine GPU fetches its own shard from the trainer's", false, true,
     NETWORK_SYNC_FETCHES, shard_to_shard_s},
    {"checkpoint_engine", "from host memory up on all GPUs, then a broadcast to all", false, true,
     NETWORK_SYNC_BROADCASTS, checkpoint_engine_s},
    {"peer_to_peer", "engines read from the trainer's nodes over all NICs", false, true,
     NETWORK_SYNC_FETCHES, peer_to_peer_s},
    {"delta", "only changed values, with their positions, are gathered and broadcast", false, true,
     NETWORK_SYNC_GATHERS | NETWORK_SYNC_BROADCASTS, delta_s},
    {"metadata", "names and shapes are exchanged, no weight moves", false, false, 0, metadata_s},
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

/* What a delta moves of it. */
static double moved_bytes(const struct network_weight_sync_type *type,
                          const struct network_weight_sync_cost *cost,
                          const struct network_weight_sync_request *request) {
    return type->duration_s == delta_s
               ? DELTA_GROWTH * cost->changed_fraction * request->total_bytes
               : request->total_bytes;
}

double network_weight_sync_zone_bytes(const struct network_weight_sync_type *type,
                                      const struct network_weight_sync_cost *cost,
                                      const struct network_weight_sync_request *request) {
    const struct hardware_cluster *cluster = request->cluster;
    int gpus = hardware_cluster_gpus(cluster), zones = network_zones(cluster);
    double bytes = moved_bytes(type, cost, request), sum = 0.0;
    if (zones == 1)
        return 0.0;
    if ((type->moves & NETWORK_SYNC_GATHERS) != 0)
        sum += gpus *
               network_zone_bytes(cluster, NETWORK_ALL_GATHER, request->trainer_ranks, 1, bytes);
    if ((type->moves & NETWORK_SYNC_BROADCASTS) != 0)
        sum += (zones - 1.0) * bytes;
    if ((type->moves & NETWORK_SYNC_FETCHES) != 0)
        sum += fetched_bytes(request);
    return sum;
}
