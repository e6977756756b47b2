/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/recorder.h"
#include "sim/task.h"
#include "tests/sim/engine_support.h"
#include "tests/testing.h"

#include <signal.h>
#include <stdio.h>

/* A log of what ended when: letters are the tasks' arguments. */
struct log {
    char letters[64];
    sim_time times[64];
    size_t count;
};

static void note(struct sim *sim, void *subject, uint64_t argument) {
    struct log *log = subject;
    log->times[log->count] = sim_now(sim);
    log->letters[log->count++] = (char)argument;
}

static sim_task_id task_new(struct sim *sim, struct log *log, char letter, sim_time duration) {
    sim_task_id id;
    struct sim_task_spec spec = {.duration_ns = duration,
                                 .tag = {.activity = (uint32_t)letter},
                                 .on_done = log == NULL ? NULL : note,
                                 .subject = log,
                                 .argument = (uint64_t)letter};
    ck_assert_int_eq(sim_task_new(sim, &spec, &id), SIM_OK);
    return id;
}

static void demand(struct sim *sim, sim_task_id task, sim_resource_id resource, uint32_t units) {
    ck_assert_int_eq(sim_task_demand(sim, task, resource, units), SIM_OK);
}

static void after(struct sim *sim, sim_task_id task, sim_task_id predecessor) {
    ck_assert_int_eq(sim_task_after(sim, task, predecessor), SIM_OK);
}

static void run(struct sim *sim) {
    ck_assert_int_eq(sim_run(sim, SIM_TIME_MAX), SIM_OK);
    ck_assert_uint_eq(sim_tasks_unfinished(sim), 0);
    test_little(sim);
}

static void check_log(const struct log *log, const char *letters, const sim_time *times) {
    ck_assert_uint_eq(log->count, strlen(letters));
    ck_assert_mem_eq(log->letters, letters, log->count);
    for (size_t i = 0; i < log->count; i++)
        ck_assert_int_eq(log->times[i], times[i]);
}

/* ---- order -------------------------------------------------------------------------------------
 */

/* a before b and c, both before d; nothing is in the way: d starts at 2 + max(3, 5). */
START_TEST(a_diamond_waits_for_its_longer_side) {
    struct log log = {.count = 0};
    struct sim *sim = test_sim();
    sim_task_id a = task_new(sim, &log, 'a', 2), b = task_new(sim, &log, 'b', 3);
    sim_task_id c = task_new(sim, &log, 'c', 5), d = task_new(sim, &log, 'd', 7);
    after(sim, b, a);
    after(sim, c, a);
    after(sim, d, b);
    after(sim, d, c);
    sim_task_release(sim, d); /* the order of release does not matter to what waits */
    sim_task_release(sim, c);
    sim_task_release(sim, b);
    sim_task_release(sim, a);
    ck_assert_uint_eq(sim_tasks_unfinished(sim), 4);
    run(sim);
    check_log(&log, "abcd", (sim_time[]){2, 5, 7, 14});
    sim_free(sim);
}
END_TEST

/* With one resource the sides of the diamond follow each other, in the order of the edges. */
START_TEST(successors_ask_in_the_order_of_their_edges) {
    struct log log = {.count = 0};
    struct sim *sim = test_sim();
    sim_resource_id gpu = test_resource(sim, 1, SIM_QUEUE_FIFO);
    sim_task_id first = task_new(sim, &log, 'a', 1);
    for (char letter = 'e'; letter > 'a'; letter--) {
        sim_task_id task = task_new(sim, &log, letter, 1);
        demand(sim, task, gpu, 1);
        after(sim, task, first);
        sim_task_release(sim, task);
    }
    sim_task_release(sim, first);
    run(sim);
    check_log(&log, "aedcb", (sim_time[]){1, 2, 3, 4, 5});
    sim_free(sim);
}
END_TEST

START_TEST(barriers_end_at_once_and_without_events) {
    struct log log = {.count = 0};
    struct sim *sim = test_sim();
    sim_task_id a = task_new(sim, &log, 'a', 4), previous = a;
    sim_task_release(sim, a);
    for (char letter = 'b'; letter < 'f'; letter++) {
        sim_task_id barrier = task_new(sim, &log, letter, 0);
        after(sim, barrier, previous);
        sim_task_release(sim, barrier);
        previous = barrier;
    }
    sim_task_id last = task_new(sim, &log, 'z', 1);
    after(sim, last, previous);
    sim_task_release(sim, last);
    run(sim);
    check_log(&log, "abcdez", (sim_time[]){4, 4, 4, 4, 4, 5});
    ck_assert_uint_eq(sim_events_executed(sim), 3); /* a first decision and two completions */
    sim_free(sim);
}
END_TEST

START_TEST(a_lone_barrier_ends_when_the_run_begins) {
    struct log log = {.count = 0};
    struct sim *sim = test_sim();
    sim_task_release(sim, task_new(sim, &log, 'a', 0));
    ck_assert_uint_eq(log.count, 0); /* not inside the release */
    run(sim);
    check_log(&log, "a", (sim_time[]){0});
    sim_free(sim);
}
END_TEST

/* A duration of 0 on a resource waits for it like any other. */
START_TEST(a_task_without_duration_still_queues) {
    struct log log = {.count = 0};
    struct sim *sim = test_sim();
    sim_resource_id gpu = test_resource(sim, 1, SIM_QUEUE_FIFO);
    for (char letter = 'a'; letter < 'd'; letter++) {
        sim_task_id task = task_new(sim, &log, letter, letter == 'b' ? 0 : 3);
        demand(sim, task, gpu, 1);
        sim_task_release(sim, task);
    }
    run(sim);
    check_log(&log, "abc", (sim_time[]){3, 3, 6});
    sim_free(sim);
}
END_TEST

/* All completions of an instant are taken before anything starts: b frees the resource first, but
 * the one of higher priority that c sets free at the same instant gets it. */
START_TEST(decisions_come_after_all_completions) {
    struct log log = {.count = 0};
    struct sim *sim = test_sim();
    sim_resource_id gpu = test_resource(sim, 1, SIM_QUEUE_PRIORITY);
    sim_resource_id other = test_resource(sim, 1, SIM_QUEUE_PRIORITY);
    sim_task_id b = task_new(sim, &log, 'b', 5), c = task_new(sim, &log, 'c', 5);
    sim_task_id low = task_new(sim, &log, 'l', 1), high, id;
    struct sim_task_spec spec = {1, 9, false, {0}, note, &log, 'h'};
    ck_assert_int_eq(sim_task_new(sim, &spec, &high), SIM_OK);
    demand(sim, b, gpu, 1);
    demand(sim, c, other, 1);
    demand(sim, low, gpu, 1);
    demand(sim, high, gpu, 1);
    after(sim, high, c);
    sim_task_id all[] = {b, c, low, high};
    for (size_t i = 0; i < 4; i++) {
        id = all[i];
        sim_task_release(sim, id);
    }
    run(sim);
    check_log(&log, "bchl", (sim_time[]){5, 5, 6, 7});
    sim_free(sim);
}
END_TEST

/* ---- demands -----------------------------------------------------------------------------------
 */

/* a holds 0 and waits for 2, which b has until 10; c wants 0 and so waits for a, although a does
 * not run yet; d wants 1 only and is not concerned. */
START_TEST(a_task_holds_what_it_has_while_it_waits) {
    struct log log = {.count = 0};
    struct sim *sim = test_sim();
    sim_resource_id first = test_resource(sim, 1, SIM_QUEUE_FIFO);
    test_resource(sim, 1, SIM_QUEUE_FIFO);
    test_resource(sim, 1, SIM_QUEUE_FIFO);
    sim_task_id b = task_new(sim, &log, 'b', 10), a = task_new(sim, &log, 'a', 5);
    sim_task_id c = task_new(sim, &log, 'c', 1), d = task_new(sim, &log, 'd', 2);
    demand(sim, b, first + 2, 1);
    demand(sim, a, first + 2, 1); /* given in descending order, asked for in ascending */
    demand(sim, a, first, 1);
    demand(sim, c, first, 1);
    demand(sim, d, first + 1, 1);
    sim_task_release(sim, b);
    sim_task_release(sim, a);
    sim_task_release(sim, c);
    sim_task_release(sim, d);
    run(sim);
    check_log(&log, "dbac", (sim_time[]){2, 10, 15, 16});
    struct sim_resource_statistics statistics;
    sim_resource_statistics(sim, first, &statistics);
    ck_assert_double_eq(statistics.busy_ns, 5.0 + 1.0); /* holding is not working */
    ck_assert_double_eq(statistics.wait_total_ns, 10.0 + 15.0);
    sim_free(sim);
}
END_TEST

/* Demands in every order, single ones and ranges mixed: all of 0..9 are held, and only they. */
START_TEST(ranges_and_single_demands_add_up) {
    struct log log = {.count = 0};
    struct sim *sim = test_sim();
    for (int i = 0; i < 12; i++)
        test_resource(sim, 3, SIM_QUEUE_FIFO);
    sim_task_id task = task_new(sim, &log, 'a', 7);
    demand(sim, task, 5, 3);
    ck_assert_int_eq(sim_task_demand_range(sim, task, 6, 4), SIM_OK);
    demand(sim, task, 0, 2);
    ck_assert_int_eq(sim_task_demand_range(sim, task, 1, 3), SIM_OK);
    demand(sim, task, 4, 1);
    sim_task_release(sim, task);
    run(sim);
    static const double units[12] = {2, 1, 1, 1, 1, 3, 1, 1, 1, 1, 0, 0};
    for (sim_resource_id id = 0; id < 12; id++) {
        struct sim_resource_statistics statistics;
        sim_resource_statistics(sim, id, &statistics);
        ck_assert_double_eq(statistics.busy_ns, 7.0 * units[id]);
        ck_assert_uint_eq(statistics.arrived, units[id] > 0.0);
    }
    sim_free(sim);
}
END_TEST

/* Capacity 4: a (3) runs; b (2) does not fit; c (1) would, but does not overtake. */
START_TEST(a_queue_does_not_overtake_its_head) {
    struct log log = {.count = 0};
    struct sim *sim = test_sim();
    sim_resource_id pool = test_resource(sim, 4, SIM_QUEUE_FIFO);
    sim_task_id a = task_new(sim, &log, 'a', 10), b = task_new(sim, &log, 'b', 10);
    sim_task_id c = task_new(sim, &log, 'c', 1);
    demand(sim, a, pool, 3);
    demand(sim, b, pool, 2);
    demand(sim, c, pool, 1);
    sim_task_release(sim, a);
    sim_task_release(sim, b);
    sim_task_release(sim, c);
    run(sim);
    check_log(&log, "acb", (sim_time[]){10, 11, 20});
    sim_free(sim);
}
END_TEST

/* ---- unfolding ---------------------------------------------------------------------------------
 */

struct chain {
    struct log log;
    sim_task_id self, stranger;
    int left;
};

static void unfold(struct sim *sim, void *subject, uint64_t argument) {
    struct chain *chain = subject;
    note(sim, &chain->log, argument);
    if (chain->left-- == 0)
        return;
    struct sim_task_spec spec = {
        .duration_ns = 3, .on_done = unfold, .subject = chain, .argument = argument + 1};
    sim_task_id finished = chain->self;
    ck_assert_int_eq(sim_task_new(sim, &spec, &chain->self), SIM_OK);
    ck_assert_uint_eq(chain->self.slot, finished.slot); /* the slot is used again */
    after(sim, chain->self, finished);                  /* done: no obstacle */
    after(sim, chain->self, chain->stranger);
    sim_task_release(sim, chain->self);
}

START_TEST(a_graph_unfolds_from_its_own_completions) {
    struct chain chain = {.left = 3};
    struct sim *sim = test_sim();
    chain.stranger = task_new(sim, NULL, 's', 1);
    sim_task_release(sim, chain.stranger);
    run(sim);
    struct sim_task_spec spec = {
        .duration_ns = 3, .on_done = unfold, .subject = &chain, .argument = 'a'};
    ck_assert_int_eq(sim_task_new(sim, &spec, &chain.self), SIM_OK);
    sim_task_release(sim, chain.self);
    run(sim);
    check_log(&chain.log, "abcd", (sim_time[]){4, 7, 10, 13});
    sim_free(sim);
}
END_TEST

struct hand_over {
    struct log log;
    sim_task_id urgent;
};

static void hand_over(struct sim *sim, void *subject, uint64_t argument) {
    struct hand_over *state = subject;
    note(sim, &state->log, argument);
    sim_task_release(sim, state->urgent);
}

/* on_done comes before the successors: what it releases is ready before them. */
START_TEST(what_on_done_releases_comes_before_the_successors) {
    struct hand_over state = {.log = {.count = 0}};
    struct sim *sim = test_sim();
    sim_resource_id gpu = test_resource(sim, 1, SIM_QUEUE_FIFO);
    struct sim_task_spec spec = {
        .duration_ns = 2, .on_done = hand_over, .subject = &state, .argument = 'a'};
    sim_task_id a, successor = task_new(sim, &state.log, 's', 1);
    state.urgent = task_new(sim, &state.log, 'u', 1);
    ck_assert_int_eq(sim_task_new(sim, &spec, &a), SIM_OK);
    demand(sim, successor, gpu, 1);
    demand(sim, state.urgent, gpu, 1);
    after(sim, successor, a);
    sim_task_release(sim, successor);
    sim_task_release(sim, a);
    run(sim);
    check_log(&state.log, "aus", (sim_time[]){2, 3, 4});
    sim_free(sim);
}
END_TEST

/* ---- deadlock ----------------------------------------------------------------------------------
 */

static const char *name_activity(uint32_t activity) {
    return activity == 'a' ? "alpha" : activity == 'b' ? "beta" : "other";
}

START_TEST(a_cycle_is_reported_with_what_waits_for_what) {
    char text[1000];
    struct sim *sim = test_sim();
    sim_task_id a = task_new(sim, NULL, 'a', 1), b = task_new(sim, NULL, 'b', 1);
    task_new(sim, NULL, 'c', 1);
    after(sim, a, b);
    after(sim, b, a);
    sim_task_release(sim, a);
    sim_task_release(sim, b);
    ck_assert_int_eq(sim_run(sim, SIM_TIME_MAX), SIM_DEADLOCK);
    static const char expected[] =
        "task 0 (alpha, owner 0, step 0) waits for task 1 (beta, owner 0, step 0)\n"
        "task 1 (beta, owner 0, step 0) waits for task 0 (alpha, owner 0, step 0)\n"
        "task 2 (other, owner 0, step 0) was never released\n";
    ck_assert_uint_eq(sim_deadlock_report(sim, 10, name_activity, text, sizeof text),
                      strlen(expected));
    ck_assert_str_eq(text, expected);
    ck_assert_uint_eq(sim_deadlock_report(sim, 10, name_activity, text, 6), strlen(expected));
    ck_assert_str_eq(text, "task ");
    ck_assert_uint_eq(sim_deadlock_report(sim, 10, name_activity, NULL, 0), strlen(expected));
    sim_deadlock_report(sim, 1, NULL, text, sizeof text);
    ck_assert_str_eq(text, "task 0 (activity 97, owner 0, step 0) waits for "
                           "task 1 (activity 98, owner 0, step 0)\n");
    sim_free(sim);
}
END_TEST

/* The same report of a run that was only interrupted: who runs, and who waits for whose resource;
 * the fifth and further predecessors are counted. */
START_TEST(an_interrupted_run_is_reported_too) {
    char text[2000];
    struct sim *sim = test_sim();
    sim_resource_id gpu = test_resource(sim, 2, SIM_QUEUE_FIFO);
    sim_task_id last = task_new(sim, NULL, 'z', 1);
    for (uint32_t i = 0; i < 6; i++) {
        sim_task_id task = task_new(sim, NULL, 'a', 10);
        if (i < 3)
            demand(sim, task, gpu, 1);
        after(sim, last, task);
        sim_task_release(sim, task);
    }
    sim_task_release(sim, last);
    ck_assert_int_eq(sim_run(sim, 5), SIM_OK);
    sim_deadlock_report(sim, 4, NULL, text, sizeof text);
    ck_assert_str_eq(text, "task 0 (activity 122, owner 0, step 0) waits for "
                           "task 1 (activity 97, owner 0, step 0), "
                           "task 2 (activity 97, owner 0, step 0), "
                           "task 3 (activity 97, owner 0, step 0), "
                           "task 4 (activity 97, owner 0, step 0) and 2 more\n"
                           "task 1 (activity 97, owner 0, step 0) is running\n"
                           "task 2 (activity 97, owner 0, step 0) is running\n"
                           "task 3 (activity 97, owner 0, step 0) waits for resource resource, "
                           "held by task 1 (activity 97, owner 0, step 0), "
                           "task 2 (activity 97, owner 0, step 0)\n");
    run(sim);
    ck_assert_uint_eq(sim_deadlock_report(sim, 4, NULL, text, sizeof text), 0);
    ck_assert_str_eq(text, "");
    sim_free(sim);
}
END_TEST

/* ---- contracts ---------------------------------------------------------------------------------
 */

START_TEST(each_resource_is_demanded_once) {
    struct sim *sim = test_sim();
    for (int i = 0; i < 4; i++)
        test_resource(sim, 1, SIM_QUEUE_FIFO);
    sim_task_id task = task_new(sim, NULL, 'a', 1);
    sim_task_demand(sim, task, 2, 1);
    sim_task_demand_range(sim, task, 0, 3);
}
END_TEST

START_TEST(no_demand_is_above_the_capacity) {
    struct sim *sim = test_sim();
    sim_resource_id gpu = test_resource(sim, 3, SIM_QUEUE_FIFO);
    sim_task_demand(sim, task_new(sim, NULL, 'a', 1), gpu, 4);
}
END_TEST

START_TEST(a_released_task_is_not_changed) {
    struct sim *sim = test_sim();
    sim_task_id task = task_new(sim, NULL, 'a', 1), other = task_new(sim, NULL, 'b', 1);
    sim_task_release(sim, task);
    sim_task_after(sim, task, other);
}
END_TEST

START_TEST(no_task_comes_after_itself) {
    struct sim *sim = test_sim();
    sim_task_id task = task_new(sim, NULL, 'a', 1);
    sim_task_after(sim, task, task);
}
END_TEST

static Suite *task_suite(void) {
    Suite *suite = suite_create("task");
    TCase *tcase = tcase_create("task");
    tcase_add_test(tcase, a_diamond_waits_for_its_longer_side);
    tcase_add_test(tcase, successors_ask_in_the_order_of_their_edges);
    tcase_add_test(tcase, barriers_end_at_once_and_without_events);
    tcase_add_test(tcase, a_lone_barrier_ends_when_the_run_begins);
    tcase_add_test(tcase, a_task_without_duration_still_queues);
    tcase_add_test(tcase, decisions_come_after_all_completions);
    tcase_add_test(tcase, a_task_holds_what_it_has_while_it_waits);
    tcase_add_test(tcase, ranges_and_single_demands_add_up);
    tcase_add_test(tcase, a_queue_does_not_overtake_its_head);
    tcase_add_test(tcase, a_graph_unfolds_from_its_own_completions);
    tcase_add_test(tcase, what_on_done_releases_comes_before_the_successors);
    tcase_add_test(tcase, a_cycle_is_reported_with_what_waits_for_what);
    tcase_add_test(tcase, an_interrupted_run_is_reported_too);
    tcase_add_test_raise_signal(tcase, each_resource_is_demanded_once, SIGABRT);
    tcase_add_test_raise_signal(tcase, no_demand_is_above_the_capacity, SIGABRT);
    tcase_add_test_raise_signal(tcase, a_released_task_is_not_changed, SIGABRT);
    tcase_add_test_raise_signal(tcase, no_task_comes_after_itself, SIGABRT);
    suite_add_tcase(suite, tcase);
    return suite;
}

TESTING_MAIN(task_suite)
