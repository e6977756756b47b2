/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_VALIDATION_STATISTICS_H
#define MODELS_VALIDATION_STATISTICS_H

/* Quantiles and rank correlation of errors. */

#include <stddef.h>
#include <stdint.h>

/* The type-7 quantile (Hyndman and Fan, 1996; the default of R and NumPy) of sorted values: linear
 * between the order statistics around place (n - 1) p, from 0. NAN without values. */
double validation_quantile(const double *sorted, size_t count, double p);

void validation_sort(double *values, size_t count);

/* A value that counts as `weight` (above 0) values. */
struct validation_weighted {
    double value, weight;
};

/* The same of sorted values with weights: value i stands at the middle of its weight, and places
 * are counted from the first middle to the last. Equal weights give the quantile above. */
double validation_weighted_quantile(const struct validation_weighted *sorted, size_t count,
                                    double p);

void validation_weighted_sort(struct validation_weighted *values, size_t count);

/* A measured and a forecast value. */
struct validation_pair {
    double measured, forecast;
};

/* Pairs of pairs, counted for Kendall's tau-b; counts of several groups may be added up, so that
 * only pairs within a group are compared. */
struct validation_ranks {
    int64_t pairs;         /* n (n - 1) / 2 */
    int64_t tied_measured; /* of them, with equal measured values */
    int64_t tied_forecast; /* with equal forecasts */
    int64_t tied_both;     /* with both */
    int64_t discordant;    /* ordered one way as measured, the other as forecast */
};

/* Counts the pairs of `count` values in O(n log n); reorders `pairs`, `scratch` has room for as
 * many. */
struct validation_ranks validation_count_ranks(struct validation_pair *pairs, size_t count,
                                               struct validation_pair *scratch);
void validation_add_ranks(struct validation_ranks *sum, const struct validation_ranks *ranks);

/* tau-b = (concordant - discordant) / sqrt((pairs - tied_measured) (pairs - tied_forecast)). NAN
 * where one side is tied throughout. */
double validation_tau(const struct validation_ranks *ranks);

#endif
