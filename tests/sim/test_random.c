/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/random.h"
#include "tests/testing.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <signal.h>
#include <string.h>

/* ---- known answers -----------------------------------------------------------------------------
 */

/* The vectors for philox4x32 with 10 rounds that the authors publish with Random123 (kat_vectors):
 * zeros, ones, and digits of pi. */
static const struct {
    uint32_t counter[4], key[2], output[4];
} known[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

START_TEST(philox_gives_the_published_answers) {
    uint32_t output[4];
    sim_philox4x32_10(known[_i].counter, known[_i].key, output);
    ck_assert_mem_eq(output, known[_i].output, sizeof output);
}
END_TEST

/* ---- keys --------------------------------------------------------------------------------------
 */

/* The layout that random.c documents, computed here from the raw function. */
START_TEST(a_uniform_is_the_block_of_its_key) {
    struct sim_random_key key = {UINT64_C(0x0123456789abcdef), 7, 11, {13, 17, 19}};
    uint32_t counter[4] = {13, 17, 19, 7u << 24 | 11}, words[2] = {0x89abcdef, 0x01234567};
    uint32_t output[4];
    sim_philox4x32_10(counter, words, output);
    uint64_t bits = ((uint64_t)output[1] << 32 | output[0]) >> 11 | 1;
    ck_assert_double_eq(sim_random_uniform(&key), ldexp((double)bits, -53));
    ck_assert_double_eq(sim_random_uniform(&key), sim_random_uniform(&key));
}
END_TEST

/* Flips each bit of a key in turn: every one of the 192 must change the number and the stream. */
START_TEST(every_bit_of_a_key_counts) {
    const struct sim_random_key base = {UINT64_C(0x5555aaaa3333cccc), 1, 2, {3, 4, 5}};
    gsl_rng *generator = gsl_rng_alloc(sim_random_philox);
    sim_random_set(generator, &base);
    unsigned long first = gsl_rng_get(generator);
    int same_uniform = 0, same_stream = 0;
    for (int bit = 0; bit < 192; bit++) {
        struct sim_random_key key = base;
        if (bit < 64)
            key.seed ^= UINT64_C(1) << bit;
        else if (bit < 160)
            key.index[(bit - 64) / 32] ^= UINT32_C(1) << (bit % 32);
        else if (bit < 184)
            key.replicate ^= UINT32_C(1) << (bit - 160);
        else
            key.purpose = (uint8_t)(key.purpose ^ 1u << (bit - 184));
        same_uniform += sim_random_uniform(&key) == sim_random_uniform(&base);
        sim_random_set(generator, &key);
        same_stream += gsl_rng_get(generator) == first;
    }
    ck_assert_int_eq(same_uniform, 0);
    ck_assert_int_eq(same_stream, 0);
    gsl_rng_free(generator);
}
END_TEST

/* GSL's own generators use 32 bits of a seed. */
START_TEST(every_bit_of_a_gsl_seed_counts) {
    gsl_rng *generator = gsl_rng_alloc(sim_random_philox);
    gsl_rng_set(generator, 12345);
    unsigned long first = gsl_rng_get(generator);
    for (int bit = 0; bit < 64; bit++) {
        gsl_rng_set(generator, 12345 ^ 1ul << bit);
        ck_assert_uint_ne(gsl_rng_get(generator), first);
    }
    gsl_rng_set(generator, 12345);
    ck_assert_uint_eq(gsl_rng_get(generator), first);
    struct sim_random_key key = {.seed = 12345};
    sim_random_set(generator, &key);
    ck_assert_uint_eq(gsl_rng_get(generator), first);
    gsl_rng_free(generator);
}
END_TEST

START_TEST(a_replicate_has_24_bits) {
    sim_random_uniform(&(struct sim_random_key){.replicate = UINT32_C(1) << 24});
}
END_TEST

START_TEST(a_key_is_for_our_generator_only) {
    gsl_rng *generator = gsl_rng_alloc(gsl_rng_taus2);
    sim_random_set(generator, &(struct sim_random_key){.seed = 1});
}
END_TEST

/* ---- distribution ------------------------------------------------------------------------------
 */

#define BINS 256
#define DRAWS 1000000

/* Pearson's chi-square of counts that should be equal, as a two-sided probability: neither too
 * uneven nor too even to be chance. At 1e-4 and fixed seeds, a sound generator passes for good. */
static void check_even(const unsigned *counts, size_t bins, unsigned draws) {
    double expected = (double)draws / (double)bins, sum = 0.0;
    for (size_t i = 0; i < bins; i++)
        sum += (counts[i] - expected) * (counts[i] - expected) / expected;
    double below = gsl_cdf_chisq_P(sum, (double)bins - 1.0);
    ck_assert_msg(below > 0.5e-4 && below < 1.0 - 0.5e-4, "chi-square %g, P %g", sum, below);
}

typedef double(draw_func)(gsl_rng *generator, uint32_t i);

static double draw_stream(gsl_rng *generator, uint32_t i) {
    (void)i;
    return gsl_rng_uniform(generator);
}

/* Neighbouring keys, as a model uses them: iteration, prompt and sample count up. */
static double draw_key(gsl_rng *generator, uint32_t i) {
    (void)generator;
    return sim_random_uniform(
        &(struct sim_random_key){42, 3, 0, {i / 10000, i / 100 % 100, i % 100}});
}

/* One draw from each of many streams: seeds that count up must not show. */
static double draw_seed(gsl_rng *generator, uint32_t i) {
    gsl_rng_set(generator, i);
    return gsl_rng_uniform(generator);
}

static draw_func *const draws[] = {draw_stream, draw_key, draw_seed};

START_TEST(numbers_are_even_and_do_not_follow_each_other) {
    static unsigned single[BINS], pairs[BINS];
    gsl_rng *generator = gsl_rng_alloc(sim_random_philox);
    double sum = 0.0, previous = 0.5, product = 0.0;
    bool open = true;
    gsl_rng_set(generator, 1);
    memset(single, 0, sizeof single);
    memset(pairs, 0, sizeof pairs);
    for (uint32_t i = 0; i < DRAWS; i++) {
        double u = draws[_i](generator, i);
        open &= u >= 0.0 && u < 1.0 && (_i != 1 || u > 0.0);
        single[(unsigned)(u * BINS)]++;
        if (i % 2 == 1)
            pairs[(unsigned)(u * 16) * 16 + (unsigned)(previous * 16)]++;
        sum += u - 0.5;
        product += (u - 0.5) * (previous - 0.5);
        previous = u;
    }
    ck_assert(open);
    check_even(single, BINS, DRAWS);
    check_even(pairs, BINS, DRAWS / 2);
    /* variance of u is 1/12, of a product of two independent ones 1/144: four deviations */
    ck_assert_double_lt(fabs(sum), 4.0 * sqrt(DRAWS / 12.0));
    ck_assert_double_lt(fabs(product), 4.0 * sqrt(DRAWS / 144.0));
    gsl_rng_free(generator);
}
END_TEST

/* Every bit of the 32-bit numbers is 1 half of the time: within four deviations of n / 2. */
START_TEST(every_bit_of_a_number_is_fair) {
    unsigned ones[32] = {0};
    gsl_rng *generator = gsl_rng_alloc(sim_random_philox);
    gsl_rng_set(generator, 2);
    ck_assert_uint_eq(gsl_rng_max(generator), UINT32_MAX);
    ck_assert_uint_eq(gsl_rng_min(generator), 0);
    for (int i = 0; i < DRAWS; i++) {
        unsigned long word = gsl_rng_get(generator);
        for (int bit = 0; bit < 32; bit++)
            ones[bit] += (unsigned)(word >> bit) & 1;
    }
    for (int bit = 0; bit < 32; bit++)
        ck_assert_double_lt(fabs(ones[bit] - DRAWS / 2.0), 4.0 * sqrt(DRAWS / 4.0));
    gsl_rng_free(generator);
}
END_TEST

/* A GSL distribution on top: mean and variance of exponentials, each within four deviations (the
 * variance of a squared deviation of an exponential of mean 1 is 8). */
START_TEST(gsl_distributions_work_on_it) {
    gsl_rng *generator = gsl_rng_alloc(sim_random_philox);
    double sum = 0.0, squares = 0.0;
    for (int i = 0; i < DRAWS; i++) {
        double x = gsl_ran_exponential(generator, 1.0) - 1.0;
        sum += x;
        squares += x * x;
    }
    ck_assert_double_lt(fabs(sum / DRAWS), 4.0 / sqrt(DRAWS));
    ck_assert_double_lt(fabs(squares / DRAWS - 1.0), 4.0 * sqrt(8.0 / DRAWS));
    gsl_rng_free(generator);
}
END_TEST

/* A stream is a copy of itself: GSL's clone carries all of its state. */
START_TEST(a_clone_goes_on_alike) {
    gsl_rng *generator = gsl_rng_alloc(sim_random_philox);
    for (int i = 0; i < 3; i++)
        gsl_rng_get(generator);
    gsl_rng *clone = gsl_rng_clone(generator);
    for (int i = 0; i < 100; i++)
        ck_assert_uint_eq(gsl_rng_get(generator), gsl_rng_get(clone));
    gsl_rng_free(clone);
    gsl_rng_free(generator);
}
END_TEST

static Suite *random_suite(void) {
    Suite *suite = suite_create("random");
    TCase *tcase = tcase_create("random");
    tcase_add_loop_test(tcase, philox_gives_the_published_answers, 0, 3);
    tcase_add_test(tcase, a_uniform_is_the_block_of_its_key);
    tcase_add_test(tcase, every_bit_of_a_key_counts);
    tcase_add_test(tcase, every_bit_of_a_gsl_seed_counts);
    tcase_add_test_raise_signal(tcase, a_replicate_has_24_bits, SIGABRT);
    tcase_add_test_raise_signal(tcase, a_key_is_for_our_generator_only, SIGABRT);
    tcase_add_loop_test(tcase, numbers_are_even_and_do_not_follow_each_other, 0, 3);
    tcase_add_test(tcase, every_bit_of_a_number_is_fair);
    tcase_add_test(tcase, gsl_distributions_work_on_it);
    tcase_add_test(tcase, a_clone_goes_on_alike);
    suite_add_tcase(suite, tcase);
    return suite;
}

TESTING_MAIN(random_suite)
