/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Kernel times: measured matrix products, attention and operators of a layer against the laws of
 * the GPU they ran on. The kernels were timed in short bursts, so that the sustained share of long
 * runs is 1 here. kernel_rows.c has the columns.
 */

#include "models/scenario/catalog_kernels.h"
#include "models/validation/kernel_rows.h"
#include "models/validation/kind.h"

#include <math.h>
#include <string.h>

static const struct validation_metric metrics[] = {
    [KERNEL_PRODUCTS] = {"time_us", true, false},
    [KERNEL_ATTENTIONS] = {"time_us", true, false},
    [KERNEL_OPERATORS] = {"time_ms", true, false},
};

static double burst_s(const struct kernel_row *row) {
    struct hardware_gpu gpu = *row->gpu;
    gpu.kernels.sustained_share = 1.0;
    return kernel_shape_s(&gpu, &row->shape);
}

static const char *keep(struct validation_run *run, const char *text) {
    return base_arena_text(&run->validation->arena, text, strlen(text));
}

static enum rlhfsim_status read_row(struct validation_run *run, const struct kernel_table *table,
                                    const struct csv_row *cells) {
    struct kernel_row row;
    const char *reason;
    enum rlhfsim_status status =
        kernel_row_read(table, cells, run->catalog, run->diagnostics, &row, &reason);
    if (status != RLHFSIM_OK)
        return status;
    struct validation_case added = {
        .name = keep(run, row.name),
        .source = validation_source_name(run->validation, row.source),
        .skipped = isnan(row.measured) ? "no measured value" : reason,
    };
    if (added.name == NULL || added.source == NULL)
        return RLHFSIM_NO_MEMORY;
    if (!isnan(row.measured)) {
        added.metric = &metrics[table->kind];
        added.measured = row.measured;
    }
    if (added.skipped == NULL) {
        added.forecast = burst_s(&row) / kernel_table_unit_s(table->kind);
        added.provenance = catalog_kernels_provenance(run->catalog, row.gpu->name);
    }
    return validation_add(run->validation, &added) ? RLHFSIM_OK : RLHFSIM_NO_MEMORY;
}

static enum rlhfsim_status read_kernels(struct validation_run *run, const char *path) {
    struct csv_table table;
    struct kernel_table kernels;
    enum rlhfsim_status worst = validation_read_table(run, path, &table);
    if (worst == RLHFSIM_OK)
        worst = kernel_table_find(&table, path, run->diagnostics, &kernels);
    if (worst != RLHFSIM_OK)
        return worst;
    for (const struct csv_row *row = table.rows; row != NULL; row = row->next) {
        enum rlhfsim_status status = read_row(run, &kernels, row);
        if (status == RLHFSIM_NO_MEMORY)
            return status;
        worst = status == RLHFSIM_OK ? worst : status;
    }
    return worst;
}

const struct validation_kind validation_kernels = {"kernels", read_kernels};
