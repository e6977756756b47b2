/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TESTS_SIM_ENGINE_SUPPORT_H
#define TESTS_SIM_ENGINE_SUPPORT_H

/* What the tests of the engine share: cheap random numbers, an allocator that keeps accounts and
 * can be told to fail, Little's law, and resources without ceremony. */

#include "sim/resource.h"
#include "sim/sim.h"
#include "tests/testing.h"

#include <stdlib.h>
#include <string.h>

/* xorshift64* (Vigna 2016): the tests' own, so that they do not rest on what they test. */
static inline uint64_t test_random(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545F4914F6CDD1D);
}

static inline uint32_t test_random_below(uint64_t *state, uint32_t bound) {
    return (uint32_t)((test_random(state) >> 32) * bound >> 32);
}

static inline uint64_t test_hash(uint64_t hash, uint64_t value) {
    return (hash ^ value) * UINT64_C(0x100000001B3); /* FNV-1a, a word at a time */
}

/* Keeps the size of each block in front of it and checks what the engine says it was. */
struct test_accounts {
    size_t bytes, calls;
    size_t fail_at; /* the number of the call for memory that is refused, and all after; 0: none */
};

static inline void *test_reallocate(void *subject, void *block, size_t old_size, size_t new_size) {
    struct test_accounts *accounts = subject;
    size_t *header = block == NULL ? NULL : (size_t *)block - 2;
    ck_assert_uint_eq(header == NULL ? 0 : header[0], old_size);
    if (new_size == 0) {
        accounts->bytes -= old_size;
        free(header);
        return NULL;
    }
    accounts->calls++;
    if (accounts->fail_at != 0 && accounts->calls >= accounts->fail_at)
        return NULL;
    size_t *grown = realloc(header, new_size + 2 * sizeof *grown);
    ck_assert_ptr_nonnull(grown);
    grown[0] = new_size;
    accounts->bytes += new_size - old_size;
    return grown + 2;
}

static inline struct sim *test_sim(void) {
    struct sim *sim = sim_new(NULL);
    ck_assert_ptr_nonnull(sim);
    return sim;
}

static inline sim_resource_id test_resource(struct sim *sim, uint32_t capacity,
                                            enum sim_queue_order order) {
    sim_resource_id id;
    ck_assert_int_eq(sim_resource_new(sim, "resource", capacity, order, &id), SIM_OK);
    return id;
}

/* Little's law as an identity: once all have left, the time integral of the number in the system
 * is the sum of the sojourn times, and that of the queue is the sum of the waiting times. */
static inline void test_little(const struct sim *sim) {
    for (sim_resource_id id = 0; id < sim_resource_count(sim); id++) {
        struct sim_resource_statistics statistics;
        sim_resource_statistics(sim, id, &statistics);
        ck_assert_uint_eq(statistics.arrived, statistics.started);
        ck_assert_uint_eq(statistics.arrived, statistics.finished);
        ck_assert_double_eq(statistics.queue_integral_ns, statistics.wait_total_ns);
        ck_assert_double_eq(statistics.system_integral_ns, statistics.sojourn_total_ns);
    }
}

#endif
