/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_GENERATION_LENGTH_TYPE_H
#define MODELS_GENERATION_LENGTH_TYPE_H

/* What a law of lengths is made of: one const table a law, each in a file of its own. All functions
 * are of Y, the law of scale 1, and take a law of positive width (of tables: with bins). */

#include "models/generation/lengths.h"

struct generation_length_type {
    enum generation_length_law law;
    const char *name;         /* in scenarios */
    const char *title;        /* in messages */
    double narrowest, widest; /* widths that are looked at; equal where there are none */
    /* The length of probability u, or of the normal score z: one of them may be NULL. */
    double (*quantile)(const struct generation_lengths *law, double u);
    double (*score)(const struct generation_lengths *law, double z);
    /* E min(Y, x)^order, order 1 or 2 (tables: 1); x = HUGE_VAL: no cut. */
    double (*moment)(const struct generation_lengths *law, double x, int order);
    double (*above)(const struct generation_lengths *law, double x);
    double (*longest)(const struct generation_lengths *law);   /* NULL: unbounded */
    double *(*tabulate)(const struct generation_lengths *law); /* NULL: no need */
};

extern const struct generation_length_type generation_length_fixed;
extern const struct generation_length_type generation_length_lognormal;
extern const struct generation_length_type generation_length_gamma;
extern const struct generation_length_type generation_length_weibull;
extern const struct generation_length_type generation_length_histogram;
extern const struct generation_length_type generation_length_trace;

/* Y at the probability u. */
double generation_length_quantile(const struct generation_lengths *law, double u);

/* E min(X, limit)^order without cap_share; at scale and width, limit 0: none. */
double generation_length_moment(const struct generation_lengths *law, double limit, int order);

/* The scale at which the mean of min(X, limit), without cap_share, is `mean`; NAN where the numbers
 * have none (mean at or too near the limit). limit 0: none. */
double generation_length_scale(const struct generation_lengths *law, double limit, double mean);

/* The regularised incomplete gamma functions P(k, x) and Q(k, x) = 1 - P by their logarithms, for k
 * from 1e-3 to 1e6 and x >= 0. */
double generation_log_gamma_p(double k, double x);
double generation_log_gamma_q(double k, double x);

#endif
