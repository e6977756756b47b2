/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_NETWORK_WEIGHT_SYNC_H
#define MODELS_NETWORK_WEIGHT_SYNC_H

/*
 * Moving new weights from the trainer into the rollout engine,
 *
 *     t = pause + tensors x a + buckets x b + doublings of the nodes x hop
 *         + bytes x (1/gather + 1/wire + 1/load)
 *
 * by mechanism. Mechanisms are const tables found by name: which of the terms exist, and which
 * links are the gather and the wire.
 *
 *     in_place           gather
 *     ipc_bucket         gather + load
 *     gather_broadcast   gather + wire (one sender's share of the NICs) + load
 *     shard_to_shard     wire (every engine GPU fetches its own shard) + load
 *     checkpoint_engine  the slowest of host to device on all GPUs, a broadcast over all NICs, load
 *     peer_to_peer       the slower of wire (all NICs of a node of the trainer) and load
 *     delta              gather and wire of the changed share + load of it
 *     adapters_only      gather + load
 *     metadata           nothing moves: names and shapes are exchanged
 *
 * The gather is an all-gather over the trainer's ranks (network/collective.h).
 */

#include "models/hardware/cluster.h"
#include "models/llm/architecture.h"

/* The software's share: a row of weight_sync.csv, or of the framework's. */
struct network_weight_sync_cost {
    double pause_s;                    /* once a sync */
    double tensor_s;                   /* per tensor */
    double load_bandwidth_bytes_per_s; /* of load_weights, in bytes of the whole model; above 0 but
                                          where nothing is loaded */
    double bucket_bytes;               /* 0: no buckets */
    double bucket_s;                   /* per bucket */
    double hop_s;                      /* per doubling of the nodes */
    double changed_fraction;           /* of the parameters, in a delta */
};

struct network_weight_sync_request {
    const struct hardware_cluster *cluster;
    double total_bytes; /* of the whole model in the engine's precision (or of the adapters) */
    double tensors;     /* walked through one by one: llm_tensors, or llm_lora_tensors */
    int trainer_ranks;  /* GPUs over which one copy is sharded */
    int engine_ranks;   /* GPUs of one engine replica; 0: as trainer_ranks */
};

struct network_weight_sync_type {
    const char *name;
    const char *meaning;
    bool adapters; /* moves LoRA adapters only */
    bool loads;    /* needs a load bandwidth */
    /* Seconds of one sync; pure. */
    double (*duration_s)(const struct network_weight_sync_cost *cost,
                         const struct network_weight_sync_request *request);
};

/* NULL past the last one / when there is none of that name. */
const struct network_weight_sync_type *network_weight_sync_at(unsigned index);
const struct network_weight_sync_type *network_weight_sync_find(const char *name);

#endif
