/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The regularised incomplete gamma functions by their logarithms: GSL's own stop the program where
 * a value is below the smallest double, which a search for a parameter may well come across.
 *
 *     P(k, x) = x^k e^-x / Gamma(k + 1) (1 + x/(k+1) + x^2/((k+1)(k+2)) + ...)       x < k + 1
 *     Q(k, x) = x^k e^-x / Gamma(k) / (x + 1 - k - 1(1-k)/(x + 3 - k - 2(2-k)/(x + 5 - k - ...)))
 *
 * (Abramowitz and Stegun 6.5.29 and 6.5.31; the fraction by the forward rule of Lentz.) Either
 * takes some sqrt(k) terms near x = k, which is why k is at most 1e6.
 */
#include "models/generation/length_type.h"

#include <float.h>
#include <gsl/gsl_sf_gamma.h>
#include <math.h>

#define TERMS 100000
#define FAR 1e9 /* P is 1 there */

static double log_front(double k, double x) {
    return k * log(x) - x - gsl_sf_lngamma(k);
}

static double log_series(double k, double x) {
    double term = 1.0 / k, sum = term;
    for (int n = 1; n < TERMS && term > DBL_EPSILON * sum; n++) {
        term *= x / (k + n);
        sum += term;
    }
    return log_front(k, x) + log(sum);
}

static double log_fraction(double k, double x) {
    double b = x + 1.0 - k, c = 1.0 / DBL_MIN, d = 1.0 / b, h = d;
    for (int n = 1; n < TERMS; n++) {
        double a = -n * (n - k);
        b += 2.0;
        d = 1.0 / (a * d + b);
        c = b + a / c;
        double factor = c * d;
        h *= factor;
        if (fabs(factor - 1.0) <= DBL_EPSILON)
            break;
    }
    return log_front(k, x) + log(h);
}

/* ln(1 - e^v), v <= 0. */
static double log_complement(double v) {
    return v > -0.7 ? log(-expm1(v)) : log1p(-exp(v));
}

double generation_log_gamma_p(double k, double x) {
    if (x <= 0.0)
        return -HUGE_VAL;
    if (x > FAR)
        return 0.0;
    return x < k + 1.0 ? log_series(k, x) : log_complement(log_fraction(k, x));
}

double generation_log_gamma_q(double k, double x) {
    if (x <= 0.0)
        return 0.0;
    if (x > FAR)
        return log_front(k, x) - log(x);
    return x < k + 1.0 ? log_complement(log_series(k, x)) : log_fraction(k, x);
}
