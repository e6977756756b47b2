/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_SCENARIO_CSV_TABLE_H
#define MODELS_SCENARIO_CSV_TABLE_H

/*
 * A CSV file (RFC 4180, comma, double quotes) as a table that remembers where each cell stands. A
 * row has as many cells as the header; blank lines are skipped.
 */

#include "models/scenario/tree.h"

struct csv_cell {
    const char *text; /* never NULL */
    struct tree_place place;
};

struct csv_row {
    struct csv_row *next;
    struct csv_cell *cells;
};

struct csv_table {
    struct csv_cell *header;
    size_t columns;
    struct csv_row *rows; /* in the order of the file */
};

#define CSV_COLUMN_LIMIT 64

/* Reads text that was checked to be UTF-8 (see base/file.h). RLHFSIM_OK with the table in the
 * arena; RLHFSIM_INVALID with the errors added (a row of the wrong length is left out, a syntax
 * error ends the reading); RLHFSIM_NO_MEMORY. `file` must live as long as the arena. */
enum rlhfsim_status csv_table_read(struct base_arena *arena, const char *file, const char *text,
                                   size_t length, struct rlhfsim_diagnostics *diagnostics,
                                   struct csv_table *table);

#endif
