/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/resource.h"
#include "sim/task.h"
#include "tests/sim/engine_support.h"
#include "tests/testing.h"

#include <signal.h>

struct log {
    uint64_t order[1000];
    sim_time times[1000];
    size_t count;
};

static void note(struct sim *sim, void *subject, uint64_t argument) {
    struct log *log = subject;
    log->times[log->count] = sim_now(sim);
    log->order[log->count++] = argument;
}

static void submit(struct sim *sim, sim_resource_id resource, uint32_t units, sim_time duration,
                   int32_t priority, struct log *log, uint64_t argument) {
    sim_task_id id;
    struct sim_task_spec spec = {.duration_ns = duration,
                                 .priority = priority,
                                 .on_done = note,
                                 .subject = log,
                                 .argument = argument};
    ck_assert_int_eq(sim_task_new(sim, &spec, &id), SIM_OK);
    ck_assert_int_eq(sim_task_demand(sim, id, resource, units), SIM_OK);
    sim_task_release(sim, id);
}

START_TEST(resources_are_numbered_and_named) {
    struct sim *sim = test_sim();
    char name[] = "gpu 0";
    sim_resource_id first, second;
    ck_assert_int_eq(sim_resource_new(sim, name, 1, SIM_QUEUE_FIFO, &first), SIM_OK);
    name[4] = '1';
    ck_assert_int_eq(sim_resource_new(sim, name, 8, SIM_QUEUE_PRIORITY, &second), SIM_OK);
    ck_assert_uint_eq(first, 0);
    ck_assert_uint_eq(second, 1);
    ck_assert_uint_eq(sim_resource_count(sim), 2);
    ck_assert_str_eq(sim_resource_name(sim, first), "gpu 0");
    ck_assert_str_eq(sim_resource_name(sim, second), "gpu 1");
    ck_assert_uint_eq(sim_resource_capacity(sim, second), 8);
    sim_free(sim);
}
END_TEST

/* Capacity 2. a (1 unit, 10 ns), b (2 units, 4 ns), c (1 unit, 6 ns), all at 0:
 *   a runs 0-10; b waits 0-10 and runs 10-14; c does not overtake, waits 0-14 and runs 14-20.
 * Up to 12: busy 10 + 2 x 2 = 14; waiting 2 x 10 + 1 x 2 = 22; in system 3 x 10 + 2 x 2 = 34;
 *   started waits 0 + 10; sojourn of a 10.
 * At the end: busy 10 + 8 + 6 = 24; waits 0 + 10 + 14; sojourns 10 + 14 + 20. */
START_TEST(statistics_by_hand) {
    struct sim *sim = test_sim();
    struct log log = {.count = 0};
    struct sim_resource_statistics s;
    sim_resource_id id = test_resource(sim, 2, SIM_QUEUE_FIFO);
    submit(sim, id, 1, 10, 0, &log, 'a');
    submit(sim, id, 2, 4, 0, &log, 'b');
    submit(sim, id, 1, 6, 0, &log, 'c');
    sim_schedule(sim, 12, SIM_PHASE_UPDATE, note, &log, 'x', NULL); /* so that the clock is at 12 */
    ck_assert_int_eq(sim_run(sim, 12), SIM_OK);
    sim_resource_statistics(sim, id, &s);
    ck_assert_double_eq(s.busy_ns, 14.0);
    ck_assert_double_eq(s.queue_integral_ns, 22.0);
    ck_assert_double_eq(s.system_integral_ns, 34.0);
    ck_assert_double_eq(s.wait_total_ns, 10.0);
    ck_assert_double_eq(s.sojourn_total_ns, 10.0);
    ck_assert_uint_eq(s.arrived, 3);
    ck_assert_uint_eq(s.started, 2);
    ck_assert_uint_eq(s.finished, 1);
    ck_assert_int_eq(sim_run(sim, SIM_TIME_MAX), SIM_OK);
    sim_resource_statistics(sim, id, &s);
    ck_assert_double_eq(s.busy_ns, 24.0);
    ck_assert_double_eq(s.wait_total_ns, 24.0);
    ck_assert_double_eq(s.sojourn_total_ns, 44.0);
    test_little(sim);
    sim_free(sim);
}
END_TEST

/* Sums beyond 64 bits: 8 tasks wait for most of 7 x 2^60 ns; in all (1 + ... + 7) x 2^60 > 2^64. */
START_TEST(statistics_do_not_overflow) {
    struct sim *sim = test_sim();
    struct log log = {.count = 0};
    struct sim_resource_statistics s;
    sim_resource_id id = test_resource(sim, 1, SIM_QUEUE_FIFO);
    for (uint64_t i = 0; i < 7; i++)
        submit(sim, id, 1, INT64_C(1) << 60, 0, &log, i);
    ck_assert_int_eq(sim_run(sim, SIM_TIME_MAX), SIM_OK);
    sim_resource_statistics(sim, id, &s);
    ck_assert_double_eq(s.sojourn_total_ns, ldexp(28.0, 60));
    ck_assert_double_eq(s.wait_total_ns, ldexp(21.0, 60));
    test_little(sim);
    sim_free(sim);
}
END_TEST

/* One arrives a nanosecond, each takes up to 100: queues grow long. First in, first out means that
 * starts are in order of arrival; with capacity 1 ends are, too. */
START_TEST(first_in_is_first_out) {
    struct sim *sim = test_sim();
    static struct log log;
    uint64_t random = 5;
    log.count = 0;
    sim_resource_id id = test_resource(sim, 1, SIM_QUEUE_FIFO);
    for (uint64_t i = 0; i < 1000; i++) {
        if (i % 4 == 0)
            sim_run(sim, (sim_time)i * 10);
        submit(sim, id, 1, 1 + test_random_below(&random, 100), (int32_t)i % 7, &log, i);
    }
    ck_assert_int_eq(sim_run(sim, SIM_TIME_MAX), SIM_OK);
    bool in_order = log.count == 1000;
    for (uint64_t i = 0; i < log.count; i++)
        in_order &= log.order[i] == i;
    ck_assert(in_order);
    test_little(sim);
    sim_free(sim);
}
END_TEST

/* Tasks that come and go in order leave their slots in reverse: what comes after has descending
 * ones, and nothing that goes by slots goes by arrival. */
static void turn_slots_round(struct sim *sim, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        sim_task_id id;
        ck_assert_int_eq(sim_task_new(sim, &(struct sim_task_spec){.duration_ns = 0}, &id), SIM_OK);
        sim_task_release(sim, id);
    }
    ck_assert_int_eq(sim_run(sim, SIM_TIME_MAX), SIM_OK);
}

/* All ready at once: the higher priority first, the extremes of its range among them, and equal
 * ones as they came. */
START_TEST(priorities_order_a_queue) {
    static const int32_t levels[] = {0, INT32_MIN, 5, INT32_MAX, -5, 1, -1};
    enum { LEVELS = sizeof levels / sizeof *levels, EACH = 100 };
    struct sim *sim = test_sim();
    static struct log log;
    log.count = 0;
    sim_resource_id id = test_resource(sim, 1, SIM_QUEUE_PRIORITY);
    turn_slots_round(sim, LEVELS * EACH);
    for (uint64_t i = 0; i < LEVELS * EACH; i++)
        submit(sim, id, 1, 1, levels[i % LEVELS], &log, i);
    ck_assert_int_eq(sim_run(sim, SIM_TIME_MAX), SIM_OK);
    ck_assert_uint_eq(log.count, LEVELS * EACH);
    bool in_order = true;
    for (size_t i = 1; i < log.count; i++) {
        int32_t before = levels[log.order[i - 1] % LEVELS], now = levels[log.order[i] % LEVELS];
        in_order &= before > now || (before == now && log.order[i - 1] < log.order[i]);
    }
    ck_assert(in_order);
    test_little(sim);
    sim_free(sim);
}
END_TEST

/* A large demand at the head is not starved: while it waits nothing behind it is served, and so it
 * starts when the units of those before it are back. */
START_TEST(a_large_demand_is_not_starved) {
    struct sim *sim = test_sim();
    static struct log log;
    log.count = 0;
    sim_resource_id id = test_resource(sim, 4, SIM_QUEUE_PRIORITY);
    for (uint64_t i = 0; i < 4; i++)
        submit(sim, id, 1, 10 + (sim_time)i, 0, &log, i);
    ck_assert_int_eq(sim_run(sim, 5), SIM_OK);
    submit(sim, id, 4, 7, 0, &log, 'L');
    for (uint64_t i = 10; i < 60; i++)
        submit(sim, id, 1, 10, 0, &log, i);
    ck_assert_int_eq(sim_run(sim, SIM_TIME_MAX), SIM_OK);
    ck_assert_uint_eq(log.order[4], 'L');
    ck_assert_int_eq(log.times[4], 13 + 7);
    sim_free(sim);
}
END_TEST

START_TEST(a_resource_has_a_capacity) {
    test_resource(test_sim(), 0, SIM_QUEUE_FIFO);
}
END_TEST

START_TEST(statistics_are_of_an_existing_resource) {
    struct sim_resource_statistics statistics;
    sim_resource_statistics(test_sim(), 0, &statistics);
}
END_TEST

static Suite *resource_suite(void) {
    Suite *suite = suite_create("resource");
    TCase *tcase = tcase_create("resource");
    tcase_add_test(tcase, resources_are_numbered_and_named);
    tcase_add_test(tcase, statistics_by_hand);
    tcase_add_test(tcase, statistics_do_not_overflow);
    tcase_add_test(tcase, first_in_is_first_out);
    tcase_add_test(tcase, priorities_order_a_queue);
    tcase_add_test(tcase, a_large_demand_is_not_starved);
    tcase_add_test_raise_signal(tcase, a_resource_has_a_capacity, SIGABRT);
    tcase_add_test_raise_signal(tcase, statistics_are_of_an_existing_resource, SIGABRT);
    suite_add_tcase(suite, tcase);
    return suite;
}

TESTING_MAIN(resource_suite)
