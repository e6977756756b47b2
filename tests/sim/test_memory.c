/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/memory.h"
#include "sim/recorder.h"
#include "tests/sim/engine_support.h"
#include "tests/testing.h"

#include <signal.h>

#define OWNERS 5u
#define CATEGORIES 4u
#define ENTRIES (OWNERS * CATEGORIES)

static sim_memory_id test_memory(struct sim *sim, double capacity) {
    sim_memory_id id;
    ck_assert_int_eq(sim_memory_new(sim, "hbm", capacity, OWNERS, CATEGORIES, &id), SIM_OK);
    return id;
}

START_TEST(a_new_memory_is_empty) {
    struct sim *sim = test_sim();
    sim_memory_id id = test_memory(sim, 80e9);
    struct sim_memory_peak peak;
    sim_memory_peak(sim, id, &peak);
    ck_assert_uint_eq(id, 0);
    ck_assert_uint_eq(test_memory(sim, 1.0), 1);
    ck_assert_uint_eq(sim_memory_count(sim), 2);
    ck_assert_str_eq(sim_memory_name(sim, id), "hbm");
    ck_assert_double_eq(sim_memory_capacity(sim, id), 80e9);
    ck_assert_double_eq(sim_memory_used(sim, id), 0.0);
    ck_assert_double_eq(sim_memory_held(sim, id, 4, 3), 0.0);
    ck_assert_double_eq(sim_memory_peak_held(sim, id, 4, 3), 0.0);
    ck_assert_double_eq(peak.bytes, 0.0);
    ck_assert(!sim_memory_overflow(sim, id, &peak));
    sim_free(sim);
}
END_TEST

/* ---- by hand -----------------------------------------------------------------------------------
 */

static const struct {
    sim_time time;
    uint32_t context, owner, category;
    double bytes; /* change */
} story[] = {
    {10, 1, 0, 0, 30.0},  /* 30 */
    {20, 1, 1, 2, 40.0},  /* 70: a first peak */
    {20, 1, 0, 0, -20.0}, /* 50 */
    {30, 2, 2, 1, 20.0},  /* 70 again: not above, so the peak stays where it was first reached */
    {40, 3, 0, 0, 35.0},  /* 105: the peak, and the first instant over 100 */
    {50, 4, 1, 2, -40.0}, /* 65 */
    {60, 5, 3, 3, 39.0},  /* 104 */
};

static void tell(struct sim *sim, void *subject, uint64_t argument) {
    sim_memory_id id = *(sim_memory_id *)subject;
    sim_memory_context(sim, story[argument].context);
    sim_memory_change(sim, id, story[argument].owner, story[argument].category,
                      story[argument].bytes);
}

START_TEST(the_peak_is_where_it_was_first_reached) {
    struct sim *sim = test_sim();
    sim_memory_id id = test_memory(sim, 100.0);
    struct sim_memory_peak peak, overflow;
    for (uint64_t i = 0; i < sizeof story / sizeof *story; i++)
        sim_schedule(sim, story[i].time, SIM_PHASE_UPDATE, tell, &id, i, NULL);

    ck_assert_int_eq(sim_run(sim, 30), SIM_OK);
    sim_memory_peak(sim, id, &peak);
    ck_assert_double_eq(peak.bytes, 70.0);
    ck_assert_int_eq(peak.time, 20);
    ck_assert_uint_eq(peak.context, 1);
    ck_assert_double_eq(sim_memory_peak_held(sim, id, 0, 0), 30.0);
    ck_assert_double_eq(sim_memory_peak_held(sim, id, 2, 1), 0.0);
    ck_assert(!sim_memory_overflow(sim, id, &overflow));

    ck_assert_int_eq(sim_run(sim, SIM_TIME_MAX), SIM_OK);
    sim_memory_peak(sim, id, &peak);
    ck_assert_double_eq(peak.bytes, 105.0);
    ck_assert_int_eq(peak.time, 40);
    ck_assert_uint_eq(peak.context, 3);
    ck_assert_double_eq(sim_memory_peak_held(sim, id, 0, 0), 45.0);
    ck_assert_double_eq(sim_memory_peak_held(sim, id, 1, 2), 40.0);
    ck_assert_double_eq(sim_memory_peak_held(sim, id, 2, 1), 20.0);
    ck_assert_double_eq(sim_memory_peak_held(sim, id, 3, 3), 0.0);
    ck_assert(sim_memory_overflow(sim, id, &overflow));
    ck_assert_int_eq(overflow.time, 40);
    ck_assert_double_eq(overflow.bytes, 105.0);
    ck_assert_uint_eq(overflow.context, 3);
    ck_assert_double_eq(sim_memory_used(sim, id), 104.0);
    sim_free(sim);
}
END_TEST

/* ---- at random, against a table that is summed and copied every time ----------------------------
 */

struct twin {
    double held[ENTRIES], peak_held[ENTRIES], peak;
    double told[ENTRIES]; /* what the sink was told last */
    uint64_t reports, changes;
    sim_memory_id memory;
};

static void hear(void *state, const struct sim *sim,
                 const struct sim_memory_change_record *change) {
    struct twin *twin = state;
    ck_assert_int_eq(change->time, sim_now(sim));
    ck_assert_uint_eq(change->memory, twin->memory);
    twin->told[change->owner * CATEGORIES + change->category] = change->bytes;
    twin->reports++;
}

static const struct sim_sink_type listener = {.memory = hear};

static double total(const double *table) {
    double sum = 0.0;
    for (uint32_t i = 0; i < ENTRIES; i++)
        sum += table[i];
    return sum;
}

static void twin_set(struct twin *twin, uint32_t entry, double bytes) {
    twin->changes += bytes != twin->held[entry];
    twin->held[entry] = bytes;
    if (total(twin->held) > twin->peak) {
        twin->peak = total(twin->held);
        memcpy(twin->peak_held, twin->held, sizeof twin->held);
    }
}

static void compare(const struct sim *sim, sim_memory_id id, const struct twin *twin) {
    struct sim_memory_peak peak;
    bool same = true;
    sim_memory_peak(sim, id, &peak);
    ck_assert_double_eq(peak.bytes, twin->peak);
    ck_assert_double_eq(sim_memory_used(sim, id), total(twin->held));
    for (uint32_t i = 0; i < ENTRIES; i++) {
        uint32_t owner = i / CATEGORIES, category = i % CATEGORIES;
        same &= sim_memory_held(sim, id, owner, category) == twin->held[i];
        same &= sim_memory_peak_held(sim, id, owner, category) == twin->peak_held[i];
        same &= twin->told[i] == twin->held[i];
    }
    ck_assert(same);
}

/* Whole bytes, so that sums are exact and every comparison is. */
START_TEST(tables_equal_those_of_a_naive_twin) {
    struct sim *sim = test_sim();
    struct twin twin = {.peak = 0.0};
    uint64_t random = (uint64_t)_i + 1;
    sim_memory_id id = twin.memory = test_memory(sim, 1e6);
    ck_assert_int_eq(sim_recorder_add(sim, &listener, &twin), SIM_OK);
    for (int i = 0; i < 2000; i++) {
        uint32_t entry = test_random_below(&random, ENTRIES);
        double bytes = test_random_below(&random, 1000);
        if (test_random_below(&random, 2) == 0) {
            sim_memory_set(sim, id, entry / CATEGORIES, entry % CATEGORIES, bytes);
        } else {
            sim_memory_change(sim, id, entry / CATEGORIES, entry % CATEGORIES,
                              bytes - twin.held[entry]);
        }
        twin_set(&twin, entry, bytes);
        if (i % 7 == 0)
            compare(sim, id, &twin);
    }
    ck_assert_uint_eq(twin.reports, twin.changes);
    sim_free(sim);
}
END_TEST

/* What is taken in parts and given back at once leaves nothing but rounding, and never less. */
START_TEST(rounding_does_not_go_below_nothing) {
    struct sim *sim = test_sim();
    sim_memory_id id = test_memory(sim, 1e6);
    for (int i = 0; i < 10; i++)
        sim_memory_change(sim, id, 0, 0, 0.1); /* ten times 0.1 in binary is below 1 */
    sim_memory_change(sim, id, 0, 0, -1.0);
    ck_assert_double_eq(sim_memory_held(sim, id, 0, 0), 0.0);
    ck_assert_double_eq(sim_memory_used(sim, id), 0.0);
    sim_free(sim);
}
END_TEST

START_TEST(no_more_is_given_back_than_is_held) {
    struct sim *sim = test_sim();
    sim_memory_id id = test_memory(sim, 1e6);
    sim_memory_change(sim, id, 0, 0, 5.0);
    sim_memory_change(sim, id, 0, 0, -6.0);
}
END_TEST

START_TEST(owners_are_in_the_table) {
    struct sim *sim = test_sim();
    sim_memory_change(sim, test_memory(sim, 1e6), OWNERS, 0, 5.0);
}
END_TEST

static Suite *memory_suite(void) {
    Suite *suite = suite_create("memory");
    TCase *tcase = tcase_create("memory");
    tcase_add_test(tcase, a_new_memory_is_empty);
    tcase_add_test(tcase, the_peak_is_where_it_was_first_reached);
    tcase_add_loop_test(tcase, tables_equal_those_of_a_naive_twin, 0, 3);
    tcase_add_test(tcase, rounding_does_not_go_below_nothing);
    tcase_add_test_raise_signal(tcase, no_more_is_given_back_than_is_held, SIGABRT);
    tcase_add_test_raise_signal(tcase, owners_are_in_the_table, SIGABRT);
    suite_add_tcase(suite, tcase);
    return suite;
}

TESTING_MAIN(memory_suite)
