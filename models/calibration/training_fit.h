/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_CALIBRATION_TRAINING_FIT_H
#define MODELS_CALIBRATION_TRAINING_FIT_H

/*
 * Fits the free coefficients of training.csv to measured steps. Each is positive and enters by its
 * logarithm x; a row's residual is r = ln(forecast / measured), and the fit makes
 *
 *     sum over rows of rho(r / s)  +  sum over coefficients of ((x - ln start) / w)^2
 *
 * small, rho the log of Cauchy's density (log(1 + u^2), Holland and Welsch, 1977), s = 0.04 the
 * spread of an ordinary row, w = 1.5: a coefficient that no row speaks of stays at its start.
 * Levenberg and Marquardt's method on the weighted squares, weights renewed in every step;
 * derivatives by differences, only for rows in the coefficient's scope. Deterministic.
 */

#include "models/training/coefficients.h"
#include "models/validation/training_rows.h"

struct training_fit_row {
    const struct training_row *row;
    int group;       /* of rows that are left out together */
    double residual; /* ln(forecast / measured), after training_fit_run or _residuals */
};

struct training_fit {
    struct training_fit_row *rows;
    size_t row_count;
    struct training_coefficient_row *coefficients; /* of the catalog; values are changed */
    size_t coefficient_count;
    int left_out; /* rows of this group do not count; -1: all do */
    int steps;    /* at most so many */
};

/* Coefficients from their starts (`restart`) or from the values they have. RLHFSIM_OK,
 * RLHFSIM_NO_MEMORY. */
enum rlhfsim_status training_fit_run(struct training_fit *fit, bool restart);

/* Residuals of all rows, left out or not, with the present values. */
void training_fit_residuals(struct training_fit *fit);

/* How many rows that count a coefficient speaks of. */
size_t training_fit_speaks(const struct training_fit *fit, size_t coefficient);

#endif
