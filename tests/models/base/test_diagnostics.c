/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/testing.h"

#include "models/base/diagnostics.h"

#include <string.h>

static struct rlhfsim_diagnostics *list;

static void setup(void) {
    list = rlhfsim_diagnostics_new();
    ck_assert_ptr_nonnull(list);
}

static void teardown(void) {
    rlhfsim_diagnostics_free(list);
}

static void add(const char *file, int line, int column, const char *message) {
    enum rlhfsim_status status =
        rlhfsim_diagnostics_add(list, RLHFSIM_INVALID, file, line, column, "%s", message);
    ck_assert_int_eq(status, RLHFSIM_INVALID);
}

static const char *message_at(size_t index) {
    return rlhfsim_diagnostics_get(list, index)->message;
}

START_TEST(test_strings_are_copied) {
    char file[] = "s.yaml", message[] = "wrong";
    add(file, 3, 4, message);
    memset(file, 'x', sizeof file - 1);
    memset(message, 'x', sizeof message - 1);
    const struct rlhfsim_error *error = rlhfsim_diagnostics_get(list, 0);
    ck_assert_uint_eq(rlhfsim_diagnostics_count(list), 1);
    ck_assert_str_eq(error->file, "s.yaml");
    ck_assert_str_eq(error->message, "wrong");
    ck_assert_int_eq(error->status, RLHFSIM_INVALID);
    ck_assert_ptr_null(rlhfsim_diagnostics_get(list, 1));
}
END_TEST

START_TEST(test_formats) {
    char text[64];
    add("s.yaml", 3, 4, "wrong");
    add("s.yaml", 0, 0, "unreadable");
    add(NULL, 0, 0, "alone");
    rlhfsim_error_format(rlhfsim_diagnostics_get(list, 0), text, sizeof text);
    ck_assert_str_eq(text, "s.yaml:3:4: error: wrong");
    rlhfsim_error_format(rlhfsim_diagnostics_get(list, 1), text, sizeof text);
    ck_assert_str_eq(text, "s.yaml: error: unreadable");
    rlhfsim_error_format(rlhfsim_diagnostics_get(list, 2), text, sizeof text);
    ck_assert_str_eq(text, "error: alone");
}
END_TEST

/* As snprintf: what does not fit is cut, the length of all of it is told. */
START_TEST(test_short_buffer) {
    char text[8];
    add("s.yaml", 3, 4, "wrong");
    int length = rlhfsim_error_format(rlhfsim_diagnostics_get(list, 0), text, sizeof text);
    ck_assert_str_eq(text, "s.yaml:");
    ck_assert_int_eq(length, (int)strlen("s.yaml:3:4: error: wrong"));
}
END_TEST

START_TEST(test_order) {
    add("--set", 1, 9, "set");
    add("s.yaml", 7, 2, "line 7, second");
    add("s.yaml", 7, 1, "line 7, first");
    add("gpus.csv", 1, 1, "catalog");
    add("s.yaml", 2, 5, "line 2");
    add("s.yaml", 2, 5, "line 2, found later");
    base_diagnostics_sort(list, 0, "s.yaml");
    static const char *const expected[] = {
        "line 2", "line 2, found later", "line 7, first", "line 7, second", "set", "catalog"};
    for (size_t i = 0; i < 6; i++)
        ck_assert_str_eq(message_at(i), expected[i]);
}
END_TEST

/* What was there before stays where it is. */
/* What is delayed comes behind the others of its file. */
START_TEST(test_delayed) {
    rlhfsim_diagnostics_add(list, RLHFSIM_INVALID, "a", 1, 1, "missing");
    base_diagnostics_delay(list);
    rlhfsim_diagnostics_add(list, RLHFSIM_INVALID, "a", 9, 1, "late");
    rlhfsim_diagnostics_add(list, RLHFSIM_INVALID, "b", 1, 1, "other");
    base_diagnostics_sort(list, 0, "a");
    ck_assert_str_eq(rlhfsim_diagnostics_get(list, 0)->message, "late");
    ck_assert_str_eq(rlhfsim_diagnostics_get(list, 1)->message, "missing");
    ck_assert_str_eq(rlhfsim_diagnostics_get(list, 2)->message, "other");
}
END_TEST

START_TEST(test_order_from) {
    add("s.yaml", 9, 1, "before");
    add("s.yaml", 5, 1, "b");
    add("s.yaml", 4, 1, "a");
    base_diagnostics_sort(list, 1, "s.yaml");
    ck_assert_str_eq(message_at(0), "before");
    ck_assert_str_eq(message_at(1), "a");
    ck_assert_str_eq(message_at(2), "b");
}
END_TEST

START_TEST(test_truncation) {
    for (int line = 1; line <= 10; line++)
        add("s.yaml", line, 1, "wrong");
    base_diagnostics_truncate(list, 0, 10);
    ck_assert_uint_eq(rlhfsim_diagnostics_count(list), 10);
    base_diagnostics_truncate(list, 0, 3);
    ck_assert_uint_eq(rlhfsim_diagnostics_count(list), 4);
    ck_assert_str_eq(message_at(3), "and 7 more errors");
    ck_assert_int_eq(rlhfsim_diagnostics_get(list, 2)->line, 3);
}
END_TEST

START_TEST(test_truncation_of_one) {
    add("s.yaml", 1, 1, "wrong");
    add("s.yaml", 2, 1, "wrong");
    base_diagnostics_truncate(list, 0, 1);
    ck_assert_str_eq(message_at(1), "and 1 more error");
}
END_TEST

START_TEST(test_statuses) {
    ck_assert_int_eq(rlhfsim_status_exit(RLHFSIM_OK), 0);
    ck_assert_int_eq(rlhfsim_status_exit(RLHFSIM_INFEASIBLE), 1);
    ck_assert_int_eq(rlhfsim_status_exit(RLHFSIM_INVALID), 2);
    ck_assert_int_eq(rlhfsim_status_exit(RLHFSIM_IO), 3);
    ck_assert_int_eq(rlhfsim_status_exit(RLHFSIM_NO_MEMORY), 3);
    ck_assert_int_eq(rlhfsim_status_exit(RLHFSIM_INTERNAL), 3);
    ck_assert_int_eq(rlhfsim_status_exit(RLHFSIM_CANCELLED), 130);
    ck_assert_str_eq(rlhfsim_status_text(RLHFSIM_INVALID), "bad input");
    /* None of the enum's values. */
    ck_assert_str_eq(rlhfsim_status_text((enum rlhfsim_status)99),
                     rlhfsim_status_text(RLHFSIM_INTERNAL));
}
END_TEST

static Suite *diagnostics_suite(void) {
    Suite *suite = suite_create("base.diagnostics");
    TCase *cases = tcase_create("diagnostics");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, test_strings_are_copied);
    tcase_add_test(cases, test_formats);
    tcase_add_test(cases, test_short_buffer);
    tcase_add_test(cases, test_order);
    tcase_add_test(cases, test_delayed);
    tcase_add_test(cases, test_order_from);
    tcase_add_test(cases, test_truncation);
    tcase_add_test(cases, test_truncation_of_one);
    tcase_add_test(cases, test_statuses);
    suite_add_tcase(suite, cases);
    return suite;
}

TESTING_MAIN(diagnostics_suite)
