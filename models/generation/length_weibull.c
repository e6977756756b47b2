/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Y = e^w with e exponential of mean 1: a Weibull law of shape 1/w (w = 1 is the exponential law,
 * w below it is less, w above it more spread than that).
 *
 *     E Y^n = Gamma(1 + n w),
 *     E min(Y, x)^n = Gamma(1 + n w) P(1 + n w, t) + x^n e^-t,   t = x^(1/w),
 *
 * with the regularised incomplete gamma function P (substitute e = y^(1/w) in the integral of
 * y^n over (0, x)).
 */
#include "models/generation/length_type.h"

#include <gsl/gsl_sf_gamma.h>
#include <math.h>

static double quantile(const struct generation_lengths *law, double u) {
    return pow(-log1p(-u), law->width);
}

/* Which exponential variate is as long as x. */
static double exponential(const struct generation_lengths *law, double x) {
    return exp(log(x) / law->width);
}

static double moment(const struct generation_lengths *law, double x, int order) {
    double k = 1.0 + order * law->width;
    double log_uncut = gsl_sf_lngamma(k);
    if (isinf(x))
        return exp(log_uncut);
    double t = exponential(law, x);
    return exp(log_uncut + generation_log_gamma_p(k, t)) + exp(order * log(x) - t);
}

static double above(const struct generation_lengths *law, double x) {
    return exp(-exponential(law, x));
}

const struct generation_length_type generation_length_weibull = {
    .law = GENERATION_LENGTH_WEIBULL,
    .name = "weibull",
    .title = "Weibull",
    .narrowest = 1e-3,
    .widest = 8.0,
    .quantile = quantile,
    .moment = moment,
    .above = above,
};
