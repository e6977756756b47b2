/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/validation/statistics.h"
#include "tests/testing.h"

/* Hyndman and Fan's seventh definition by hand: the values stand at 0, 1/(n-1), ..., 1. */
START_TEST(type_7_quantiles) {
    double four[] = {40.0, 10.0, 30.0, 20.0}, two[] = {1.0, 3.0}, one[] = {7.0};
    validation_sort(four, 4);
    ck_assert_double_eq(validation_quantile(four, 4, 0.0), 10.0);
    ck_assert_double_eq(validation_quantile(four, 4, 0.5), 25.0);
    ck_assert_double_eq(validation_quantile(four, 4, 0.9), 37.0); /* place 2.7 */
    ck_assert_double_eq(validation_quantile(four, 4, 1.0), 40.0);
    ck_assert_double_eq(validation_quantile(two, 2, 0.9), 2.8);
    ck_assert_double_eq(validation_quantile(one, 1, 0.9), 7.0);
    ck_assert(isnan(validation_quantile(one, 0, 0.5)));
}
END_TEST

static double weighted(const struct validation_weighted *values, size_t count, double p) {
    return validation_weighted_quantile(values, count, p);
}

/* Equal weights are the definition above. Weights 1, 2, 1 have middles at 0.5, 2 and 3.5: places 0,
 * 0.5 and 1 of the way between the outer ones; 0.25 is half way to the second value. */
START_TEST(weighted_quantiles) {
    struct validation_weighted equal[] = {{10, 0.3}, {20, 0.3}, {30, 0.3}, {40, 0.3}};
    struct validation_weighted uneven[] = {{30, 1}, {10, 1}, {20, 2}};
    assert_relative(weighted(equal, 4, 0.5), 25.0, 1e-12);
    assert_relative(weighted(equal, 4, 0.9), 37.0, 1e-12);
    validation_weighted_sort(uneven, 3);
    assert_relative(weighted(uneven, 3, 0.0), 10.0, 1e-12);
    assert_relative(weighted(uneven, 3, 0.25), 15.0, 1e-12);
    assert_relative(weighted(uneven, 3, 0.5), 20.0, 1e-12);
    assert_relative(weighted(uneven, 3, 1.0), 30.0, 1e-12);
    assert_relative(weighted(uneven, 1, 0.7), 10.0, 1e-12);
    ck_assert(isnan(weighted(uneven, 0, 0.5)));
}
END_TEST

/* tau-b by its definition, pair by pair. */
static double tau_by_definition(const struct validation_pair *pairs, size_t count) {
    double sum = 0.0, measured = 0.0, forecast = 0.0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++) {
            double m =
                (pairs[i].measured > pairs[j].measured) - (pairs[i].measured < pairs[j].measured);
            double f =
                (pairs[i].forecast > pairs[j].forecast) - (pairs[i].forecast < pairs[j].forecast);
            sum += m * f;
            measured += m * m;
            forecast += f * f;
        }
    return sum / sqrt(measured * forecast);
}

static double tau_of(struct validation_pair *pairs, size_t count) {
    struct validation_pair scratch[64];
    struct validation_ranks ranks = validation_count_ranks(pairs, count, scratch);
    return validation_tau(&ranks);
}

/* Orders by hand: all agree, none agrees, one of six pairs disagrees ((5 - 1) / 6); with two equal
 * measured values of four, 5 of 5 untied pairs agree: 5 / sqrt(5 x 6). */
START_TEST(tau_by_hand) {
    struct validation_pair same[] = {{1, 10}, {2, 20}, {3, 30}};
    struct validation_pair opposite[] = {{1, 30}, {2, 20}, {3, 10}};
    struct validation_pair one_off[] = {{4, 40}, {1, 10}, {2, 30}, {3, 20}};
    struct validation_pair tied[] = {{1, 10}, {1, 20}, {2, 30}, {3, 40}};
    struct validation_pair flat[] = {{1, 10}, {1, 20}, {1, 30}};
    ck_assert_double_eq(tau_of(same, 3), 1.0);
    ck_assert_double_eq(tau_of(opposite, 3), -1.0);
    assert_relative(tau_of(one_off, 4), 4.0 / 6.0, 1e-15);
    assert_relative(tau_of(tied, 4), 5.0 / sqrt(30.0), 1e-15);
    ck_assert(isnan(tau_of(flat, 3)));
    ck_assert(isnan(tau_of(flat, 0)));
}
END_TEST

/* Small whole numbers, so that ties of all kinds are frequent. */
START_TEST(tau_against_its_definition) {
    unsigned state = 1;
    for (int round = 0; round < 2000; round++) {
        struct validation_pair pairs[40];
        size_t count = 2 + (size_t)round % 39;
        for (size_t i = 0; i < count; i++) {
            state = state * 1664525u + 1013904223u; /* Numerical Recipes' quick generator */
            pairs[i] = (struct validation_pair){state >> 16 & 7, state >> 22 & 7};
        }
        double expected = tau_by_definition(pairs, count);
        double tau = tau_of(pairs, count);
        ck_assert(isnan(expected) == isnan(tau));
        ck_assert(isnan(tau) || fabs(tau - expected) < 1e-12);
    }
}
END_TEST

/* Two groups that are opposite to each other but ordered within: nothing is discordant. */
START_TEST(groups_are_not_compared_with_each_other) {
    struct validation_pair low[] = {{1, 100}, {2, 200}}, high[] = {{10, 1}, {20, 2}}, scratch[2];
    struct validation_ranks sum = validation_count_ranks(low, 2, scratch);
    struct validation_ranks other = validation_count_ranks(high, 2, scratch);
    validation_add_ranks(&sum, &other);
    ck_assert_int_eq(sum.pairs, 2);
    ck_assert_double_eq(validation_tau(&sum), 1.0);
}
END_TEST

static Suite *suite(void) {
    Suite *result = suite_create("validation_statistics");
    TCase *tests = tcase_create("statistics");
    tcase_add_test(tests, type_7_quantiles);
    tcase_add_test(tests, weighted_quantiles);
    tcase_add_test(tests, tau_by_hand);
    tcase_add_test(tests, tau_against_its_definition);
    tcase_add_test(tests, groups_are_not_compared_with_each_other);
    suite_add_tcase(result, tests);
    return result;
}

TESTING_MAIN(suite)
