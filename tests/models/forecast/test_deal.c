/* SPDX-License-Identifier: GPL-3.0-or-later */

#include "models/forecast/deal.h"

#include "tests/testing.h"

#include <stdio.h>
#include <stdlib.h>

#define SAMPLES 64
#define RANKS 8

struct scratch {
    double rank_tokens[RANKS];
    size_t rank_counts[RANKS];
    uint32_t sorted[SAMPLES], dealt[SAMPLES];
};

static void deal(const double *tokens, size_t samples, size_t ranks, struct scratch *scratch) {
    struct forecast_deal deal = {
        samples, ranks, tokens, scratch->rank_tokens, scratch->rank_counts, scratch->sorted};
    forecast_deal_balanced(&deal, scratch->dealt);
}

/* 9, 7, 6, 5, 5, 2 over two ranks, three each: 9 | 7, 6 | 9, 5; then 14 against 13: 5 to the
 * second, which is full; 2 to the first. 16 and 18. */
START_TEST(longest_first_by_hand) {
    const double tokens[] = {5, 9, 2, 6, 7, 5};
    const uint32_t expected[] = {1, 0, 2, 4, 3, 5};
    struct scratch scratch;
    deal(tokens, 6, 2, &scratch);
    ck_assert_mem_eq(scratch.dealt, expected, sizeof expected);
    ck_assert_double_eq(scratch.rank_tokens[0], 16.0);
    ck_assert_double_eq(scratch.rank_tokens[1], 18.0);
}
END_TEST

/* Every sample once, shares as promised, and ranks no further apart than one sample is long. */
START_TEST(properties) {
    unsigned seed = 20260402u;
    printf("seed %u\n", seed);
    srand(seed);
    for (int i = 0; i < 500; i++) {
        size_t ranks = 1 + (size_t)rand() % RANKS, samples = ranks * (1 + (size_t)rand() % 8);
        double tokens[SAMPLES], longest = 0.0;
        bool seen[SAMPLES] = {false};
        struct scratch scratch;
        for (size_t s = 0; s < samples; s++)
            longest = fmax(longest, tokens[s] = rand() % 1000);
        deal(tokens, samples, ranks, &scratch);
        for (size_t s = 0; s < samples; s++) {
            ck_assert(!seen[scratch.dealt[s]]);
            seen[scratch.dealt[s]] = true;
        }
        for (size_t a = 0; a < ranks; a++) {
            ck_assert_uint_eq(scratch.rank_counts[a], samples / ranks);
            for (size_t b = 0; b < ranks; b++)
                ck_assert_double_le(scratch.rank_tokens[a] - scratch.rank_tokens[b], longest);
        }
    }
}
END_TEST

START_TEST(shares_that_do_not_divide) {
    ck_assert_uint_eq(forecast_share(10, 4, 0), 3);
    ck_assert_uint_eq(forecast_share(10, 4, 1), 3);
    ck_assert_uint_eq(forecast_share(10, 4, 2), 2);
    ck_assert_uint_eq(forecast_share(2, 4, 3), 0);
    const double tokens[] = {4, 3, 2};
    const uint32_t expected[] = {0, 2, 1}; /* 4 | 3, and 2 where there is room */
    struct scratch scratch;
    deal(tokens, 3, 2, &scratch);
    ck_assert_mem_eq(scratch.dealt, expected, sizeof expected);
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("deal");
    TCase *deal = tcase_create("deal");
    tcase_add_test(deal, longest_first_by_hand);
    tcase_add_test(deal, properties);
    tcase_add_test(deal, shares_that_do_not_divide);
    suite_add_tcase(suite, deal);
    return suite;
}

TESTING_MAIN(suite)
