/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_CALIBRATION_RUNS_FIT_H
#define MODELS_CALIBRATION_RUNS_FIT_H

/*
 * What RLHF frameworks add to the physics, fitted to whole runs that others measured: columns of
 * frameworks.csv, each one number for one or more presets (runs_fit.c has the table; no run, model
 * or GPU has one of its own). The residual of a figure is the logarithm of forecast over measured;
 * each run counts as one, however many figures it has; the loss is robust (runs_solve.c). Only runs
 * whose lengths and GPU are known count, and of these only times.
 */

#include "models/scenario/columns.h"
#include "models/validation/run_outcome.h"
#include "models/validation/run_table.h"

struct runs_coefficient {
    enum framework_column column;
    const char *presets; /* whose runs tell it and that take it, with spaces between */
    const char *inherit; /* presets that take it though no run of theirs speaks of it */
    double high;         /* it is searched between 0 and this */
};

#define RUNS_COEFFICIENTS 20

size_t runs_coefficient_count(void);
const struct runs_coefficient *runs_coefficient_at(size_t index);

/* Runs that a coefficient of its own takes. */
#define RUNS_A_COEFFICIENT 3

struct runs_point {
    struct runs_case *of;
    const struct run_figure *figure;
    double weight;   /* of its residual */
    double residual; /* ln (forecast / measured) with the present values */
    double shifted;  /* the same after runs_fit_shifts */
};

struct runs_fit {
    struct runs_case *cases;
    size_t case_count;
    struct runs_point *points;
    size_t point_count;
    double values[RUNS_COEFFICIENTS], starts[RUNS_COEFFICIENTS];
    double *slopes;       /* of each point's residual, by coefficient, to its logarithm */
    const char *left_out; /* a source whose runs do not count; NULL: all do */
    enum rlhfsim_status status;
};

/* Takes the runs of a table that can tell something. The table and the catalog must outlive it. */
enum rlhfsim_status runs_fit_make(const struct catalog *catalog, const struct run_table *table,
                                  struct rlhfsim_diagnostics *diagnostics, struct runs_fit *fit);
void runs_fit_release(struct runs_fit *fit);

/* From the present values, at most so many steps (runs_solve.c). */
enum rlhfsim_status runs_fit_solve(struct runs_fit *fit, int steps);

/* Residuals with the present values, and their derivatives, which the next needs. */
enum rlhfsim_status runs_fit_slopes(struct runs_fit *fit);

/* Values without the runs of a source, from those of the fit to all, and residuals of all runs. */
enum rlhfsim_status runs_fit_leave_out(struct runs_fit *fit, const char *source);

/* Residuals of all points, left out or not. */
enum rlhfsim_status runs_fit_residuals(struct runs_fit *fit);

/* `shifted` of all points after one coefficient was changed; residuals stay. */
enum rlhfsim_status runs_fit_shifts(struct runs_fit *fit, size_t coefficient);

const struct run_case *runs_fit_run(const struct runs_point *point);

/* Runs whose preset is among those of a coefficient. */
size_t runs_fit_runs(const struct runs_fit *fit, size_t coefficient);

#endif
