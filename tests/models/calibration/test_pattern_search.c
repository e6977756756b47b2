/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/calibration/pattern_search.h"
#include "tests/testing.h"

/* t = a + x / b at x = 1 to 2^19, made with a = 3, b = 40; every tenth value is three times as
 * large. */
struct line {
    double a, b;
    bool outliers;
};

#define POINTS 20

static double line_loss(void *subject) {
    struct line *line = subject;
    double loss = 0.0, x = 1.0;
    for (int i = 0; i < POINTS; i++, x *= 2.0) {
        double measured = (3.0 + x / 40.0) * (line->outliers && i % 10 == 5 ? 3.0 : 1.0);
        loss += search_case_loss(line->a + x / line->b, measured);
    }
    return loss;
}

static struct line fitted(bool outliers, double hold) {
    struct line line = {.outliers = outliers};
    struct search_coefficient coefficients[] = {{&line.a, 1.0, 1e-6, 1e6, hold},
                                                {&line.b, 1.0, 1e-6, 1e6, hold}};
    (void)search_minimise(coefficients, 2, line_loss, &line);
    return line;
}

START_TEST(coefficients_are_found_again) {
    struct line line = fitted(false, 0.0);
    assert_relative(line.a, 3.0, 0.01);
    assert_relative(line.b, 40.0, 0.01);
}
END_TEST

/* A tenth of the points off by a factor of 3 moves a least-squares fit of the logarithms by 11 %
 * (ln 3 / 10); this one by less than 3 %. */
START_TEST(a_few_wrong_points_do_not_pull) {
    struct line line = fitted(true, 0.0);
    assert_relative(line.a, 3.0, 0.03);
    assert_relative(line.b, 40.0, 0.03);
}
END_TEST

START_TEST(without_evidence_the_usual_holds) {
    struct line line = fitted(false, 1e6);
    assert_relative(line.a, 1.0, 0.01);
    assert_relative(line.b, 1.0, 0.01);
}
END_TEST

START_TEST(limits_are_kept) {
    struct line line = {0};
    struct search_coefficient coefficients[] = {{&line.a, 1.0, 1e-6, 2.0, 0.0},
                                                {&line.b, 1.0, 1e-6, 1e6, 0.0}};
    (void)search_minimise(coefficients, 2, line_loss, &line);
    ck_assert_double_eq(line.a, 2.0);
}
END_TEST

/* log(1.1 / 1) / 0.1 = 0.953: sqrt(1 + 0.908) - 1 = 0.3814. */
START_TEST(the_loss_of_a_case) {
    assert_relative(search_case_loss(1.1, 1.0), 0.38142, 1e-4);
    ck_assert_double_eq(search_case_loss(7.0, 7.0), 0.0);
    assert_relative(search_case_loss(1.0, 2.0), search_case_loss(2.0, 1.0), 1e-12);
}
END_TEST

static Suite *suite(void) {
    Suite *result = suite_create("calibration_pattern_search");
    TCase *tests = tcase_create("fit");
    tcase_add_test(tests, coefficients_are_found_again);
    tcase_add_test(tests, a_few_wrong_points_do_not_pull);
    tcase_add_test(tests, without_evidence_the_usual_holds);
    tcase_add_test(tests, limits_are_kept);
    tcase_add_test(tests, the_loss_of_a_case);
    suite_add_tcase(result, tests);
    return result;
}

TESTING_MAIN(suite)
