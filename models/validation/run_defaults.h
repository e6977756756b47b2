/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_VALIDATION_RUN_DEFAULTS_H
#define MODELS_VALIDATION_RUN_DEFAULTS_H

/*
 * What a published run does not state, filled in by one table of defaults (run_defaults.c): each
 * names its column, its rule in words and where the rule comes from. None depends on what the run
 * measured, but two that undo arithmetic of the source: a mean length from tokens per second times
 * seconds, and the GPU whose peak rate a printed MFU was worked out with.
 */

#include "models/scenario/catalog.h"
#include "models/scenario/csv_table.h"

#define RUN_ASSUMPTIONS 24

struct run_assumption {
    const char *column;
    const char *value;
    const char *why;
    bool guess;    /* not worked out from what the source prints */
    bool searched; /* the best of several that were forecast */
};

/* A row with all columns that are read, completed. In the arena. */
struct run_complete {
    struct csv_table table;
    struct csv_row row;
    struct run_assumption assumed[RUN_ASSUMPTIONS];
    size_t assumed_count;
};

/* What the source printed of the run, for the two rules above; NAN where it did not. */
struct run_printed {
    double step_s, tokens_per_s; /* of all GPUs, prompts and responses */
    double update_s, mfu;
};

/* False without memory. Cells that no default covers stay empty. */
bool run_row_complete(struct base_arena *arena, const struct catalog *catalog,
                      const struct csv_table *table, const struct csv_row *row,
                      const struct run_printed *printed, struct run_complete *complete);

/* "assumed: gpu packing train_tp=4"; "" where nothing was; values of what was searched. In the
 * arena; NULL without memory. */
const char *run_assumptions_text(struct base_arena *arena, const struct run_complete *complete);

/* The table of defaults: column and rule; false past the last one. */
bool run_default_at(size_t index, const char **column, const char **why);

#endif
