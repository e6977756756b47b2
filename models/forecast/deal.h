/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_FORECAST_DEAL_H
#define MODELS_FORECAST_DEAL_H

/*
 * Which samples of a mini-batch each data-parallel rank gets: in their order, or so that all ranks
 * have about as many tokens. Either way a rank gets as many samples as any other, the first ones
 * one more where they do not divide.
 *
 * Balanced, the samples are dealt longest first, each to the rank with the fewest tokens that has
 * room (Graham's rule of the longest processing time, 1969, with equal counts; verl's balance_batch
 * does the same by differencing). Left out: that attention is quadratic in a sequence's length.
 */

#include "models/forecast/plan.h"

/* Samples of rank `rank` among `count` over `ranks`. */
size_t forecast_share(size_t count, size_t ranks, size_t rank);

struct forecast_deal {
    size_t samples, ranks;
    const double *tokens; /* of each sample */
    double *rank_tokens;  /* scratch, one a rank */
    size_t *rank_counts;  /* scratch, one a rank */
    uint32_t *sorted;     /* scratch, one a sample */
};

/* Writes to `dealt` the samples of the first rank, then of the second and so on, each rank's in
 * the order in which it got them. */
void forecast_deal_balanced(const struct forecast_deal *deal, uint32_t *dealt);

#endif
