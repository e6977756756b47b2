/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/calendar.h"
#include "tests/sim/engine_support.h"
#include "tests/testing.h"

/* The calendar against a list that is searched from end to end: the same pushes, cancels, moves and
 * pops must give the same order, whatever is done between a pop and the next push. */

static struct test_accounts accounts;
static const struct sim_allocator allocator = {test_reallocate, &accounts};

static void nothing(struct sim *sim, void *subject, uint64_t argument) {
    (void)sim;
    (void)subject;
    (void)argument;
}

static sim_event_id push(struct sim_calendar *calendar, sim_time time, enum sim_phase phase,
                         uint64_t argument) {
    sim_event_id id;
    ck_assert_int_eq(sim_calendar_push(calendar, time, phase, nothing, NULL, argument, &id),
                     SIM_OK);
    return id;
}

/* The argument of the next event; UINT64_MAX when there is none. */
static uint64_t pop(struct sim_calendar *calendar) {
    sim_time time;
    const struct sim_calendar_event *event = sim_calendar_pop(calendar, SIM_TIME_MAX, &time);
    return event == NULL ? UINT64_MAX : event->argument;
}

/* ---- the naive twin ---------------------------------------------------------------------------
 */

struct record {
    sim_time time;
    enum sim_phase phase;
    uint64_t sequence;
    sim_event_id id;
    bool pending;
};

#define RECORDS 20000

struct twin {
    struct record records[RECORDS];
    size_t count, pending;
    uint64_t sequence;
    sim_time now;
};

static bool comes_before(const struct record *a, const struct record *b) {
    if (a->time != b->time)
        return a->time < b->time;
    if (a->phase != b->phase)
        return a->phase < b->phase;
    return a->sequence < b->sequence;
}

static struct record *twin_first(struct twin *twin) {
    struct record *first = NULL;
    for (size_t i = 0; i < twin->count; i++)
        if (twin->records[i].pending && (first == NULL || comes_before(&twin->records[i], first)))
            first = &twin->records[i];
    return first;
}

/* One assertion for the whole: Check makes a note of each, and there are millions. */
static bool is_sound(const struct sim_calendar *calendar) {
    bool sound = true;
    for (uint32_t i = 1; i < calendar->count; i++)
        sound &= calendar->heap[(i - 1) / 4] <= calendar->heap[i];
    for (uint32_t i = calendar->vacant; i < calendar->count; i++) {
        uint32_t slot = (uint32_t)calendar->heap[i] % SIM_CALENDAR_SLOTS;
        sound &= calendar->position[slot] == i && calendar->events[slot].generation % 2 == 1;
    }
    for (uint32_t i = calendar->count; i < calendar->count + 3; i++)
        sound &= calendar->heap[i] == ~(sim_calendar_key)0;
    return sound;
}

static void do_push(struct sim_calendar *calendar, struct twin *twin, uint64_t *random,
                    uint32_t spread) {
    struct record *record = &twin->records[twin->count];
    *record = (struct record){.time = twin->now + test_random_below(random, spread),
                              .phase = (enum sim_phase)test_random_below(random, 4),
                              .sequence = twin->sequence++,
                              .pending = true};
    record->id = push(calendar, record->time, record->phase, twin->count);
    twin->count++;
    twin->pending++;
}

static void do_cancel(struct sim_calendar *calendar, struct twin *twin, uint64_t *random) {
    if (twin->count == 0)
        return;
    struct record *record = &twin->records[test_random_below(random, (uint32_t)twin->count)];
    ck_assert(sim_calendar_holds(calendar, record->id) == record->pending);
    ck_assert(sim_calendar_cancel(calendar, record->id) == record->pending);
    twin->pending -= record->pending;
    record->pending = false;
}

static void do_move(struct sim_calendar *calendar, struct twin *twin, uint64_t *random,
                    uint32_t spread) {
    if (twin->count == 0)
        return;
    struct record *record = &twin->records[test_random_below(random, (uint32_t)twin->count)];
    sim_time time = twin->now + test_random_below(random, spread);
    ck_assert(sim_calendar_move(calendar, record->id, time) == record->pending);
    if (!record->pending)
        return;
    record->time = time;
    record->sequence = twin->sequence++;
}

static void do_pop(struct sim_calendar *calendar, struct twin *twin) {
    struct record *first = twin_first(twin);
    sim_time time = -1;
    const struct sim_calendar_event *event = sim_calendar_pop(calendar, SIM_TIME_MAX, &time);
    ck_assert((event == NULL) == (first == NULL));
    if (event == NULL)
        return;
    ck_assert_uint_eq(event->argument, (uint64_t)(first - twin->records));
    ck_assert_int_eq(time, first->time);
    ck_assert(!sim_calendar_holds(calendar, first->id));
    first->pending = false;
    twin->pending--;
    twin->now = time;
}

/* Is the next event the one that the twin says, without taking it? */
static void check_due(const struct sim_calendar *calendar, struct twin *twin, uint64_t *random) {
    enum sim_phase phase = (enum sim_phase)test_random_below(random, 4);
    const struct record *first = twin_first(twin);
    bool due = first != NULL &&
               (first->time < twin->now || (first->time == twin->now && first->phase <= phase));
    ck_assert(sim_calendar_due(calendar, twin->now, phase) == due);
}

static void run_against_twin(uint64_t seed, uint32_t spread, uint32_t pushes, uint32_t pops) {
    static struct twin twin;
    uint64_t random = seed;
    struct sim_calendar calendar;
    twin = (struct twin){.count = 0};
    sim_calendar_init(&calendar, &allocator);
    while (twin.count < RECORDS / 8) {
        uint32_t what = test_random_below(&random, pushes + pops + 4);
        if (what < pushes)
            do_push(&calendar, &twin, &random, spread);
        else if (what < pushes + pops)
            do_pop(&calendar, &twin);
        else if (what < pushes + pops + 2)
            do_cancel(&calendar, &twin, &random);
        else
            do_move(&calendar, &twin, &random, spread);
        if (what == 0) {
            ck_assert_uint_eq(sim_calendar_size(&calendar), twin.pending);
            ck_assert(is_sound(&calendar));
            check_due(&calendar, &twin, &random);
        }
    }
    while (twin.pending > 0)
        do_pop(&calendar, &twin);
    ck_assert_uint_eq(pop(&calendar), UINT64_MAX);
    sim_calendar_free(&calendar);
    ck_assert_uint_eq(accounts.bytes, 0);
}

/* Few and many pending, all ties and hardly any; the seed is in the loop variable. */
START_TEST(order_equals_that_of_a_naive_list) {
    uint64_t seed = (uint64_t)_i + 1;
    run_against_twin(seed, 1, 8, 6);
    run_against_twin(seed, 5, 8, 7);
    run_against_twin(seed, 1000000, 8, 7);
    run_against_twin(seed, 1000, 16, 1);
}
END_TEST

START_TEST(equal_times_come_in_the_order_of_scheduling) {
    struct sim_calendar calendar;
    sim_calendar_init(&calendar, &allocator);
    for (uint64_t i = 0; i < 1000; i++)
        push(&calendar, 7, SIM_PHASE_UPDATE, i);
    for (uint64_t i = 0; i < 1000; i++)
        ck_assert_uint_eq(pop(&calendar), i);
    sim_calendar_free(&calendar);
}
END_TEST

START_TEST(phases_order_one_instant) {
    struct sim_calendar calendar;
    sim_calendar_init(&calendar, &allocator);
    push(&calendar, 7, SIM_PHASE_RATES, 6);
    push(&calendar, 7, SIM_PHASE_DECISION, 5);
    push(&calendar, 8, SIM_PHASE_COMPLETION, 7);
    push(&calendar, 7, SIM_PHASE_UPDATE, 3);
    push(&calendar, 7, SIM_PHASE_COMPLETION, 1);
    push(&calendar, 7, SIM_PHASE_UPDATE, 4);
    push(&calendar, 7, SIM_PHASE_COMPLETION, 2);
    push(&calendar, 0, SIM_PHASE_RATES, 0);
    for (uint64_t i = 0; i < 8; i++)
        ck_assert_uint_eq(pop(&calendar), i);
    sim_calendar_free(&calendar);
}
END_TEST

/* The last nanosecond of time is before the padding of the heap. */
START_TEST(the_end_of_time_is_a_time) {
    struct sim_calendar calendar;
    sim_calendar_init(&calendar, &allocator);
    push(&calendar, SIM_TIME_MAX, SIM_PHASE_RATES, 2);
    push(&calendar, 0, SIM_PHASE_COMPLETION, 0);
    push(&calendar, SIM_TIME_MAX, SIM_PHASE_COMPLETION, 1);
    for (uint64_t i = 0; i < 3; i++)
        ck_assert_uint_eq(pop(&calendar), i);
    ck_assert_uint_eq(pop(&calendar), UINT64_MAX);
    sim_calendar_free(&calendar);
}
END_TEST

START_TEST(a_pop_respects_until) {
    struct sim_calendar calendar;
    sim_time time = -1;
    sim_calendar_init(&calendar, &allocator);
    push(&calendar, 10, SIM_PHASE_RATES, 0);
    ck_assert_ptr_null(sim_calendar_pop(&calendar, 9, &time));
    ck_assert_int_eq(time, -1);
    ck_assert_ptr_nonnull(sim_calendar_pop(&calendar, 10, &time));
    ck_assert_int_eq(time, 10);
    sim_calendar_free(&calendar);
}
END_TEST

START_TEST(stale_handles_are_recognised) {
    struct sim_calendar calendar;
    sim_calendar_init(&calendar, &allocator);
    ck_assert(!sim_calendar_cancel(&calendar, (sim_event_id){0, 0}));
    ck_assert(!sim_calendar_holds(&calendar, (sim_event_id){0, 1}));
    sim_event_id fired = push(&calendar, 1, SIM_PHASE_UPDATE, 0);
    ck_assert(!sim_calendar_holds(&calendar, (sim_event_id){0, 0}));
    ck_assert_uint_eq(pop(&calendar), 0);
    sim_event_id next = push(&calendar, 2, SIM_PHASE_UPDATE, 1);
    ck_assert_uint_eq(next.slot, fired.slot); /* the slot is used again, the handle is not */
    ck_assert(!sim_calendar_cancel(&calendar, fired));
    ck_assert(!sim_calendar_move(&calendar, fired, 3));
    ck_assert(sim_calendar_holds(&calendar, next));
    ck_assert(sim_calendar_cancel(&calendar, next));
    ck_assert(!sim_calendar_cancel(&calendar, next));
    ck_assert(!sim_calendar_holds(&calendar, (sim_event_id){1000000, 1}));
    sim_calendar_free(&calendar);
}
END_TEST

START_TEST(a_moved_event_is_last_among_its_equals) {
    struct sim_calendar calendar;
    sim_calendar_init(&calendar, &allocator);
    sim_event_id first = push(&calendar, 5, SIM_PHASE_UPDATE, 1);
    push(&calendar, 5, SIM_PHASE_UPDATE, 0);
    ck_assert(sim_calendar_move(&calendar, first, 5));
    ck_assert_uint_eq(pop(&calendar), 0);
    ck_assert_uint_eq(pop(&calendar), 1);
    sim_calendar_free(&calendar);
}
END_TEST

START_TEST(limits_are_statuses) {
    struct sim_calendar calendar;
    sim_event_id id;
    sim_calendar_init(&calendar, &allocator);
    calendar.sequence = SIM_CALENDAR_SEQUENCES - 1;
    id = push(&calendar, 1, SIM_PHASE_UPDATE, 0);
    ck_assert_int_eq(sim_calendar_push(&calendar, 1, SIM_PHASE_UPDATE, nothing, NULL, 1, NULL),
                     SIM_NO_MEMORY);
    ck_assert(!sim_calendar_move(&calendar, id, 2));
    ck_assert_uint_eq(sim_calendar_size(&calendar), 1);
    ck_assert_uint_eq(pop(&calendar), 0);
    sim_calendar_free(&calendar);

    calendar.capacity = SIM_CALENDAR_SLOTS; /* all of them taken */
    ck_assert_int_eq(sim_calendar_push(&calendar, 1, SIM_PHASE_UPDATE, nothing, NULL, 1, NULL),
                     SIM_NO_MEMORY);
}
END_TEST

/* The promise behind the layout: an entry's children begin a cache line, at every capacity. */
START_TEST(children_share_a_cache_line) {
    struct sim_calendar calendar;
    sim_calendar_init(&calendar, &allocator);
    for (uint64_t i = 0; i < 5000; i++) {
        push(&calendar, 5000 - (sim_time)i, SIM_PHASE_UPDATE, i);
        ck_assert_uint_eq((uintptr_t)&calendar.heap[1] % 64, 0);
    }
    for (uint64_t i = 5000; i > 0; i--)
        ck_assert_uint_eq(pop(&calendar), i - 1);
    sim_calendar_free(&calendar);
}
END_TEST

static Suite *calendar_suite(void) {
    Suite *suite = suite_create("calendar");
    TCase *tcase = tcase_create("calendar");
    tcase_add_loop_test(tcase, order_equals_that_of_a_naive_list, 0, 6);
    tcase_add_test(tcase, equal_times_come_in_the_order_of_scheduling);
    tcase_add_test(tcase, phases_order_one_instant);
    tcase_add_test(tcase, the_end_of_time_is_a_time);
    tcase_add_test(tcase, a_pop_respects_until);
    tcase_add_test(tcase, stale_handles_are_recognised);
    tcase_add_test(tcase, a_moved_event_is_last_among_its_equals);
    tcase_add_test(tcase, limits_are_statuses);
    tcase_add_test(tcase, children_share_a_cache_line);
    suite_add_tcase(suite, tcase);
    return suite;
}

TESTING_MAIN(calendar_suite)
