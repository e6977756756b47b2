/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers as people read them. Expected texts are worked out by hand from the values beside them.
 */
#include "tests/testing.h"
#include "tools/text.h"

#include <string.h>

static void expect(struct text text, const char *expected) {
    ck_assert_str_eq(text.chars, expected);
}

START_TEST(numbers_have_three_significant_digits) {
    expect(text_number(0), "0");
    expect(text_number(0.012345), "0.0123");
    expect(text_number(0.25), "0.25");
    expect(text_number(0.99949), "0.999");
    expect(text_number(0.99951), "1.00");
    expect(text_number(8.364), "8.36");
    expect(text_number(9.996), "10.0");
    expect(text_number(99.94), "99.9");
    expect(text_number(99.96), "100");
    expect(text_number(999.4), "999");
    expect(text_number(999.6), "1,000");
    expect(text_number(1234567.8), "1,234,568");
    expect(text_number(-1234.4), "-1,234");
    expect(text_number(-8.364), "-8.36");
}
END_TEST

START_TEST(counts_are_exact) {
    expect(text_count(0), "0");
    expect(text_count(999), "999");
    expect(text_count(1000), "1,000");
    expect(text_count(264292), "264,292");
    expect(text_count(-264292), "-264,292");
    expect(text_count(INT64_MAX), "9,223,372,036,854,775,807");
}
END_TEST

START_TEST(durations_change_their_unit) {
    expect(text_duration(0.25), "0.25 s");
    expect(text_duration(119.9), "120 s");
    expect(text_duration(120), "2.00 min");
    expect(text_duration(7199), "120 min");
    expect(text_duration(7200), "2.00 h");
    expect(text_duration(47.99 * 3600), "48.0 h");
    expect(text_duration(48 * 3600.0), "2.00 d");
    expect(text_duration(450144), "5.21 d"); /* 5.21 x 86400 */
}
END_TEST

START_TEST(bytes_and_gibibytes_are_not_mixed) {
    /* 80 GiB = 80 x 2^30 = 85899345920 bytes = 85.9e9 bytes */
    expect(text_bytes(85899345920.0), "85.9 GB (80.0 GiB)");
    expect(text_gb(85899345920.0), "85.9 GB");
}
END_TEST

START_TEST(money_has_cents_below_a_hundred) {
    expect(text_usd(31.254), "31.25 USD");
    expect(text_usd(0), "0.00 USD");
    expect(text_usd(4311.7), "4,312 USD");
}
END_TEST

START_TEST(rates_and_shares_have_units) {
    expect(text_percent(0.3141), "31.4 %");
    expect(text_tokens(183.2), "183 tokens");
    expect(text_token_rate(1234), "1,234 tokens/s/GPU");
    expect(text_sample_rate(8.364), "8.36 samples/s");
    expect(text_gpu_hours(71.3), "71.3 GPU-hours");
}
END_TEST

START_TEST(figures_show_their_spread) {
    struct rlhfsim_value value = {
        .kind = RLHFSIM_VALUE_FIGURE, .p10 = 60.9, .p50 = 61.3, .p90 = 62};
    expect(text_figure(&value, text_duration), "61.3 s (P10 60.9, P90 62.0)");
    value.p90 = 7200; /* another unit: all three keep theirs */
    expect(text_figure(&value, text_duration), "61.3 s (P10 60.9 s, P90 2.00 h)");
    value.p10 = 61.301, value.p90 = 61.299; /* read the same */
    expect(text_figure(&value, text_duration), "61.3 s");
}
END_TEST

START_TEST(other_kinds_of_value) {
    struct rlhfsim_value number = {.kind = RLHFSIM_VALUE_NUMBER, .number = 0.5};
    struct rlhfsim_value count = {.kind = RLHFSIM_VALUE_COUNT, .count = 1034};
    struct rlhfsim_value unknown = {.kind = RLHFSIM_VALUE_UNKNOWN};
    expect(text_figure(&number, text_percent), "50.0 %");
    expect(text_figure(&count, text_number), "1,034");
    expect(text_figure(&unknown, text_percent), "unknown");
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("text");
    TCase *tcase = tcase_create("text");
    tcase_add_test(tcase, numbers_have_three_significant_digits);
    tcase_add_test(tcase, counts_are_exact);
    tcase_add_test(tcase, durations_change_their_unit);
    tcase_add_test(tcase, bytes_and_gibibytes_are_not_mixed);
    tcase_add_test(tcase, money_has_cents_below_a_hundred);
    tcase_add_test(tcase, rates_and_shares_have_units);
    tcase_add_test(tcase, figures_show_their_spread);
    tcase_add_test(tcase, other_kinds_of_value);
    suite_add_tcase(suite, tcase);
    return suite;
}

TESTING_MAIN(suite)
