/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_FORECAST_TAIL_H
#define MODELS_FORECAST_TAIL_H

/*
 * How likely the worst batches of a run are. The verdict on memory is that of the largest
 * micro-batch that can occur; whether it occurs is a matter of the lengths.
 *
 * With N micro-batches in the run, each of m sequences, and P(x) the share of sequences of x tokens
 * and more (prompt and response together):
 *
 *     padded to the longest    1 - (1 - P(x))^(m N)         at least one sequence of x tokens
 *     packed, m samples        1 - (1 - Q)^N                Q: m sequences of m x tokens together,
 *                                                           as a normal law of their sum
 *     packed to a budget       1                            budgets are filled; one that a rank
 *                                                           cannot fill is packed, m: all it has
 *
 * Left out: lengths that are correlated within a prompt's samples.
 */

#include "models/forecast/plan.h"

/* Share of sequences of `tokens` and more. */
double forecast_length_tail(const struct forecast_plan *plan, double tokens);

/* Probability that a micro-batch as large as one of sequences of `tokens` occurs within the run. */
double forecast_batch_probability(const struct forecast_plan *plan, double tokens);

/* The longest sequence whose micro-batches fit every GPU and host; 0 where not even the shortest
 * do, or where a budget does not fit. */
int64_t forecast_fitting_tokens(const struct forecast_plan *plan);

#endif
