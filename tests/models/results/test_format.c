/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/results/format.h"

#include "tests/testing.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

START_TEST(decimals_are_exact) {
    static const struct {
        int64_t value;
        int decimals;
        const char *text;
    } cases[] = {
        {0, 9, "0"},
        {1, 9, "0.000000001"},
        {-1, 9, "-0.000000001"},
        {10, 9, "0.00000001"},
        {1000000000, 9, "1"},
        {12500000000, 9, "12.5"},
        {100000000007, 9, "100.000000007"},
        {1234567, 3, "1234.567"},
        {1200, 3, "1.2"},
        {1200, 0, "1200"},
        {-7, 0, "-7"},
        {INT64_MAX, 9, "9223372036.854775807"},
        {INT64_MIN, 9, "-9223372036.854775808"},
        {INT64_MIN, 0, "-9223372036854775808"},
        {7, 18, "0.000000000000000007"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[RESULTS_NUMBER_SIZE];
        size_t length = results_format_decimal(cases[i].value, cases[i].decimals, text);
        ck_assert_str_eq(text, cases[i].text);
        ck_assert_uint_eq(length, strlen(text));
    }
}
END_TEST

/* Each text is the shortest decimal number of its double (as Python's repr and others print it),
 * except that whole numbers and few decimals are laid out without an exponent. */
START_TEST(numbers_are_short) {
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0.0, "0"},
        {-0.0, "0"},
        {1.0, "1"},
        {-2.5, "-2.5"},
        {0.1, "0.1"},
        {0.001, "0.001"},
        {1e-7, "0.0000001"},
        {123.456, "123.456"},
        {3.125e15, "3125000000000000"},
        {0x1p53, "9007199254740992"},
        {0x1p62, "4611686018427387904"},
        {1e18, "1000000000000000000"},
        {1e19, "1e19"},
        {-1e300, "-1e300"},
        {1.7976931348623157e308, "1.7976931348623157e308"},
        {2.2250738585072014e-308, "2.2250738585072014e-308"},
        {1.0 / 3.0, "0.3333333333333333"},
        {200.0 / 3.0, "66.66666666666667"},
        {3.141592653589793, "3.141592653589793"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1.0 / 3e4, "0.000033333333333333335"},
        {1.0 / 3e9, "3.333333333333333e-10"},
        {12345678901.234568, "12345678901.234568"},
        {0.015625, "0.015625"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[RESULTS_NUMBER_SIZE];
        size_t length = results_format_number(cases[i].value, text);
        ck_assert_str_eq(text, cases[i].text);
        ck_assert_uint_eq(length, strlen(text));
    }
}
END_TEST

/* Steele's xorshift; the seed stands in every message. */
static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void assert_reads_back(double value, uint64_t seed) {
    char text[RESULTS_NUMBER_SIZE];
    size_t length = results_format_number(value, text);
    ck_assert_uint_lt(length, RESULTS_NUMBER_SIZE);
    ck_assert_msg(strtod(text, NULL) == value, "%a was printed as %s (seed %llu)", value, text,
                  (unsigned long long)seed);
}

/* Any bit pattern; and what files hold: sums of nanoseconds in seconds, shares, bytes. */
START_TEST(numbers_read_back) {
    const uint64_t seed = 20261130;
    uint64_t state = seed;
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = next_random(&state);
        double any;
        memcpy(&any, &bits, sizeof any);
        if (isfinite(any))
            assert_reads_back(any, seed);
        assert_reads_back((double)(bits >> 20) / 1e9, seed);
        assert_reads_back((double)(bits >> 11) * 0x1p-53, seed);
        assert_reads_back((double)(bits >> 24) / 8.0, seed);
    }
}
END_TEST

static Suite *format_suite(void) {
    Suite *suite = suite_create("format");
    TCase *tests = tcase_create("numbers");
    tcase_add_test(tests, decimals_are_exact);
    tcase_add_test(tests, numbers_are_short);
    tcase_add_test(tests, numbers_read_back);
    suite_add_tcase(suite, tests);
    return suite;
}

TESTING_MAIN(format_suite)
