/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/validation/cases.h"
#include "tests/testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct validation_metric duration = {"step_s", true, false};

static void add(struct rlhfsim_validation *validation, const char *source, const char *layout,
                double processors, double work, double measured, double forecast) {
    const struct validation_case added = {.source = source,
                                          .name = "x",
                                          .metric = &duration,
                                          .measured = measured,
                                          .forecast = forecast,
                                          .scale = {layout, processors, work}};
    ck_assert(validation_add(validation, &added));
}

/* Strong: 8, 16 and 32 GPUs do 100 in 10, 6 and 5 s, forecast 10, 5 and 5.5: the last two change
 * places, tau (2 - 1) / 3. The same layout elsewhere, other work or another layout are no points of
 * it; nor is a second one of 32 compared with the first, though it is with the others (9 s as
 * forecast, 5.2 as measured): kept 2, so tau (4 - 1) / 5. */
START_TEST(strong_curves) {
    struct rlhfsim_validation *v = validation_new();
    struct rlhfsim_validation_curves strong, weak;
    add(v, "a", "l", 8.0, 100.0, 10.0, 10.0);
    add(v, "a", "l", 32.0, 100.0, 5.0, 5.5);
    add(v, "a", "l", 16.0, 100.0, 6.0, 5.0);
    add(v, "b", "l", 16.0, 100.0, 20.0, 1.0);
    add(v, "a", "m", 16.0, 100.0, 20.0, 1.0);
    add(v, "a", "l", 16.0, 130.0, 20.0, 1.0);
    add(v, "a", NULL, 16.0, 100.0, 20.0, 1.0);
    ck_assert(rlhfsim_validation_scaling(v, &strong, &weak));
    ck_assert_uint_eq(strong.curves, 1);
    ck_assert_uint_eq(strong.pairs, 3);
    assert_relative(strong.kendall_tau, 1.0 / 3.0, 1e-12);
    assert_relative(strong.time_kendall_tau, 1.0 / 3.0, 1e-12);
    ck_assert_uint_eq(weak.curves, 0);
    ck_assert(isnan(weak.kendall_tau));
    add(v, "a", "l", 32.0, 100.0, 5.2, 4.5);
    ck_assert(rlhfsim_validation_scaling(v, &strong, &weak));
    ck_assert_uint_eq(strong.pairs, 5);
    assert_relative(strong.kendall_tau, 3.0 / 5.0, 1e-12);
    rlhfsim_validation_free(v);
}
END_TEST

/* Weak: 8 and 16 GPUs with 10 each take 5 and 6 s, forecast 5.5 and 5.4: times change places, and
 * work a second (16 and 26.7, 14.5 and 29.6) does not. A batch that was printed with six digits is
 * the same batch. */
START_TEST(weak_curves) {
    struct rlhfsim_validation *v = validation_new();
    struct rlhfsim_validation_curves strong, weak;
    add(v, "a", "l", 8.0, 80.0, 5.0, 5.5);
    add(v, "a", "l", 16.0, 160.00001, 6.0, 5.4);
    add(v, "a", "l", 16.0, 161.0, 1.0, 9.0);
    ck_assert(rlhfsim_validation_scaling(v, &strong, &weak));
    ck_assert_uint_eq(strong.curves, 0);
    ck_assert_uint_eq(weak.curves, 1);
    ck_assert_uint_eq(weak.pairs, 1);
    ck_assert_double_eq(weak.kendall_tau, 1.0);
    ck_assert_double_eq(weak.time_kendall_tau, -1.0);
    char *json = rlhfsim_validation_json(v);
    ck_assert_ptr_nonnull(strstr(
        json, "\"scaling\": {\"strong\": {\"curves\": 0, \"pairs\": 0, "
              "\"kendall_tau\": null, \"time_kendall_tau\": null}, \"weak\": {\"curves\": 1, "
              "\"pairs\": 1, \"kendall_tau\": 1, \"time_kendall_tau\": -1}}"));
    free(json);
    rlhfsim_validation_free(v);
    v = validation_new(); /* other kinds have none */
    add(v, "a", NULL, 0.0, 0.0, 5.0, 5.5);
    json = rlhfsim_validation_json(v);
    ck_assert_ptr_null(strstr(json, "scaling"));
    free(json);
    rlhfsim_validation_free(v);
}
END_TEST

static Suite *scaling_suite(void) {
    Suite *suite = suite_create("validation.scaling");
    TCase *tests = tcase_create("curves");
    tcase_add_test(tests, strong_curves);
    tcase_add_test(tests, weak_curves);
    suite_add_tcase(suite, tests);
    return suite;
}

TESTING_MAIN(scaling_suite)
