/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/reliability/checkpoint.h"
#include "tests/testing.h"

/* 90 GB from 3 nodes of 2 GB/s each. */
static struct checkpoint_plan plan_of(double store) {
    return (struct checkpoint_plan){
        .every_steps = 25,
        .keep = 2,
        .bytes = 90e9,
        .store = {.client_write_bytes_per_s = 2e9, .write_bytes_per_s = store},
        .clients = 3};
}

START_TEST(the_slower_of_nodes_and_store_sets_the_pace) {
    struct checkpoint_plan plan = plan_of(0);
    assert_relative(checkpoint_save_s(&plan), 15.0, 1e-12); /* 6 GB/s */
    plan = plan_of(4.5e9);
    assert_relative(checkpoint_save_s(&plan), 20.0, 1e-12); /* the store */
    plan = plan_of(100e9);
    assert_relative(checkpoint_save_s(&plan), 15.0, 1e-12); /* the nodes again */
    plan.bytes = 0;
    ck_assert_double_eq(checkpoint_save_s(&plan), 0.0);
}
END_TEST

/* Published: a full save of MT-NLG 530B to a store behind 20 Gbit/s takes 42 minutes (Wang et al.,
 * GEMINI, SOSP 2023). The bytes are Adam's: fp32 master weights and two moments, 12 a parameter.
 * The store is the limit whatever the nodes can do; 42 minutes are exact to half a minute, 1.2 %.
 */
START_TEST(a_published_save) {
    struct checkpoint_plan plan = {
        .bytes = 530e9 * 12,
        .store = {.client_write_bytes_per_s = 10e9, .write_bytes_per_s = 20e9 / 8},
        .clients = 16};
    assert_relative(checkpoint_save_s(&plan), 42 * 60.0, 0.012);
}
END_TEST

START_TEST(more_nodes_are_never_slower) {
    struct checkpoint_plan plan = plan_of(11e9);
    double last = (double)INFINITY;
    for (plan.clients = 1; plan.clients <= 16; plan.clients++) {
        double seconds = checkpoint_save_s(&plan);
        ck_assert_double_le(seconds, last);
        ck_assert_double_ge(seconds, plan.bytes / plan.store.write_bytes_per_s);
        last = seconds;
    }
}
END_TEST

/* Plays a run and counts: 103 steps, every 25: 25, 50, 75, 100 and the last one. */
START_TEST(saves_of_a_run) {
    struct checkpoint_plan plan = plan_of(0);
    static const int64_t expected[] = {25, 50, 75, 100, 103};
    size_t next = 0;
    for (int64_t step = 1; step <= 103; step++)
        if (checkpoint_due(&plan, step, 103)) {
            ck_assert_uint_lt(next, 5);
            ck_assert_int_eq(step, expected[next++]);
        }
    ck_assert_uint_eq(next, 5);
    /* The last step is not saved twice, nor anything when saves are off. */
    ck_assert(checkpoint_due(&plan, 100, 100));
    plan.every_steps = 0;
    for (int64_t step = 1; step <= 103; step++)
        ck_assert(!checkpoint_due(&plan, step, 103));
}
END_TEST

/* 90 GB: staged in 4 s, gathered in 3, written in 15. Synchronously the run waits 3 + 15;
 * asynchronously 3 + 4, and it is safe 15 later. Read back from disks at 4.5 GB/s the write takes
 * 20. */
START_TEST(asynchronous_saves_wait_for_the_copy) {
    struct checkpoint_plan plan = plan_of(0);
    plan.gather_s = 3.0;
    plan.stage_s = 4.0;
    assert_relative(checkpoint_blocking_s(&plan), 18.0, 1e-12);
    assert_relative(checkpoint_save_s(&plan), 18.0, 1e-12);
    plan.asynchronous = true;
    assert_relative(checkpoint_blocking_s(&plan), 7.0, 1e-12);
    assert_relative(checkpoint_save_s(&plan), 22.0, 1e-12);
    plan.staged_read_bytes_per_s = 4.5e9;
    assert_relative(checkpoint_write_s(&plan), 20.0, 1e-12);
    plan.bytes = 0.0;
    ck_assert_double_eq(checkpoint_save_s(&plan), 0.0);
}
END_TEST

/* Five saves. Work of 20 s hides a write of 15: 5 x 4 for the copies and 15 for the last write.
 * Work of 9 s does not: four times 6 more. */
START_TEST(a_save_waits_for_the_one_before) {
    struct checkpoint_plan plan = plan_of(0);
    plan.stage_s = 4.0;
    assert_relative(checkpoint_run_s(&plan, 5, 9.0), 5 * 15.0, 1e-12);
    plan.asynchronous = true;
    assert_relative(checkpoint_run_s(&plan, 5, 20.0), 5 * 4.0 + 15.0, 1e-12);
    assert_relative(checkpoint_run_s(&plan, 5, 9.0), 5 * 4.0 + 4 * 6.0 + 15.0, 1e-12);
    ck_assert_double_eq(checkpoint_run_s(&plan, 0, 9.0), 0.0);
}
END_TEST

static Suite *suite(void) {
    Suite *result = suite_create("reliability_checkpoint");
    TCase *tests = tcase_create("saves");
    tcase_add_test(tests, the_slower_of_nodes_and_store_sets_the_pace);
    tcase_add_test(tests, a_published_save);
    tcase_add_test(tests, more_nodes_are_never_slower);
    tcase_add_test(tests, saves_of_a_run);
    tcase_add_test(tests, asynchronous_saves_wait_for_the_copy);
    tcase_add_test(tests, a_save_waits_for_the_one_before);
    suite_add_tcase(result, tests);
    return result;
}

TESTING_MAIN(suite)
