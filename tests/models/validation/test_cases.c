/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/validation/cases.h"
#include "tests/testing.h"

#include <stdlib.h>
#include <string.h>

static const struct validation_metric duration = {"time_s", true, false},
                                      fits = {"fits", false, false};

static void add(struct rlhfsim_validation *validation, const char *source,
                const struct validation_metric *metric, double measured, double forecast,
                const char *skipped) {
    struct validation_case added = {.source = source,
                                    .name = "case",
                                    .metric = metric,
                                    .measured = measured,
                                    .forecast = forecast,
                                    .provenance = "measured",
                                    .skipped = skipped};
    ck_assert(validation_add(validation, &added));
}

/* Errors of time_s: a 0.1, -0.2, 0.4; b -0.5. Quantiles of |error| over 0.1, 0.2, 0.4, 0.5: median
 * 0.3, P90 at place 2.7: 0.47; the median of -0.5, -0.2, 0.1, 0.4 is -0.05. Within a, measured 10,
 * 20, 30 against 11, 16, 42: in order. fits counts under its own name only; its three rows of a
 * disagree in one of three pairs. */
START_TEST(errors_by_set) {
    struct rlhfsim_validation *v = validation_new();
    struct rlhfsim_validation_errors errors;
    add(v, "a", &duration, 10.0, 11.0, NULL);
    add(v, "a", &duration, 20.0, 16.0, NULL);
    add(v, "b", &duration, 2.0, 1.0, NULL);
    add(v, "a", &fits, 1.0, 3.0, NULL);
    add(v, "a", &duration, 30.0, 42.0, NULL);
    add(v, "a", &fits, 2.0, 2.0, NULL);
    add(v, "a", &fits, 3.0, 6.0, NULL);
    add(v, "a", &duration, 5.0, 0.0, "no such GPU");
    add(v, "c", NULL, 0.0, 0.0, "no measured value");
    add(v, "c", &duration, 1e-320, 1.0, NULL); /* no quotient */
    ck_assert(rlhfsim_validation_overall(v, &errors));
    ck_assert_uint_eq(errors.rows, 7);
    ck_assert_uint_eq(errors.compared, 4);
    ck_assert_uint_eq(errors.skipped, 3);
    assert_relative(errors.median_abs_error, 0.3, 1e-12);
    assert_relative(errors.p90_abs_error, 0.47, 1e-12);
    assert_relative(errors.bias, -0.05, 1e-12);
    ck_assert_double_eq(errors.kendall_tau, 1.0); /* a and b are not compared with each other */
    ck_assert(rlhfsim_validation_source(v, 0, &errors));
    ck_assert_str_eq(errors.name, "a");
    ck_assert_uint_eq(errors.rows, 4);
    assert_relative(errors.median_abs_error, 0.2, 1e-12);
    ck_assert(rlhfsim_validation_source(v, 1, &errors));
    ck_assert_str_eq(errors.name, "b");
    ck_assert(isnan(errors.kendall_tau));
    ck_assert(rlhfsim_validation_source(v, 2, &errors));
    ck_assert(errors.compared == 0 && errors.skipped == 2 && isnan(errors.bias));
    ck_assert(!rlhfsim_validation_source(v, 3, &errors) && errors.name == NULL);
    ck_assert(rlhfsim_validation_metric(v, 1, &errors));
    ck_assert_str_eq(errors.name, "fits");
    ck_assert_uint_eq(errors.compared, 3);
    assert_relative(errors.kendall_tau, 1.0 / 3.0, 1e-12);
    ck_assert(!rlhfsim_validation_metric(v, 2, &errors));
    rlhfsim_validation_free(v);
}
END_TEST

START_TEST(reasons_are_counted) {
    struct rlhfsim_validation *v = validation_new();
    const char *reason;
    size_t count;
    for (int i = 0; i < 200; i++) /* more than there is room for at first */
        add(v, "a", &duration, i % 2, 1.0, i % 2 == 0 ? NULL : "no such GPU");
    ck_assert(rlhfsim_validation_skipped(v, 0, &reason, &count));
    ck_assert_str_eq(reason, "the measured value is 0");
    ck_assert_uint_eq(count, 100);
    ck_assert(rlhfsim_validation_skipped(v, 1, &reason, &count));
    ck_assert_str_eq(reason, "no such GPU");
    ck_assert(!rlhfsim_validation_skipped(v, 2, &reason, &count));
    rlhfsim_validation_free(v);
    rlhfsim_validation_free(NULL);
}
END_TEST

START_TEST(sources_are_projects) {
    struct rlhfsim_validation *v = validation_new();
    ck_assert_str_eq(validation_source_name(v, "github.com/a/b@12:c d"), "github.com/a/b");
    ck_assert_str_eq(validation_source_name(v, "a paper@page"), "a");
    ck_assert_str_eq(validation_source_name(v, "plain"), "plain");
    ck_assert_str_eq(validation_source_name(v, ""), "");
    rlhfsim_validation_free(v);
}
END_TEST

START_TEST(json_quotes_names) {
    struct rlhfsim_validation *v = validation_new();
    add(v, "a\"b\\c\td", &duration, 4.0, 5.0, NULL);
    char *json = rlhfsim_validation_json(v);
    ck_assert_ptr_nonnull(strstr(json, "\"a\\\"b\\\\c\\u0009d\": {\"rows\": 1, \"compared\": 1, "
                                       "\"skipped\": 0, \"median_abs_error\": 0.25, "));
    free(json);
    rlhfsim_validation_free(v);
    v = validation_new();
    json = rlhfsim_validation_json(v);
    ck_assert_ptr_nonnull(strstr(json, "\"sources\": {}"));
    free(json);
    rlhfsim_validation_free(v);
}
END_TEST

static Suite *suite(void) {
    Suite *result = suite_create("validation_cases");
    TCase *tests = tcase_create("cases");
    tcase_add_test(tests, errors_by_set);
    tcase_add_test(tests, reasons_are_counted);
    tcase_add_test(tests, sources_are_projects);
    tcase_add_test(tests, json_quotes_names);
    suite_add_tcase(result, tests);
    return result;
}

TESTING_MAIN(suite)
