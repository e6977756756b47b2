/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_FORECAST_VERDICT_H
#define MODELS_FORECAST_VERDICT_H

/*
 * Whether a plan fits its memory, where it is fullest, who holds what there, and in words why it
 * does not fit. It fails closed: a plan that does not fit has no time and no price.
 */

#include "models/forecast/plan.h"
#include "models/results/summary.h"

#include <rlhfsim/forecast.h>

#define FORECAST_MEMORY_ROWS (FORECAST_OWNER_COUNT * FORECAST_CATEGORY_COUNT)

struct forecast_verdict {
    char reason[256]; /* why it does not fit; empty when it does */
    size_t row_count; /* holders on the fullest device at its peak, largest first */
    struct rlhfsim_memory_row rows[FORECAST_MEMORY_ROWS];
};

/* Probability that a peak forecast as `bytes` is at most `capacity`, the forecast's relative error
 * being normal with the deviation `spread`; and whether it is so near that no yes or no is certain
 * (within 5 %). */
double forecast_fit_probability(double bytes, double capacity, double spread);
bool forecast_fit_is_marginal(double bytes, double capacity);

/* 1 or 0, or within 5 % of the limit the probability that the plan fits. */
double forecast_verdict_probability(const struct forecast_plan *plan);

/* Fills summary->memory and the verdict. */
void forecast_verdict_make(const struct forecast_plan *plan, struct rlhfsim_summary *summary,
                           struct forecast_verdict *verdict);

#endif
