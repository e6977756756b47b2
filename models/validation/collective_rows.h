/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_VALIDATION_COLLECTIVE_ROWS_H
#define MODELS_VALIDATION_COLLECTIVE_ROWS_H

/*
 * Measured collectives: a table with the columns source, collective, gpu_system (or platform),
 * num_gpus (or ranks), nodes, interconnect, bytes, time_us, algbw_GBps, busbw_GBps, dtype, notes,
 * as nccl-tests counts them. What a row does not say in numbers is read from its words, by the
 * tables of collective_rows.c: which network lies between the nodes, how many NVLink domains there
 * are, which algorithm was forced, who called.
 *
 * Where the ratio of an all-reduce's two bandwidths, 2 (n-1)/n, belongs to another number of GPUs
 * than is printed, the ratio counts.
 */

#include "models/network/collective.h"
#include "models/validation/kind.h"

struct collective_row {
    const char *source, *name; /* of the validation's arena */
    enum network_collective kind;
    struct hardware_cluster cluster;
    struct network_group group;
    double bytes;
    struct network_call call;
    const struct catalog_fabric *scaleup, *network, *host; /* NULL where there is none */
    double measured_s;                                     /* 0: no value */
    const char *provenance;                                /* of the node */
    const char *skipped;                                   /* the reason; NULL: all is known */
};

/* What to do with a row; false ends the reading, for want of memory. */
typedef bool(collective_row_func)(void *subject, const struct collective_row *row);

/* Reads a file row by row. RLHFSIM_OK, or a status with errors added. */
enum rlhfsim_status collective_rows_read(struct validation_run *run, const char *path,
                                         collective_row_func *func, void *subject);

#endif
