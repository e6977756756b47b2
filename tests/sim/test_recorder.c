/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/recorder.h"
#include "tests/sim/engine_support.h"
#include "tests/testing.h"

#include <signal.h>

struct heard {
    struct sim_span spans[20];
    size_t count;
    size_t memory_changes;
};

static void hear_span(void *state, const struct sim *sim, const struct sim_span *span) {
    struct heard *heard = state;
    (void)sim;
    heard->spans[heard->count++] = *span;
}

static void hear_memory(void *state, const struct sim *sim,
                        const struct sim_memory_change_record *change) {
    (void)sim;
    (void)change;
    ((struct heard *)state)->memory_changes++;
}

static const struct sim_sink_type both = {.span = hear_span, .memory = hear_memory};
static const struct sim_sink_type spans_only = {.span = hear_span};
static const struct sim_sink_type deaf = {.span = NULL};

static void submit(struct sim *sim, sim_time duration, bool recorded,
                   const struct sim_task_tag *tag) {
    sim_task_id id;
    struct sim_task_spec spec = {.duration_ns = duration, .recorded = recorded, .tag = *tag};
    ck_assert_int_eq(sim_task_new(sim, &spec, &id), SIM_OK);
    ck_assert_int_eq(sim_task_demand_range(sim, id, 0, 2), SIM_OK);
    sim_task_release(sim, id);
}

/* Two tasks on the same two resources follow each other; the unrecorded one between leaves a gap.
 */
START_TEST(a_task_reports_one_span_a_resource) {
    static const struct sim_task_tag first = {3, 4, 5, 6.5, 7.5}, second = {8, 9, -1, 0.0, 1e18};
    struct sim *sim = test_sim();
    struct heard heard = {.count = 0};
    test_resource(sim, 1, SIM_QUEUE_FIFO);
    test_resource(sim, 1, SIM_QUEUE_FIFO);
    ck_assert_int_eq(sim_recorder_add(sim, &both, &heard), SIM_OK);
    submit(sim, 10, true, &first);
    submit(sim, 5, false, &first);
    submit(sim, 20, true, &second);
    ck_assert_int_eq(sim_run(sim, SIM_TIME_MAX), SIM_OK);
    ck_assert_uint_eq(heard.count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        const struct sim_span *span = &heard.spans[i];
        const struct sim_task_tag *tag = i < 2 ? &first : &second;
        ck_assert_uint_eq(span->resource, i % 2);
        ck_assert_int_eq(span->start, i < 2 ? 0 : 15);
        ck_assert_int_eq(span->end, i < 2 ? 10 : 35);
        ck_assert_uint_eq(span->tag.activity, tag->activity);
        ck_assert_uint_eq(span->tag.owner, tag->owner);
        ck_assert_int_eq(span->tag.step, tag->step);
        ck_assert_double_eq(span->tag.bytes, tag->bytes);
        ck_assert_double_eq(span->tag.flops, tag->flops);
    }
    sim_free(sim);
}
END_TEST

static void report(struct sim *sim, void *subject, uint64_t argument) {
    (void)subject;
    struct sim_span span = {.start = sim_now(sim) - (sim_time)argument,
                            .end = sim_now(sim),
                            .resource = 0,
                            .tag = {.activity = 1}};
    sim_recorder_span(sim, &span);
}

START_TEST(a_process_reports_what_it_spent) {
    struct sim *sim = test_sim();
    struct heard heard = {.count = 0};
    struct sim_resource_statistics statistics;
    test_resource(sim, 1, SIM_QUEUE_FIFO);
    ck_assert_int_eq(sim_recorder_add(sim, &both, &heard), SIM_OK);
    sim_schedule(sim, 10, SIM_PHASE_UPDATE, report, NULL, 4, NULL);
    sim_schedule(sim, 30, SIM_PHASE_UPDATE, report, NULL, 9, NULL);
    ck_assert_int_eq(sim_run(sim, SIM_TIME_MAX), SIM_OK);
    sim_resource_statistics(sim, 0, &statistics);
    ck_assert_double_eq(statistics.busy_ns, 4.0 + 9.0);
    ck_assert_uint_eq(statistics.arrived, 0);
    ck_assert_uint_eq(heard.count, 2);
    ck_assert_int_eq(heard.spans[1].start, 21);
    ck_assert_int_eq(heard.spans[1].end, 30);
    sim_free(sim);
}
END_TEST

START_TEST(every_sink_hears_what_it_wants) {
    struct sim *sim = test_sim();
    struct heard heard[3] = {{.count = 0}};
    sim_memory_id memory;
    test_resource(sim, 1, SIM_QUEUE_FIFO);
    ck_assert_int_eq(sim_memory_new(sim, "hbm", 1e9, 1, 1, &memory), SIM_OK);
    ck_assert_int_eq(sim_recorder_add(sim, &both, &heard[0]), SIM_OK);
    ck_assert_int_eq(sim_recorder_add(sim, &spans_only, &heard[1]), SIM_OK);
    ck_assert_int_eq(sim_recorder_add(sim, &deaf, &heard[2]), SIM_OK);
    sim_recorder_span(sim, &(struct sim_span){.resource = 0});
    sim_memory_change(sim, memory, 0, 0, 5.0);
    sim_memory_change(sim, memory, 0, 0, 0.0); /* no change: not told */
    ck_assert_uint_eq(heard[0].count, 1);
    ck_assert_uint_eq(heard[1].count, 1);
    ck_assert_uint_eq(heard[2].count, 0);
    ck_assert_uint_eq(heard[0].memory_changes, 1);
    ck_assert_uint_eq(heard[1].memory_changes, 0);
    for (int i = 3; i < 8; i++)
        ck_assert_int_eq(sim_recorder_add(sim, &deaf, NULL), SIM_OK);
    ck_assert_int_eq(sim_recorder_add(sim, &deaf, NULL), SIM_NO_MEMORY);
    sim_free(sim);
}
END_TEST

START_TEST(a_span_is_reported_once_it_is_over) {
    struct sim *sim = test_sim();
    test_resource(sim, 1, SIM_QUEUE_FIFO);
    sim_recorder_span(sim, &(struct sim_span){.start = 0, .end = 1});
}
END_TEST

static Suite *recorder_suite(void) {
    Suite *suite = suite_create("recorder");
    TCase *tcase = tcase_create("recorder");
    tcase_add_test(tcase, a_task_reports_one_span_a_resource);
    tcase_add_test(tcase, a_process_reports_what_it_spent);
    tcase_add_test(tcase, every_sink_hears_what_it_wants);
    tcase_add_test_raise_signal(tcase, a_span_is_reported_once_it_is_over, SIGABRT);
    suite_add_tcase(suite, tcase);
    return suite;
}

TESTING_MAIN(recorder_suite)
