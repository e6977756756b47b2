/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/memory.h"
#include "sim/recorder.h"
#include "sim/task.h"
#include "tests/sim/engine_support.h"
#include "tests/testing.h"

/* Every byte of a simulation comes from its allocator, none per event once the pools have grown,
 * all go back; and a refusal, whichever it is, is a status and not a leak. test_reallocate checks
 * besides that the engine knows the size of each block. */

#define LANES 8u
#define WIDTH 40u /* tasks in a lane and step */

/* ---- a small factory that exercises everything --------------------------------------------------
 */

struct factory {
    struct sim *sim;
    sim_memory_id memory;
    uint64_t random;
    uint32_t steps_left;
    uint64_t done;          /* tasks but for the first and last of each step */
    enum sim_status status; /* the first that was not SIM_OK */
    sim_event_id tick;
};

static void check(struct factory *factory, enum sim_status status) {
    if (factory->status == SIM_OK)
        factory->status = status;
}

static void tick(struct sim *sim, void *subject, uint64_t argument) {
    struct factory *factory = subject;
    uint32_t owner = test_random_below(&factory->random, LANES);
    sim_memory_set(sim, factory->memory, owner, 0, test_random_below(&factory->random, 1000));
    if (argument > 0)
        check(factory, sim_schedule(sim, sim_now(sim) + 7, SIM_PHASE_UPDATE, tick, subject,
                                    argument - 1, &factory->tick));
}

static void unfold(struct sim *sim, void *subject, uint64_t argument);

static void count_done(struct sim *sim, void *subject, uint64_t argument) {
    (void)sim;
    ((struct factory *)subject)->done += argument;
}

/* A task after `first`; on one resource, on two, on a range, or on none. */
static sim_task_id add_task(struct factory *factory, uint32_t i, sim_task_id first) {
    struct sim *sim = factory->sim;
    struct sim_task_spec spec = {.duration_ns = 1 + test_random_below(&factory->random, 50),
                                 .priority = (int32_t)(i % 3),
                                 .recorded = i % 2 == 0,
                                 .on_done = count_done,
                                 .subject = factory,
                                 .argument = 1};
    sim_task_id id = {0, 0};
    check(factory, sim_task_new(sim, &spec, &id));
    if (factory->status != SIM_OK)
        return id;
    check(factory, sim_task_after(sim, id, first));
    if (i % 4 == 0)
        check(factory, sim_task_demand(sim, id, i % LANES, 1));
    if (i % 4 == 1) {
        check(factory, sim_task_demand(sim, id, i % (LANES / 2) + LANES / 2, 1));
        check(factory, sim_task_demand(sim, id, i % (LANES / 2), 1));
    }
    if (i % 4 == 2)
        check(factory, sim_task_demand_range(sim, id, 2, 4));
    return id;
}

/* A step: one task, many after it, a barrier after those, which unfolds the next step. */
static void unfold(struct sim *sim, void *subject, uint64_t argument) {
    struct factory *factory = subject;
    struct sim_task_spec first_spec = {.duration_ns = 5};
    struct sim_task_spec last_spec = {.on_done = unfold, .subject = subject, .argument = argument};
    sim_task_id first = {0, 0}, last = {0, 0};
    if (factory->steps_left == 0)
        return;
    factory->steps_left--;
    check(factory, sim_task_new(sim, &first_spec, &first));
    check(factory, sim_task_new(sim, &last_spec, &last));
    for (uint32_t i = 0; i < WIDTH * LANES && factory->status == SIM_OK; i++) {
        sim_task_id id = add_task(factory, i, first);
        if (factory->status != SIM_OK)
            break;
        check(factory, sim_task_after(sim, last, id));
        if (factory->status == SIM_OK)
            sim_task_release(sim, id);
    }
    if (factory->status != SIM_OK) {
        sim_fail(sim, factory->status);
        return;
    }
    sim_task_release(sim, first);
    sim_task_release(sim, last);
}

static void deaf_span(void *state, const struct sim *sim, const struct sim_span *span) {
    (void)sim;
    (void)span;
    ++*(uint64_t *)state;
}

static const struct sim_sink_type sink = {.span = deaf_span};

/* SIM_NO_MEMORY from wherever it came; the simulation is there unless sim_new failed. */
static enum sim_status factory_open(struct factory *factory, const struct sim_allocator *allocator,
                                    uint32_t steps, uint64_t *spans) {
    *factory = (struct factory){.random = 3, .steps_left = steps};
    factory->sim = sim_new(allocator);
    if (factory->sim == NULL)
        return SIM_NO_MEMORY;
    for (uint32_t i = 0; i < LANES; i++) {
        sim_resource_id id;
        check(factory, sim_resource_new(factory->sim, "a lane", 1,
                                        i % 2 == 0 ? SIM_QUEUE_FIFO : SIM_QUEUE_PRIORITY, &id));
    }
    check(factory, sim_memory_new(factory->sim, "store", 1e9, LANES, 3, &factory->memory));
    check(factory, sim_recorder_add(factory->sim, &sink, spans));
    if (factory->status != SIM_OK)
        return factory->status;
    for (uint32_t i = 0; i < 200; i++)
        check(factory, sim_schedule(factory->sim, i, SIM_PHASE_RATES, tick, factory, 20, NULL));
    unfold(factory->sim, factory, 0);
    return factory->status;
}

static enum sim_status factory_run(struct factory *factory) {
    enum sim_status status = sim_run(factory->sim, SIM_TIME_MAX);
    return status != SIM_OK ? status : factory->status;
}

/* ---- tests -------------------------------------------------------------------------------------
 */

START_TEST(every_refusal_is_a_status_and_no_leak) {
    struct test_accounts accounts = {.fail_at = 0};
    struct sim_allocator allocator = {test_reallocate, &accounts};
    size_t refusals = 0;
    for (enum sim_status status = SIM_NO_MEMORY; status != SIM_OK; refusals++) {
        struct factory factory;
        uint64_t spans = 0;
        accounts = (struct test_accounts){.fail_at = refusals + 1};
        status = factory_open(&factory, &allocator, 2, &spans);
        if (status == SIM_OK)
            status = factory_run(&factory);
        ck_assert(status == SIM_OK || status == SIM_NO_MEMORY);
        ck_assert((status == SIM_OK) == (accounts.calls < accounts.fail_at));
        sim_free(factory.sim);
        ck_assert_uint_eq(accounts.bytes, 0);
    }
    ck_assert_uint_gt(refusals, 20); /* there were that many places to fail at */
}
END_TEST

static struct test_accounts steady_accounts;
static size_t calls_after_warm_up;

static void end_warm_up(struct sim *sim, void *subject, uint64_t argument) {
    (void)sim;
    (void)subject;
    (void)argument;
    calls_after_warm_up = steady_accounts.calls;
}

/* A hundred steps with all that a task can have; after the first two nothing more is asked for. */
START_TEST(steady_state_asks_for_no_memory) {
    struct sim_allocator allocator = {test_reallocate, &steady_accounts};
    struct factory factory;
    uint64_t spans = 0;
    steady_accounts = (struct test_accounts){.fail_at = 0};
    ck_assert_int_eq(factory_open(&factory, &allocator, 100, &spans), SIM_OK);
    sim_schedule(factory.sim, 10000, SIM_PHASE_UPDATE, end_warm_up, NULL, 0, NULL);
    ck_assert_int_eq(factory_run(&factory), SIM_OK);
    ck_assert_int_gt(sim_now(factory.sim), 100000);
    ck_assert_uint_gt(calls_after_warm_up, 0);
    ck_assert_uint_eq(steady_accounts.calls, calls_after_warm_up);
    ck_assert_uint_eq(sim_tasks_unfinished(factory.sim), 0);
    ck_assert_uint_eq(factory.done, 100 * WIDTH * LANES);
    ck_assert_uint_gt(spans, 100 * WIDTH);
    ck_assert_uint_gt(sim_events_executed(factory.sim), 100 * WIDTH * LANES);
    test_little(factory.sim);
    sim_free(factory.sim);
    ck_assert_uint_eq(steady_accounts.bytes, 0);
}
END_TEST

/* What a task costs, the pools' rounding included; the aim of the benchmark is 150 bytes. */
START_TEST(a_task_takes_a_hundred_bytes) {
    enum { COUNT = 100000 };
    struct test_accounts accounts = {.fail_at = 0};
    struct sim_allocator allocator = {test_reallocate, &accounts};
    struct sim *sim = sim_new(&allocator);
    sim_resource_id resource = test_resource(sim, 1, SIM_QUEUE_FIFO);
    sim_task_id previous = {0, 0};
    bool sound = true;
    size_t before = accounts.bytes;
    for (int i = 0; i < COUNT; i++) {
        sim_task_id id;
        struct sim_task_spec spec = {.duration_ns = 1};
        sound &= sim_task_new(sim, &spec, &id) == SIM_OK;
        sound &= sim_task_demand(sim, id, resource, 1) == SIM_OK;
        sound &= sim_task_after(sim, id, previous) == SIM_OK;
        sim_task_release(sim, id);
        previous = id;
    }
    ck_assert(sound);
    ck_assert_uint_lt((accounts.bytes - before) / COUNT, 100);
    ck_assert_int_eq(sim_run(sim, SIM_TIME_MAX), SIM_OK);
    ck_assert_int_eq(sim_now(sim), COUNT);
    sim_free(sim);
    ck_assert_uint_eq(accounts.bytes, 0);
}
END_TEST

static Suite *allocator_suite(void) {
    Suite *suite = suite_create("allocator");
    TCase *tcase = tcase_create("allocator");
    tcase_add_test(tcase, every_refusal_is_a_status_and_no_leak);
    tcase_add_test(tcase, steady_state_asks_for_no_memory);
    tcase_add_test(tcase, a_task_takes_a_hundred_bytes);
    suite_add_tcase(suite, tcase);
    return suite;
}

TESTING_MAIN(allocator_suite)
