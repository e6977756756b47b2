/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_NETWORK_WEIGHT_SYNC_H
#define MODELS_NETWORK_WEIGHT_SYNC_H

/*
 * Moving new weights from the trainer into the rollout engine,
 *
 *     t = pause + tensors x a + bytes x (1/gather + 1/wire + 1/load)
 *
 * by mechanism. Mechanisms are const tables found by name: which of the terms exist, and which link
 * is the wire.
 *
 *     in_place          gather
 *     ipc_bucket        gather + load
 *     gather_broadcast  gather + wire (one sender's share of the NICs) + load
 *     adapters_only     gather + load
 *
 * The gather is an all-gather over the trainer's ranks (network/collective.h).
 */

#include "models/hardware/cluster.h"
#include "models/llm/architecture.h"

/* The software's share, from the framework's catalog row. */
struct network_weight_sync_cost {
    double pause_s;                    /* once a sync */
    double tensor_s;                   /* per tensor */
    double load_bandwidth_bytes_per_s; /* of load_weights, in bytes of the whole model; above 0 but
                                          in place */
};

struct network_weight_sync_request {
    const struct hardware_cluster *cluster;
    double total_bytes; /* of the whole model in the engine's precision (or of the adapters) */
    double tensors;     /* walked through one by one: llm_tensors, or llm_lora_tensors */
    int trainer_ranks;  /* GPUs over which one copy is sharded */
};

struct network_weight_sync_type {
    const char *name;
    const char *meaning;
    bool adapters; /* moves LoRA adapters only */
    /* Seconds of one sync; pure. */
    double (*duration_s)(const struct network_weight_sync_cost *cost,
                         const struct network_weight_sync_request *request);
};

/* NULL past the last one / when there is none of that name. */
const struct network_weight_sync_type *network_weight_sync_at(unsigned index);
const struct network_weight_sync_type *network_weight_sync_find(const char *name);

#endif
