/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_CALIBRATION_FIT_H
#define MODELS_CALIBRATION_FIT_H

/*
 * Robust nonlinear least squares: finds the coefficients for which the residuals r of all points
 * are least in the soft-L1 sense, sum of 2 (sqrt(1 + (r / scale)^2) - 1): squares near 0, absolute
 * values far out, so that a few odd points do not steer the fit. Where the points do not determine
 * a coefficient, a weak prior keeps it at its start.
 */

#include <stdbool.h>
#include <stddef.h>

/* A coefficient stays strictly between `low` and `high`; without an upper bound (infinite) `low` is
 * 0 and its logarithm is what is searched. */
struct fit_coefficient {
    double start, low, high;
};

struct fit_problem {
    size_t points, coefficients;
    const struct fit_coefficient *coefficient;
    double scale;
    double prior; /* what a factor of e away from the start costs, as a residual */
    /* Takes over values of the coefficients, then gives the residual of a point, finite. */
    void (*set)(void *context, const double *values);
    double (*residual)(void *context, size_t point);
    /* Whether the residual of a point may change with a coefficient; NULL: it always may. Where
     * most do not, as with coefficients of one group of points each, derivatives cost little. */
    bool (*depends)(void *context, size_t point, size_t coefficient);
    void *context;
};

#define FIT_COEFFICIENT_LIMIT 96

/* `values` is where the search starts (inside the bounds) and receives the best; `rounds` of
 * weighting. Needs at least as many points as coefficients. False without memory. */
bool fit_solve(const struct fit_problem *problem, int rounds, double *values);

#endif
