/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decimal numbers: what is read, exact sums and products, limits. */
#include "tests/testing.h"
#include "tools/decimal.h"

#include <string.h>

static struct decimal number(const char *text) {
    struct decimal read;
    ck_assert_msg(decimal_read(text, strlen(text), &read), "%s is not read", text);
    return read;
}

static void expect_text(struct decimal number, const char *expected) {
    char text[DECIMAL_TEXT];
    decimal_print(number, text);
    ck_assert_str_eq(text, expected);
}

START_TEST(numbers_print_short) {
    static const char *const cases[][2] = {{"0", "0"},
                                           {"00", "0"},
                                           {"0.0", "0"},
                                           {"1", "1"},
                                           {"007", "7"},
                                           {"250", "250"},
                                           {".5", "0.5"},
                                           {"0.50", "0.5"},
                                           {"12.340", "12.34"},
                                           {"0.001", "0.001"},
                                           {"999999999999999999", "999999999999999999"},
                                           {"0.000000000000000001", "0.000000000000000001"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_text(number(cases[i][0]), cases[i][1]);
}
END_TEST

START_TEST(what_is_no_number_is_refused) {
    static const char *const cases[] = {"",
                                        ".",
                                        "1.",
                                        "-1",
                                        "+1",
                                        "1e3",
                                        "1.2.3",
                                        " 1",
                                        "1 ",
                                        "0x10",
                                        "nan",
                                        "1,5",
                                        "1_0",
                                        "1000000000000000000",
                                        "0.0000000000000000001"};
    struct decimal read;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        ck_assert_msg(!decimal_read(cases[i], strlen(cases[i]), &read), "%s is read", cases[i]);
}
END_TEST

/* Only the bytes that belong to the number are looked at. */
START_TEST(length_ends_the_text) {
    struct decimal read;
    ck_assert(decimal_read("256:4096", 3, &read));
    expect_text(read, "256");
}
END_TEST

START_TEST(sums) {
    struct decimal sum = number("0"), step = number("0.1");
    for (int i = 0; i < 10; i++)
        ck_assert(decimal_add(sum, step, &sum));
    expect_text(sum, "1");
    ck_assert_int_eq(decimal_compare(sum, number("1")), 0);
    ck_assert(decimal_add(number("0.75"), number("12.5"), &sum));
    expect_text(sum, "13.25");
}
END_TEST

/* 1.5^4 = 5.0625; 0.25 x 8 = 2. */
START_TEST(products) {
    struct decimal product = number("1");
    for (int i = 0; i < 4; i++)
        ck_assert(decimal_multiply(product, number("1.5"), &product));
    expect_text(product, "5.0625");
    ck_assert(decimal_multiply(number("0.25"), number("8"), &product));
    expect_text(product, "2");
    ck_assert(decimal_multiply(number("0"), number("1.5"), &product));
    expect_text(product, "0");
}
END_TEST

START_TEST(what_does_not_fit_is_said) {
    struct decimal result = number("7");
    ck_assert(!decimal_add(number("999999999999999999"), number("1"), &result));
    ck_assert(!decimal_add(number("999999999999999999"), number("0.1"), &result));
    ck_assert(!decimal_multiply(number("1000000000"), number("1000000000"), &result));
    ck_assert(!decimal_multiply(number("0.0000000001"), number("0.000000001"), &result));
    expect_text(result, "7");
}
END_TEST

START_TEST(every_pair_is_ordered) {
    static const char *const rising[] = {
        "0", "0.000000000000000001", "0.09", "0.1", "0.101",
        "1", "1.00000000000000001",  "9.99", "10",  "999999999999999999"};
    int count = (int)(sizeof rising / sizeof rising[0]);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++) {
            int sign = decimal_compare(number(rising[i]), number(rising[j]));
            ck_assert_msg((sign > 0) - (sign < 0) == (i > j) - (i < j), "%s and %s: %d", rising[i],
                          rising[j], sign);
        }
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("decimal");
    TCase *tcase = tcase_create("decimal");
    tcase_add_test(tcase, numbers_print_short);
    tcase_add_test(tcase, what_is_no_number_is_refused);
    tcase_add_test(tcase, length_ends_the_text);
    tcase_add_test(tcase, sums);
    tcase_add_test(tcase, products);
    tcase_add_test(tcase, what_does_not_fit_is_said);
    tcase_add_test(tcase, every_pair_is_ordered);
    suite_add_tcase(suite, tcase);
    return suite;
}

TESTING_MAIN(suite)
