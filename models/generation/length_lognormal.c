/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Y = e^(w z), z standard normal.
 *
 *     E Y^n = e^(n^2 w^2 / 2),   E min(Y, x)^n = E Y^n Phi(a - n w) + x^n Phi(-a),   a = ln x / w.
 *
 * Widths above 8 are not looked at: e^8 = 2981 is the ratio between one deviation and the median.
 */
#include "models/generation/length_type.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

static double score(const struct generation_lengths *law, double z) {
    return exp(law->width * z);
}

static double moment(const struct generation_lengths *law, double x, int order) {
    double n = order, w = law->width;
    double uncut = exp(0.5 * n * n * w * w);
    if (isinf(x))
        return uncut;
    double a = log(x) / w;
    return uncut * gsl_cdf_ugaussian_P(a - n * w) + pow(x, n) * gsl_cdf_ugaussian_Q(a);
}

static double above(const struct generation_lengths *law, double x) {
    return gsl_cdf_ugaussian_Q(log(x) / law->width);
}

const struct generation_length_type generation_length_lognormal = {
    .law = GENERATION_LENGTH_LOGNORMAL,
    .name = "lognormal",
    .title = "log-normal",
    .narrowest = 1e-9,
    .widest = 8.0,
    .score = score,
    .moment = moment,
    .above = above,
};
