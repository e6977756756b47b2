/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Two independent lognormal factors with deviations s and t make one with sqrt(s^2 + t^2): with
 * s = 0.3 and t = 0.4 it is 0.5. P90 lies 1.2816 deviations above the middle.
 */

#include "models/forecast/band.h"
#include "tests/testing.h"

#define Z90 1.2815515655446004

static struct results_figure lognormal(double middle, double deviation) {
    return (struct results_figure){.known = true,
                                   .p10 = middle * exp(-Z90 * deviation),
                                   .p50 = middle,
                                   .p90 = middle * exp(Z90 * deviation)};
}

START_TEST(lognormal_factors_multiply) {
    struct results_figure figure = lognormal(70.0, 0.3), error = lognormal(1.1, 0.4);
    struct scenario_band band = {error.p10, error.p50, error.p90, 49, 6};
    struct results_figure both = forecast_band_of(&figure, &band);
    struct results_figure expected = lognormal(77.0, 0.5);
    ck_assert(both.known);
    assert_relative(both.p10, expected.p10, 1e-12);
    assert_relative(both.p50, expected.p50, 1e-12);
    assert_relative(both.p90, expected.p90, 1e-12);
}
END_TEST

/* Where nothing is random the band is the model's error, sides apart. */
START_TEST(an_exact_figure_has_the_models_error) {
    struct results_figure figure = results_figure_exact(200.0);
    struct scenario_band band = {0.8, 0.95, 1.4, 49, 6};
    struct results_figure both = forecast_band_of(&figure, &band);
    assert_relative(both.p10, 160.0, 1e-12);
    assert_relative(both.p50, 190.0, 1e-12);
    assert_relative(both.p90, 280.0, 1e-12);
}
END_TEST

START_TEST(what_is_not_known_stays_so) {
    struct results_figure none = {.known = false}, zero = results_figure_exact(0.0),
                          figure = results_figure_exact(3.0);
    struct scenario_band band = {0.8, 0.95, 1.4, 49, 6}, unvalidated = {0.0, 0.0, 0.0, 0, 0};
    ck_assert(!forecast_band_of(&none, &band).known);
    ck_assert(!forecast_band_of(&zero, &band).known); /* a phase that the algorithm has not */
    ck_assert(!forecast_band_of(&figure, &unvalidated).known);
}
END_TEST

static Suite *band_suite(void) {
    Suite *suite = suite_create("forecast.band");
    TCase *tests = tcase_create("band");
    tcase_add_test(tests, lognormal_factors_multiply);
    tcase_add_test(tests, an_exact_figure_has_the_models_error);
    tcase_add_test(tests, what_is_not_known_stays_so);
    suite_add_tcase(suite, tests);
    return suite;
}

TESTING_MAIN(band_suite)
