/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/generation/kv_cache.h"
#include "tests/models/generation/fixture.h"
#include "tests/testing.h"

#define MOST 12
#define MOST_BLOCK 20

/* Blocks of tokens[0..n) when each is `more` tokens longer, one by one. */
static int64_t counted_blocks(const int64_t *tokens, int n, int64_t more, int64_t block) {
    int64_t blocks = 0;
    for (int i = 0; i < n; i++)
        for (int64_t held = 0; held < tokens[i] + more; held += block)
            blocks++;
    return blocks;
}

START_TEST(test_blocks) {
    uint32_t counts[16];
    struct generation_kv_cache cache;
    generation_kv_cache_reset(&cache, 10, 16, counts);
    ck_assert_int_eq(generation_kv_cache_blocks(&cache, 1), 1);
    ck_assert_int_eq(generation_kv_cache_blocks(&cache, 16), 1);
    ck_assert_int_eq(generation_kv_cache_blocks(&cache, 17), 2);
    ck_assert_int_eq(generation_kv_cache_iterations(&cache, 1000), 1000); /* nobody decodes */
}
END_TEST

/* The most iterations that fit, found by trying 1, 2, 3 ... */
static int64_t tried_iterations(const int64_t *tokens, int n, int64_t block, int64_t free_blocks,
                                int64_t wanted) {
    int64_t held = counted_blocks(tokens, n, 0, block), iterations = 0;
    while (iterations < wanted &&
           counted_blocks(tokens, n, iterations + 1, block) - held <= free_blocks)
        iterations++;
    return iterations;
}

static void random_history(uint64_t seed) {
    uint64_t state = seed;
    uint32_t counts[MOST_BLOCK];
    int64_t tokens[MOST], block = fixture_random(&state, 1, MOST_BLOCK);
    int n = 0;
    struct generation_kv_cache cache;
    generation_kv_cache_reset(&cache, 1000, block, counts);
    for (int event = 0; event < 30; event++) {
        if (n < MOST && fixture_random(&state, 0, 2) > 0) {
            tokens[n++] = fixture_random(&state, 1, 60);
            generation_kv_cache_join(&cache, tokens[n - 1]);
        } else if (n > 0) {
            int gone = (int)fixture_random(&state, 0, (uint32_t)n - 1);
            generation_kv_cache_leave(&cache, tokens[gone]);
            tokens[gone] = tokens[--n];
        }
        int64_t ahead = fixture_random(&state, 0, 70);
        cache.free_blocks = fixture_random(&state, 0, 40);
        int64_t growth =
            counted_blocks(tokens, n, ahead, block) - counted_blocks(tokens, n, 0, block);
        ck_assert_msg(generation_kv_cache_growth(&cache, ahead) == growth, "seed %llu",
                      (unsigned long long)seed);
        int64_t possible = generation_kv_cache_iterations(&cache, ahead);
        ck_assert_msg(possible == tried_iterations(tokens, n, block, cache.free_blocks, ahead),
                      "seed %llu: %lld iterations", (unsigned long long)seed, (long long)possible);
        int64_t before = cache.free_blocks;
        generation_kv_cache_advance(&cache, possible);
        ck_assert_int_eq(before - cache.free_blocks, counted_blocks(tokens, n, possible, block) -
                                                         counted_blocks(tokens, n, 0, block));
        for (int i = 0; i < n; i++)
            tokens[i] += possible;
    }
}

START_TEST(test_against_counting) {
    for (uint64_t seed = 1; seed <= 300; seed++)
        random_history(seed);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("KV cache");
    TCase *cases = tcase_create("blocks");
    tcase_set_timeout(cases, 60.0);
    tcase_add_test(cases, test_blocks);
    tcase_add_test(cases, test_against_counting);
    suite_add_tcase(s, cases);
    return s;
}

TESTING_MAIN(suite)
