/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Iteratively reweighted least squares: the weight 1 / sqrt(1 + (r / scale)^2) of a point is what
 * makes the gradient of the weighted squares that of the soft-L1 loss (Holland and Welsch, 1977).
 * Each round is a Levenberg-Marquardt search (GSL, trust region) that begins where the last one
 * ended, until nothing moves. Nothing is drawn, so that the same points give the same
 * coefficients.
 */

#include "models/calibration/fit.h"

#include "sim/contract.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <math.h>

#define STEPS 20
#define FAR 25.0
#define STILL 1e-4
#define DIFFERENCE 1e-4 /* of a logarithm: the forecasts are smooth far below it */

/* Between the number that is searched, without bounds, and the coefficient. */
static double value_of(const struct fit_coefficient *c, double searched) {
    double x = fmin(fmax(searched, -FAR), FAR); /* a long step must not leave the numbers */
    return isinf(c->high) ? exp(x) : c->low + (c->high - c->low) / (1.0 + exp(-x));
}

static double free_of(const struct fit_coefficient *c, double value) {
    CONTRACT(value > c->low && value < c->high, "a start outside the bounds");
    return isinf(c->high) ? log(value) : log((value - c->low) / (c->high - value));
}

static void set_values(const struct fit_problem *problem, const gsl_vector *x, double *values) {
    for (size_t i = 0; i < problem->coefficients; i++)
        values[i] = value_of(&problem->coefficient[i], gsl_vector_get(x, i));
    problem->set(problem->context, values);
}

/* How far a coefficient is from its start, as a residual. */
static double held_back(const struct fit_problem *problem, const gsl_vector *x, size_t index) {
    const struct fit_coefficient *c = &problem->coefficient[index];
    return problem->prior * (gsl_vector_get(x, index) - free_of(c, c->start));
}

static int residuals(const gsl_vector *x, void *data, gsl_vector *result) {
    const struct fit_problem *problem = data;
    double values[FIT_COEFFICIENT_LIMIT];
    set_values(problem, x, values);
    for (size_t i = 0; i < problem->points; i++)
        gsl_vector_set(result, i, problem->residual(problem->context, i));
    for (size_t i = 0; i < problem->coefficients; i++)
        gsl_vector_set(result, problem->points + i, held_back(problem, x, i));
    return GSL_SUCCESS;
}

static bool depends(const struct fit_problem *problem, size_t point, size_t coefficient) {
    return problem->depends == NULL || problem->depends(problem->context, point, coefficient);
}

/* Forward differences, of the points that depend. The first column holds the residuals meanwhile,
 * and is the last to be filled. */
static int derivatives(const gsl_vector *x, void *data, gsl_matrix *result) {
    const struct fit_problem *problem = data;
    double values[FIT_COEFFICIENT_LIMIT];
    gsl_matrix_set_zero(result);
    set_values(problem, x, values);
    for (size_t i = 0; i < problem->points; i++)
        gsl_matrix_set(result, i, 0, problem->residual(problem->context, i));
    for (size_t k = problem->coefficients; k-- > 0;) {
        double kept = values[k];
        values[k] = value_of(&problem->coefficient[k], gsl_vector_get(x, k) + DIFFERENCE);
        problem->set(problem->context, values);
        for (size_t i = 0; i < problem->points; i++) {
            double here = gsl_matrix_get(result, i, 0), change = 0.0;
            if (depends(problem, i, k))
                change = problem->residual(problem->context, i) - here;
            gsl_matrix_set(result, i, k, change / DIFFERENCE);
        }
        values[k] = kept;
        gsl_matrix_set(result, problem->points + k, k, problem->prior);
    }
    return GSL_SUCCESS;
}

/* Residuals of the points, then of the prior. */
static size_t rows_of(const struct fit_problem *problem) {
    return problem->points + problem->coefficients;
}

struct search {
    gsl_vector *x, *weights;
    gsl_multifit_nlinear_workspace *workspace;
};

static bool search_start(const struct fit_problem *problem, const double *values,
                         struct search *search) {
    gsl_multifit_nlinear_parameters parameters = gsl_multifit_nlinear_default_parameters();
    search->x = gsl_vector_alloc(problem->coefficients);
    search->weights = gsl_vector_alloc(rows_of(problem));
    search->workspace = gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &parameters,
                                                   rows_of(problem), problem->coefficients);
    if (search->x == NULL || search->weights == NULL || search->workspace == NULL)
        return false;
    for (size_t i = 0; i < problem->coefficients; i++)
        gsl_vector_set(search->x, i, free_of(&problem->coefficient[i], values[i]));
    return true;
}

static void search_release(struct search *search) {
    if (search->workspace != NULL)
        gsl_multifit_nlinear_free(search->workspace);
    gsl_vector_free(search->weights);
    gsl_vector_free(search->x);
}

static void weigh(const struct fit_problem *problem, const struct search *search) {
    double values[FIT_COEFFICIENT_LIMIT];
    set_values(problem, search->x, values);
    gsl_vector_set_all(search->weights, 1.0);
    for (size_t i = 0; i < problem->points; i++) {
        double off = problem->residual(problem->context, i) / problem->scale;
        gsl_vector_set(search->weights, i, 1.0 / sqrt(1.0 + off * off));
    }
}

/* Takes over where a round ended. False where that is where it began. */
static bool move(struct search *search) {
    const gsl_vector *found = gsl_multifit_nlinear_position(search->workspace);
    double most = 0.0;
    for (size_t i = 0; i < found->size; i++)
        most = fmax(most, fabs(gsl_vector_get(found, i) - gsl_vector_get(search->x, i)));
    gsl_vector_memcpy(search->x, found);
    return most > STILL;
}

bool fit_solve(const struct fit_problem *problem, int rounds, double *values) {
    struct search search = {0};
    gsl_multifit_nlinear_fdf function = {.f = residuals,
                                         .df = problem->depends == NULL ? NULL : derivatives,
                                         .n = rows_of(problem),
                                         .p = problem->coefficients,
                                         .params = (void *)problem};
    CONTRACT(problem->coefficients <= FIT_COEFFICIENT_LIMIT &&
                 problem->points >= problem->coefficients && problem->coefficients > 0,
             "a fit needs more points than coefficients");
    bool good = search_start(problem, values, &search), moved = true;
    for (int round = 0; good && moved && round < rounds; round++) {
        int why;
        weigh(problem, &search);
        (void)gsl_multifit_nlinear_winit(search.x, search.weights, &function, search.workspace);
        /* That no further progress is possible is an end like any other. */
        (void)gsl_multifit_nlinear_driver(STEPS, 1e-5, 1e-7, 0.0, NULL, NULL, &why,
                                          search.workspace);
        moved = move(&search);
    }
    if (good)
        set_values(problem, search.x, values);
    search_release(&search);
    return good;
}
