/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Y = G w^2 with G gamma distributed of shape k = 1/w^2: mean 1, standard deviation w.
 *
 *     E min(Y, x) = P(k + 1, k x) + x Q(k, k x),
 *     E min(Y, x)^2 = (1 + w^2) P(k + 2, k x) + x^2 Q(k, k x).
 *
 * The law is inverted over the normal score z: t = ln G solves ln P(k, e^t) = ln Phi(z), far above
 * the median ln Q(k, e^t) = ln Phi(-z). Both sides are concave in t, so that Newton's method comes
 * in from one side, whatever it does first, and needs no bracket: from the left where P rises;
 * where Q falls from the right, of which a start is known, since
 * Q(k, k + sqrt(2 k l) + l) <= e^-l (Boucheron, Lugosi, Massart: Concentration Inequalities, 2.4).
 * A length by this takes microseconds, a hundred times those of the other laws; the table has t and
 * dt/dz = phi(z) / (g(e^t) e^t) every 1/32 of z, and cubic Hermite pieces between them are right to
 * 1e-6 of the length or better (test_length_laws.c).
 */
#include "models/generation/length_type.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_sf_gamma.h>
#include <math.h>
#include <stdlib.h>

/* No uniform variate lies beyond 8.3 deviations. */
#define FARTHEST 8.5
#define NODES_PER_UNIT 32
#define NODES 545 /* 2 * FARTHEST * NODES_PER_UNIT + 1 */

/* Shorter lengths are one token at any scale; this keeps e^t from vanishing. */
#define LEAST_LOG (-650.0)

static double shape(const struct generation_lengths *law) {
    return 1.0 / (law->width * law->width);
}

/* ln of the density of t = ln G. */
static double log_density(double k, double t) {
    return k * t - exp(t) - gsl_sf_lngamma(k);
}

/* From here on the upper tail is solved for: 1 - Phi(3) = 0.0013 still has 13 digits. */
#define UPPER_TAIL 3.0

/* The cube root of G is nearly normal (Wilson and Hilferty 1931); far below, P is a power of G. */
static double first_guess(double k, double z) {
    double root = 1.0 - 1.0 / (9.0 * k) + z / (3.0 * sqrt(k));
    double tail = -log(gsl_cdf_ugaussian_Q(z));
    if (z > UPPER_TAIL)
        return log(k + sqrt(2.0 * k * tail) + tail);
    if (root > 0.1)
        return log(k) + 3.0 * log(root);
    return (log(gsl_cdf_ugaussian_P(z)) + gsl_sf_lngamma(k + 1.0)) / k;
}

static double solve(double k, double z) {
    bool upper = z > UPPER_TAIL;
    double target = log(upper ? gsl_cdf_ugaussian_Q(z) : gsl_cdf_ugaussian_P(z));
    double t = fmax(first_guess(k, z), LEAST_LOG), last_step = HUGE_VAL;
    for (int i = 0; i < 200; i++) {
        double x = exp(t);
        double side = upper ? generation_log_gamma_q(k, x) : generation_log_gamma_p(k, x);
        double slope = exp(log_density(k, t) - side);
        double step = (target - side) / (upper ? -slope : slope);
        double next = fmin(fmax(t + step, LEAST_LOG), 20.0);
        /* is it where rounding moves it about, after steps that were squares of each other? */
        if (next == t || (fabs(step) < 1e-8 && fabs(step) >= 0.1 * last_step))
            return next;
        last_step = fabs(step);
        t = next;
    }
    return t;
}

static double interpolate(const double *nodes, double z) {
    double place = (z + FARTHEST) * NODES_PER_UNIT;
    int i = (int)place < NODES - 2 ? (int)place : NODES - 2;
    const double *a = nodes + 2 * i, *b = a + 2;
    double s = place - i, r = 1.0 - s;
    double slopes = s * r * (r * a[1] - s * b[1]) / NODES_PER_UNIT;
    return r * r * (1.0 + 2.0 * s) * a[0] + s * s * (1.0 + 2.0 * r) * b[0] + slopes;
}

static double score(const struct generation_lengths *law, double z) {
    double k = shape(law);
    z = fmin(fmax(z, -FARTHEST), FARTHEST);
    double t = law->quantiles == NULL ? solve(k, z) : interpolate(law->quantiles, z);
    return exp(t) / k;
}

static double *tabulate(const struct generation_lengths *law) {
    double k = shape(law);
    double *nodes = malloc(2 * sizeof(double[NODES]));
    for (int i = 0; nodes != NULL && i < NODES; i++) {
        double z = (double)i / NODES_PER_UNIT - FARTHEST;
        double t = solve(k, z);
        nodes[2 * i] = t;
        nodes[2 * i + 1] = t > LEAST_LOG ? gsl_ran_ugaussian_pdf(z) / exp(log_density(k, t)) : 0.0;
    }
    return nodes;
}

static double moment(const struct generation_lengths *law, double x, int order) {
    double k = shape(law);
    double uncut = order == 1 ? 1.0 : 1.0 + law->width * law->width;
    if (isinf(x))
        return uncut;
    return uncut * exp(generation_log_gamma_p(k + order, k * x)) +
           exp(order * log(x) + generation_log_gamma_q(k, k * x));
}

static double above(const struct generation_lengths *law, double x) {
    double k = shape(law);
    return exp(generation_log_gamma_q(k, k * x));
}

const struct generation_length_type generation_length_gamma = {
    .law = GENERATION_LENGTH_GAMMA,
    .name = "gamma",
    .title = "gamma",
    .narrowest = 0.01,
    .widest = 16.0,
    .score = score,
    .moment = moment,
    .above = above,
    .tabulate = tabulate,
};
