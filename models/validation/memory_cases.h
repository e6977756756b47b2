/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_VALIDATION_MEMORY_CASES_H
#define MODELS_VALIDATION_MEMORY_CASES_H

/*
 * A table of memory cases of RLHF runs: the columns of a table of runs, and what came of it:
 * outcome (fits, oom, peak_gb), value, unit, counts. Rows of a trainer alone are plans
 * (memory_rows.h); those of a whole run are scenarios (run_rows.h).
 */

#include "models/validation/memory_case.h"

/* A row of a trainer alone, as a plan with what was measured. False where the row is of a whole
 * run.
 */
bool memory_case_trainer(const struct catalog *catalog, const struct csv_table *table,
                         const struct csv_row *row, struct training_row *plan,
                         struct memory_measured *measured);

enum rlhfsim_status memory_cases_read(struct validation_run *run, const char *path,
                                      const struct csv_table *table);

#endif
