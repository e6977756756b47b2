/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_VALIDATION_RUN_CASE_H
#define MODELS_VALIDATION_RUN_CASE_H

/*
 * A published run: its configuration, completed by documented defaults, what was measured of it,
 * and what can be forecast in its place.
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

/* A cell of the completed row. */
const char *run_case_cell(const struct run_case *run, const char *column);
double run_case_number(const struct run_case *run, const char *column); /* NAN: none */

/* The first of that metric; NULL where there is none. */
const struct run_figure *run_figure_find(const struct run_figure *figures, const char *metric);
bool run_case_has(const struct run_case *run, const char *metric);
double run_case_figure(const struct run_case *run, const char *metric); /* NAN: none */
/* Whether it was guessed, not worked out. */
bool run_case_assumes(const struct run_case *run, const char *column);

/* The scenario of a run as a file, with a remark for each assumption; free(). NULL: no memory. */
char *run_case_yaml(const struct run_case *run);

#endif
