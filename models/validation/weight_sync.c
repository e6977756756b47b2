/* SPDX-License-Identifier: GPL-3.0-or-later */

/* Times of weight syncs: see sync_rows.h for the tables. */

#include "models/validation/sync_rows.h"

#include <string.h>

static const struct validation_metric time_metric = {"time_s", true, false};
static const struct validation_metric figure_metric = {"weight_sync_s", true, false};

static bool add(void *subject, const struct sync_row *row) {
    struct validation_run *run = subject;
    bool component = strcmp(row->metric, time_metric.name) == 0;
    struct validation_case added = {
        .source = row->source, .name = row->name, .skipped = row->skipped};
    if (row->measured_s > 0.0) {
        added.metric = component ? &time_metric : &figure_metric;
        added.measured = row->measured_s;
    } else if (added.skipped == NULL) {
        added.skipped = "no measured value";
    }
    if (added.skipped == NULL) {
        added.forecast = sync_row_seconds(row, &row->row->cost);
        added.provenance = catalog_provenance(run->catalog, CATALOG_WEIGHT_SYNCS, row->row->name);
    }
    return validation_add(run->validation, &added);
}

static enum rlhfsim_status read_syncs(struct validation_run *run, const char *path) {
    return sync_rows_read(run, path, add, run);
}

const struct validation_kind validation_weight_sync = {"weight-sync", read_syncs};
