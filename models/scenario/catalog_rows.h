/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_SCENARIO_CATALOG_ROWS_H
#define MODELS_SCENARIO_CATALOG_ROWS_H

/* One row of a catalog file into what the models compute with: SI units, efficiencies as shares. */

#include "models/scenario/columns.h"

struct catalog_node_row {
    struct hardware_node node;
    struct catalog_offer offer;
};

/* What a kind's rows become: its size, and the function that fills it and adds the errors that only
 * show between cells (false). */
size_t catalog_row_size(enum catalog_kind kind);
bool catalog_row_fill(enum catalog_kind kind, const struct column_row *row,
                      struct rlhfsim_diagnostics *diagnostics, void *item);

/* The name of a row into `buffer`: its first cell; of a price "PROVIDER/REGION/ITEM". */
void catalog_row_name(enum catalog_kind kind, const struct column_row *row, char *buffer,
                      size_t size);

/* Where the provenance and the source stand. */
size_t catalog_provenance_column(enum catalog_kind kind);

#endif
