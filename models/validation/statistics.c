/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Kendall's tau-b by sorting (Knight, "A computer method for calculating Kendall's tau with
 * ungrouped data", JASA 61, 1966): sorted by the measured value, then by the forecast, the
 * discordant pairs are the exchanges that a merge sort by the forecast makes.
 */

#include "models/validation/statistics.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

double validation_quantile(const double *sorted, size_t count, double p) {
    if (count == 0)
        return (double)NAN;
    double place = (double)(count - 1) * p;
    size_t below = (size_t)place;
    size_t above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (place - (double)below) * (sorted[above] - sorted[below]);
}

static int compare(double a, double b) {
    return (a > b) - (a < b);
}

static int compare_doubles(const void *a, const void *b) {
    return compare(*(const double *)a, *(const double *)b);
}

void validation_sort(double *values, size_t count) {
    if (count > 1)
        qsort(values, count, sizeof *values, compare_doubles);
}

/* ---- with weights -----------------------------------------------------------------------------
 */

static int compare_weighted(const void *a, const void *b) {
    return compare(((const struct validation_weighted *)a)->value,
                   ((const struct validation_weighted *)b)->value);
}

void validation_weighted_sort(struct validation_weighted *values, size_t count) {
    if (count > 1)
        qsort(values, count, sizeof *values, compare_weighted);
}

double validation_weighted_quantile(const struct validation_weighted *sorted, size_t count,
                                    double p) {
    double sum = 0.0, place = 0.0;
    if (count == 0)
        return (double)NAN;
    for (size_t i = 0; i < count; i++)
        sum += sorted[i].weight;
    double wanted = p * (sum - (sorted[0].weight + sorted[count - 1].weight) / 2.0);
    for (size_t i = 1; i < count; i++) {
        double width = (sorted[i - 1].weight + sorted[i].weight) / 2.0;
        if (place + width >= wanted)
            return sorted[i - 1].value +
                   (wanted - place) / width * (sorted[i].value - sorted[i - 1].value);
        place += width;
    }
    return sorted[count - 1].value;
}

/* ---- rank correlation ------------------------------------------------------------------------ */

static int compare_pairs(const void *a, const void *b) {
    const struct validation_pair *left = a, *right = b;
    int measured = compare(left->measured, right->measured);
    return measured != 0 ? measured : compare(left->forecast, right->forecast);
}

/* Sorts by the forecast and returns how many pairs change places. */
static int64_t merge_sort(struct validation_pair *pairs, size_t count,
                          struct validation_pair *scratch) {
    if (count < 2)
        return 0;
    size_t half = count / 2, left = 0, right = half, out = 0;
    int64_t exchanges =
        merge_sort(pairs, half, scratch) + merge_sort(pairs + half, count - half, scratch);
    while (left < half && right < count) {
        if (pairs[right].forecast < pairs[left].forecast) {
            exchanges += (int64_t)(half - left);
            scratch[out++] = pairs[right++];
        } else {
            scratch[out++] = pairs[left++];
        }
    }
    memcpy(scratch + out, pairs + left, (half - left) * sizeof *pairs);
    out += half - left;
    memcpy(pairs, scratch, out * sizeof *pairs); /* what is left on the right is in place */
    return exchanges;
}

enum side { MEASURED, FORECAST, BOTH };

static bool are_tied(const struct validation_pair *a, const struct validation_pair *b,
                     enum side side) {
    bool measured = compare(a->measured, b->measured) == 0;
    bool forecast = compare(a->forecast, b->forecast) == 0;
    return (side == FORECAST || measured) && (side == MEASURED || forecast);
}

/* Pairs of neighbours in order that are tied, run by run. */
static int64_t tied_pairs(const struct validation_pair *pairs, size_t count, enum side side) {
    int64_t tied = 0, run = 0;
    for (size_t i = 1; i < count; i++) {
        run = are_tied(&pairs[i - 1], &pairs[i], side) ? run + 1 : 0;
        tied += run;
    }
    return tied;
}

struct validation_ranks validation_count_ranks(struct validation_pair *pairs, size_t count,
                                               struct validation_pair *scratch) {
    struct validation_ranks ranks = {0};
    if (count < 2)
        return ranks;
    qsort(pairs, count, sizeof *pairs, compare_pairs);
    ranks.pairs = (int64_t)count * ((int64_t)count - 1) / 2;
    ranks.tied_measured = tied_pairs(pairs, count, MEASURED);
    ranks.tied_both = tied_pairs(pairs, count, BOTH);
    ranks.discordant = merge_sort(pairs, count, scratch);
    ranks.tied_forecast = tied_pairs(pairs, count, FORECAST);
    return ranks;
}

void validation_add_ranks(struct validation_ranks *sum, const struct validation_ranks *ranks) {
    sum->pairs += ranks->pairs;
    sum->tied_measured += ranks->tied_measured;
    sum->tied_forecast += ranks->tied_forecast;
    sum->tied_both += ranks->tied_both;
    sum->discordant += ranks->discordant;
}

double validation_tau(const struct validation_ranks *ranks) {
    double measured = (double)(ranks->pairs - ranks->tied_measured);
    double forecast = (double)(ranks->pairs - ranks->tied_forecast);
    int64_t untied = ranks->pairs - ranks->tied_measured - ranks->tied_forecast + ranks->tied_both;
    if (!(measured > 0.0 && forecast > 0.0))
        return (double)NAN;
    return (double)(untied - 2 * ranks->discordant) / sqrt(measured * forecast);
}
