/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/generation/lengths.h"
#include "tests/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define Z99 2.3263478740408408

static struct generation_lengths fit(struct generation_length_moments moments) {
    struct generation_lengths lengths;
    char message[256] = "";
    ck_assert_msg(generation_lengths_fit(&moments, &lengths, message, sizeof message), "%s",
                  message);
    return lengths;
}

static const char *refusal(struct generation_length_moments moments) {
    static char message[256];
    struct generation_lengths lengths;
    ck_assert(!generation_lengths_fit(&moments, &lengths, message, sizeof message));
    return message;
}

/* The integral of min(e^(mu + sigma z), limit) phi(z) over [from, to] by Simpson's rule, split
 * where the minimum has its corner; no cumulative normal is used. */
static double simpson(const struct generation_lengths *law, double from, double to, bool weighted) {
    enum { STEPS = 20000 };
    double h = (to - from) / STEPS, sum = 0.0;
    for (int i = 0; i <= STEPS; i++) {
        double z = from + h * i, x = exp(log(law->scale) + law->width * z);
        double value = weighted ? (law->limit > 0.0 ? fmin(x, law->limit) : x) : 1.0;
        double density = exp(-0.5 * z * z) / sqrt(2.0 * acos(-1.0));
        sum += value * density * (i == 0 || i == STEPS ? 1.0 : i % 2 == 1 ? 4.0 : 2.0);
    }
    return sum * h / 3.0;
}

static double integrated_mean(const struct generation_lengths *law) {
    double far = 12.0 + law->width;
    double corner = law->limit > 0.0 ? (log(law->limit) - log(law->scale)) / law->width : far;
    corner = fmax(-far, fmin(far, corner));
    return simpson(law, -far, corner, true) + simpson(law, corner, far, true);
}

static double probability_above(const struct generation_lengths *law, double x) {
    return simpson(law, (log(x) - log(law->scale)) / law->width, 12.0, false);
}

/* mean = e^(mu + s^2/2), p99 = e^(mu + z s). */
START_TEST(test_uncut_is_the_closed_form) {
    const double widths[] = {0.01, 0.4, 1.0, 2.0, 2.3};
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        double sigma = widths[i], mu = 5.3;
        struct generation_lengths law =
            fit((struct generation_length_moments){.law = GENERATION_LENGTH_LOGNORMAL,
                                                   .mean = exp(mu + sigma * sigma / 2.0),
                                                   .p99 = exp(mu + Z99 * sigma)});
        assert_relative(law.width, sigma, 1e-8);
        assert_relative(log(law.scale), mu, 1e-8);
        assert_relative(generation_lengths_mean(&law), exp(mu + sigma * sigma / 2.0), 1e-12);
        ck_assert(generation_lengths_share_cut(&law) == 0.0);
    }
}
END_TEST

/* The roots of s^2/2 - z s + ln(p99/mean) = 0 add up to 2 z: width 3 shares its moments with
 * 2 z - 3 = 1.65, which is what must come out. */
START_TEST(test_smaller_width_is_taken) {
    struct generation_lengths law = fit((struct generation_length_moments){
        .law = GENERATION_LENGTH_LOGNORMAL, .mean = exp(4.0 + 4.5), .p99 = exp(4.0 + 3.0 * Z99)});
    assert_relative(law.width, 2.0 * Z99 - 3.0, 1e-10);
}
END_TEST

static const struct {
    double mean, p99, limit;
} cut_cases[] = {
    {200.0, 480.0, 512.0},  {120.0, 511.0, 512.0},   {3169.0, 16000.0, 16384.0},
    {511.9, 511.99, 512.0}, {50.0, 600.0, 100000.0}, {1000.0, 14000.0, 32768.0},
    {256.0, 256.5, 4096.0}, {15.0, 60.0, 64.0},      {90.0, 1000.0, 1024.0},
};

START_TEST(test_moments_after_the_cut) {
    for (size_t i = 0; i < sizeof cut_cases / sizeof cut_cases[0]; i++) {
        struct generation_lengths law =
            fit((struct generation_length_moments){.law = GENERATION_LENGTH_LOGNORMAL,
                                                   .mean = cut_cases[i].mean,
                                                   .p99 = cut_cases[i].p99,
                                                   .limit = cut_cases[i].limit});
        assert_relative(integrated_mean(&law), cut_cases[i].mean, 1e-8);
        assert_relative(probability_above(&law, cut_cases[i].p99), 0.01, 1e-7);
        assert_relative(generation_lengths_mean(&law), integrated_mean(&law), 1e-8);
        ck_assert_double_eq_tol(generation_lengths_share_cut(&law),
                                probability_above(&law, cut_cases[i].limit), 1e-10);
    }
}
END_TEST

/* With moments from before the cut the law is that without a limit; only what is seen changes. */
START_TEST(test_moments_before_the_cut) {
    struct generation_length_moments moments = {
        .law = GENERATION_LENGTH_LOGNORMAL, .mean = 300.0, .p99 = 2000.0};
    struct generation_lengths free_law = fit(moments);
    moments.limit = 512.0;
    moments.uncut = true;
    struct generation_lengths cut_law = fit(moments);
    ck_assert(cut_law.scale == free_law.scale && cut_law.width == free_law.width);
    assert_relative(generation_lengths_mean(&cut_law), integrated_mean(&cut_law), 1e-8);
    assert_relative(generation_lengths_share_cut(&cut_law), probability_above(&free_law, 512.0),
                    1e-8);
}
END_TEST

/* One draw in each of a million equal strata: what is left of the error is rounding to tokens. */
START_TEST(test_draws_have_the_mean_and_the_share) {
    enum { DRAWS = 1000000 };
    for (size_t i = 0; i < sizeof cut_cases / sizeof cut_cases[0]; i++) {
        struct generation_lengths law =
            fit((struct generation_length_moments){.law = GENERATION_LENGTH_LOGNORMAL,
                                                   .mean = cut_cases[i].mean,
                                                   .p99 = cut_cases[i].p99,
                                                   .limit = cut_cases[i].limit});
        double sum = 0.0;
        int cuts = 0;
        uint32_t last = 1;
        bool ordered = true;
        for (int k = 0; k < DRAWS; k++) {
            bool cut;
            uint32_t tokens = generation_length_at(&law, (k + 0.5) / DRAWS, &cut);
            ordered = ordered && tokens >= last && tokens <= (uint32_t)cut_cases[i].limit &&
                      (!cut || tokens == (uint32_t)cut_cases[i].limit);
            last = tokens;
            sum += tokens;
            cuts += cut;
        }
        ck_assert(ordered);
        assert_relative(sum / DRAWS, cut_cases[i].mean, 0.005);
        ck_assert_double_eq_tol((double)cuts / DRAWS, generation_lengths_share_cut(&law), 2e-6);
    }
}
END_TEST

/* The header's claim on rounding: mean 20, p99 60, summed exactly over whole lengths n, each with
 * the probability of (n - 1/2, n + 1/2). */
START_TEST(test_rounding_keeps_the_mean) {
    struct generation_lengths law = fit((struct generation_length_moments){
        .law = GENERATION_LENGTH_LOGNORMAL, .mean = 20.0, .p99 = 60.0});
    double sum = 1.0 - probability_above(&law, 1.5);
    for (int n = 2; n < 600; n++)
        sum += n * (probability_above(&law, n - 0.5) - probability_above(&law, n + 0.5));
    assert_relative(sum, 20.0, 1e-4);
}
END_TEST

START_TEST(test_constant_lengths) {
    struct generation_lengths fixed = fit((struct generation_length_moments){
        .law = GENERATION_LENGTH_FIXED, .mean = 512.0, .limit = 512.0});
    bool cut = true;
    ck_assert_uint_eq(generation_length_at(&fixed, 0.5, &cut), 512);
    ck_assert(!cut);
    ck_assert(generation_lengths_mean(&fixed) == 512.0);
    ck_assert(generation_lengths_share_cut(&fixed) == 0.0);

    struct generation_lengths longer = fit((struct generation_length_moments){
        .law = GENERATION_LENGTH_FIXED, .mean = 700.0, .limit = 512.0, .uncut = true});
    ck_assert_uint_eq(generation_length_at(&longer, 0.01, &cut), 512);
    ck_assert(cut);
    ck_assert(generation_lengths_mean(&longer) == 512.0);
    ck_assert(generation_lengths_share_cut(&longer) == 1.0);

    struct generation_lengths narrow = fit((struct generation_length_moments){
        .law = GENERATION_LENGTH_LOGNORMAL, .mean = 333.0, .p99 = 333.0, .limit = 512.0});
    ck_assert(narrow.width == 0.0);
    ck_assert_uint_eq(generation_length_at(&narrow, 0.999, NULL), 333);

    struct generation_lengths small =
        fit((struct generation_length_moments){.law = GENERATION_LENGTH_FIXED, .mean = 0.2});
    ck_assert_uint_eq(generation_length_at(&small, 0.5, NULL), 1);
}
END_TEST

/* The two ends of the range that a refusal prints. */
static void printed_range(const char *message, double *low, double *high) {
    const char *between = strstr(message, "between ");
    ck_assert_msg(between != NULL, "%s", message);
    ck_assert_int_eq(sscanf(between, "between %lf and %lf", low, high), 2);
}

START_TEST(test_refusals_say_what_is_feasible) {
    double low, high;
    /* e^(z^2/2) = 14.97 */
    printed_range(refusal((struct generation_length_moments){
                      .law = GENERATION_LENGTH_LOGNORMAL, .mean = 100.0, .p99 = 1600.0}),
                  &low, &high);
    ck_assert(low == 1.0);
    assert_relative(high, exp(Z99 * Z99 / 2.0), 1e-3);
    printed_range(refusal((struct generation_length_moments){
                      .law = GENERATION_LENGTH_LOGNORMAL, .mean = 100.0, .p99 = 99.0}),
                  &low, &high);
    ck_assert(low == 1.0);
    printed_range(
        refusal((struct generation_length_moments){
            .law = GENERATION_LENGTH_LOGNORMAL, .mean = 100.0, .p99 = 99.0, .limit = 512.0}),
        &low, &high);
    ck_assert(low == 1.0);
}
END_TEST

/* The lowest mean that a cut law can have, by trying widths: 3/4 of the printed range is taken,
 * and just within and just outside of it the answer changes. */
START_TEST(test_feasible_range_of_a_cut_law) {
    const double limits[] = {600.0, 2000.0, 20000.0, 1e6};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        double low, high, lowest = 500.0;
        for (int k = 1; k <= 8000; k++) {
            struct generation_lengths law =
                generation_lengths_of_bins(GENERATION_LENGTH_LOGNORMAL, NULL, limits[i]);
            law.width = k * 1e-3;
            law.scale = 500.0 * exp(-Z99 * law.width);
            lowest = fmin(lowest, generation_lengths_mean(&law));
        }
        struct generation_length_moments moments = {.law = GENERATION_LENGTH_LOGNORMAL,
                                                    .mean = 0.5 * lowest,
                                                    .p99 = 500.0,
                                                    .limit = limits[i]};
        printed_range(refusal(moments), &low, &high);
        assert_relative(high, 500.0 / lowest, 1e-3);
        moments.mean = lowest * (1.0 - 1e-5);
        refusal(moments);
        moments.mean = lowest * (1.0 + 1e-5);
        struct generation_lengths law = fit(moments);
        assert_relative(integrated_mean(&law), moments.mean, 1e-7);
    }
}
END_TEST

START_TEST(test_other_refusals) {
    struct generation_length_moments good = {
        .law = GENERATION_LENGTH_LOGNORMAL, .mean = 200.0, .p99 = 480.0, .limit = 512.0};
    struct generation_length_moments bad = good;
    bad.p99 = 512.0;
    ck_assert_ptr_nonnull(strstr(refusal(bad), "not below the limit 512"));
    bad.p99 = 800.0;
    ck_assert_ptr_nonnull(strstr(refusal(bad), "before the cut"));
    bad.uncut = true; /* the advice of that message works */
    fit(bad);
    bad = good;
    bad.mean = 600.0;
    ck_assert_ptr_nonnull(strstr(refusal(bad), "mean 600 is above the limit 512"));
    bad.mean = 0.0;
    ck_assert_ptr_nonnull(strstr(refusal(bad), "mean is 0"));
    bad.mean = (double)NAN;
    ck_assert_ptr_nonnull(strstr(refusal(bad), "above 0"));
    bad = good;
    bad.p99 = 0.0;
    ck_assert_ptr_nonnull(strstr(refusal(bad), "p99 is 0"));
    bad = good;
    bad.limit = 0.5;
    ck_assert_ptr_nonnull(strstr(refusal(bad), "limit is 0.5"));
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("generation lengths");
    TCase *fits = tcase_create("fit");
    tcase_set_timeout(fits, 60.0);
    tcase_add_test(fits, test_uncut_is_the_closed_form);
    tcase_add_test(fits, test_smaller_width_is_taken);
    tcase_add_test(fits, test_moments_after_the_cut);
    tcase_add_test(fits, test_moments_before_the_cut);
    tcase_add_test(fits, test_refusals_say_what_is_feasible);
    tcase_add_test(fits, test_feasible_range_of_a_cut_law);
    tcase_add_test(fits, test_other_refusals);
    suite_add_tcase(s, fits);
    TCase *draws = tcase_create("draws");
    tcase_set_timeout(draws, 60.0);
    tcase_add_test(draws, test_draws_have_the_mean_and_the_share);
    tcase_add_test(draws, test_rounding_keeps_the_mean);
    tcase_add_test(draws, test_constant_lengths);
    suite_add_tcase(s, draws);
    return s;
}

TESTING_MAIN(suite)
