/* SPDX-License-Identifier: GPL-3.0-or-later */

/* Times of collectives: see collective_rows.h for the table. */

#include "models/validation/collective_rows.h"

#include <math.h>

static const struct validation_metric metric = {"time_us", true, false};

#define MICRO 1e-6

static bool add(void *subject, const struct collective_row *row) {
    struct rlhfsim_validation *validation = subject;
    struct validation_case added = {.source = row->source,
                                    .name = row->name,
                                    .provenance = row->provenance,
                                    .skipped = row->skipped};
    if (row->measured_s > 0.0) {
        added.metric = &metric;
        added.measured = row->measured_s / MICRO;
    } else if (added.skipped == NULL) {
        added.skipped = "no measured value";
    }
    if (added.skipped == NULL) {
        struct network_estimate forecast = network_collective_estimate(
            &row->cluster, row->kind, row->group, row->bytes, &row->call);
        added.forecast = forecast.seconds / MICRO;
        if (!isfinite(added.forecast))
            added.skipped = "the algorithm that was forced is not modelled for such a group";
    }
    return validation_add(validation, &added);
}

static enum rlhfsim_status read_collectives(struct validation_run *run, const char *path) {
    return collective_rows_read(run, path, add, run->validation);
}

const struct validation_kind validation_collectives = {"collectives", read_collectives};
