/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A law from the moments that a user has.
 *
 * Moments of what is seen are first freed of the share c that reaches the limit L whatever the law
 * (lengths.c): the law itself has
 *
 *     mean' = (mean - c L)/(1 - c),   P(X <= p) = q/(1 - c),
 *     (1 + cv'^2) mean'^2 = ((1 + cv^2) mean^2 - c L^2)/(1 - c)          all of min(X, L).
 *
 * Mean and quantile, p < L: the quantile does not notice the cut, so the scale is p / Y_q(w), and
 * E min(X, L) is a function M(w) of the width alone. M falls from p to a lowest value and rises
 * after it (log-normal: dM/dw has the sign of m Phi(t - m) - phi(t - m), m = w - z_q,
 * t = ln(L/p)/w, with one change of sign; gamma and Weibull laws behave alike, which the tests
 * find by trying widths). The larger root has its mean made by a few giants and its median near
 * nothing, and is not what lengths look like. So Brent's minimisation finds the end of the first
 * branch, and its height the largest feasible p/mean; Brent's root finder the width on it. Uncut, a
 * log-normal law has w^2/2 - z w + ln(p/mean) = 0 and feasible ratios up to e^(z^2/2), 14.97 for
 * p99.
 *
 * Mean and cv: at every width one scale has the mean; its cv grows with the width, from 0 to what
 * the cut allows, sqrt(L/mean - 1) at most.
 *
 * GSL's solvers stop the program when they are given an interval without a root or a minimum, so
 * that is looked at first; their states live here, so that they cannot run out of memory.
 */
#include "models/generation/length_type.h"
#include "sim/contract.h"

#include <float.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_min.h>
#include <gsl/gsl_roots.h>
#include <math.h>
#include <stdio.h>

#define LONGEST_LENGTH 4294967295.0
#define ITERATIONS 200
#define STATE_DOUBLES 32

/* ---- solvers ------------------------------------------------------------------------------ */

typedef double(function_of)(double x, void *subject);

/* The root between low and high, where f has different signs (or is 0). */
static double find_root(function_of *f, void *subject, double low, double high) {
    double state[STATE_DOUBLES], at_low = f(low, subject), at_high = f(high, subject);
    gsl_function function = {f, subject};
    gsl_root_fsolver solver = {.type = gsl_root_fsolver_brent, .state = state};
    CONTRACT(solver.type->size <= sizeof state, "the state of Brent's root finder has room");
    if (at_low == 0.0 || at_high == 0.0)
        return at_low == 0.0 ? low : high;
    CONTRACT((at_low < 0.0) != (at_high < 0.0), "a root is between two signs");
    if (gsl_root_fsolver_set(&solver, &function, low, high) != GSL_SUCCESS)
        return low;
    for (int i = 0; i < ITERATIONS && solver.x_lower < solver.x_upper; i++)
        if (gsl_root_fsolver_iterate(&solver) != GSL_SUCCESS)
            break;
    return solver.root;
}

/* Where f is lowest between low and high; it is lower at `middle` than at both. */
static double find_lowest(function_of *f, void *subject, double low, double middle, double high) {
    double state[STATE_DOUBLES];
    gsl_function function = {f, subject};
    gsl_min_fminimizer solver = {.type = gsl_min_fminimizer_brent, .state = state};
    double height = f(middle, subject);
    CONTRACT(solver.type->size <= sizeof state, "the state of Brent's minimisation has room");
    /* is it a plateau, where rounding alone tells one height from another? */
    if (!(height < f(low, subject) && height < f(high, subject)))
        return middle;
    if (gsl_min_fminimizer_set(&solver, &function, middle, low, high) != GSL_SUCCESS)
        return middle;
    for (int i = 0; i < ITERATIONS; i++)
        if (gsl_min_test_interval(solver.x_lower, solver.x_upper, 0.0, 1e-9) == GSL_SUCCESS ||
            gsl_min_fminimizer_iterate(&solver) != GSL_SUCCESS)
            break;
    return solver.x_minimum;
}

/* ---- the scale of a width ----------------------------------------------------------------- */

struct scale_search {
    struct generation_lengths law;
    double limit, mean;
};

static double mean_error(double log_scale, void *subject) {
    struct scale_search *search = subject;
    search->law.scale = exp(log_scale);
    return generation_length_moment(&search->law, search->limit, 1) - search->mean;
}

double generation_length_scale(const struct generation_lengths *law, double limit, double mean) {
    struct scale_search search = {*law, limit, mean};
    search.law.scale = 1.0;
    if (!(mean > 0.0))
        return (double)NAN;
    double low = mean / generation_length_moment(&search.law, 0.0, 1);
    if (limit <= 0.0)
        return low;
    if (mean >= limit)
        return mean == limit && law->width == 0.0 && law->bins == NULL ? mean : (double)NAN;
    double from = log(low), to = from;
    if (mean_error(from, &search) >= 0.0)
        return low; /* the cut is not felt */
    for (double step = 0.1; to < 600.0; step *= 2.0) {
        to = fmin(from + step, 600.0);
        if (mean_error(to, &search) >= 0.0)
            return exp(find_root(mean_error, &search, from, to));
        from = to;
    }
    return (double)NAN;
}

/* ---- what is looked for ------------------------------------------------------------------- */

struct search {
    struct generation_lengths law; /* its width is tried */
    const struct generation_length_moments *moments;
    double limit, mean;         /* of the law, freed of cap_share; limit 0: none */
    const char *name;           /* of the second moment */
    double length, probability; /* a quantile */
    double cv;
    char *message;
    size_t size;
};

static bool refuse(struct search *search, const char *what, double given, const char *rest) {
    snprintf(search->message, search->size, "%s %.6g: %s", what, given, rest);
    return false;
}

static const char *cut_by(const struct search *search) {
    return search->limit > 0.0 ? " cut at its limit" : "";
}

/* Mean and p99 agree to a few units of the last place: every length is the same. */
static bool is_constant(double a, double b) {
    return fabs(a - b) <= 1e-12 * b;
}

/* ---- mean and quantile -------------------------------------------------------------------- */

static double mean_at_width(double width, void *subject) {
    struct search *search = subject;
    search->law.width = width;
    search->law.scale =
        search->length / generation_length_quantile(&search->law, search->probability);
    return generation_length_moment(&search->law, search->limit, 1);
}

static double mean_above(double width, void *subject) {
    return mean_at_width(width, subject) - ((struct search *)subject)->mean;
}

#define GRID 64

/* The width with the lowest mean, the end of the branch of the smaller root. */
static double lowest_mean_width(struct search *search) {
    double least = search->law.type->narrowest, step = search->law.type->widest / GRID;
    double before = least, here = least, height = mean_at_width(here, search);
    for (int i = 1; i <= GRID; i++) {
        double next = step * i, next_height = mean_at_width(next, search);
        if (next_height > height)
            return here == before ? here : find_lowest(mean_at_width, search, before, here, next);
        /* as low as before: a minimum that only rounding tells from its neighbours */
        before = next_height < height ? here : before;
        here = next;
        height = next_height;
    }
    return here;
}

/* The mean that is seen when that of the law is `mean`. */
static double seen(const struct search *search, double mean) {
    double c = search->moments->uncut ? 0.0 : search->moments->cap_share;
    return c == 0.0 ? mean : c * search->moments->limit + (1.0 - c) * mean;
}

static bool refuse_ratio(struct search *search, double highest_mean, double lowest_mean) {
    double given = search->moments->mean;
    snprintf(search->message, search->size,
             "%s %.6g is %.4g times the mean %.6g: %s/mean of a %s law%s must be between %.4g and "
             "%.4g",
             search->name, search->length, search->length / given, given, search->name,
             search->law.type->title, cut_by(search), search->length / seen(search, highest_mean),
             search->length / seen(search, lowest_mean));
    return false;
}

static bool fit_quantile(struct search *search) {
    double narrowest = search->law.type->narrowest;
    if (is_constant(search->length, search->mean)) {
        search->law.width = 0.0;
        search->law.scale = search->mean;
        return true;
    }
    double widest = lowest_mean_width(search);
    double highest = mean_at_width(narrowest, search), lowest = mean_at_width(widest, search);
    if (search->mean > highest || search->mean < lowest)
        return refuse_ratio(search, highest, lowest);
    double width = find_root(mean_above, search, narrowest, widest);
    (void)mean_at_width(width, search); /* leaves width and scale */
    return true;
}

/* ---- mean and coefficient of variation ---------------------------------------------------- */

/* NAN where the width has no scale with that mean. */
static double cv_at_width(struct search *search, double width) {
    search->law.width = width;
    search->law.scale = generation_length_scale(&search->law, search->limit, search->mean);
    double mean = search->mean;
    if (isnan(search->law.scale))
        return (double)NAN;
    double second = generation_length_moment(&search->law, search->limit, 2);
    return sqrt(fmax(0.0, second / (mean * mean) - 1.0));
}

static double cv_above(double width, void *subject) {
    struct search *search = subject;
    return cv_at_width(search, width) - search->cv;
}

static bool refuse_cv(struct search *search, double given, double least, double most) {
    snprintf(search->message, search->size,
             "%s %.6g: of a %s law%s of that mean it must be between %.4g and %.4g", search->name,
             given, search->law.type->title, cut_by(search), least, most);
    return false;
}

/* The cv that is seen when that of the law is `cv`. */
static double seen_cv(const struct search *search, double cv) {
    const struct generation_length_moments *given = search->moments;
    double c = given->cap_share;
    if (c == 0.0 || search->limit == 0.0)
        return cv;
    double second = (1.0 + cv * cv) * search->mean * search->mean;
    second = c * given->limit * given->limit + (1.0 - c) * second;
    return sqrt(fmax(0.0, second / (given->mean * given->mean) - 1.0));
}

static bool fit_cv(struct search *search, double given) {
    const struct generation_length_type *type = search->law.type;
    double low = type->narrowest, high = low, least = cv_at_width(search, low), most = least;
    if (isnan(least))
        return refuse(search, "mean", search->moments->mean,
                      "it is at the limit, which leaves every length the same");
    while (most < search->cv && high < type->widest) {
        double next = fmin(fmax(2.0 * high, 1e-3), type->widest), cv = cv_at_width(search, next);
        if (!(cv > most))
            break;
        low = high;
        high = next;
        most = cv;
    }
    if (search->cv > most || search->cv < least)
        return refuse_cv(search, given, seen_cv(search, least), seen_cv(search, most));
    double width = find_root(cv_above, search, low, high);
    (void)cv_at_width(search, width); /* leaves width and scale */
    return true;
}

/* The width from the cv of the law alone, then the scale from the mean that is seen. */
static bool fit_uncut_cv(struct search *search) {
    double limit = search->limit;
    search->cv = search->moments->uncut_cv;
    search->limit = 0.0;
    if (!fit_cv(search, search->cv))
        return false;
    search->limit = limit;
    search->law.scale = generation_length_scale(&search->law, limit, search->mean);
    return isfinite(search->law.scale) ||
           refuse(search, "mean", search->moments->mean,
                  "it is too near the limit for a law as wide as uncut_cv");
}

/* ---- what the user gave ------------------------------------------------------------------- */

/* A moment that is not there is 0; NAN is there and is refused. */
static bool is_given(double moment) {
    return moment != 0.0;
}

static bool check_numbers(const struct generation_length_moments *moments, char *message,
                          size_t size) {
    double c = moments->cap_share;
    if (!(moments->mean > 0.0) || !isfinite(moments->mean))
        snprintf(message, size, "mean is %g: it must be above 0 tokens", moments->mean);
    else if (moments->limit != 0.0 && !(moments->limit >= 1.0 && moments->limit <= LONGEST_LENGTH))
        snprintf(message, size, "limit is %g: it must be between 1 and %.0f tokens", moments->limit,
                 LONGEST_LENGTH);
    else if (moments->limit > 0.0 && !moments->uncut && moments->mean > moments->limit)
        snprintf(message, size,
                 "mean %.6g is above the limit %.6g: the mean of lengths after the cut must be at "
                 "most the limit",
                 moments->mean, moments->limit);
    else if (!(c >= 0.0 && c < 1.0) || (c > 0.0 && moments->limit == 0.0))
        snprintf(message, size, "cap_share is %g: it must be below 1, and there must be a limit",
                 c);
    else if (!moments->uncut && c > 0.0 && moments->mean <= c * moments->limit)
        snprintf(message, size,
                 "mean %.6g: the cap_share %g of the limit %.6g alone brings a mean of %.6g",
                 moments->mean, c, moments->limit, c * moments->limit);
    else
        return true;
    return false;
}

static bool start_quantile(struct search *search, const char *name, double length,
                           double probability) {
    double c = search->moments->uncut ? 0.0 : search->moments->cap_share;
    search->name = name;
    search->length = length;
    search->probability = probability / (1.0 - c);
    if (!(length > 0.0) || !isfinite(length)) {
        snprintf(search->message, search->size,
                 "%s is %g: a %s law needs a %s above 0, or another second moment", name, length,
                 search->law.type->title, name);
        return false;
    }
    if (search->limit > 0.0 && length >= search->limit) {
        snprintf(search->message, search->size,
                 "%s %.6g is not below the limit %.6g: of lengths after the cut it must be (at "
                 "the limit it only says that %.0f %% or more are cut); give mean and %s of the "
                 "law before the cut, and say so",
                 name, length, search->limit, 100.0 * (1.0 - probability), name);
        return false;
    }
    return search->probability < 1.0 ||
           refuse(search, name, length, "with that cap_share it is the limit itself");
}

static bool start_cv(struct search *search) {
    const struct generation_length_moments *given = search->moments;
    double c = given->uncut ? 0.0 : given->cap_share;
    double second = (1.0 + given->cv * given->cv) * given->mean * given->mean;
    second = (second - c * given->limit * given->limit) / (1.0 - c);
    search->name = "cv";
    search->cv = sqrt(fmax(0.0, second / (search->mean * search->mean) - 1.0));
    if (!(given->cv > 0.0) || !isfinite(given->cv))
        return refuse(search, "cv", given->cv, "it must be above 0");
    if (c > 0.0 && second < search->mean * search->mean)
        return refuse(search, "cv", given->cv, "the cap_share alone brings more");
    return true;
}

static bool fit_second(struct search *search) {
    const struct generation_length_moments *given = search->moments;
    if (is_given(given->uncut_cv)) {
        search->name = "uncut_cv";
        return given->uncut_cv > 0.0 && isfinite(given->uncut_cv)
                   ? fit_uncut_cv(search)
                   : refuse(search, "uncut_cv", given->uncut_cv, "it must be above 0");
    }
    if (is_given(given->cv))
        return start_cv(search) && fit_cv(search, given->cv);
    if (is_given(given->p90))
        return start_quantile(search, "p90", given->p90, 0.90) && fit_quantile(search);
    return start_quantile(search, "p99", given->p99, 0.99) && fit_quantile(search);
}

bool generation_lengths_fit(const struct generation_length_moments *moments,
                            struct generation_lengths *lengths, char *message, size_t size) {
    if (!check_numbers(moments, message, size))
        return false;
    double c = moments->uncut ? 0.0 : moments->cap_share;
    struct generation_lengths law = generation_lengths_of_bins(moments->law, NULL, moments->limit);
    struct search search = {.law = law,
                            .moments = moments,
                            .limit = moments->uncut ? 0.0 : moments->limit,
                            .mean = moments->mean,
                            .message = message,
                            .size = size};
    if (c > 0.0)
        search.mean = (moments->mean - c * moments->limit) / (1.0 - c);
    search.law.scale = search.mean;
    if (moments->law != GENERATION_LENGTH_FIXED && !fit_second(&search))
        return false;
    *lengths = search.law;
    lengths->uncut = moments->uncut;
    lengths->cap_share = moments->cap_share;
    return true;
}

/* ---- stretching --------------------------------------------------------------------------- */

bool generation_lengths_stretch(const struct generation_lengths *lengths, double mean,
                                struct generation_lengths *stretched) {
    double c = lengths->uncut ? 0.0 : lengths->cap_share;
    double of_law = c == 0.0 ? mean : (mean - c * lengths->limit) / (1.0 - c);
    *stretched = *lengths;
    stretched->scale =
        generation_length_scale(lengths, lengths->uncut ? 0.0 : lengths->limit, of_law);
    return isfinite(stretched->scale);
}
