/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SIM_RANDOM_H
#define SIM_RANDOM_H

/*
 * Random numbers by counter: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers:
 * as easy as 1, 2, 3", SC 2011). A number is a pure function of the seed and of what it is for
 * (purpose, replicate, and up to three indices such as iteration, prompt, sample), never of who
 * draws when: two configurations see the same lengths, and one more entity disturbs no other. How
 * a key is laid out over the words of the generator is said at the top of random.c.
 */

#include <gsl/gsl_rng.h>
#include <stdint.h>

struct sim_random_key {
    uint64_t seed;
    uint8_t purpose;
    uint32_t replicate; /* below 2^24 */
    uint32_t index[3];
};

/* The raw function: `counter` (4 words) under `key` (2 words) into `output` (4 words). */
void sim_philox4x32_10(const uint32_t counter[4], const uint32_t key[2], uint32_t output[4]);

/* One uniform variate in the open interval (0, 1), an odd multiple of 2^-53, for one draw by
 * inversion. A pure function of the key. */
double sim_random_uniform(const struct sim_random_key *key);

/* The same generator as a gsl_rng_type, for gsl_ran_* and the like: a stream of its own keyed by
 * the seed given to gsl_rng_set (all 64 bits count) and, through sim_random_set, by a full key. */
extern const gsl_rng_type *const sim_random_philox;
void sim_random_set(gsl_rng *generator, const struct sim_random_key *key);

#endif
