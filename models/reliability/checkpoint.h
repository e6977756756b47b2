/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_RELIABILITY_CHECKPOINT_H
#define MODELS_RELIABILITY_CHECKPOINT_H

/*
 * Checkpoints: what a run waits for in a save, and when it is safe.
 *
 *     synchronous    the run waits for gather + write
 *     asynchronous   it waits for gather + staging; the write follows in the background, and the
 *                    next save waits until it is over. After the last step the run waits for it.
 *
 *     sharded        every node writes its part
 *     gathered       rank 0 gets everything first (network/collective.h) and writes alone
 *
 * Staging is in host memory (each GPU copies its part over PCIe, in `gathered` one GPU all of it)
 * or on a faster store, from which the background copies. The copy of a synchronous save streams
 * into the store and is not counted beside the write. Left out: what the background takes from the
 * training (host memory bandwidth, NICs).
 */

#include "models/reliability/store.h"

#include <stdbool.h>
#include <stdint.h>

struct checkpoint_plan {
    int64_t every_steps; /* 0: never */
    int64_t keep;        /* newest ones kept; older ones are deleted */
    double bytes;        /* of one checkpoint, all models */
    struct store store;
    int clients; /* nodes that write: all, or one */
    bool asynchronous;
    double gather_s;                /* to rank 0; 0 when sharded */
    double stage_s;                 /* asynchronous: until the copy is made */
    double staged_read_bytes_per_s; /* of that copy; 0: no limit */
    double staged_host_bytes; /* of host memory that a save passes through in a writing node */
};

/* Seconds that a save keeps the run waiting; 0 for no bytes. */
double checkpoint_blocking_s(const struct checkpoint_plan *plan);

/* Seconds of the write alone. */
double checkpoint_write_s(const struct checkpoint_plan *plan);

/* Seconds from the start of a save until it is in the store. */
double checkpoint_save_s(const struct checkpoint_plan *plan);

/* Seconds that a run waits for `saves` saves in all, which start `interval_s` of work after the run
 * goes on from the one before; the last one is at its end. */
double checkpoint_run_s(const struct checkpoint_plan *plan, double saves, double interval_s);

/* Whether step (from 1) ends with a save; the last step of `steps` always does when saves are on.
 */
bool checkpoint_due(const struct checkpoint_plan *plan, int64_t step, int64_t steps);

#endif
