/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Gauss and Newton's method on the logarithms x of the coefficients, for
 *
 *     sum over points of w^2 rho(r / s)  +  sum over coefficients of (p (x - start))^2,
 *     rho(u) = 2 (sqrt(1 + u^2) - 1)
 *
 * (soft L1: squares near 0, absolute values far out), by weights 1 / sqrt(1 + (r / s)^2) that are
 * renewed in every step (Holland and Welsch, 1977), damped after Levenberg and Marquardt.
 * Derivatives are differences over 3 % of a coefficient: a forecast has edges (an event earlier or
 * later), over which a small difference would be noise.
 *
 * A fit without one source starts from the fit to all and keeps its derivatives: coefficients move
 * by a few percent, and the simulations of a new set of derivatives would cost as much as the fit.
 * The source is then forecast in earnest.
 */

#include "models/calibration/runs_fit.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <string.h>

#define SCALE 0.1 /* versions of one configuration differ by as much */
#define PRIOR 0.15
#define DIFFERENCE 0.03
#define STEP_LIMIT 0.7 /* of a logarithm: a factor of two at a time */
#define STILL 3e-3

static bool counts(const struct runs_fit *fit, size_t point) {
    return fit->left_out == NULL ||
           strcmp(fit->left_out, runs_fit_run(&fit->points[point])->source) != 0;
}

static double prior_of(const struct runs_fit *fit, size_t coefficient) {
    return PRIOR * log(fit->values[coefficient] / fit->starts[coefficient]) / SCALE;
}

/* With the residuals that the points have. */
static double objective(const struct runs_fit *fit) {
    double sum = 0.0;
    for (size_t i = 0; i < fit->point_count; i++) {
        double off = fit->points[i].residual / SCALE;
        double weight = fit->points[i].weight;
        if (counts(fit, i))
            sum += weight * weight * 2.0 * (sqrt(1.0 + off * off) - 1.0);
    }
    for (size_t c = 0; c < runs_coefficient_count(); c++)
        sum += prior_of(fit, c) * prior_of(fit, c);
    return sum;
}

/* ---- derivatives ----------------------------------------------------------------------------- */

static enum rlhfsim_status differentiate(struct runs_fit *fit) {
    enum rlhfsim_status status = RLHFSIM_OK;
    size_t count = runs_coefficient_count();
    for (size_t c = 0; c < count && status == RLHFSIM_OK; c++) {
        double value = fit->values[c];
        fit->values[c] = value * exp(DIFFERENCE);
        status = runs_fit_shifts(fit, c);
        fit->values[c] = value;
        for (size_t i = 0; i < fit->point_count; i++)
            fit->slopes[i * count + c] =
                (fit->points[i].shifted - fit->points[i].residual) / DIFFERENCE;
    }
    return status;
}

enum rlhfsim_status runs_fit_slopes(struct runs_fit *fit) {
    enum rlhfsim_status status = runs_fit_residuals(fit);
    return status == RLHFSIM_OK ? differentiate(fit) : status;
}

/* ---- a step ---------------------------------------------------------------------------------- */

struct normal {
    gsl_matrix *matrix;
    gsl_vector *right, *step;
};

static bool normal_make(struct normal *normal) {
    size_t count = runs_coefficient_count();
    normal->matrix = gsl_matrix_alloc(count, count);
    normal->right = gsl_vector_alloc(count);
    normal->step = gsl_vector_alloc(count);
    return normal->matrix != NULL && normal->right != NULL && normal->step != NULL;
}

static void normal_free(struct normal *normal) {
    gsl_matrix_free(normal->matrix);
    gsl_vector_free(normal->right);
    gsl_vector_free(normal->step);
}

static void add_point(const struct runs_fit *fit, size_t point, struct normal *normal) {
    size_t count = runs_coefficient_count();
    const double *slopes = fit->slopes + point * count;
    double off = fit->points[point].residual / SCALE, w = fit->points[point].weight;
    double weight = w * w / sqrt(1.0 + off * off) / (SCALE * SCALE);
    for (size_t a = 0; a < count; a++) {
        *gsl_vector_ptr(normal->right, a) -= weight * slopes[a] * fit->points[point].residual;
        for (size_t b = 0; b < count; b++)
            *gsl_matrix_ptr(normal->matrix, a, b) += weight * slopes[a] * slopes[b];
    }
}

/* Solves for the step; false where the matrix is not positive. */
static bool find_step(const struct runs_fit *fit, double damping, struct normal *normal) {
    size_t count = runs_coefficient_count();
    gsl_matrix_set_zero(normal->matrix);
    gsl_vector_set_zero(normal->right);
    for (size_t i = 0; i < fit->point_count; i++)
        if (counts(fit, i))
            add_point(fit, i, normal);
    for (size_t c = 0; c < count; c++) {
        *gsl_matrix_ptr(normal->matrix, c, c) *= 1.0 + damping;
        *gsl_matrix_ptr(normal->matrix, c, c) += PRIOR * PRIOR / (SCALE * SCALE);
        *gsl_vector_ptr(normal->right, c) -= PRIOR / SCALE * prior_of(fit, c);
    }
    gsl_error_handler_t *handler = gsl_set_error_handler_off();
    bool good =
        gsl_linalg_cholesky_decomp1(normal->matrix) == GSL_SUCCESS &&
        gsl_linalg_cholesky_solve(normal->matrix, normal->right, normal->step) == GSL_SUCCESS;
    (void)gsl_set_error_handler(handler);
    return good;
}

/* Moves the values; the largest move of a logarithm. */
static double take_step(struct runs_fit *fit, const struct normal *normal, double *moved) {
    double most = 0.0;
    for (size_t c = 0; c < runs_coefficient_count(); c++) {
        double high = runs_coefficient_at(c)->high, low = 1e-4 * high;
        double step = fmin(fmax(gsl_vector_get(normal->step, c), -STEP_LIMIT), STEP_LIMIT);
        double value = fmin(fmax(fit->values[c] * exp(step), low), high);
        moved[c] = log(value / fit->values[c]);
        most = fmax(most, fabs(moved[c]));
        fit->values[c] = value;
    }
    return most;
}

/* ---- the fit to all -------------------------------------------------------------------------- */

/* One step, damped more until it helps; *most is how far it went, 0 where none does. */
static enum rlhfsim_status improve(struct runs_fit *fit, struct normal *normal, double *damping,
                                   double *most) {
    double before[RUNS_COEFFICIENTS], moved[RUNS_COEFFICIENTS], was = objective(fit);
    memcpy(before, fit->values, sizeof before);
    for (int attempt = 0; attempt < 4; attempt++, *damping *= 8.0) {
        *most = find_step(fit, *damping, normal) ? take_step(fit, normal, moved) : 0.0;
        enum rlhfsim_status status = runs_fit_residuals(fit);
        if (status != RLHFSIM_OK)
            return status;
        if (objective(fit) < was) {
            *damping /= 4.0;
            return RLHFSIM_OK;
        }
        memcpy(fit->values, before, sizeof before);
    }
    *most = 0.0;
    return runs_fit_residuals(fit);
}

enum rlhfsim_status runs_fit_solve(struct runs_fit *fit, int steps) {
    struct normal normal;
    double damping = 0.01, most = 1.0;
    enum rlhfsim_status status = normal_make(&normal) ? runs_fit_residuals(fit) : RLHFSIM_NO_MEMORY;
    for (int step = 0; step < steps && most > STILL && status == RLHFSIM_OK; step++) {
        status = differentiate(fit);
        if (status == RLHFSIM_OK)
            status = improve(fit, &normal, &damping, &most);
    }
    normal_free(&normal);
    return status;
}

/* ---- the fit to all but one ------------------------------------------------------------------ */

#define REFIT_STEPS 30

/* Residuals move as the derivatives say. */
static void extrapolate(struct runs_fit *fit, const double *moved) {
    size_t count = runs_coefficient_count();
    for (size_t i = 0; i < fit->point_count; i++)
        for (size_t c = 0; c < count; c++)
            fit->points[i].residual += fit->slopes[i * count + c] * moved[c];
}

enum rlhfsim_status runs_fit_leave_out(struct runs_fit *fit, const char *source) {
    struct normal normal;
    double moved[RUNS_COEFFICIENTS], most = 1.0;
    enum rlhfsim_status status = normal_make(&normal) ? runs_fit_residuals(fit) : RLHFSIM_NO_MEMORY;
    fit->left_out = source;
    for (int step = 0; step < REFIT_STEPS && most > STILL && status == RLHFSIM_OK; step++) {
        most = find_step(fit, 0.1, &normal) ? take_step(fit, &normal, moved) : 0.0;
        if (most > 0.0)
            extrapolate(fit, moved);
    }
    fit->left_out = NULL;
    if (status == RLHFSIM_OK)
        status = runs_fit_residuals(fit);
    normal_free(&normal);
    return status;
}
