/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_VALIDATION_RUN_TABLE_H
#define MODELS_VALIDATION_RUN_TABLE_H

/*
 * A folder of published runs: runs.csv has one run a row with its configuration, figures.csv what
 * was measured of them (run_key, metric, value, value_kind, notes). Every run is completed by
 * documented defaults (run_defaults.h) and made into what can be forecast: a scenario of a whole
 * run, or the plan of a trainer alone.
 */

#include "models/scenario/scenario.h"
#include "models/validation/kind.h"
#include "models/validation/run_defaults.h"
#include "models/validation/run_rows.h"
#include "models/validation/training_rows.h"

struct run_figure {
    struct run_figure *next;
    const char *metric;
    double value;
    const char *notes;
};

#define RUN_PLAN_CELLS 4

struct run_case {
    struct run_case *next;
    const char *source, *name;
    struct run_figure *figures; /* in the order of the table */
    struct run_complete complete;
    struct run_settings settings;      /* of a whole run */
    struct rlhfsim_scenario *scenario; /* NULL: none */
    struct training_row *trainer;      /* NULL: no trainer alone */
    double peak_bytes; /* of a trainer alone, as its source counts; NAN: not known */
    bool exact;        /* no length was assumed: the run can tell coefficients */
    const char *slowest_plan[RUN_PLAN_CELLS]; /* see run_plan.h; NULL: none was searched */
    const char *reason;                       /* why it cannot be forecast; NULL where it can */
};

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

/* A cell of the completed row. */
const char *run_case_cell(const struct run_case *run, const char *column);
double run_case_number(const struct run_case *run, const char *column); /* NAN: none */

bool run_case_has(const struct run_case *run, const char *metric);
double run_case_figure(const struct run_case *run, const char *metric); /* NAN: none */
/* Whether it was guessed, not worked out. */
bool run_case_assumes(const struct run_case *run, const char *column);

/* The scenario of a run as a file, with a remark for each assumption; free(). NULL: no memory. */
char *run_case_yaml(const struct run_case *run);

#endif
