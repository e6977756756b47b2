/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * A log-normal law from its mean and its 99th percentile p.
 *
 * Uncut, with z = 2.326 (the normal quantile of 0.99) and s the width of ln X:
 *
 *     ln p = mu + z s,   ln mean = mu + s^2/2   =>   s^2/2 - z s + ln(p/mean) = 0,
 *
 * so p/mean is at most exp(z^2/2) = 14.97, where s = z. Two widths fit a smaller ratio; the larger
 * has its mean made by a few giants and its median near nothing, and is not what lengths look like.
 *
 * Cut at L, with p < L: the quantile does not notice the cut, so mu = ln p - z s again, and
 *
 *     E min(X, L) = e^(mu + s^2/2) Phi(a - s) + L (1 - Phi(a)),   a = (ln L - mu)/s,
 *
 * is solved for s. Its derivative in s has the sign of  m Phi(t - m) - phi(t - m)  with m = s - z
 * and t = ln(L/p)/s (differentiate the integral of P(X > x) over (0, L) under the integral sign and
 * substitute ln(x/p)/s): negative up to s = z, with one change of sign after it if any. The mean
 * falls from p to a lowest value there; the smaller root is the only one on that branch and is
 * found by bisection, to the last bit, without the allocation that a solver object would need.
 */

#include "models/generation/lengths.h"

#include "sim/contract.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdio.h>

/* The normal quantile of 0.99 (gsl_cdf_ugaussian_Pinv(0.99)). */
#define QUANTILE_99 2.3263478740408408

/* Wider laws are not looked at: at 8, e^8 = 2981 is the ratio between one deviation and the
 * median. */
#define WIDEST_SIGMA 8.0

#define LONGEST_LENGTH 4294967295.0

static double expected_length(double mu, double sigma, double limit) {
    if (sigma == 0.0)
        return limit > 0.0 ? fmin(exp(mu), limit) : exp(mu);
    double uncut = exp(mu + 0.5 * sigma * sigma);
    if (limit <= 0.0)
        return uncut;
    double a = (log(limit) - mu) / sigma;
    return uncut * gsl_cdf_ugaussian_P(a - sigma) + limit * gsl_cdf_ugaussian_Q(a);
}

/* ---- the fit ------------------------------------------------------------------------------ */

/* A law cut at `limit` whose 99th percentile is p99 < limit: its mean by the width. */
static double mean_at_width(double p99, double limit, double sigma) {
    return expected_length(log(p99) - QUANTILE_99 * sigma, sigma, limit);
}

/* The sign of the derivative of mean_at_width. */
static double mean_slope(double p99, double limit, double sigma) {
    double m = sigma - QUANTILE_99;
    double t = log(limit / p99) / sigma;
    return m * gsl_cdf_ugaussian_P(t - m) - gsl_ran_ugaussian_pdf(t - m);
}

/* Halves [low, high] until the doubles run out; `above(low)` holds, `above(high)` does not. */
struct width_search {
    double p99, limit, mean;
};
typedef bool(width_test)(const struct width_search *search, double sigma);

static double bisect(width_test *above, const struct width_search *search, double low,
                     double high) {
    for (;;) {
        double middle = low + 0.5 * (high - low);
        if (middle <= low || middle >= high)
            return high;
        if (above(search, middle))
            low = middle;
        else
            high = middle;
    }
}

static bool falls(const struct width_search *search, double sigma) {
    return mean_slope(search->p99, search->limit, sigma) < 0.0;
}

static bool is_above_mean(const struct width_search *search, double sigma) {
    return mean_at_width(search->p99, search->limit, sigma) > search->mean;
}

/* The width with the lowest mean, the end of the branch of the smaller root. */
static double lowest_mean_width(const struct width_search *search) {
    if (falls(search, WIDEST_SIGMA))
        return WIDEST_SIGMA;
    return bisect(falls, search, QUANTILE_99, WIDEST_SIGMA);
}

static bool ratio_refused(const struct generation_length_moments *moments, double highest,
                          char *message, size_t size) {
    snprintf(message, size,
             "p99 %.6g is %.4g times the mean %.6g: p99/mean of a log-normal law%s must be between "
             "1 and %.4g",
             moments->p99, moments->p99 / moments->mean, moments->mean,
             moments->limit > 0.0 && !moments->uncut ? " cut at its limit" : "", highest);
    return false;
}

/* True when p99 and the mean agree to a few units of the last place: every length is the same. */
static bool is_constant(const struct generation_length_moments *moments) {
    return fabs(moments->p99 - moments->mean) <= 1e-12 * moments->mean;
}

static bool fit_uncut(const struct generation_length_moments *moments, double *sigma, char *message,
                      size_t size) {
    double ratio = moments->p99 / moments->mean;
    double discriminant = QUANTILE_99 * QUANTILE_99 - 2.0 * log(ratio);
    if (ratio < 1.0 || discriminant < 0.0)
        return ratio_refused(moments, exp(0.5 * QUANTILE_99 * QUANTILE_99), message, size);
    *sigma = 2.0 * log(ratio) / (QUANTILE_99 + sqrt(discriminant));
    return true;
}

static bool fit_cut(const struct generation_length_moments *moments, double *sigma, char *message,
                    size_t size) {
    struct width_search search = {moments->p99, moments->limit, moments->mean};
    double widest = lowest_mean_width(&search);
    double lowest = mean_at_width(moments->p99, moments->limit, widest);
    if (moments->mean > moments->p99 || moments->mean < lowest)
        return ratio_refused(moments, moments->p99 / lowest, message, size);
    *sigma = bisect(is_above_mean, &search, 0.0, widest);
    return true;
}

static bool fit_lognormal(const struct generation_length_moments *moments, double *sigma,
                          char *message, size_t size) {
    if (!(moments->p99 > 0.0) || !isfinite(moments->p99)) {
        snprintf(message, size, "p99 is %g: a log-normal law needs a p99 above 0", moments->p99);
        return false;
    }
    bool cut = moments->limit > 0.0 && !moments->uncut;
    if (cut && moments->p99 >= moments->limit) {
        snprintf(message, size,
                 "p99 %.6g is not below the limit %.6g: of lengths after the cut it must be (at "
                 "the limit it only says that 1 %% or more are cut); give mean and p99 of the law "
                 "before the cut, and say so",
                 moments->p99, moments->limit);
        return false;
    }
    *sigma = 0.0;
    if (is_constant(moments))
        return true;
    return cut ? fit_cut(moments, sigma, message, size) : fit_uncut(moments, sigma, message, size);
}

static bool check_common(const struct generation_length_moments *moments, char *message,
                         size_t size) {
    if (!(moments->mean > 0.0) || !isfinite(moments->mean)) {
        snprintf(message, size, "the mean is %g: it must be above 0 tokens", moments->mean);
        return false;
    }
    if (moments->limit != 0.0 && !(moments->limit >= 1.0 && moments->limit <= LONGEST_LENGTH)) {
        snprintf(message, size, "the limit is %g: it must be between 1 and %.0f tokens",
                 moments->limit, LONGEST_LENGTH);
        return false;
    }
    if (moments->limit > 0.0 && !moments->uncut && moments->mean > moments->limit) {
        snprintf(message, size,
                 "the mean %.6g is above the limit %.6g: the mean of lengths after the cut must be "
                 "at most the limit",
                 moments->mean, moments->limit);
        return false;
    }
    return true;
}

bool generation_lengths_fit(const struct generation_length_moments *moments,
                            struct generation_lengths *lengths, char *message, size_t size) {
    double sigma = 0.0;
    if (!check_common(moments, message, size))
        return false;
    if (moments->law == GENERATION_LENGTH_LOGNORMAL &&
        !fit_lognormal(moments, &sigma, message, size))
        return false;
    double median = sigma == 0.0 ? moments->mean : moments->p99 * exp(-QUANTILE_99 * sigma);
    *lengths = (struct generation_lengths){.law = moments->law,
                                           .mu = log(median),
                                           .sigma = sigma,
                                           .median = median,
                                           .limit = moments->limit};
    return true;
}

/* ---- the law ------------------------------------------------------------------------------ */

static uint32_t whole_tokens(double length) {
    if (length < 1.0)
        return 1;
    return length >= LONGEST_LENGTH ? UINT32_MAX : (uint32_t)(length + 0.5);
}

uint32_t generation_length_at(const struct generation_lengths *lengths, double u, bool *cut) {
    CONTRACT(u > 0.0 && u < 1.0, "a probability lies between 0 and 1, both excluded");
    double length = lengths->median;
    if (lengths->sigma > 0.0)
        length *= exp(lengths->sigma * gsl_cdf_ugaussian_Pinv(u));
    bool is_cut = lengths->limit > 0.0 && length > lengths->limit;
    if (cut != NULL)
        *cut = is_cut;
    if (is_cut)
        return (uint32_t)lengths->limit;
    uint32_t tokens = whole_tokens(length);
    /* does rounding lead over a limit that is no whole number? */
    return lengths->limit > 0.0 && tokens > lengths->limit ? (uint32_t)lengths->limit : tokens;
}

double generation_lengths_mean(const struct generation_lengths *lengths) {
    if (lengths->sigma == 0.0)
        return lengths->limit > 0.0 ? fmin(lengths->median, lengths->limit) : lengths->median;
    return expected_length(lengths->mu, lengths->sigma, lengths->limit);
}

double generation_lengths_share_cut(const struct generation_lengths *lengths) {
    if (lengths->limit <= 0.0)
        return 0.0;
    if (lengths->sigma == 0.0)
        return lengths->median > lengths->limit ? 1.0 : 0.0;
    return gsl_cdf_ugaussian_Q((log(lengths->limit) - lengths->mu) / lengths->sigma);
}
