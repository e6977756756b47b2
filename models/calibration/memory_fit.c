/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/calibration/memory_fit.h"

#include "models/validation/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SPREAD 0.05 /* of an ordinary row */
#define WIDTH 1.0   /* of a coefficient around its start */
#define ROUNDS 3
#define SECTIONS 12
#define GOLDEN 0.6180339887498949
#define NORMAL_MEDIAN 1.4826 /* standard deviations of a normal law in its median of |x| */

/* ---- rows ------------------------------------------------------------------------------------ */

/* The row's plan has its coefficients from its own remarks first: they stay. */
static double residual(const struct memory_fit *fit, const struct memory_fit_row *measured) {
    struct training_row row = measured->row;
    struct memory_forecast forecast;
    row.plan.cluster = &row.cluster;
    row.plan.architecture = &row.architecture;
    memory_row_apply(fit->coefficients, fit->coefficient_count, &row);
    memory_row_forecast_with(fit->coefficients, fit->coefficient_count, &row, &forecast);
    return log(forecast.counted_bytes / measured->measured_bytes);
}

void memory_fit_residuals(struct memory_fit *fit) {
    for (size_t i = 0; i < fit->row_count; i++)
        fit->rows[i]->residual = residual(fit, fit->rows[i]);
}

/* ---- one coefficient ---------------------------------------------------------------------------
 */

static bool speaks(const struct training_memory_row *coefficient,
                   const struct memory_fit_row *measured) {
    return training_scope_fits(coefficient->scope, &measured->row.scope);
}

static bool counts(const struct memory_fit *fit, const struct memory_fit_row *measured) {
    return fit->left_out == NULL || strcmp(fit->left_out, measured->source) != 0;
}

/* Loss of the rows that a coefficient speaks of, with this value. */
static double loss(struct memory_fit *fit, size_t index, double value) {
    struct training_memory_row *coefficient = &fit->coefficients[index];
    double away = (value / coefficient->start - 1.0) / WIDTH, sum = away * away;
    coefficient->value = value;
    for (size_t i = 0; i < fit->row_count; i++) {
        if (!counts(fit, fit->rows[i]) || !speaks(coefficient, fit->rows[i]))
            continue;
        double u = residual(fit, fit->rows[i]) / SPREAD;
        sum += log1p(u * u);
    }
    return sum;
}

static void fit_one(struct memory_fit *fit, size_t index) {
    double start = fit->coefficients[index].start;
    double low = 0.5 * start, high = 2.0 * start;
    double inner = high - GOLDEN * (high - low), outer = low + GOLDEN * (high - low);
    double inner_loss = loss(fit, index, inner), outer_loss = loss(fit, index, outer);
    for (int i = 0; i < SECTIONS; i++) {
        if (inner_loss <= outer_loss) {
            high = outer;
            outer = inner;
            outer_loss = inner_loss;
            inner = high - GOLDEN * (high - low);
            inner_loss = loss(fit, index, inner);
        } else {
            low = inner;
            inner = outer;
            inner_loss = outer_loss;
            outer = low + GOLDEN * (high - low);
            outer_loss = loss(fit, index, outer);
        }
    }
    fit->coefficients[index].value = inner_loss <= outer_loss ? inner : outer;
}

/* ---- all ---------------------------------------------------------------------------------------
 */

static double spread_of(const struct memory_fit *fit) {
    double *sizes = calloc(fit->row_count + 1, sizeof *sizes);
    double spread = (double)NAN;
    if (sizes == NULL)
        return spread;
    size_t count = 0;
    for (size_t i = 0; i < fit->row_count; i++)
        if (counts(fit, fit->rows[i]))
            sizes[count++] = fabs(fit->rows[i]->residual);
    validation_sort(sizes, count);
    spread = NORMAL_MEDIAN * validation_quantile(sizes, count, 0.5);
    free(sizes);
    return spread;
}

void memory_fit_run(struct memory_fit *fit) {
    for (size_t i = 0; i < fit->coefficient_count; i++)
        if (fit->coefficients[i].fitted)
            fit->coefficients[i].value = fit->coefficients[i].start;
    for (int round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < fit->coefficient_count; i++)
            if (fit->coefficients[i].fitted && fit->coefficients[i].start > 0.0 &&
                fit->coefficients[i].coefficient != TRAINING_MEMORY_SPREAD)
                fit_one(fit, i);
    memory_fit_residuals(fit);
    double spread = spread_of(fit);
    for (size_t i = 0; i < fit->coefficient_count && isfinite(spread); i++)
        if (fit->coefficients[i].fitted &&
            fit->coefficients[i].coefficient == TRAINING_MEMORY_SPREAD)
            fit->coefficients[i].value = spread;
}
