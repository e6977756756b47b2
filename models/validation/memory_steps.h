/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_VALIDATION_MEMORY_STEPS_H
#define MODELS_VALIDATION_MEMORY_STEPS_H

/* Tables of training steps (training_cells.h) with columns mem_gb and mem_unit. */

#include "models/validation/memory_case.h"

/* A row of a table of training steps with its figure (mem_gb, mem_unit). */
void memory_step_read(const struct catalog *catalog, const struct csv_table *table,
                      const struct training_columns *columns, const struct csv_row *row,
                      struct training_row *plan, struct memory_measured *measured);

enum rlhfsim_status memory_steps_read(struct validation_run *run, const char *path,
                                      const struct csv_table *table);

#endif
