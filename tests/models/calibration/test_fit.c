/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/calibration/fit.h"
#include "tests/testing.h"

/* y = a x^b at x = 1 .. 40, a = 3 and b = 0.7; some points are put off by `outlier`. */
#define POINTS 40

struct power {
    double a, b, x[POINTS], y[POINTS];
};

static void set(void *context, const double *values) {
    struct power *power = context;
    power->a = values[0];
    power->b = values[1];
}

static double residual(void *context, size_t point) {
    const struct power *power = context;
    return log(power->a * pow(power->x[point], power->b) / power->y[point]);
}

static void solve(double outlier, double prior, size_t points, double values[2]) {
    static const struct fit_coefficient coefficients[] = {{1.0, 0.0, (double)INFINITY},
                                                          {0.5, 0.0, 1.0}};
    struct power power = {0};
    struct fit_problem problem = {.points = points,
                                  .coefficients = 2,
                                  .coefficient = coefficients,
                                  .scale = 0.1,
                                  .prior = prior,
                                  .set = set,
                                  .residual = residual,
                                  .context = &power};
    for (int i = 0; i < POINTS; i++) {
        power.x[i] = i + 1.0;
        power.y[i] = 3.0 * pow(power.x[i], 0.7) * (i % 10 == 4 ? outlier : 1.0);
    }
    values[0] = coefficients[0].start;
    values[1] = coefficients[1].start;
    ck_assert(fit_solve(&problem, 20, values));
}

START_TEST(exact_points_give_the_coefficients) {
    double values[2];
    solve(1.0, 0.0, POINTS, values);
    assert_relative(values[0], 3.0, 1e-6);
    assert_relative(values[1], 0.7, 1e-6);
}
END_TEST

/* Every tenth point ten times too large: ordinary least squares would raise the level by
 * 10^(1/10) = 1.26. Under soft L1 a far point pulls with a weight of scale / r: the level d at
 * which 36 near points of pull d / scale balance 4 far ones of pull 1 is 4/36 x 0.1 = 0.011. */
START_TEST(odd_points_hardly_matter) {
    double values[2];
    solve(10.0, 0.0, POINTS, values);
    double middle = values[0] * pow(20.0, values[1]) / (3.0 * pow(20.0, 0.7));
    ck_assert_double_gt(middle, 1.0);
    ck_assert_double_lt(middle, 1.03);
}
END_TEST

/* Two points at x = 1 and 2 against a heavy prior: the values stay near their start (1, 0.5); with
 * none of it they are found. */
START_TEST(a_prior_holds_what_points_do_not) {
    double values[2];
    solve(1.0, 1e3, 2, values);
    assert_relative(values[0], 1.0, 1e-3);
    assert_relative(values[1], 0.5, 1e-3);
    solve(1.0, 0.0, 2, values);
    assert_relative(values[0], 3.0, 1e-4);
}
END_TEST

/* Two groups of points, y = a for the first half and y = b for the rest, with derivatives of the
 * points that depend only: the same as without, and residuals of the others are not asked for. */
struct levels {
    double a, b;
    size_t asked;
};

static void set_levels(void *context, const double *values) {
    struct levels *levels = context;
    levels->a = values[0];
    levels->b = values[1];
}

static double level_residual(void *context, size_t point) {
    struct levels *levels = context;
    levels->asked++;
    return point < 10 ? log(levels->a / 7.0) : log(levels->b / 0.2);
}

static bool level_depends(void *context, size_t point, size_t coefficient) {
    (void)context;
    return coefficient == (point < 10 ? 0 : 1);
}

START_TEST(groups_of_points_cost_less) {
    static const struct fit_coefficient coefficients[] = {{1.0, 0.0, (double)INFINITY},
                                                          {0.5, 0.0, 1.0}};
    size_t asked[2];
    for (int known = 0; known < 2; known++) {
        struct levels levels = {0};
        double values[2] = {1.0, 0.5};
        struct fit_problem problem = {.points = 20,
                                      .coefficients = 2,
                                      .coefficient = coefficients,
                                      .scale = 0.1,
                                      .set = set_levels,
                                      .residual = level_residual,
                                      .depends = known == 1 ? level_depends : NULL,
                                      .context = &levels};
        ck_assert(fit_solve(&problem, 20, values));
        assert_relative(values[0], 7.0, 1e-5);
        assert_relative(values[1], 0.2, 1e-5);
        asked[known] = levels.asked;
    }
    ck_assert_uint_gt(asked[1], 0);
    ck_assert_uint_le(asked[1], asked[0]);
}
END_TEST

static Suite *suite(void) {
    Suite *result = suite_create("calibration_fit");
    TCase *fits = tcase_create("fits");
    tcase_add_test(fits, exact_points_give_the_coefficients);
    tcase_add_test(fits, odd_points_hardly_matter);
    tcase_add_test(fits, a_prior_holds_what_points_do_not);
    tcase_add_test(fits, groups_of_points_cost_less);
    suite_add_tcase(result, fits);
    return result;
}

TESTING_MAIN(suite)
