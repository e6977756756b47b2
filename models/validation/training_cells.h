/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_VALIDATION_TRAINING_CELLS_H
#define MODELS_VALIDATION_TRAINING_CELLS_H

/*
 * The cells of a row of a table of training steps as numbers and texts, before anything is looked
 * up: what it states, and what it lacks. An empty cell is not stated; one that holds no positive
 * number ("128-512", "OOM") is a reason to skip the row, not a mistake of the table.
 */

#include "models/validation/kind.h"

enum training_text {
    TRAINING_SOURCE_TEXT,
    TRAINING_MODEL,
    TRAINING_GPU,
    TRAINING_SHARDING,
    TRAINING_PRECISION,
    TRAINING_RECOMPUTATION,
    TRAINING_NOTE_TEXT,
    TRAINING_TEXTS
};

enum training_number {
    TRAINING_NUM_GPUS,
    TRAINING_SEQ_LEN,
    TRAINING_GLOBAL_BATCH_TOKENS,
    TRAINING_MICROBATCH,
    TRAINING_TP,
    TRAINING_PP,
    TRAINING_CP,
    TRAINING_EP,
    TRAINING_DP,
    TRAINING_VPP,
    TRAINING_PARAMS,
    TRAINING_TOKENS_PER_S,
    TRAINING_STEP_S,
    TRAINING_MFU,
    TRAINING_NUMBERS
};

struct training_columns {
    size_t text[TRAINING_TEXTS], number[TRAINING_NUMBERS];
};

struct training_cells {
    const char *text[TRAINING_TEXTS]; /* "" where it is not stated */
    double number[TRAINING_NUMBERS];  /* NAN where it is not stated or no positive number */
    const char *broken;               /* name of the first cell that is no such number, or NULL */
    const char *broken_text;
};

/* Finds the columns; RLHFSIM_INVALID with an error for each one that is missing and needed. */
enum rlhfsim_status training_columns_find(const struct csv_table *table, const char *path,
                                          struct rlhfsim_diagnostics *diagnostics,
                                          struct training_columns *columns);

void training_cells_read(const struct training_columns *columns, const struct csv_row *row,
                         struct training_cells *cells);

/* The names of those of `wanted` that are not stated, "microbatch, tp", into `buffer`; false where
 * all are. */
bool training_cells_lack(const struct training_cells *cells, const enum training_number *wanted,
                         size_t count, char *buffer, size_t size);

/* Seconds of a step: as stated, else tokens of the step over tokens per second (`derived`). NAN
 * where neither is there. */
double training_cells_measured(const struct training_cells *cells, bool *derived);

#endif
