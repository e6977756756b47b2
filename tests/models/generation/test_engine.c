/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/generation/engine.h"
#include "models/generation/iteration.h"
#include "tests/models/generation/fixture.h"
#include "tests/testing.h"

#include <stdlib.h>

/* ---- helpers ------------------------------------------------------------------------------ */

struct bench {
    struct sim *sim;
    struct generation_replica *replica;
};

static struct bench bench_new(const struct generation_plan *plan) {
    struct bench bench = {.sim = sim_new(NULL)};
    bench.replica = generation_replica_new(bench.sim, plan);
    ck_assert_ptr_nonnull(bench.replica);
    return bench;
}

static void bench_free(struct bench *bench) {
    generation_replica_free(bench->replica);
    sim_free(bench->sim);
}

static struct generation_outcome solve(const struct generation_plan *plan,
                                       const struct generation_request *requests, size_t count) {
    struct bench bench = bench_new(plan);
    struct generation_outcome outcome;
    ck_assert_int_eq(generation_replica_solve(bench.replica, requests, count, &outcome), SIM_OK);
    bench_free(&bench);
    return outcome;
}

static double pairs_of(double tokens, double context) {
    return tokens * context + tokens * (tokens + 1.0) / 2.0;
}

/* Responses of random lengths, prompts in groups of `samples`. */
static void draw(struct generation_request *requests, uint32_t count, uint32_t samples,
                 uint64_t seed) {
    uint32_t prompt = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i % samples == 0)
            prompt = fixture_random(&seed, 20, 400);
        requests[i] = (struct generation_request){.prompt_tokens = prompt,
                                                  .response_tokens = fixture_random(&seed, 1, 500),
                                                  .group = i / samples};
    }
}

/* ---- one sequence ------------------------------------------------------------------------- */

/* The prompt's iteration yields the first token, the k-th decode iteration attends to P + k:
 *     T = prefill(P) + (R - 1) base + kv ((R - 1) P + R (R - 1) / 2). */
START_TEST(test_one_sequence_in_closed_form) {
    struct generation_plan plan = fixture_plan();
    struct generation_request request = {.prompt_tokens = 300, .response_tokens = 700};
    struct generation_decode_cost cost;
    generation_decode_cost(&plan, 1, &cost);
    double expected = mixed_s(&plan, 0, 0.0, 300.0, pairs_of(300.0, 0.0), 1) + 699.0 * cost.base_s +
                      cost.kv_token_s * (699.0 * 300.0 + 700.0 * 699.0 / 2.0);
    struct generation_outcome outcome = solve(&plan, &request, 1);
    assert_relative(outcome.makespan_s, expected, 1e-12);
    ck_assert(outcome.tail_s == 0.0);
    ck_assert_uint_eq(outcome.iterations, 700);
    ck_assert_uint_eq(outcome.prefilled_tokens, 300);
    ck_assert_uint_eq(outcome.decoded_tokens, 700);
    ck_assert_uint_eq(outcome.spans, 2); /* the prompt, the rest */
}
END_TEST

/* 2 FLOPs a weight for the 300 + 699 tokens computed and a head for each of the 700 yielded; 4 x
 * 4096 a layer for each pair: 300 x 301 / 2 of the prompt and the contexts of above. */
START_TEST(test_work_of_one_sequence) {
    struct generation_plan plan = fixture_plan();
    struct generation_request request = {.prompt_tokens = 300, .response_tokens = 700};
    struct generation_outcome outcome = solve(&plan, &request, 1);
    double contexts = 699.0 * 300.0 + 700.0 * 699.0 / 2.0;
    double flops = 2.0 * 999.0 * 32.0 * 218103808.0 + 2.0 * 700.0 * 4096.0 * 128256.0 +
                   4.0 * 4096.0 * 32.0 * (300.0 * 301.0 / 2.0 + contexts);
    double bytes = 700.0 * 2.0 * (32.0 * 218103808.0 + 4096.0 * 128256.0) + 131072.0 * contexts;
    assert_relative(outcome.flops, flops, 1e-12);
    assert_relative(outcome.bytes, bytes, 1e-12);
}
END_TEST

/* 5000 tokens at 2048 an iteration: 2048, 2048, 904; the third yields the only token. */
START_TEST(test_prompt_longer_than_the_budget) {
    struct generation_plan plan = fixture_plan();
    struct generation_request request = {.prompt_tokens = 5000, .response_tokens = 1};
    plan.max_batched_tokens = 2048;
    double expected = mixed_s(&plan, 0, 0.0, 2048.0, pairs_of(2048.0, 0.0), 0) +
                      mixed_s(&plan, 0, 0.0, 2048.0, pairs_of(2048.0, 2048.0), 0) +
                      mixed_s(&plan, 0, 0.0, 904.0, pairs_of(904.0, 4096.0), 1);
    struct generation_outcome outcome = solve(&plan, &request, 1);
    assert_relative(outcome.makespan_s, expected, 1e-12);
    ck_assert_uint_eq(outcome.iterations, 3);
    ck_assert_uint_eq(outcome.prefilled_tokens, 5000);
    ck_assert_uint_eq(outcome.spans, 1);
}
END_TEST

/* ---- several ------------------------------------------------------------------------------ */

/* Two of equal prompts, 10 and 30 tokens out: half of the requests is one of them, so the tail is
 * the 20 iterations of the longer one alone, its contexts 100 + 10 to 100 + 29. */
START_TEST(test_tail) {
    struct generation_plan plan = fixture_plan();
    struct generation_request requests[] = {{100, 10, 0, 0, 0, NULL}, {100, 30, 1, 0, 0, NULL}};
    struct generation_decode_cost cost;
    generation_decode_cost(&plan, 1, &cost);
    struct generation_outcome outcome = solve(&plan, requests, 2);
    assert_relative(outcome.tail_s,
                    20.0 * cost.base_s + cost.kv_token_s * (20.0 * 110.0 + 20.0 * 19.0 / 2.0),
                    1e-10);
}
END_TEST

/* K samples of one prompt: computed K times, or once. */
START_TEST(test_prompt_of_a_group) {
    enum { SAMPLES = 8 };
    struct generation_plan plan = fixture_plan();
    struct generation_request requests[SAMPLES];
    for (uint32_t i = 0; i < SAMPLES; i++)
        requests[i] = (struct generation_request){.prompt_tokens = 333, .response_tokens = 50 + i};
    struct generation_outcome apart = solve(&plan, requests, SAMPLES);
    plan.software.prefix_caching = true;
    struct generation_outcome shared = solve(&plan, requests, SAMPLES);
    ck_assert_uint_eq(apart.prefilled_tokens, 333 * SAMPLES);
    ck_assert_uint_eq(shared.prefilled_tokens, 333);
    ck_assert_double_lt(shared.makespan_s, apart.makespan_s);
    /* one at a time, the prompt waits in the cache for the next sample */
    plan.max_sequences = 1;
    ck_assert_uint_eq(solve(&plan, requests, SAMPLES).prefilled_tokens, 333);
    /* a prompt shorter than a block has no block to share and is computed once all the same */
    for (uint32_t i = 0; i < SAMPLES; i++)
        requests[i].prompt_tokens = 15;
    ck_assert_uint_eq(solve(&plan, requests, SAMPLES).prefilled_tokens, 15);
}
END_TEST

/* Blocks of 16, prompts of 320 tokens, responses of 16: 20 shared blocks and one of its own each.
 * 28 blocks run 8 samples at once; without sharing each needs 21 and they run one by one. */
START_TEST(test_blocks_of_a_group_are_shared) {
    enum { SAMPLES = 8 };
    struct generation_plan plan = fixture_plan();
    struct generation_request requests[SAMPLES];
    for (uint32_t i = 0; i < SAMPLES; i++)
        requests[i] = (struct generation_request){.prompt_tokens = 320, .response_tokens = 16};
    plan.kv_blocks = 28;
    ck_assert_uint_eq(solve(&plan, requests, SAMPLES).iterations, 16 * SAMPLES);
    plan.software.prefix_caching = true;
    struct generation_outcome shared = solve(&plan, requests, SAMPLES);
    ck_assert_uint_eq(shared.iterations, 16);
    ck_assert_uint_eq(shared.preemptions, 0);
}
END_TEST

/* By hand. Blocks of 4, four of them, prompts of 4, responses of 6. Iteration 1 prefills both (2
 * blocks each). Iterations 2 to 4 take them to 8 tokens. The fifth needs 3 blocks each: the second
 * is preempted with 4 of its 6 tokens, the first ends after iteration 6. Then the second prefills
 * 4 + 4 tokens, which yields its fifth token, and ends after iteration 8. */
START_TEST(test_preemption_by_hand) {
    struct generation_plan plan = fixture_plan();
    struct generation_request requests[] = {{4, 6, 0, 0, 0, NULL}, {4, 6, 1, 0, 0, NULL}};
    plan.software.block_tokens = 4;
    plan.kv_blocks = 4;
    struct bench bench = bench_new(&plan);
    struct generation_outcome outcome;
    ck_assert_int_eq(generation_replica_solve(bench.replica, requests, 2, &outcome), SIM_OK);
    ck_assert_uint_eq(outcome.iterations, 8);
    ck_assert_uint_eq(outcome.prefilled_tokens, 4 + 4 + 8);
    ck_assert_uint_eq(outcome.decoded_tokens, 12);
    ck_assert_uint_eq(outcome.preemptions, 1);
    double last_two =
        mixed_s(&plan, 0, 0.0, 8.0, pairs_of(8.0, 0.0), 1) + mixed_s(&plan, 1, 9.0, 0.0, 0.0, 0);
    assert_relative(generation_replica_finish_s(bench.replica, 1) -
                        generation_replica_finish_s(bench.replica, 0),
                    last_two, 1e-10);
    bench_free(&bench);
}
END_TEST

/* The same with swap: the second sequence, which has 8 tokens in 2 blocks, goes to the host and
 * comes back with 3 (one more for its next token); nothing is computed again. Iterations 5 and 6
 * are the first one's last two, 7 and 8 the second one's. */
START_TEST(test_swap_by_hand) {
    struct generation_plan plan = fixture_plan();
    struct generation_request requests[] = {{4, 6, 0, 0, 0, NULL}, {4, 6, 1, 0, 0, NULL}};
    plan.software.block_tokens = 4;
    plan.software.preemption = GENERATION_SWAP;
    plan.kv_blocks = 4;
    struct bench bench = bench_new(&plan);
    struct generation_outcome outcome;
    ck_assert_int_eq(generation_replica_solve(bench.replica, requests, 2, &outcome), SIM_OK);
    ck_assert_uint_eq(outcome.iterations, 8);
    ck_assert_uint_eq(outcome.prefilled_tokens, 4 + 4);
    ck_assert_uint_eq(outcome.decoded_tokens, 12);
    ck_assert_uint_eq(outcome.swapped_blocks, 2 + 3);
    double last_s = mixed_s(&plan, 1, 8.0, 0.0, 0.0, 0) + mixed_s(&plan, 1, 9.0, 0.0, 0.0, 0) +
                    3.0 * generation_swap_block_s(&plan);
    assert_relative(generation_replica_finish_s(bench.replica, 1) -
                        generation_replica_finish_s(bench.replica, 0),
                    last_s, 1e-10);
    bench_free(&bench);
}
END_TEST

/* Budget 100, whole prompts of 60, 60 and 250: one by one, the long one alone and whole. */
START_TEST(test_whole_prompts) {
    struct generation_plan plan = fixture_plan();
    struct generation_request requests[] = {
        {60, 1, 0, 0, 0, NULL}, {60, 1, 1, 0, 0, NULL}, {250, 1, 2, 0, 0, NULL}};
    plan.software.chunked_prefill = false;
    plan.max_batched_tokens = 100;
    double expected = 2.0 * mixed_s(&plan, 0, 0.0, 60.0, pairs_of(60.0, 0.0), 1) +
                      mixed_s(&plan, 0, 0.0, 250.0, pairs_of(250.0, 0.0), 1);
    struct generation_outcome outcome = solve(&plan, requests, 3);
    ck_assert_uint_eq(outcome.iterations, 3);
    assert_relative(outcome.makespan_s, expected, 1e-12);
}
END_TEST

/* An answer without tokens takes its prompt and is over; nothing of it counts. */
START_TEST(test_empty_answers) {
    struct generation_plan plan = fixture_plan();
    struct generation_request requests[] = {{100, 0, 0, 0, 0, NULL}, {100, 3, 1, 0, 0, NULL}};
    struct generation_outcome outcome = solve(&plan, requests, 1);
    ck_assert_uint_eq(outcome.decoded_tokens, 0);
    assert_relative(outcome.makespan_s, mixed_s(&plan, 0, 0.0, 100.0, pairs_of(100.0, 0.0), 1),
                    1e-12);
    outcome = solve(&plan, requests, 2);
    ck_assert_uint_eq(outcome.decoded_tokens, 3);
    ck_assert_uint_eq(outcome.iterations, 3);
}
END_TEST

/* Prompts first: the second prompt, too long for the first iteration's budget, stops the first
 * sequence from decoding for an iteration of its own. */
START_TEST(test_prompts_first) {
    struct generation_plan plan = fixture_plan();
    struct generation_request requests[] = {{80, 3, 0, 0, 0, NULL}, {60, 1, 1, 0, 0, NULL}};
    plan.software.prefill = GENERATION_PREFILL_FIRST;
    plan.software.chunked_prefill = false;
    plan.max_batched_tokens = 100;
    double expected = mixed_s(&plan, 0, 0.0, 80.0, pairs_of(80.0, 0.0), 1) +
                      mixed_s(&plan, 0, 0.0, 60.0, pairs_of(60.0, 0.0), 1) +
                      mixed_s(&plan, 1, 81.0, 0.0, 0.0, 0) + mixed_s(&plan, 1, 82.0, 0.0, 0.0, 0);
    assert_relative(solve(&plan, requests, 2).makespan_s, expected, 1e-12);
}
END_TEST

/* Nothing is lost and nothing is made twice, whatever the shortage. */
START_TEST(test_every_token_is_made_once) {
    enum { COUNT = 200 };
    struct generation_request requests[COUNT];
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct generation_plan plan = fixture_plan();
        uint64_t responses = 0, preempted = 0;
        draw(requests, COUNT, 4, seed);
        for (size_t i = 0; i < COUNT; i++)
            responses += requests[i].response_tokens;
        for (int64_t blocks = 57; blocks <= 10000; blocks *= 3) {
            plan.kv_blocks = blocks;
            plan.software.prefix_caching = blocks % 2 == 0;
            struct generation_outcome outcome = solve(&plan, requests, COUNT);
            ck_assert_uint_eq(outcome.decoded_tokens, responses);
            preempted += outcome.preemptions;
        }
        ck_assert_uint_gt(preempted, 0);
    }
}
END_TEST

/* Every sequence fits one block of 256, so that n blocks run n at once and nobody is preempted:
 * twice the blocks are never slower. */
START_TEST(test_more_cache_is_never_slower) {
    enum { COUNT = 128 };
    struct generation_request requests[COUNT];
    struct generation_plan plan = fixture_plan();
    uint64_t state = 5;
    for (uint32_t i = 0; i < COUNT; i++)
        requests[i] = (struct generation_request){
            fixture_random(&state, 20, 100), fixture_random(&state, 10, 150), i, 0, 0, NULL};
    plan.software.block_tokens = 256;
    double last = (double)INFINITY;
    for (plan.kv_blocks = 1; plan.kv_blocks <= COUNT; plan.kv_blocks *= 2) {
        struct generation_outcome outcome = solve(&plan, requests, COUNT);
        ck_assert_uint_eq(outcome.preemptions, 0);
        ck_assert_double_lt(outcome.makespan_s, last);
        last = outcome.makespan_s;
    }
}
END_TEST

START_TEST(test_what_fits) {
    struct generation_plan plan = fixture_plan();
    plan.software.block_tokens = 16;
    plan.kv_blocks = 10;
    ck_assert(generation_request_fits(&plan, 160));
    ck_assert(!generation_request_fits(&plan, 161));
    struct generation_request request = {.prompt_tokens = 100, .response_tokens = 60};
    struct generation_outcome outcome = solve(&plan, &request, 1); /* to the last block */
    ck_assert_uint_eq(outcome.decoded_tokens, 60);
}
END_TEST

/* ---- on the calendar ---------------------------------------------------------------------- */

#define BATCH 60

struct listener {
    struct generation_replica *replica;
    const struct generation_request *requests;
    int batches_left;
    sim_time ended[3];
    uint64_t arguments[3];
    int calls;
    struct generation_outcome outcome; /* of the last one */
};

static void batch_done(struct sim *sim, void *subject, uint64_t argument,
                       const struct generation_outcome *outcome) {
    struct listener *listener = subject;
    listener->ended[listener->calls] = sim_now(sim);
    listener->arguments[listener->calls++] = argument;
    listener->outcome = *outcome;
    if (--listener->batches_left > 0)
        ck_assert_int_eq(generation_replica_start(listener->replica, listener->requests, BATCH,
                                                  batch_done, listener, argument + 1),
                         SIM_OK);
}

/* Three batches, each started when the one before is done, end at whole multiples of what `solve`
 * says, to the nanosecond a batch; an event is a span. */
START_TEST(test_on_the_calendar) {
    struct generation_request requests[BATCH];
    struct generation_plan plan = fixture_plan();
    plan.kv_blocks = 300;
    draw(requests, BATCH, 1, 3);
    struct generation_outcome solved = solve(&plan, requests, BATCH);
    struct bench bench = bench_new(&plan);
    struct listener listener = {.replica = bench.replica, .requests = requests, .batches_left = 3};
    ck_assert_int_eq(
        generation_replica_start(bench.replica, requests, BATCH, batch_done, &listener, 40),
        SIM_OK);
    ck_assert_int_eq(sim_run(bench.sim, SIM_TIME_MAX), SIM_OK);
    ck_assert_int_eq(listener.calls, 3);
    for (int i = 0; i < 3; i++) {
        ck_assert(listener.ended[i] == (i + 1) * sim_time_from_s(solved.makespan_s));
        ck_assert_uint_eq(listener.arguments[i], 40 + (uint64_t)i);
    }
    ck_assert(listener.outcome.makespan_s == solved.makespan_s);
    ck_assert_uint_gt(solved.preemptions, 0);
    ck_assert_uint_eq(sim_events_executed(bench.sim), 3 * solved.spans);
    ck_assert_uint_le(solved.spans, 4 * BATCH + 2 * solved.preemptions);
    bench_free(&bench);
}
END_TEST

/* ---- memory ------------------------------------------------------------------------------- */

/* Counts the calls that take memory; refuses those after `allowed`. */
struct counting {
    size_t taken, allowed;
};

static void *counting_reallocate(void *subject, void *block, size_t old_size, size_t new_size) {
    struct counting *counting = subject;
    (void)old_size;
    if (new_size == 0) {
        free(block);
        return NULL;
    }
    return counting->taken++ < counting->allowed ? realloc(block, new_size) : NULL;
}

START_TEST(test_second_batch_takes_no_memory) {
    struct counting counting = {.allowed = SIZE_MAX};
    struct sim_allocator allocator = {counting_reallocate, &counting};
    struct generation_request requests[BATCH];
    struct generation_plan plan = fixture_plan();
    draw(requests, BATCH, 2, 4);
    struct bench bench = {.sim = sim_new(&allocator)};
    bench.replica = generation_replica_new(bench.sim, &plan);
    size_t taken = 0;
    for (size_t count = BATCH; count >= 1; count /= 3) {
        struct listener listener = {
            .replica = bench.replica, .requests = requests, .batches_left = 1};
        ck_assert_int_eq(
            generation_replica_start(bench.replica, requests, count, batch_done, &listener, 0),
            SIM_OK);
        ck_assert_int_eq(sim_run(bench.sim, SIM_TIME_MAX), SIM_OK);
        ck_assert_int_eq(listener.calls, 1);
        if (count == BATCH)
            taken = counting.taken;
    }
    ck_assert_uint_eq(counting.taken, taken);
    bench_free(&bench);
}
END_TEST

/* Memory runs out at every place in turn: a status, no leak, and success in the end. */
START_TEST(test_out_of_memory) {
    struct generation_request requests[BATCH];
    struct generation_plan plan = fixture_plan();
    bool succeeded = false;
    draw(requests, BATCH, 1, 5);
    for (size_t allowed = 0; !succeeded; allowed++) {
        ck_assert_uint_lt(allowed, 50);
        struct counting counting = {.allowed = allowed};
        struct sim_allocator allocator = {counting_reallocate, &counting};
        struct bench bench = {.sim = sim_new(&allocator)};
        if (bench.sim == NULL)
            continue;
        bench.replica = generation_replica_new(bench.sim, &plan);
        struct listener listener = {
            .replica = bench.replica, .requests = requests, .batches_left = 1};
        if (bench.replica != NULL) {
            enum sim_status status =
                generation_replica_start(bench.replica, requests, BATCH, batch_done, &listener, 0);
            ck_assert(status == SIM_OK || status == SIM_NO_MEMORY);
            succeeded = status == SIM_OK;
            ck_assert_int_eq(sim_run(bench.sim, SIM_TIME_MAX), SIM_OK);
        }
        ck_assert_int_eq(listener.calls, succeeded);
        bench_free(&bench);
    }
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("rollout engine");
    TCase *laws = tcase_create("laws");
    tcase_set_timeout(laws, 60.0);
    tcase_add_test(laws, test_one_sequence_in_closed_form);
    tcase_add_test(laws, test_work_of_one_sequence);
    tcase_add_test(laws, test_prompt_longer_than_the_budget);
    tcase_add_test(laws, test_tail);
    tcase_add_test(laws, test_prompt_of_a_group);
    tcase_add_test(laws, test_blocks_of_a_group_are_shared);
    tcase_add_test(laws, test_preemption_by_hand);
    tcase_add_test(laws, test_swap_by_hand);
    tcase_add_test(laws, test_whole_prompts);
    tcase_add_test(laws, test_empty_answers);
    tcase_add_test(laws, test_prompts_first);
    tcase_add_test(laws, test_every_token_is_made_once);
    tcase_add_test(laws, test_more_cache_is_never_slower);
    tcase_add_test(laws, test_what_fits);
    suite_add_tcase(s, laws);
    TCase *process = tcase_create("process");
    tcase_add_test(process, test_on_the_calendar);
    tcase_add_test(process, test_second_batch_takes_no_memory);
    tcase_add_test(process, test_out_of_memory);
    suite_add_tcase(s, process);
    return s;
}

TESTING_MAIN(suite)
