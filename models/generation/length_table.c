/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/generation/length_table.h"

#include "models/generation/length_type.h"
#include "sim/contract.h"

#include <math.h>
#include <stdlib.h>

/* ---- bins --------------------------------------------------------------------------------- */

static struct generation_length_bins *bins_allocate(size_t count) {
    struct generation_length_bins *bins = calloc(1, sizeof *bins);
    if (bins == NULL)
        return NULL;
    *bins = (struct generation_length_bins){.count = count,
                                            .low = calloc(count, sizeof(double)),
                                            .high = calloc(count, sizeof(double)),
                                            .probability = calloc(count, sizeof(double)),
                                            .tokens = calloc(count, sizeof(double))};
    if (bins->low && bins->high && bins->probability && bins->tokens)
        return bins;
    generation_length_bins_free(bins);
    return NULL;
}

struct generation_length_bins *generation_length_bins_new(const double *low, const double *high,
                                                          const double *weight, size_t count) {
    struct generation_length_bins *bins = bins_allocate(count);
    if (bins == NULL)
        return NULL;
    double total = 0.0, below = 0.0, tokens = 0.0;
    for (size_t i = 0; i < count; i++)
        total += weight[i];
    CONTRACT(total > 0.0, "a histogram has some weight");
    for (size_t i = 0; i < count; i++) {
        below += weight[i];
        tokens += weight[i] * 0.5 * (low[i] + high[i]);
        bins->low[i] = low[i];
        bins->high[i] = high[i];
        bins->probability[i] = below / total;
        bins->tokens[i] = tokens / total;
    }
    return bins;
}

static int by_value(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Each value of sorted ones once, with how often it comes. */
static size_t count_values(const uint32_t *sorted, size_t count, double *value, double *weight) {
    size_t kinds = 0;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || sorted[i] != sorted[i - 1])
            value[kinds++] = sorted[i];
        weight[kinds - 1] += 1.0;
    }
    return kinds;
}

struct generation_length_bins *generation_length_bins_of_values(const uint32_t *values,
                                                                size_t count) {
    struct generation_length_bins *bins = NULL;
    uint32_t *sorted = calloc(count, sizeof *sorted);
    double *value = calloc(count, sizeof *value), *weight = calloc(count, sizeof *weight);
    if (sorted == NULL || value == NULL || weight == NULL)
        goto done;
    for (size_t i = 0; i < count; i++)
        sorted[i] = values[i];
    qsort(sorted, count, sizeof *sorted, by_value);
    bins = generation_length_bins_new(value, value, weight,
                                      count_values(sorted, count, value, weight));
done:
    free(weight);
    free(value);
    free(sorted);
    return bins;
}

void generation_length_bins_free(struct generation_length_bins *bins) {
    if (bins == NULL)
        return;
    free(bins->low);
    free(bins->high);
    free(bins->probability);
    free(bins->tokens);
    free(bins);
}

/* ---- bins as a law ------------------------------------------------------------------------ */

/* The first of n rising numbers that is not below x; n - 1 where all are. */
static size_t first_not_below(const double *rising, size_t n, double x) {
    size_t low = 0, high = n - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rising[middle] < x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static double before(const double *sums, size_t i) {
    return i == 0 ? 0.0 : sums[i - 1];
}

static double quantile(const struct generation_lengths *law, double u) {
    const struct generation_length_bins *bins = law->bins;
    size_t i = first_not_below(bins->probability, bins->count, u);
    double below = before(bins->probability, i), share = bins->probability[i] - below;
    double place = share > 0.0 ? fmin(1.0, (u - below) / share) : 1.0;
    return bins->low[i] + place * (bins->high[i] - bins->low[i]);
}

/* The bin that x lies in or below, and the share of that bin below x. */
static size_t find(const struct generation_length_bins *bins, double x, double *share) {
    size_t i = first_not_below(bins->high, bins->count, x);
    double low = bins->low[i], high = bins->high[i];
    *share = x >= high ? 1.0 : x <= low ? 0.0 : (x - low) / (high - low);
    return i;
}

static double above(const struct generation_lengths *law, double x) {
    double share;
    size_t i = find(law->bins, x, &share);
    double below = before(law->bins->probability, i);
    return 1.0 - below - share * (law->bins->probability[i] - below);
}

static double moment(const struct generation_lengths *law, double x, int order) {
    const struct generation_length_bins *bins = law->bins;
    CONTRACT(order == 1, "a table has no second moment here");
    if (x >= bins->high[bins->count - 1])
        return bins->tokens[bins->count - 1];
    double share;
    size_t i = find(bins, x, &share);
    double probability = share * (bins->probability[i] - before(bins->probability, i));
    return before(bins->tokens, i) + probability * 0.5 * (bins->low[i] + x) + x * above(law, x);
}

static double longest(const struct generation_lengths *law) {
    const struct generation_length_bins *bins = law->bins;
    size_t last = bins->count - 1;
    while (last > 0 && bins->probability[last - 1] >= 1.0)
        last--;
    return bins->high[last];
}

const struct generation_length_type generation_length_histogram = {
    .law = GENERATION_LENGTH_HISTOGRAM,
    .name = "histogram",
    .title = "histogram",
    .quantile = quantile,
    .moment = moment,
    .above = above,
    .longest = longest,
};

const struct generation_length_type generation_length_trace = {
    .law = GENERATION_LENGTH_TRACE,
    .name = "trace",
    .title = "trace",
    .quantile = quantile,
    .moment = moment,
    .above = above,
    .longest = longest,
};

/* ---- traces ------------------------------------------------------------------------------- */

struct generation_trace *generation_trace_new(size_t rows, size_t groups) {
    struct generation_trace *trace = calloc(1, sizeof *trace);
    if (trace == NULL)
        return NULL;
    *trace = (struct generation_trace){.rows = rows,
                                       .prompt = calloc(rows, sizeof *trace->prompt),
                                       .response = calloc(rows, sizeof *trace->response),
                                       .groups = groups,
                                       .first = calloc(groups + 1, sizeof *trace->first)};
    if (trace->prompt && trace->response && trace->first)
        return trace;
    generation_trace_free(trace);
    return NULL;
}

void generation_trace_free(struct generation_trace *trace) {
    if (trace == NULL)
        return;
    free(trace->prompt);
    free(trace->response);
    free(trace->first);
    free(trace);
}

/* One of `count` by u. */
static size_t one_of(double u, size_t count) {
    size_t index = (size_t)(u * (double)count);
    return index < count ? index : count - 1;
}

size_t generation_trace_pick(const struct generation_trace *trace, double u) {
    return trace->groups > 0 ? trace->first[one_of(u, trace->groups)] : one_of(u, trace->rows);
}

/* The rows [first, first + count) that answer the prompt of `row`. */
static size_t answers(const struct generation_trace *trace, size_t row, size_t copies,
                      size_t *first) {
    if (trace->groups > 0) {
        size_t low = 0, high = trace->groups - 1;
        while (low < high) {
            size_t middle = low + (high - low + 1) / 2;
            if (trace->first[middle] <= row)
                low = middle;
            else
                high = middle - 1;
        }
        *first = trace->first[low];
        return trace->first[low + 1] - *first;
    }
    size_t count = copies < trace->rows ? copies : trace->rows;
    size_t most = trace->rows - count, before_it = (count - 1) / 2;
    *first = row < before_it ? 0 : row - before_it < most ? row - before_it : most;
    return count;
}

size_t generation_trace_answer(const struct generation_trace *trace, size_t row, double u,
                               size_t copy, size_t copies) {
    size_t first, count = answers(trace, row, copies, &first);
    return first + (one_of(u, count) + copy % count) % count;
}
