/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/calibration/training_fit.h"

#include "models/validation/training_forecast.h"
#include "sim/contract.h"

#include <gsl/gsl_linalg.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SPREAD 0.04
#define PRIOR_WIDTH 1.5
#define DIFFERENCE 1e-3  /* of a logarithm */
#define LARGEST_STEP 0.5 /* of a logarithm */
#define FLAT 1e-6        /* a relative gain of the sum below which the fit ends */
#define FIRST_DAMPING 1e-3
#define LARGEST_DAMPING 1e6

/* Room of one fit; `free` coefficients in all. */
struct workspace {
    size_t rows, free;
    size_t *index;     /* of each free one among the coefficients */
    double *x, *tried; /* logarithms */
    double *residuals; /* of the rows at x */
    double *quick;     /* logarithms of the rows' times at x, in closed form */
    double *slopes;    /* rows x free */
    gsl_matrix *normal, *damped;
    gsl_vector *gradient, *step;
};

static void workspace_free(struct workspace *w) {
    free(w->index);
    free(w->x);
    free(w->tried);
    free(w->residuals);
    free(w->quick);
    free(w->slopes);
    if (w->normal != NULL)
        gsl_matrix_free(w->normal);
    if (w->damped != NULL)
        gsl_matrix_free(w->damped);
    if (w->gradient != NULL)
        gsl_vector_free(w->gradient);
    if (w->step != NULL)
        gsl_vector_free(w->step);
}

static size_t count_free(const struct training_fit *fit) {
    size_t count = 0;
    for (size_t i = 0; i < fit->coefficient_count; i++)
        count += fit->coefficients[i].fitted ? 1 : 0;
    return count;
}

/* GSL's allocators call its handler where they fail; ours are asked first, so that it is not. */
static bool workspace_make(struct workspace *w, const struct training_fit *fit) {
    size_t free_count = count_free(fit), rows = fit->row_count;
    *w = (struct workspace){.rows = rows, .free = free_count};
    w->index = calloc(free_count + 1, sizeof *w->index);
    w->x = calloc(free_count + 1, sizeof *w->x);
    w->tried = calloc(free_count + 1, sizeof *w->tried);
    w->residuals = calloc(rows + 1, sizeof *w->residuals);
    w->quick = calloc(rows + 1, sizeof *w->quick);
    w->slopes = calloc(rows * free_count + 1, sizeof *w->slopes);
    if (w->index == NULL || w->x == NULL || w->tried == NULL || w->residuals == NULL ||
        w->quick == NULL || w->slopes == NULL)
        return false;
    if (free_count == 0)
        return true;
    w->normal = gsl_matrix_calloc(free_count, free_count);
    w->damped = gsl_matrix_calloc(free_count, free_count);
    w->gradient = gsl_vector_calloc(free_count);
    w->step = gsl_vector_calloc(free_count);
    return w->normal != NULL && w->damped != NULL && w->gradient != NULL && w->step != NULL;
}

/* ---- residuals ------------------------------------------------------------------------------- */

/* The row with the present coefficients. It points to itself and does not move. */
static void set_row(const struct training_fit *fit, const struct training_fit_row *row,
                    struct training_row *changed) {
    *changed = *row->row;
    changed->plan.cluster = &changed->cluster;
    changed->plan.architecture = &changed->architecture;
    training_coefficients_apply(fit->coefficients, fit->coefficient_count, &changed->scope,
                                &changed->plan.software);
}

static double residual_of(const struct training_fit *fit, const struct training_fit_row *row) {
    struct training_row changed;
    set_row(fit, row, &changed);
    return log(training_forecast_s(&changed) / changed.measured_s);
}

static double quick_log(const struct training_fit *fit, const struct training_fit_row *row) {
    struct training_row changed;
    set_row(fit, row, &changed);
    return log(training_forecast_quick_s(&changed));
}

static bool counts(const struct training_fit *fit, size_t row) {
    return fit->rows[row].group != fit->left_out;
}

void training_fit_residuals(struct training_fit *fit) {
    for (size_t i = 0; i < fit->row_count; i++)
        fit->rows[i].residual = residual_of(fit, &fit->rows[i]);
}

size_t training_fit_speaks(const struct training_fit *fit, size_t coefficient) {
    size_t count = 0;
    for (size_t i = 0; i < fit->row_count; i++)
        if (counts(fit, i) &&
            training_scope_fits(fit->coefficients[coefficient].scope, &fit->rows[i].row->scope))
            count++;
    return count;
}

static void put_values(struct training_fit *fit, const struct workspace *w, const double *x) {
    for (size_t j = 0; j < w->free; j++)
        fit->coefficients[w->index[j]].value = exp(x[j]);
}

static double prior(const struct training_fit *fit, const struct workspace *w, const double *x,
                    size_t j) {
    return (x[j] - log(fit->coefficients[w->index[j]].start)) / PRIOR_WIDTH;
}

/* The sum that is made small; residuals at `x` into `residuals`. */
static double sum_at(struct training_fit *fit, const struct workspace *w, const double *x,
                     double *residuals) {
    double sum = 0.0;
    put_values(fit, w, x);
    for (size_t i = 0; i < w->rows; i++) {
        if (!counts(fit, i))
            continue;
        residuals[i] = residual_of(fit, &fit->rows[i]);
        sum += log1p((residuals[i] / SPREAD) * (residuals[i] / SPREAD));
    }
    for (size_t j = 0; j < w->free; j++)
        sum += prior(fit, w, x, j) * prior(fit, w, x, j);
    return sum;
}

/* ---- one step -------------------------------------------------------------------------------- */

/* By the closed form of a step: a pipeline of events changes with a coefficient nearly as that
 * does, and the sum, which decides on every step, is taken of the events. */
static void find_slopes(struct training_fit *fit, struct workspace *w) {
    put_values(fit, w, w->x);
    for (size_t i = 0; i < w->rows; i++)
        w->quick[i] = counts(fit, i) ? quick_log(fit, &fit->rows[i]) : 0.0;
    for (size_t j = 0; j < w->free; j++) {
        struct training_coefficient_row *moved = &fit->coefficients[w->index[j]];
        moved->value = exp(w->x[j] + DIFFERENCE);
        for (size_t i = 0; i < w->rows; i++) {
            double *slope = &w->slopes[i * w->free + j];
            *slope = 0.0;
            if (counts(fit, i) && training_scope_fits(moved->scope, &fit->rows[i].row->scope))
                *slope = (quick_log(fit, &fit->rows[i]) - w->quick[i]) / DIFFERENCE;
        }
        moved->value = exp(w->x[j]);
    }
}

/* Normal equations of the weighted squares; rho'(u) / u = 2 / (1 + u^2). */
static void find_normal(const struct training_fit *fit, struct workspace *w) {
    gsl_matrix_set_zero(w->normal);
    gsl_vector_set_zero(w->gradient);
    for (size_t i = 0; i < w->rows; i++) {
        double u = w->residuals[i] / SPREAD, weight = 1.0 / (1.0 + u * u) / (SPREAD * SPREAD);
        const double *slopes = &w->slopes[i * w->free];
        for (size_t j = 0; counts(fit, i) && j < w->free; j++) {
            if (slopes[j] == 0.0)
                continue;
            *gsl_vector_ptr(w->gradient, j) += weight * slopes[j] * w->residuals[i];
            for (size_t k = 0; k < w->free; k++)
                *gsl_matrix_ptr(w->normal, j, k) += weight * slopes[j] * slopes[k];
        }
    }
    for (size_t j = 0; j < w->free; j++) {
        *gsl_vector_ptr(w->gradient, j) += prior(fit, w, w->x, j) / PRIOR_WIDTH;
        *gsl_matrix_ptr(w->normal, j, j) += 1.0 / (PRIOR_WIDTH * PRIOR_WIDTH);
    }
}

/* The damped step from x into `tried`. The matrix is a sum of squares and a positive diagonal, so
 * that Cholesky's method does not fail. */
static void find_step(struct workspace *w, double damping) {
    gsl_matrix_memcpy(w->damped, w->normal);
    for (size_t j = 0; j < w->free; j++)
        *gsl_matrix_ptr(w->damped, j, j) *= 1.0 + damping;
    (void)gsl_linalg_cholesky_decomp1(w->damped);
    (void)gsl_linalg_cholesky_solve(w->damped, w->gradient, w->step);
    for (size_t j = 0; j < w->free; j++) {
        double step = -gsl_vector_get(w->step, j);
        w->tried[j] = w->x[j] + fmax(-LARGEST_STEP, fmin(LARGEST_STEP, step));
    }
}

/* Makes the sum smaller once, if it can be. Returns by how much. */
static double improve(struct training_fit *fit, struct workspace *w, double *sum, double *damping,
                      double *room) {
    find_slopes(fit, w);
    find_normal(fit, w);
    for (; *damping < LARGEST_DAMPING; *damping *= 10.0) {
        find_step(w, *damping);
        double tried = sum_at(fit, w, w->tried, room);
        if (!(tried < *sum))
            continue;
        double gain = *sum - tried;
        memcpy(w->x, w->tried, w->free * sizeof *w->x);
        memcpy(w->residuals, room, w->rows * sizeof *room);
        *sum = tried;
        *damping *= 0.1;
        return gain;
    }
    return 0.0;
}

enum rlhfsim_status training_fit_run(struct training_fit *fit, bool restart) {
    struct workspace w;
    double *room = calloc(fit->row_count + 1, sizeof *room);
    bool made = workspace_make(&w, fit) && room != NULL;
    for (size_t i = 0, j = 0; made && i < fit->coefficient_count; i++) {
        if (!fit->coefficients[i].fitted)
            continue;
        w.index[j] = i;
        w.x[j++] = log(restart ? fit->coefficients[i].start : fit->coefficients[i].value);
    }
    double damping = FIRST_DAMPING;
    double sum = made ? sum_at(fit, &w, w.x, w.residuals) : 0.0;
    for (int step = 0; made && w.free > 0 && step < fit->steps; step++)
        if (improve(fit, &w, &sum, &damping, room) <= FLAT * fabs(sum))
            break;
    if (made) {
        put_values(fit, &w, w.x);
        training_fit_residuals(fit);
    }
    workspace_free(&w);
    free(room);
    return made ? RLHFSIM_OK : RLHFSIM_NO_MEMORY;
}
