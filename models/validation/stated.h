/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_VALIDATION_STATED_H
#define MODELS_VALIDATION_STATED_H

/*
 * What the source of a published step states beside its table (catalog: stated.csv): the cells that
 * the table leaves empty, and what no cell says. A cell that is filled stays as it is.
 */

#include "models/validation/training_rows.h"

/* Fills the empty cells. */
void stated_cells_fill(const struct catalog *catalog, struct training_cells *cells);

/* What else is stated: of the row's plan and of its memory. False, with `row->reason`, where the
 * step is no case. For after training_row_read. */
bool stated_row_fill(const struct catalog *catalog, const struct training_cells *cells,
                     struct training_row *row);

/* Whether the optimizer is stated. */
bool stated_optimizer(const struct catalog *catalog, const struct training_cells *cells);

#endif
