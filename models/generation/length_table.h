/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_GENERATION_LENGTH_TABLE_H
#define MODELS_GENERATION_LENGTH_TABLE_H

/*
 * Laws that are tables: a histogram of bins, and a trace of requests that were seen.
 *
 * Bins are in rising order and do not overlap; within one all lengths are equally likely. A bin of
 * no width is a value that comes with a probability of its own: a trace, taken as a law, is its
 * values.
 *
 * The rows of a trace are drawn together, prompt and response, so that what they have to do with
 * each other is kept. A group is a prompt with its answers: the rows of one group id. Without group
 * ids each row is a prompt, and its further answers are those of the rows whose prompts are nearest
 * in length: of K samples the K rows around it by rank, each once. The answers of a group come in
 * its order from a random one on, and again from the first where there are fewer than samples.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct generation_length_bins {
    size_t count;
    double *low, *high;
    double *probability; /* of this bin and those below it; the last is 1 */
    double *tokens;      /* the part of the mean that this bin and those below it bring */
};

/* Takes arrays of `count` >= 1 bins and their weights (>= 0, not all 0), which are copied. NULL
 * without memory. */
struct generation_length_bins *generation_length_bins_new(const double *low, const double *high,
                                                          const double *weight, size_t count);
/* Values as bins without width; they are copied. */
struct generation_length_bins *generation_length_bins_of_values(const uint32_t *values,
                                                                size_t count);
void generation_length_bins_free(struct generation_length_bins *bins);

struct generation_trace {
    size_t rows;
    uint32_t *prompt, *response; /* by group; without groups by rising prompt */
    size_t groups;               /* 0: the trace has no group ids */
    size_t *first;               /* groups + 1 of them: row where each group begins */
};

/* NULL without memory; the arrays are to be filled. */
struct generation_trace *generation_trace_new(size_t rows, size_t groups);
void generation_trace_free(struct generation_trace *trace);

/* The row that the probability u in (0,1) stands for; with groups the first of a group, each group
 * being as likely as another. */
size_t generation_trace_pick(const struct generation_trace *trace, double u);

/* The row of answer `copy` of `copies` to the prompt of `row`, a row that was picked; u in (0,1)
 * tells where they begin. */
size_t generation_trace_answer(const struct generation_trace *trace, size_t row, double u,
                               size_t copy, size_t copies);

#endif
