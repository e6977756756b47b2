/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_RELIABILITY_CHECKPOINT_H
#define MODELS_RELIABILITY_CHECKPOINT_H

/*
 * Checkpoints: how long one takes and what is stored over a run. Saves are synchronous; every node
 * writes its shards at its own rate to the store, up to the store's own limit.
 */

#include <stdbool.h>
#include <stdint.h>

struct checkpoint_plan {
    int64_t every_steps; /* 0: never */
    int64_t keep;        /* newest ones kept; older ones are deleted */
    double bytes;        /* of one checkpoint, all models */
    double node_bandwidth_bytes_per_s;
    double store_bandwidth_bytes_per_s; /* 0: no limit of its own */
    int nodes;
};

/* Seconds of one save: bytes / min(nodes x node bandwidth, store bandwidth); 0 for no bytes. */
double checkpoint_save_s(const struct checkpoint_plan *plan);

/* Whether step (from 1) ends with a save; the last step of `steps` always does when saves are on.
 */
bool checkpoint_due(const struct checkpoint_plan *plan, int64_t step, int64_t steps);

#endif
