/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/sim.h"
#include "sim/task.h"
#include "tests/sim/engine_support.h"
#include "tests/testing.h"

#include <signal.h>

/* ---- a storm: handlers that schedule, cancel and move at random --------------------------------
 */

#define STORM_HANDLES 64

struct storm {
    uint64_t random, hash;
    uint32_t left; /* events that may still be scheduled */
    bool sound;    /* every status and handle was as it must be */
    sim_event_id handles[STORM_HANDLES];
};

static void storm_event(struct sim *sim, void *subject, uint64_t argument);

static void storm_schedule(struct sim *sim, struct storm *storm) {
    if (storm->left == 0)
        return;
    storm->left--;
    sim_time time = sim_now(sim) + test_random_below(&storm->random, 20);
    enum sim_phase phase = (enum sim_phase)test_random_below(&storm->random, 4);
    sim_event_id *handle = &storm->handles[test_random_below(&storm->random, STORM_HANDLES)];
    storm->sound &=
        sim_schedule(sim, time, phase, storm_event, storm, storm->left, handle) == SIM_OK;
    storm->sound &= sim_is_pending(sim, *handle);
}

static void storm_disturb(struct sim *sim, struct storm *storm) {
    sim_event_id handle = storm->handles[test_random_below(&storm->random, STORM_HANDLES)];
    bool pending = sim_is_pending(sim, handle);
    if (test_random_below(&storm->random, 2) == 0)
        storm->sound &= sim_cancel(sim, handle) == pending;
    else
        storm->sound &= sim_move(sim, handle, sim_now(sim) + 3) == pending;
}

static void storm_event(struct sim *sim, void *subject, uint64_t argument) {
    struct storm *storm = subject;
    storm->hash = test_hash(test_hash(storm->hash, (uint64_t)sim_now(sim)), argument);
    for (uint32_t i = test_random_below(&storm->random, 4); i > 0; i--)
        storm_schedule(sim, storm);
    if (test_random_below(&storm->random, 3) == 0)
        storm_disturb(sim, storm);
}

static struct sim *storm_new(struct storm *storm, uint64_t seed) {
    *storm = (struct storm){.random = seed, .left = 20000, .sound = true};
    struct sim *sim = test_sim();
    for (int i = 0; i < 10; i++)
        storm_schedule(sim, storm);
    return sim;
}

static uint64_t storm_hash(uint64_t seed) {
    struct storm storm;
    struct sim *sim = storm_new(&storm, seed);
    ck_assert_int_eq(sim_run(sim, SIM_TIME_MAX), SIM_OK);
    ck_assert(storm.sound);
    ck_assert_uint_eq(storm.left, 0);
    ck_assert_uint_eq(sim_events_pending(sim), 0);
    sim_free(sim);
    return storm.hash;
}

START_TEST(the_same_run_twice_is_identical) {
    ck_assert_uint_eq(storm_hash(1), storm_hash(1));
    ck_assert_uint_ne(storm_hash(1), storm_hash(2));
}
END_TEST

START_TEST(two_simulations_do_not_know_of_each_other) {
    struct storm storms[2];
    struct sim *sims[2] = {storm_new(&storms[0], 1), storm_new(&storms[1], 2)};
    bool busy = true;
    while (busy) {
        busy = sim_step(sims[0]);
        busy |= sim_step(sims[1]);
    }
    ck_assert_uint_eq(storms[0].hash, storm_hash(1));
    ck_assert_uint_eq(storms[1].hash, storm_hash(2));
    sim_free(sims[0]);
    sim_free(sims[1]);
}
END_TEST

static void null_event(struct sim *sim, void *subject, uint64_t argument) {
    (void)sim;
    (void)argument;
    ++*(int *)subject;
}

/* More events change nothing in the order of the others: before, between and while they run. */
START_TEST(null_events_leave_the_order_of_others) {
    struct storm storm = {0};
    int nulls = 0;
    struct sim *sim = test_sim();
    for (int i = 0; i < 500; i++)
        sim_schedule(sim, i / 2, (enum sim_phase)(i % 4), null_event, &nulls, 0, NULL);
    storm = (struct storm){.random = 1, .left = 20000, .sound = true};
    for (int i = 0; i < 10; i++) {
        sim_schedule(sim, i, SIM_PHASE_RATES, null_event, &nulls, 0, NULL);
        storm_schedule(sim, &storm);
    }
    for (int i = 0; i < 300 && sim_step(sim); i++)
        sim_schedule(sim, sim_now(sim), SIM_PHASE_COMPLETION, null_event, &nulls, 0, NULL);
    ck_assert_int_eq(sim_run(sim, SIM_TIME_MAX), SIM_OK);
    ck_assert_int_eq(nulls, 500 + 10 + 300);
    ck_assert_uint_eq(storm.hash, storm_hash(1));
    sim_free(sim);
}
END_TEST

/* ---- the clock and the run ---------------------------------------------------------------------
 */

static void count(struct sim *sim, void *subject, uint64_t argument) {
    (void)sim;
    *(uint64_t *)subject += argument;
}

START_TEST(run_stops_after_until) {
    struct sim *sim = test_sim();
    uint64_t sum = 0;
    sim_schedule(sim, 10, SIM_PHASE_UPDATE, count, &sum, 1, NULL);
    sim_schedule(sim, 20, SIM_PHASE_UPDATE, count, &sum, 2, NULL);
    sim_schedule(sim, 21, SIM_PHASE_UPDATE, count, &sum, 4, NULL);
    ck_assert_int_eq(sim_run(sim, 20), SIM_OK);
    ck_assert_uint_eq(sum, 3);
    ck_assert_int_eq(sim_now(sim), 20);
    ck_assert_uint_eq(sim_events_pending(sim), 1);
    ck_assert_int_eq(sim_run(sim, 5), SIM_OK); /* nothing to do before now */
    ck_assert_uint_eq(sum, 3);
    ck_assert_int_eq(sim_run(sim, SIM_TIME_MAX), SIM_OK);
    ck_assert_uint_eq(sum, 7);
    ck_assert_uint_eq(sim_events_executed(sim), 3);
    ck_assert_int_eq(sim_now(sim), 21);
    sim_free(sim);
}
END_TEST

static void stop(struct sim *sim, void *subject, uint64_t argument) {
    (void)subject;
    (void)argument;
    sim_stop(sim);
}

START_TEST(stop_keeps_the_rest_for_later) {
    struct sim *sim = test_sim();
    uint64_t sum = 0;
    sim_schedule(sim, 1, SIM_PHASE_UPDATE, stop, NULL, 0, NULL);
    sim_schedule(sim, 1, SIM_PHASE_UPDATE, count, &sum, 1, NULL);
    ck_assert_int_eq(sim_run(sim, SIM_TIME_MAX), SIM_OK);
    ck_assert_uint_eq(sum, 0);
    ck_assert_int_eq(sim_run(sim, SIM_TIME_MAX), SIM_OK);
    ck_assert_uint_eq(sum, 1);
    sim_free(sim);
}
END_TEST

static void give_up(struct sim *sim, void *subject, uint64_t argument) {
    (void)subject;
    (void)argument;
    sim_fail(sim, SIM_NO_MEMORY);
}

START_TEST(a_failure_ends_the_run_for_good) {
    struct sim *sim = test_sim();
    uint64_t sum = 0;
    sim_schedule(sim, 1, SIM_PHASE_UPDATE, give_up, NULL, 0, NULL);
    sim_schedule(sim, 1, SIM_PHASE_UPDATE, count, &sum, 1, NULL);
    ck_assert_int_eq(sim_run(sim, SIM_TIME_MAX), SIM_NO_MEMORY);
    ck_assert_int_eq(sim_run(sim, SIM_TIME_MAX), SIM_NO_MEMORY);
    ck_assert_uint_eq(sum, 0);
    sim_free(sim);
}
END_TEST

/* Counts pops: a cancelled event is none, a moved one is one. */
START_TEST(events_executed_counts_pops) {
    struct sim *sim = test_sim();
    uint64_t sum = 0;
    sim_event_id cancelled, moved;
    sim_schedule(sim, 1, SIM_PHASE_UPDATE, count, &sum, 1, &cancelled);
    sim_schedule(sim, 2, SIM_PHASE_UPDATE, count, &sum, 2, &moved);
    ck_assert(sim_cancel(sim, cancelled));
    ck_assert(sim_move(sim, moved, 9));
    ck_assert_uint_eq(sim_events_pending(sim), 1);
    ck_assert(sim_step(sim));
    ck_assert(!sim_step(sim));
    ck_assert_int_eq(sim_now(sim), 9);
    ck_assert_uint_eq(sum, 2);
    ck_assert_uint_eq(sim_events_executed(sim), 1);
    sim_free(sim);
}
END_TEST

static void cancel_self(struct sim *sim, void *subject, uint64_t argument) {
    (void)argument;
    sim_event_id *id = subject;
    bool found =
        sim_is_pending(sim, *id) || sim_cancel(sim, *id) || sim_move(sim, *id, sim_now(sim) + 1);
    id->slot = found;
}

START_TEST(an_event_that_runs_is_not_pending) {
    struct sim *sim = test_sim();
    sim_event_id id;
    sim_schedule(sim, 1, SIM_PHASE_UPDATE, cancel_self, &id, 0, &id);
    ck_assert_int_eq(sim_run(sim, SIM_TIME_MAX), SIM_OK);
    ck_assert_uint_eq(id.slot, false);
    sim_free(sim);
}
END_TEST

START_TEST(times_round_to_the_nearest_nanosecond) {
    ck_assert_int_eq(sim_time_from_s(0.0), 0);
    ck_assert_int_eq(sim_time_from_s(1.5), 1500000000);
    ck_assert_int_eq(sim_time_from_s(1.4e-9), 1);
    ck_assert_int_eq(sim_time_from_s(1.6e-9), 2);
    ck_assert_int_eq(sim_time_from_s(9.1e9), INT64_C(9100000000000000000));
    ck_assert_double_eq(sim_time_to_s(2500000000), 2.5);
}
END_TEST

/* The clock ends at 2^63 - 1 ns: what would be later is no time, and stops a simulation. */
START_TEST(the_clock_ends) {
    struct sim *sim = test_sim();
    ck_assert_int_eq(sim_time_from_s(9.3e9), SIM_TIME_MAX);
    ck_assert_int_eq(sim_time_from_s(INFINITY), SIM_TIME_MAX);
    ck_assert_int_eq(sim_time_from_s(NAN), SIM_TIME_MAX);
    ck_assert_int_eq(sim_time_sum(2, 3), 5);
    ck_assert_int_eq(sim_time_sum(SIM_TIME_MAX - 5, 4), SIM_TIME_MAX - 1);
    ck_assert_int_eq(sim_time_sum(SIM_TIME_MAX - 5, 5), SIM_TIME_MAX);
    ck_assert_int_eq(sim_time_sum(SIM_TIME_MAX - 5, SIM_TIME_MAX), SIM_TIME_MAX);
    ck_assert_int_eq(sim_schedule(sim, SIM_TIME_MAX, SIM_PHASE_UPDATE, NULL, NULL, 0, NULL),
                     SIM_TOO_LONG);
    sim_free(sim);
}
END_TEST

/* Two tasks of 200 years, one behind the other. */
START_TEST(tasks_beyond_the_clock) {
    struct sim *sim = test_sim();
    struct sim_task_spec spec = {.duration_ns = sim_time_from_s(200.0 * 365.0 * 86400.0)};
    sim_task_id first, second;
    ck_assert_int_eq(sim_task_new(sim, &spec, &first), SIM_OK);
    ck_assert_int_eq(sim_task_new(sim, &spec, &second), SIM_OK);
    ck_assert_int_eq(sim_task_after(sim, second, first), SIM_OK);
    sim_task_release(sim, first);
    sim_task_release(sim, second);
    ck_assert_int_eq(sim_run(sim, SIM_TIME_MAX), SIM_TOO_LONG);
    ck_assert_int_eq(sim_now(sim), spec.duration_ns);
    sim_free(sim);
}
END_TEST

START_TEST(nothing_is_freed_quietly) {
    sim_free(NULL);
}
END_TEST

/* ---- contracts ---------------------------------------------------------------------------------
 */

START_TEST(the_past_is_closed) {
    struct sim *sim = test_sim();
    sim_schedule(sim, 5, SIM_PHASE_UPDATE, null_event, &(int){0}, 0, NULL);
    sim_run(sim, SIM_TIME_MAX);
    sim_schedule(sim, 4, SIM_PHASE_UPDATE, null_event, &(int){0}, 0, NULL);
}
END_TEST

START_TEST(no_time_is_negative) {
    sim_time_from_s(-1e-9);
}
END_TEST

static Suite *sim_suite(void) {
    Suite *suite = suite_create("sim");
    TCase *tcase = tcase_create("sim");
    tcase_add_test(tcase, the_same_run_twice_is_identical);
    tcase_add_test(tcase, two_simulations_do_not_know_of_each_other);
    tcase_add_test(tcase, null_events_leave_the_order_of_others);
    tcase_add_test(tcase, run_stops_after_until);
    tcase_add_test(tcase, stop_keeps_the_rest_for_later);
    tcase_add_test(tcase, a_failure_ends_the_run_for_good);
    tcase_add_test(tcase, events_executed_counts_pops);
    tcase_add_test(tcase, an_event_that_runs_is_not_pending);
    tcase_add_test(tcase, times_round_to_the_nearest_nanosecond);
    tcase_add_test(tcase, the_clock_ends);
    tcase_add_test(tcase, tasks_beyond_the_clock);
    tcase_add_test(tcase, nothing_is_freed_quietly);
    tcase_add_test_raise_signal(tcase, the_past_is_closed, SIGABRT);
    tcase_add_test_raise_signal(tcase, no_time_is_negative, SIGABRT);
    suite_add_tcase(suite, tcase);
    return suite;
}

TESTING_MAIN(sim_suite)
