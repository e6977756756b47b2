/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_VALIDATION_RUN_TABLE_H
#define MODELS_VALIDATION_RUN_TABLE_H

/*
 * A folder of published runs: runs.csv has one run a row with its configuration, figures.csv what
 * was measured of them (run_key, metric, value, value_kind, notes). Every run is completed by
 * documented defaults (run_defaults.h) and made into what can be forecast: a scenario of a whole
 * run, or the plan of a trainer alone.
 */

#include "models/validation/run_case.h"

struct run_table {
    struct base_arena arena;
    struct run_case *cases;
};

/* Reads DIR/runs.csv and DIR/figures.csv. RLHFSIM_OK also where runs have no scenario (`reason`).
 * On any other status the table is released. */
enum rlhfsim_status run_table_read(const struct catalog *catalog, const char *directory,
                                   struct rlhfsim_diagnostics *diagnostics,
                                   struct run_table *table);
void run_table_release(struct run_table *table);

#endif
