/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_VALIDATION_KERNEL_ROWS_H
#define MODELS_VALIDATION_KERNEL_ROWS_H

/*
 * Tables of measured kernels, told apart by their columns, one kernel a row:
 *
 *     products    gpu, dtype, m, n, k, time_us
 *     attention   gpu, phase, batch, seq_len, q_heads, kv_heads, head_dim, kv_dtype, time_us
 *     operators   gpu, model, tp, num_tokens, op, time_ms (of one layer, 2-byte elements)
 *
 * and source and framework where there are such columns. GPUs and models are those of the catalog,
 * in any spelling of it.
 */

#include "models/hardware/kernel.h"
#include "models/scenario/catalog.h"
#include "models/scenario/csv_table.h"

enum kernel_kind { KERNEL_GEMM, KERNEL_PREFILL, KERNEL_DECODE, KERNEL_OPERATOR };

struct kernel_shape {
    enum kernel_kind kind;
    enum hardware_precision precision; /* products */
    bool quantised;                    /* a cast of the inputs to the precision is inside */
    double m, n, k;
    struct hardware_attention attention;
    enum hardware_operator operator_kind;
    double rows, row_bytes;
};

/* What the laws of the GPU say that the kernel takes. The GPU supports the precision. */
double kernel_shape_s(const struct hardware_gpu *gpu, const struct kernel_shape *shape);

enum kernel_table_kind { KERNEL_PRODUCTS, KERNEL_ATTENTIONS, KERNEL_OPERATORS };

#define KERNEL_COLUMN_LIMIT 12

struct kernel_table {
    enum kernel_table_kind kind;
    size_t column[KERNEL_COLUMN_LIMIT];
};

/* Finds out what a table has; an error naming the columns that were expected otherwise. */
enum rlhfsim_status kernel_table_find(const struct csv_table *table, const char *path,
                                      struct rlhfsim_diagnostics *diagnostics,
                                      struct kernel_table *result);

/* "time_us" or "time_ms": the measured column, and its unit in seconds. */
const char *kernel_table_metric(enum kernel_table_kind kind);
double kernel_table_unit_s(enum kernel_table_kind kind);

#define KERNEL_NAME_SIZE 160

struct kernel_row {
    char name[KERNEL_NAME_SIZE];    /* the shape in words */
    const char *source, *framework; /* the cells */
    const struct hardware_gpu *gpu;
    struct kernel_shape shape;
    double measured; /* in the unit of the table; NAN where the cell is empty */
};

/* Reads a row. *reason is NULL, or why there is no shape (static text). RLHFSIM_INVALID with the
 * place of a number that is none. */
enum rlhfsim_status kernel_row_read(const struct kernel_table *table, const struct csv_row *cells,
                                    const struct catalog *catalog,
                                    struct rlhfsim_diagnostics *diagnostics, struct kernel_row *row,
                                    const char **reason);

#endif
