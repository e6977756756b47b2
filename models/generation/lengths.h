/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_GENERATION_LENGTHS_H
#define MODELS_GENERATION_LENGTHS_H

/*
 * Lengths of prompts and responses, in tokens, one random number each by inversion of the law.
 *
 * `fixed`: every length is the mean. `lognormal`: ln X is normal; given by mean and p99. The given
 * moments are those of what is seen, min(X, limit), unless `uncut` says that they are of the law
 * before the cut. Of two logarithmic widths that fit a mean and a p99 the smaller is taken; a p99
 * that no width can reach is an error with the feasible range.
 *
 * Lengths are whole tokens: X is rounded to the nearest, and what is below 1 becomes 1. Rounding
 * leaves the mean as it is while the law is above a few tokens (mean 20, p99 60: within 0.01 %); a
 * wide law with much of its mass near 1 comes out higher (mean 40, p99 1000: by 0.5 %).
 */

#include <rlhfsim/diagnostics.h>

#include <stdbool.h>
#include <stdint.h>

enum generation_length_law { GENERATION_LENGTH_FIXED, GENERATION_LENGTH_LOGNORMAL };

struct generation_length_moments {
    enum generation_length_law law;
    double mean;  /* tokens, above 0 */
    double p99;   /* tokens; not used by `fixed` */
    double limit; /* cut at this length; 0 where there is no limit */
    bool uncut;   /* mean and p99 are of the law before the cut */
};

struct generation_lengths {
    enum generation_length_law law;
    double mu, sigma; /* of ln X; fixed: mu = ln(mean), sigma = 0 */
    double median;    /* exp(mu), kept so that a fixed length is exact */
    double limit;     /* 0: none */
};

/* Fits the law. False with a message in `message` (of `size` bytes, always terminated) that says
 * what was expected. The message names the moments ("mean", "p99"), not the user's key. */
bool generation_lengths_fit(const struct generation_length_moments *moments,
                            struct generation_lengths *lengths, char *message, size_t size);

/* The length at probability u in (0,1): whole tokens, at least 1, at most the limit; *cut tells
 * whether the limit cut it (may be NULL). */
uint32_t generation_length_at(const struct generation_lengths *lengths, double u, bool *cut);

/* Closed forms of the fitted law: expected length after the cut, and the share that is cut. */
double generation_lengths_mean(const struct generation_lengths *lengths);
double generation_lengths_share_cut(const struct generation_lengths *lengths);

#endif
