/* SPDX-License-Identifier: GPL-3.0-or-later */

/* Peak memory, and whether a run fits: tables of training steps (memory_steps.h) and of memory
 * cases of RLHF runs (memory_cases.h), told apart by their columns. */

#include "models/validation/memory_cases.h"
#include "models/validation/memory_steps.h"

static enum rlhfsim_status read_memory(struct validation_run *run, const char *path) {
    struct csv_table table;
    enum rlhfsim_status status = validation_read_table(run, path, &table);
    if (status != RLHFSIM_OK)
        return status;
    if (validation_column(&table, "outcome") != VALIDATION_NO_COLUMN)
        return memory_cases_read(run, path, &table);
    if (validation_column(&table, "mem_gb") != VALIDATION_NO_COLUMN)
        return memory_steps_read(run, path, &table);
    return rlhfsim_diagnostics_add(run->diagnostics, RLHFSIM_INVALID, path, 1, 1,
                                   "expected a column 'mem_gb' (training steps) or 'outcome' "
                                   "(memory cases)");
}

const struct validation_kind validation_memory = {"memory", read_memory};
