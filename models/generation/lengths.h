/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_GENERATION_LENGTHS_H
#define MODELS_GENERATION_LENGTHS_H

/*
 * Lengths of prompts and responses, in tokens, one random number each by inversion of the law.
 *
 * A law is X = scale * Y, where Y has one parameter, its width: `fixed` (Y = 1), `lognormal`
 * (Y = e^(width z), z normal), `gamma` (mean 1, standard deviation = width), `weibull`
 * (Y = e^width, e exponential). Its two parameters are fitted to the mean and one of p99, p90, the
 * coefficient of variation cv. These are moments of what is seen, min(X, limit), unless `uncut`
 * says that they are of the law before the cut; `uncut_cv` is always that of the law, beside a mean
 * of what is seen (published runs state a mean, and next to none how wide their law is). Of two
 * widths that fit a mean and a quantile the smaller is taken; moments that no width can reach are
 * an error with the feasible range.
 *
 * `histogram` and `trace` are tables of bins and of values (lengths_table.c) and have no moments to
 * be fitted.
 *
 * `cap_share` is a share of answers that do not end: they reach the limit, whatever the law of the
 * others. Their place is above the law's, so that one random number tells both.
 *
 * Lengths are whole tokens: X is rounded to the nearest, and what is below 1 becomes 1. Rounding
 * leaves the mean as it is while the law is above a few tokens (mean 20, p99 60: within 0.01 %); a
 * wide law with much of its mass near 1 comes out higher (mean 40, p99 1000: by 0.5 %).
 */

#include <rlhfsim/diagnostics.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum generation_length_law {
    GENERATION_LENGTH_FIXED,
    GENERATION_LENGTH_LOGNORMAL,
    GENERATION_LENGTH_GAMMA,
    GENERATION_LENGTH_WEIBULL,
    GENERATION_LENGTH_HISTOGRAM,
    GENERATION_LENGTH_TRACE,
    GENERATION_LENGTH_LAWS
};

struct generation_length_moments {
    enum generation_length_law law; /* no table */
    double mean;                    /* tokens, above 0 */
    /* One of these for a law with a width, the others 0; not used by `fixed`. */
    double p99, p90;  /* tokens */
    double cv;        /* standard deviation / mean */
    double uncut_cv;  /* that of the law before the cut and without cap_share */
    double limit;     /* cut at this length; 0 where there is no limit */
    bool uncut;       /* mean, p99, p90, cv are of the law before the cut, without cap_share */
    double cap_share; /* of the lengths, below 1: they reach the limit, which must be there */
};

struct generation_length_bins;
struct generation_length_type;

struct generation_lengths {
    const struct generation_length_type *type;
    double width;     /* of Y; 0: every length is the scale */
    double scale;     /* tokens; tables: a factor, 1 as read */
    double limit;     /* 0: none */
    double cap_share; /* see above */
    bool uncut;       /* a mean is that before the cut */
    /* Tables that are shared by copies: bins of histogram and trace; quantiles of gamma. */
    const struct generation_length_bins *bins;
    const double *quantiles;
};

/* "fixed", ... as scenarios write it. */
const char *generation_length_law_name(enum generation_length_law law);

/* Fits the law. False with a message in `message` (of `size` bytes, always terminated) that says
 * what was expected. It begins with the name of the moment that is to blame ("mean", "p99", "p90",
 * "cv", "uncut_cv", "cap_share"), not with the user's key. */
bool generation_lengths_fit(const struct generation_length_moments *moments,
                            struct generation_lengths *lengths, char *message, size_t size);

/* The law of a table of bins, which must outlive it: factor 1, no cap_share; never fails. */
struct generation_lengths generation_lengths_of_bins(enum generation_length_law law,
                                                     const struct generation_length_bins *bins,
                                                     double limit);

/* A table of quantiles for a law that is slow to invert (gamma; without it a length takes several
 * microseconds); others need none. False: no memory. Released by generation_lengths_release. */
bool generation_lengths_tabulate(struct generation_lengths *lengths);
void generation_lengths_release(struct generation_lengths *lengths);

/* The same law stretched so that its mean (as of generation_lengths_mean, or before the cut where
 * the law is `uncut`) is `mean`; shares the tables. False where the cut leaves no such mean: it
 * must be above what cap_share alone brings and below the limit. */
bool generation_lengths_stretch(const struct generation_lengths *lengths, double mean,
                                struct generation_lengths *stretched);

/* The length at probability u in (0,1), or at the normal score z of that probability: whole tokens,
 * at least 1, at most the limit; *cut tells whether the limit cut it (may be NULL). */
uint32_t generation_length_at(const struct generation_lengths *lengths, double u, bool *cut);
uint32_t generation_length_at_score(const struct generation_lengths *lengths, double z, bool *cut);

/* A length before rounding (of a trace, say) in whole tokens, cut at the limit. */
uint32_t generation_length_rounded(const struct generation_lengths *lengths, double length,
                                   bool *cut);

/* Closed forms of the law: expected length and standard deviation / mean after the cut, the share
 * that is cut, the probability of a length above x before rounding. No standard deviation of tables
 * (NAN). */
double generation_lengths_mean(const struct generation_lengths *lengths);
double generation_lengths_cv(const struct generation_lengths *lengths);
double generation_lengths_share_cut(const struct generation_lengths *lengths);
double generation_lengths_above(const struct generation_lengths *lengths, double x);

/* What a drift starts from: the mean that generation_lengths_stretch would leave as it is. */
double generation_lengths_stated_mean(const struct generation_lengths *lengths);

/* The longest length there can be; 0 where nothing bounds it. */
double generation_lengths_longest(const struct generation_lengths *lengths);

#endif
