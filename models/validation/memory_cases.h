/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_VALIDATION_MEMORY_CASES_H
#define MODELS_VALIDATION_MEMORY_CASES_H

/*
 * A table of memory cases of RLHF runs: the columns of a table of runs, and what came of it:
 * outcome (fits, oom, peak_gb), value, unit, counts. Rows of a trainer alone are plans
 * (memory_rows.h); those of a whole run are scenarios (run_rows.h).
 */

#include "models/validation/memory_rows.h"

struct memory_case {
    const char *source, *name; /* in the arena of the validation */
    const char *provenance;
    struct memory_measured measured;
    double peak_bytes; /* forecast */
    bool counted;      /* it is known what the source measured: `counts` */
    enum training_counts counts;
    double fits;                       /* 1 or 0, or near the limit a probability */
    const char *peak_reason;           /* why the peak alone is skipped; NULL: it is not */
    char reason[TRAINING_REASON_SIZE]; /* why it is skipped; "" where it is not */
};

/* A row of a trainer alone, as a plan with what was measured. False where the row is of a whole
 * run.
 */
bool memory_case_trainer(const struct catalog *catalog, const struct csv_table *table,
                         const struct csv_row *row, struct training_row *plan,
                         struct memory_measured *measured);

/* A row of a table of training steps with its figure (mem_gb, mem_unit). */
void memory_step_read(const struct catalog *catalog, const struct csv_table *table,
                      const struct training_columns *columns, const struct csv_row *row,
                      struct training_row *plan, struct memory_measured *measured);

/* One comparison for the peak, one for the outcome (memory.c). */
enum rlhfsim_status memory_case_add(struct validation_run *run, const struct memory_case *found);

enum rlhfsim_status memory_cases_read(struct validation_run *run, const char *path,
                                      const struct csv_table *table);

#endif
