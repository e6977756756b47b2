/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_VALIDATION_KIND_H
#define MODELS_VALIDATION_KIND_H

/*
 * A kind of validation is one file that ends in one const table: its name, and what it does with
 * one input file.
 */

#include "models/scenario/catalog.h"
#include "models/scenario/csv_table.h"
#include "models/validation/cases.h"

struct validation_run {
    struct rlhfsim_validation *validation;
    const struct catalog *catalog;
    struct rlhfsim_diagnostics *diagnostics;
    const char *scenario_directory; /* where runs are written as scenarios; NULL: nowhere */
};

struct validation_kind {
    const char *name;
    /* Adds the cases of a file. RLHFSIM_OK, or a status with errors added. */
    enum rlhfsim_status (*read)(struct validation_run *run, const char *path);
};

extern const struct validation_kind validation_parameters;
extern const struct validation_kind validation_kernels;
extern const struct validation_kind validation_training;
extern const struct validation_kind validation_runs;
extern const struct validation_kind validation_collectives;
extern const struct validation_kind validation_weight_sync;
extern const struct validation_kind validation_generation;
extern const struct validation_kind validation_memory;

/* Reads a CSV file into the arena of the validation. */
enum rlhfsim_status validation_read_table(struct validation_run *run, const char *path,
                                          struct csv_table *table);

/* The same into any arena. */
enum rlhfsim_status validation_read_csv(struct base_arena *arena, const char *path,
                                        struct rlhfsim_diagnostics *diagnostics,
                                        struct csv_table *table);

#define VALIDATION_NO_COLUMN SIZE_MAX
/* Where a column of that name stands; VALIDATION_NO_COLUMN where there is none. */
size_t validation_column(const struct csv_table *table, const char *name);
/* The cell's text; "" where the column is missing. */
const char *validation_cell(const struct csv_row *row, size_t column);

#endif
