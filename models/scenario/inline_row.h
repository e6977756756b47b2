/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_SCENARIO_INLINE_ROW_H
#define MODELS_SCENARIO_INLINE_ROW_H

/*
 * Hardware and models that a scenario describes itself: a mapping in place of a catalog name, whose
 * keys are the columns of the catalog's file, checked as a row of it is,
 *
 *     cluster:
 *       node: {like: hgx-h100-8, name: ours, network_gbit_per_s: 1600, host_memory_gib: 1 TiB}
 *
 * `like` names a row to start from. Where a column has a unit, a value may have one of its own, so
 * that 80 GB and 80 GiB differ. Columns that are left out are not known, or have the default of
 * columns.c (a model without `family` is a llama).
 */

#include "models/scenario/columns.h"

struct inline_request {
    const char *path; /* "cluster.node", for messages */
    enum catalog_kind kind;
    const struct catalog *catalog;
    struct rlhfsim_diagnostics *diagnostics;
};

/* Reads a mapping as a row of the kind. False after the errors, each at the place of its key or
 * value. The row's texts live as long as the tree and the catalog. */
bool inline_row_read(const struct inline_request *request, const struct tree_node *mapping,
                     struct column_row *row);

#endif
