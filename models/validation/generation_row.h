/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_VALIDATION_GENERATION_ROW_H
#define MODELS_VALIDATION_GENERATION_ROW_H

/* One row of a table of serving measurements as a case: which engine, model, GPUs and lengths. */

#include "models/scenario/catalog.h"
#include "models/scenario/csv_table.h"
#include "models/validation/serving.h"

struct generation_columns {
    size_t source, engine, model, gpu, tp, ep, pp, input_len, output_len, concurrency, precision,
        notes;
    size_t tpot_ms, ttft_ms, output_tokens_per_s;
};

/* Where they stand in a table. RLHFSIM_INVALID after the error where one that is needed is missing.
 */
enum rlhfsim_status generation_columns_find(const struct csv_table *table, const char *path,
                                            struct rlhfsim_diagnostics *diagnostics,
                                            struct generation_columns *columns);

/* Fills and sizes the case. NULL, or why the row cannot be forecast. `engine` is the row of the
 * catalog. */
const char *generation_row_read(const struct catalog *catalog,
                                const struct generation_columns *columns, const struct csv_row *row,
                                struct serving_case *serving, const struct catalog_engine **engine);

#endif
