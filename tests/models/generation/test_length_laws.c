/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Gamma and Weibull laws, the share that reaches the limit, and the moments of all laws with a
 * width. Moments are integrated over the density of ln Y, written down here, by Simpson's rule: no
 * incomplete gamma function and no quantile of the library is used.
 */
#include "models/generation/length_type.h"
#include "sim/random.h"
#include "tests/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct generation_lengths fit(struct generation_length_moments moments) {
    struct generation_lengths lengths;
    char message[512] = "";
    ck_assert_msg(generation_lengths_fit(&moments, &lengths, message, sizeof message),
                  "law %d, mean %g: %s", moments.law, moments.mean, message);
    return lengths;
}

static const char *refusal(struct generation_length_moments moments) {
    static char message[512];
    struct generation_lengths lengths;
    ck_assert(!generation_lengths_fit(&moments, &lengths, message, sizeof message));
    return message;
}

/* ---- an independent integral ---------------------------------------------------------------- */

/* The density of t = ln Y: normal of width w; e^(k t - e^t k + ...) of a gamma law of shape and
 * rate k = 1/w^2; that of ln of an exponential variate to the power w. */
static double log_density(const struct generation_lengths *law, double t) {
    double w = law->width;
    switch (law->type->law) {
    case GENERATION_LENGTH_LOGNORMAL:
        return -0.5 * t * t / (w * w) - log(w * sqrt(2.0 * acos(-1.0)));
    case GENERATION_LENGTH_GAMMA: {
        double k = 1.0 / (w * w);
        return k * t - k * exp(t) + k * log(k) - lgamma(k);
    }
    case GENERATION_LENGTH_WEIBULL:
        return t / w - exp(t / w) - log(w);
    default:
        ck_abort_msg("no density");
    }
}

/* The integral of min(scale e^t, cut)^order, or of 1, over t from `from` to `to`. */
static double simpson(const struct generation_lengths *law, double from, double to, double cut,
                      int order) {
    enum { STEPS = 10000 };
    double h = (to - from) / STEPS, sum = 0.0;
    for (int i = 0; i <= STEPS; i++) {
        double t = from + h * i;
        double value = pow(fmin(law->scale * exp(t), cut), order) * exp(log_density(law, t));
        sum += value * (i == 0 || i == STEPS ? 1.0 : i % 2 == 1 ? 4.0 : 2.0);
    }
    return sum * h / 3.0;
}

/* Where the density is nothing: 40 widths to the left or as far as a power law of exponent 1/w (or
 * 1/w^2) has e^-40 left. */
static double leftmost(const struct generation_lengths *law) {
    double w = law->width;
    return law->type->law == GENERATION_LENGTH_LOGNORMAL ? -14.0 * w
           : law->type->law == GENERATION_LENGTH_GAMMA   ? -40.0 * w * fmax(w, 0.4)
                                                         : -40.0 * w;
}

static double rightmost(const struct generation_lengths *law) {
    double w = law->width;
    return law->type->law == GENERATION_LENGTH_LOGNORMAL ? (14.0 + 2.0 * w) * w
           : law->type->law == GENERATION_LENGTH_GAMMA   ? log(1.0 + 60.0 * w * fmax(w, 1.0))
                                                         : w * log(60.0 + 20.0 * w);
}

static double integrated(const struct generation_lengths *law, double cut, int order) {
    double left = leftmost(law), right = rightmost(law);
    double corner = fmin(fmax(log(cut / law->scale), left), right);
    return simpson(law, left, corner, cut, order) + simpson(law, corner, right, cut, order);
}

static double integrated_above(const struct generation_lengths *law, double x) {
    return simpson(law, log(x / law->scale), rightmost(law), HUGE_VAL, 0);
}

/* Mean and cv of what is seen: the law cut, and the share at the limit. */
static double seen_moment(const struct generation_lengths *law, int order) {
    double cut = law->limit > 0.0 ? law->limit : HUGE_VAL, c = law->cap_share;
    double whole = integrated(law, cut, order);
    return c == 0.0 ? whole : c * pow(law->limit, order) + (1.0 - c) * whole;
}

static double seen_cv(const struct generation_lengths *law) {
    double mean = seen_moment(law, 1);
    return sqrt(seen_moment(law, 2) / (mean * mean) - 1.0);
}

/* ---- closed forms --------------------------------------------------------------------------- */

static const enum generation_length_law laws[] = {
    GENERATION_LENGTH_LOGNORMAL, GENERATION_LENGTH_GAMMA, GENERATION_LENGTH_WEIBULL};

START_TEST(test_closed_forms_are_the_integrals) {
    const double widths[] = {0.05, 0.3, 0.86, 1.0, 1.7, 2.5}, cuts[] = {0.3, 1.0, 4.0, 60.0};
    for (size_t l = 0; l < 3; l++)
        for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
            struct generation_lengths law = generation_lengths_of_bins(laws[l], NULL, 0.0);
            law.width = widths[i];
            law.scale = 700.0;
            assert_relative(integrated(&law, HUGE_VAL, 0), 1.0, 1e-8);
            assert_relative(generation_lengths_mean(&law), seen_moment(&law, 1), 1e-7);
            assert_relative(generation_lengths_cv(&law), seen_cv(&law), 1e-6);
            for (size_t k = 0; k < sizeof cuts / sizeof cuts[0]; k++) {
                law.limit = 700.0 * cuts[k];
                assert_relative(generation_lengths_mean(&law), seen_moment(&law, 1), 1e-7);
                ck_assert_double_eq_tol(generation_lengths_share_cut(&law),
                                        integrated_above(&law, law.limit), 1e-8);
                assert_relative(generation_length_moment(&law, law.limit, 2),
                                integrated(&law, law.limit, 2), 1e-7);
                law.limit = 0.0;
            }
        }
}
END_TEST

/* Quantiles, exact and by table, are where the closed probability says. */
START_TEST(test_quantiles_invert_the_law) {
    const double widths[] = {0.011, 0.1, 0.5, 0.86, 1.0, 1.5, 3.0};
    const double u[] = {1e-6, 0.003, 0.1, 0.5, 0.777, 0.99, 0.999999};
    for (size_t l = 0; l < 3; l++)
        for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
            struct generation_lengths law = generation_lengths_of_bins(laws[l], NULL, 0.0);
            law.width = widths[i];
            for (size_t k = 0; k < sizeof u / sizeof u[0]; k++) {
                double exact = generation_length_quantile(&law, u[k]);
                /* the exponent k ln x - x of width 0.011 is of size 7e4: 1e-11 of it is rounding */
                ck_assert_double_eq_tol(1.0 - generation_lengths_above(&law, exact), u[k], 5e-11);
                struct generation_lengths quick = law;
                ck_assert(generation_lengths_tabulate(&quick));
                assert_relative(generation_length_quantile(&quick, u[k]), exact, 1e-6);
                generation_lengths_release(&quick);
            }
        }
}
END_TEST

/* The table of a gamma law against the exact inversion, finely: the header's 1e-6. */
START_TEST(test_gamma_table) {
    const double widths[] = {0.01, 0.2, 0.86, 2.0, 8.0, 16.0};
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        struct generation_lengths law =
            generation_lengths_of_bins(GENERATION_LENGTH_GAMMA, NULL, 0.0);
        law.width = widths[i];
        struct generation_lengths quick = law;
        double worst = 0.0;
        ck_assert(generation_lengths_tabulate(&quick));
        for (double z = -8.2; z < 8.2; z += 0.0411) {
            double exact = law.type->score(&law, z), table = law.type->score(&quick, z);
            if (exact > 1e-9)
                worst = fmax(worst, fabs(table / exact - 1.0));
        }
        ck_assert_msg(worst < 1e-6, "width %g: %g", widths[i], worst);
        generation_lengths_release(&quick);
    }
}
END_TEST

/* ---- fits ------------------------------------------------------------------------------------ */

static const double cap_shares[] = {0.0, 0.0037};

START_TEST(test_mean_and_quantiles_after_the_cut) {
    for (size_t l = 0; l < 3; l++)
        for (size_t c = 0; c < 2; c++)
            for (int quantile = 90; quantile <= 99; quantile += 9) {
                double length = quantile == 99 ? 2900.0 : 1400.0;
                struct generation_length_moments moments = {
                    .law = laws[l], .mean = 700.0, .limit = 4096.0, .cap_share = cap_shares[c]};
                *(quantile == 99 ? &moments.p99 : &moments.p90) = length;
                struct generation_lengths law = fit(moments);
                double q = quantile / 100.0, share = law.cap_share;
                assert_relative(seen_moment(&law, 1), 700.0, 1e-7);
                ck_assert_double_eq_tol(share + (1.0 - share) * integrated_above(&law, length),
                                        1.0 - q, 1e-8);
                assert_relative(generation_lengths_mean(&law), 700.0, 1e-12);
                assert_relative(generation_lengths_above(&law, length), 1.0 - q, 1e-9);
            }
}
END_TEST

START_TEST(test_mean_and_cv_after_the_cut) {
    const double cvs[] = {0.35, 0.86, 1.2};
    for (size_t l = 0; l < 3; l++)
        for (size_t c = 0; c < 2; c++)
            for (size_t i = 0; i < 3; i++) {
                struct generation_lengths law =
                    fit((struct generation_length_moments){.law = laws[l],
                                                           .mean = 700.0,
                                                           .cv = cvs[i],
                                                           .limit = 4096.0,
                                                           .cap_share = cap_shares[c]});
                assert_relative(seen_moment(&law, 1), 700.0, 1e-7);
                assert_relative(seen_cv(&law), cvs[i], 1e-6);
                assert_relative(generation_lengths_cv(&law), cvs[i], 1e-9);
            }
}
END_TEST

/* Uncut a cv is a width: sigma^2 = ln(1 + cv^2), the gamma law's own, Gamma(1 + 2w)/Gamma(1 + w)^2
 * = 1 + cv^2. The published law of runs: cv 0.86 before the cut, a mean after it, 0.4 % at the
 * limit. */
START_TEST(test_cv_before_the_cut) {
    for (size_t l = 0; l < 3; l++) {
        struct generation_length_moments moments = {
            .law = laws[l], .mean = 1500.0, .cv = 0.86, .limit = 4096.0, .uncut = true};
        struct generation_lengths whole = fit(moments);
        double w = whole.width, square = 1.0 + 0.86 * 0.86;
        if (laws[l] == GENERATION_LENGTH_LOGNORMAL)
            assert_relative(w, sqrt(log(square)), 1e-9);
        else if (laws[l] == GENERATION_LENGTH_GAMMA)
            assert_relative(w, 0.86, 1e-9);
        else
            assert_relative(exp(lgamma(1.0 + 2.0 * w) - 2.0 * lgamma(1.0 + w)), square, 1e-9);
        moments.uncut = false;
        moments.uncut_cv = moments.cv;
        moments.cv = 0.0;
        moments.cap_share = 0.0037;
        struct generation_lengths cut = fit(moments);
        assert_relative(cut.width, w, 1e-12);
        assert_relative(seen_moment(&cut, 1), 1500.0, 1e-7);
    }
}
END_TEST

/* Of the two widths that fit, the smaller: one beyond the highest ratio is given, one below it
 * comes out with the same moments. (ln 100)^w / Gamma(1 + w) is highest at w = 4.1, gamma's
 * p99/mean at a standard deviation of 7 to 8.) */
START_TEST(test_smaller_of_two_widths) {
    const double larger[] = {3.0, 13.0, 6.5};
    for (size_t l = 0; l < 3; l++) {
        struct generation_lengths wide = generation_lengths_of_bins(laws[l], NULL, 0.0);
        wide.width = larger[l];
        wide.scale = 500.0;
        double mean = generation_lengths_mean(&wide);
        double p99 = 500.0 * generation_length_quantile(&wide, 0.99);
        struct generation_lengths law =
            fit((struct generation_length_moments){.law = laws[l], .mean = mean, .p99 = p99});
        ck_assert_msg(law.width < 0.8 * larger[l], "law %zu: width %g", l, law.width);
        assert_relative(generation_lengths_mean(&law), mean, 1e-10);
        assert_relative(generation_lengths_above(&law, p99), 0.01, 1e-9);
    }
}
END_TEST

static void printed_range(const char *message, double *low, double *high) {
    const char *between = strstr(message, "between ");
    ck_assert_msg(between != NULL, "%s", message);
    ck_assert_int_eq(sscanf(between, "between %lf and %lf", low, high), 2);
}

/* The lowest mean of a law with that quantile, by trying widths. */
static double lowest_mean(enum generation_length_law which, double q, double length, double limit) {
    struct generation_lengths law = generation_lengths_of_bins(which, NULL, limit);
    double lowest = length;
    for (int k = 1; k <= 800; k++) {
        law.width = fmin(0.02 * k, law.type->widest);
        law.scale = length / generation_length_quantile(&law, q);
        lowest = fmin(lowest, generation_lengths_mean(&law));
    }
    return lowest;
}

START_TEST(test_feasible_ratios) {
    const double limits[] = {0.0, 6000.0, 1e5};
    for (size_t l = 0; l < 3; l++)
        for (size_t i = 0; i < 3; i++) {
            double low, high, lowest = lowest_mean(laws[l], 0.99, 5000.0, limits[i]);
            struct generation_length_moments moments = {
                .law = laws[l], .mean = 0.7 * lowest, .p99 = 5000.0, .limit = limits[i]};
            printed_range(refusal(moments), &low, &high);
            ck_assert(strncmp(refusal(moments), "p99 ", 4) == 0);
            assert_relative(low, 1.0, 0.03);
            assert_relative(high, 5000.0 / lowest, 1e-3);
            moments.mean = lowest * (1.0 - 1e-4);
            refusal(moments);
            moments.mean = lowest * (1.0 + 1e-4);
            struct generation_lengths law = fit(moments);
            assert_relative(generation_lengths_mean(&law), moments.mean, 1e-9);
        }
}
END_TEST

/* A cv cannot pass sqrt(limit/mean - 1), where all is at nothing or at the limit. */
START_TEST(test_feasible_cv) {
    for (size_t l = 0; l < 3; l++) {
        double low, high, most = sqrt(4096.0 / 700.0 - 1.0);
        struct generation_length_moments moments = {
            .law = laws[l], .mean = 700.0, .cv = 2.3, .limit = 4096.0};
        printed_range(refusal(moments), &low, &high);
        ck_assert(high < most && high > 0.8 * most && low < 0.02);
        moments.cv = 0.999 * high;
        struct generation_lengths law = fit(moments);
        assert_relative(generation_lengths_cv(&law), moments.cv, 1e-8);
        moments.cv = 1.001 * high;
        ck_assert(strncmp(refusal(moments), "cv ", 3) == 0);
    }
}
END_TEST

START_TEST(test_refusals_of_cap_share) {
    struct generation_length_moments good = {.law = GENERATION_LENGTH_LOGNORMAL,
                                             .mean = 700.0,
                                             .p90 = 1400.0,
                                             .limit = 4096.0,
                                             .cap_share = 0.05};
    struct generation_length_moments bad = good;
    fit(good);
    bad.cap_share = 0.2; /* 819 tokens */
    ck_assert_ptr_nonnull(strstr(refusal(bad), "alone brings a mean of 819.2"));
    bad = good;
    bad.p90 = 0.0;
    bad.p99 = 4000.0;
    ck_assert_ptr_nonnull(strstr(refusal(bad), "p99 4000: with that cap_share"));
    bad.p99 = 0.0;
    bad.cv = 0.5; /* 5 % at 4096 alone: sqrt(0.05 0.95) (4096 - m)/700, more than 1 */
    ck_assert_ptr_nonnull(strstr(refusal(bad), "the cap_share alone brings more"));
    bad.cv = -1.0;
    ck_assert_ptr_nonnull(strstr(refusal(bad), "cv -1: it must be above 0"));
    bad.cv = 0.0;
    bad.uncut_cv = (double)NAN;
    ck_assert_ptr_nonnull(strstr(refusal(bad), "uncut_cv nan"));
    bad = good;
    bad.limit = 0.0;
    ck_assert_ptr_nonnull(strstr(refusal(bad), "cap_share is 0.05"));
    bad.limit = 4096.0;
    bad.cap_share = 1.0;
    ck_assert_ptr_nonnull(strstr(refusal(bad), "cap_share is 1"));
    bad = good;
    bad.cap_share = 0.0;
    bad.p90 = 0.0;
    bad.uncut_cv = 1.0;
    bad.mean = 4096.0;
    ck_assert_ptr_nonnull(strstr(refusal(bad), "mean 4096: it is too near"));
    bad.cv = 1.0;
    bad.uncut_cv = 0.0;
    ck_assert_ptr_nonnull(strstr(refusal(bad), "mean 4096: it is at the limit"));
}
END_TEST

/* Odd moments, far and near: an answer or a refusal, never a stop of the program. */
START_TEST(test_no_moments_stop_the_program) {
    const double means[] = {1.0, 3.0, 700.0, 4090.0, 4096.0, 1e9};
    const double ratios[] = {1e-3, 0.99, 1.0, 1.0 + 1e-13, 1.0000001, 1.02, 5.0, 27.0, 1e3, 1e6};
    const double limits[] = {0.0, 1.0, 4096.0, 1e9};
    int fitted = 0, refused = 0;
    for (size_t l = 0; l < 3; l++)
        for (size_t m = 0; m < 6; m++)
            for (size_t r = 0; r < 10; r++)
                for (size_t i = 0; i < 4; i++)
                    for (int how = 0; how < 8; how++) {
                        struct generation_lengths lengths;
                        char message[512];
                        struct generation_length_moments moments = {.law = laws[l],
                                                                    .mean = means[m],
                                                                    .limit = limits[i],
                                                                    .uncut = how / 4 == 1};
                        double *second[] = {&moments.p99, &moments.p90, &moments.cv,
                                            &moments.uncut_cv};
                        *second[how % 4] = ratios[r] * (how % 4 < 2 ? means[m] : 1.0);
                        bool good =
                            generation_lengths_fit(&moments, &lengths, message, sizeof message);
                        fitted += good;
                        refused += !good;
                        if (good)
                            assert_relative(generation_lengths_stated_mean(&lengths), means[m],
                                            1e-6);
                    }
    ck_assert(fitted > 500 && refused > 500);
}
END_TEST

/* ---- draws ----------------------------------------------------------------------------------- */

static int by_length(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Kolmogorov and Smirnov: sqrt(n) sup|F_n - F| passes 1.95 in one of a thousand samples. Lengths
 * are whole, so both are compared between them, at n + 1/2. The seed is fixed; so is the answer. */
START_TEST(test_draws_follow_the_law) {
    enum { DRAWS = 40000 };
    uint32_t *drawn = calloc(DRAWS, sizeof *drawn);
    for (size_t l = 0; l < 3; l++)
        for (size_t c = 0; c < 2; c++) {
            struct generation_lengths law =
                fit((struct generation_length_moments){.law = laws[l],
                                                       .mean = 1500.0,
                                                       .uncut_cv = 0.86,
                                                       .limit = 4096.0,
                                                       .cap_share = cap_shares[c]});
            double worst = 0.0, sum = 0.0;
            int cuts = 0;
            ck_assert(generation_lengths_tabulate(&law));
            for (int i = 0; i < DRAWS; i++) {
                struct sim_random_key key = {.seed = 11, .purpose = 77, .index = {(uint32_t)i}};
                bool cut;
                drawn[i] = generation_length_at(&law, sim_random_uniform(&key), &cut);
                sum += drawn[i];
                cuts += cut;
            }
            qsort(drawn, DRAWS, sizeof *drawn, by_length);
            for (int i = 0; i + 1 < DRAWS; i++)
                if (drawn[i] != drawn[i + 1])
                    worst = fmax(worst, fabs((i + 1.0) / DRAWS - 1.0 +
                                             generation_lengths_above(&law, drawn[i] + 0.5)));
            double cv = generation_lengths_cv(&law), share = generation_lengths_share_cut(&law);
            ck_assert_msg(worst * sqrt(DRAWS) < 1.95, "%zu: %g", l, worst * sqrt(DRAWS));
            /* 4 standard errors */
            assert_relative(sum / DRAWS, 1500.0, 4.0 * cv / sqrt(DRAWS));
            ck_assert_double_eq_tol((double)cuts / DRAWS, share,
                                    4.0 * sqrt(share * (1.0 - share) / DRAWS));
            generation_lengths_release(&law);
        }
    free(drawn);
}
END_TEST

/* A length at a score is that of the score's probability. */
START_TEST(test_scores_and_probabilities_agree) {
    for (size_t l = 0; l < 3; l++)
        for (size_t c = 0; c < 2; c++) {
            struct generation_lengths law =
                fit((struct generation_length_moments){.law = laws[l],
                                                       .mean = 1500.0,
                                                       .uncut_cv = 0.86,
                                                       .limit = 4096.0,
                                                       .cap_share = cap_shares[c]});
            for (double z = -3.9; z < 4.0; z += 0.13) {
                double u = 0.5 * erfc(-z / sqrt(2.0));
                uint32_t a = generation_length_at_score(&law, z, NULL);
                uint32_t b = generation_length_at(&law, u, NULL);
                ck_assert(a == b || a + 1 == b || b + 1 == a);
            }
            ck_assert_uint_eq(generation_length_at_score(&law, 40.0, NULL), 4096);
            ck_assert_uint_ge(generation_length_at_score(&law, -40.0, NULL), 1);
        }
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("length laws");
    TCase *t = tcase_create("laws");
    tcase_set_timeout(t, 60.0);
    tcase_add_test(t, test_closed_forms_are_the_integrals);
    tcase_add_test(t, test_quantiles_invert_the_law);
    tcase_add_test(t, test_gamma_table);
    tcase_add_test(t, test_mean_and_quantiles_after_the_cut);
    tcase_add_test(t, test_mean_and_cv_after_the_cut);
    tcase_add_test(t, test_cv_before_the_cut);
    tcase_add_test(t, test_smaller_of_two_widths);
    tcase_add_test(t, test_feasible_ratios);
    tcase_add_test(t, test_feasible_cv);
    tcase_add_test(t, test_refusals_of_cap_share);
    tcase_add_test(t, test_no_moments_stop_the_program);
    tcase_add_test(t, test_draws_follow_the_law);
    tcase_add_test(t, test_scores_and_probabilities_agree);
    suite_add_tcase(s, t);
    return s;
}

TESTING_MAIN(suite)
