/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/random.h"

#include "sim/contract.h"

/*
 * Philox4x32-10 (Salmon et al., SC 2011). A round multiplies two of the four counter words by fixed
 * odd constants, keeps both halves of the 64-bit products, and mixes the high halves with the other
 * two words and the key; the key grows by fixed increments from round to round. Ten rounds.
 * Multipliers and increments (the latter from the golden ratio and sqrt(3) - 1) are the paper's.
 *
 * Layout. A key fills one block exactly:
 *
 *     key      seed low, seed high
 *     counter  index[0], index[1], index[2], purpose << 24 | replicate
 *
 * so that distinct keys of one seed are distinct counters of one permutation: no two collide. Words
 * 0 and 1 of its output make sim_random_uniform. A stream needs room to count its draws: all four
 * output words become its identity, two as the Philox key and two as the upper half of the counter,
 * and the lower half counts blocks of four 32-bit numbers.
 */

#define MULTIPLIER_0 UINT32_C(0xD2511F53)
#define MULTIPLIER_1 UINT32_C(0xCD9E8D57)
#define INCREMENT_0 UINT32_C(0x9E3779B9)
#define INCREMENT_1 UINT32_C(0xBB67AE85)
#define ROUNDS 10
#define REPLICATE_BITS 24
#define ODD_GRID 0x1p-53

void sim_philox4x32_10(const uint32_t counter[4], const uint32_t key[2], uint32_t output[4]) {
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t product0 = (uint64_t)MULTIPLIER_0 * c0;
        uint64_t product1 = (uint64_t)MULTIPLIER_1 * c2;
        c0 = (uint32_t)(product1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)product1;
        c2 = (uint32_t)(product0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)product0;
        k0 += INCREMENT_0;
        k1 += INCREMENT_1;
    }
    output[0] = c0;
    output[1] = c1;
    output[2] = c2;
    output[3] = c3;
}

static void block_of(const struct sim_random_key *key, uint32_t output[4]) {
    CONTRACT(key->replicate < UINT32_C(1) << REPLICATE_BITS, "a replicate is below 2^24");
    uint32_t counter[4] = {key->index[0], key->index[1], key->index[2],
                           (uint32_t)key->purpose << REPLICATE_BITS | key->replicate};
    uint32_t words[2] = {(uint32_t)key->seed, (uint32_t)(key->seed >> 32)};
    sim_philox4x32_10(counter, words, output);
}

/* Odd multiples of 2^-53: exact, symmetric about 1/2, and neither 0 nor 1. */
double sim_random_uniform(const struct sim_random_key *key) {
    uint32_t output[4];
    block_of(key, output);
    uint64_t bits = ((uint64_t)output[1] << 32 | output[0]) >> 11;
    return (double)(bits | 1) * ODD_GRID;
}

/* ---- as a gsl_rng_type ------------------------------------------------------------------------
 */

struct stream {
    uint32_t counter[4];
    uint32_t key[2];
    uint32_t block[4];
    uint32_t used; /* words of the block */
};

static void set_stream(struct stream *stream, const struct sim_random_key *key) {
    uint32_t identity[4];
    block_of(key, identity);
    *stream = (struct stream){
        .counter = {0, 0, identity[0], identity[1]}, .key = {identity[2], identity[3]}, .used = 4};
}

static void stream_set(void *state, unsigned long seed) {
    set_stream(state, &(struct sim_random_key){.seed = seed});
}

static uint32_t next_word(struct stream *stream) {
    if (stream->used == 4) {
        sim_philox4x32_10(stream->counter, stream->key, stream->block);
        stream->counter[1] += ++stream->counter[0] == 0;
        stream->used = 0;
    }
    return stream->block[stream->used++];
}

static unsigned long stream_get(void *state) {
    return next_word(state);
}

/* From 53 bits, in [0, 1), as GSL wants it. */
static double stream_get_double(void *state) {
    uint64_t low = next_word(state), high = next_word(state);
    return (double)((high << 32 | low) >> 11) * ODD_GRID;
}

static const gsl_rng_type philox = {"philox4x32-10",       UINT32_MAX, 0,
                                    sizeof(struct stream), stream_set, stream_get,
                                    stream_get_double};

const gsl_rng_type *const sim_random_philox = &philox;

void sim_random_set(gsl_rng *generator, const struct sim_random_key *key) {
    CONTRACT(generator->type == sim_random_philox, "the generator is of type sim_random_philox");
    set_stream(generator->state, key);
}
