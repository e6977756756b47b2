/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_VALIDATION_SYNC_ROWS_H
#define MODELS_VALIDATION_SYNC_ROWS_H

/*
 * Measured weight syncs, from two kinds of table: one with the columns source, kind (rows whose
 * kind starts with "weight sync" count), model, params, gpu, num_gpus, method, time_s; or the
 * figures of runs (run_key, metric, value; rows of weight_sync_s count), whose runs stand in
 * runs.csv beside it. Which row of weight_sync.csv a sync is of is read from its words, by the
 * table of sync_rows.c. The bytes follow from the model and the precision in its name.
 */

#include "models/network/weight_sync.h"
#include "models/validation/kind.h"

struct sync_row {
    const char *source, *name; /* of the validation's arena */
    const char *metric;        /* "time_s" or "weight_sync_s" */
    const struct catalog_weight_sync *row;
    struct hardware_cluster cluster;
    struct network_weight_sync_request request; /* its cluster is set by sync_row_seconds */
    double measured_s;                          /* 0: no value */
    const char *skipped;                        /* the reason; NULL: all is known */
};

/* The forecast with some costs. */
double sync_row_seconds(const struct sync_row *row, const struct network_weight_sync_cost *cost);

/* What to do with a row; false ends the reading, for want of memory. */
typedef bool(sync_row_func)(void *subject, const struct sync_row *row);

/* Reads a file row by row; rows of other kinds and metrics are none of it. RLHFSIM_OK, or a status
 * with errors added. */
enum rlhfsim_status sync_rows_read(struct validation_run *run, const char *path,
                                   sync_row_func *func, void *subject);

/* With fewer measured syncs behind it a row of weight_sync.csv is no forecast. */
#define SYNC_FEWEST_POINTS 3
#define SYNC_SINGLE_POINT "single point, x2"

#endif
