/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/generation/finish_queue.h"
#include "tests/models/generation/fixture.h"
#include "tests/testing.h"

#define MOST 50

/* Whether entries[0] is as early as any present request. */
static bool front_is_first(const struct generation_finish_queue *queue,
                           const uint64_t *iterations) {
    for (uint32_t i = 0; i < MOST; i++)
        if (generation_finish_queue_has(queue, i) && iterations[i] < queue->entries[0].iteration)
            return false;
    return true;
}

/* Random pushes and removals against a plain array of what is present. */
START_TEST(test_against_an_array) {
    struct generation_finish entries[MOST];
    uint32_t positions[MOST], present = 0;
    uint64_t iterations[MOST] = {0};
    struct generation_finish_queue queue;
    generation_finish_queue_reset(&queue, entries, positions, MOST);
    uint64_t state = 20;
    for (int event = 0; event < 5000; event++) {
        uint32_t request = fixture_random(&state, 0, MOST - 1);
        if (generation_finish_queue_has(&queue, request)) {
            struct generation_finish removed = generation_finish_queue_remove(&queue, request);
            ck_assert_uint_eq(removed.request, request);
            ck_assert(removed.iteration == iterations[request]);
            present--;
        } else {
            iterations[request] = fixture_random(&state, 0, 40);
            generation_finish_queue_push(&queue,
                                         (struct generation_finish){iterations[request], request});
            present++;
        }
        ck_assert_uint_eq(queue.count, present);
        ck_assert(present == 0 || front_is_first(&queue, iterations));
    }
}
END_TEST

START_TEST(test_comes_out_in_order) {
    struct generation_finish entries[MOST];
    uint32_t positions[MOST];
    struct generation_finish_queue queue;
    generation_finish_queue_reset(&queue, entries, positions, MOST);
    for (uint32_t i = 0; i < MOST; i++)
        generation_finish_queue_push(&queue, (struct generation_finish){(i * 37u) % MOST, i});
    for (uint64_t expected = 0; expected < MOST; expected++) {
        ck_assert(queue.entries[0].iteration == expected); /* 37 and 50 share no factor */
        generation_finish_queue_remove(&queue, queue.entries[0].request);
    }
    ck_assert_uint_eq(queue.count, 0);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("finish queue");
    TCase *cases = tcase_create("order");
    tcase_add_test(cases, test_against_an_array);
    tcase_add_test(cases, test_comes_out_in_order);
    suite_add_tcase(s, cases);
    return s;
}

TESTING_MAIN(suite)
