/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_CALIBRATION_MEMORY_FIT_H
#define MODELS_CALIBRATION_MEMORY_FIT_H

/*
 * Fits the free coefficients of memory.csv (column `fitted`) to measured peaks. With the residual
 * r = ln(forecast / measured) of each row, the fit makes
 *
 *     sum over rows of rho(r / s)  +  sum over coefficients of ((value / start - 1) / w)^2
 *
 * small, rho the log of Cauchy's density (log(1 + u^2), Holland and Welsch, 1977), s = 0.05 the
 * spread of an ordinary row, w = 1: a coefficient that no row speaks of stays at its start. One
 * coefficient after the other by golden section between a half and twice its start, a few rounds.
 * Deterministic.
 *
 * Coefficients of which tools count what (allocated, reserved, device) and those of the plan are
 * fitted together; the spread follows from what is left: 1.48 times the median of |r|.
 */

#include "models/validation/memory_rows.h"

struct memory_fit_row {
    const char *source;      /* project; rows of one are left out together */
    struct training_row row; /* read, without a reason to skip; its plan points into it */
    double measured_bytes;
    double residual; /* ln(forecast / measured), after memory_fit_run or _residuals */
};

struct memory_fit {
    struct memory_fit_row **rows;
    size_t row_count;
    struct training_memory_row *coefficients; /* of the catalog; values are changed */
    size_t coefficient_count;
    const char *left_out; /* rows of this project do not count; NULL: all do */
};

/* Fits from the starts. */
void memory_fit_run(struct memory_fit *fit);

/* Residuals of all rows with the present values. */
void memory_fit_residuals(struct memory_fit *fit);

#endif
