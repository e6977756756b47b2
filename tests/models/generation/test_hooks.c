/* SPDX-License-Identifier: GPL-3.0-or-later */

/* What placements and algorithms do to a rollout that runs: stop it, go on later, talk to it. */

#include "models/generation/iteration.h"
#include "tests/models/generation/fixture.h"
#include "tests/testing.h"

#include <stdlib.h>

#define REPLICAS 2
#define MOST 64

struct rollout {
    struct sim *sim;
    struct generation_plan plan;
    struct generation_replica *replicas[REPLICAS];
    struct generation_request requests[REPLICAS][MOST];
    struct generation_outcome outcomes[REPLICAS];
    sim_time ended_at[REPLICAS];
    size_t count, enough; /* requests of a replica; of all that are waited for */
    size_t ended[REPLICAS];
    int done;
};

static void replica_done(struct sim *sim, void *subject, uint64_t r,
                         const struct generation_outcome *outcome) {
    struct rollout *rollout = subject;
    rollout->outcomes[r] = *outcome;
    rollout->ended_at[r] = sim_now(sim);
    rollout->done++;
}

/* Over-sampling: when enough have ended, the stragglers are cancelled, everywhere. */
static void some_ended(struct sim *sim, void *subject, uint64_t r, size_t ended) {
    struct rollout *rollout = subject;
    (void)sim;
    rollout->ended[r] = ended;
    if (rollout->ended[0] + rollout->ended[1] < rollout->enough)
        return;
    for (int i = 0; i < REPLICAS; i++)
        generation_replica_stop(rollout->replicas[i]);
}

static void stop_all(struct sim *sim, void *subject, uint64_t argument) {
    struct rollout *rollout = subject;
    (void)sim, (void)argument;
    for (int i = 0; i < REPLICAS; i++)
        generation_replica_stop(rollout->replicas[i]);
}

static void open_rollout(struct rollout *rollout, size_t count, uint64_t seed) {
    *rollout = (struct rollout){.sim = sim_new(NULL), .plan = fixture_plan(), .count = count};
    rollout->enough = SIZE_MAX;
    for (size_t r = 0; r < REPLICAS; r++) {
        rollout->replicas[r] = generation_replica_new(rollout->sim, &rollout->plan);
        generation_replica_listen(rollout->replicas[r], some_ended);
        for (size_t i = 0; i < count; i++)
            rollout->requests[r][i] =
                (struct generation_request){.prompt_tokens = fixture_random(&seed, 10, 300),
                                            .response_tokens = fixture_random(&seed, 1, 900),
                                            .group = (uint32_t)i};
    }
}

static void run(struct rollout *rollout) {
    rollout->done = 0;
    for (size_t r = 0; r < REPLICAS; r++)
        ck_assert_int_eq(generation_replica_start(rollout->replicas[r], rollout->requests[r],
                                                  rollout->count, replica_done, rollout, r),
                         SIM_OK);
    ck_assert_int_eq(sim_run(rollout->sim, SIM_TIME_MAX), SIM_OK);
    ck_assert_int_eq(rollout->done, REPLICAS);
}

static void close_rollout(struct rollout *rollout) {
    for (size_t r = 0; r < REPLICAS; r++)
        generation_replica_free(rollout->replicas[r]);
    sim_free(rollout->sim);
}

/* ---- cancellation ------------------------------------------------------------------------- */

/* 100 of 128: at least that many end, less than an iteration later nobody works, and what was made
 * is counted: the ends and the beginnings. */
START_TEST(test_stragglers_are_cancelled) {
    struct rollout rollout;
    open_rollout(&rollout, MOST, 3);
    rollout.enough = 100;
    run(&rollout);
    size_t ended =
        2 * MOST - (size_t)(rollout.outcomes[0].unfinished + rollout.outcomes[1].unfinished);
    ck_assert_uint_ge(ended, 100);
    ck_assert_uint_lt(ended, 110);
    double apart_s = fabs(sim_time_to_s(rollout.ended_at[0] - rollout.ended_at[1]));
    double iteration_s = mixed_s(&rollout.plan, MOST, MOST * 1200.0, 0.0, 0.0, 0);
    ck_assert_double_lt(apart_s, iteration_s);
    for (size_t r = 0; r < REPLICAS; r++) {
        uint64_t made = 0, unfinished = 0;
        for (size_t i = 0; i < MOST; i++) {
            made += generation_replica_generated(rollout.replicas[r], i);
            unfinished += isnan(generation_replica_finish_s(rollout.replicas[r], i)) != 0;
        }
        ck_assert_uint_eq(made, rollout.outcomes[r].decoded_tokens);
        ck_assert_uint_eq(unfinished, rollout.outcomes[r].unfinished);
    }
    close_rollout(&rollout);
}
END_TEST

/* A stop in the middle of a span ends with the iteration that it falls in: one sequence alone,
 * whose k-th iteration takes base + kv (P + k). */
START_TEST(test_stop_ends_with_the_iteration) {
    for (uint64_t seed = 1; seed <= 100; seed++) {
        uint64_t state = seed;
        struct rollout rollout;
        struct generation_decode_cost cost;
        open_rollout(&rollout, 1, seed);
        generation_decode_cost(&rollout.plan, 1, &cost);
        for (size_t r = 0; r < REPLICAS; r++)
            rollout.requests[r][0] =
                (struct generation_request){.prompt_tokens = 100, .response_tokens = 100000};
        double prompt_s = mixed_s(&rollout.plan, 0, 0.0, 100.0, 5050.0, 1);
        uint32_t steps = fixture_random(&state, 1, 50000);
        double into = fixture_random(&state, 1, 999) / 1000.0;
        double before_s =
            (steps - 1) * cost.base_s + cost.kv_token_s * llm_causal_pairs(steps - 1.0, 100.0);
        double step_s = cost.base_s + cost.kv_token_s * (100.0 + steps);
        rollout.plan.kv_blocks = 100000;
        ck_assert_int_eq(sim_schedule(rollout.sim,
                                      sim_time_from_s(prompt_s + before_s + into * step_s),
                                      SIM_PHASE_DECISION, stop_all, &rollout, 0, NULL),
                         SIM_OK);
        run(&rollout);
        assert_relative(rollout.outcomes[0].makespan_s, prompt_s + before_s + step_s, 1e-9);
        ck_assert_uint_eq(generation_replica_generated(rollout.replicas[0], 0), steps + 1);
        close_rollout(&rollout);
    }
}
END_TEST

/* ---- partial rollouts --------------------------------------------------------------------- */

/* Stopped half-way and begun again with what they had, they make the same tokens in all; what is
 * prefilled again is the prompts of the unfinished and all that they had made. */
START_TEST(test_partial_rollouts_go_on) {
    struct rollout rollout;
    open_rollout(&rollout, MOST, 9);
    run(&rollout);
    double whole_s = rollout.outcomes[0].makespan_s;
    uint64_t tokens = rollout.outcomes[0].decoded_tokens;
    ck_assert_int_eq(sim_schedule(rollout.sim,
                                  sim_now(rollout.sim) + sim_time_from_s(0.4 * whole_s),
                                  SIM_PHASE_DECISION, stop_all, &rollout, 0, NULL),
                     SIM_OK);
    run(&rollout);
    struct generation_outcome first = rollout.outcomes[0];
    ck_assert_uint_gt(first.unfinished, 0);
    uint64_t again = 0;
    size_t left = 0;
    struct generation_request rest[MOST];
    for (size_t i = 0; i < MOST; i++) {
        if (!isnan(generation_replica_finish_s(rollout.replicas[0], i)))
            continue;
        rest[left] = rollout.requests[0][i];
        rest[left].generated_tokens = generation_replica_generated(rollout.replicas[0], i);
        again += rest[left].prompt_tokens + rest[left].generated_tokens;
        left++;
    }
    struct generation_outcome second;
    ck_assert_int_eq(generation_replica_solve(rollout.replicas[0], rest, left, &second), SIM_OK);
    ck_assert_uint_eq(first.decoded_tokens + second.decoded_tokens, tokens);
    ck_assert_uint_eq(second.prefilled_tokens, again);
    ck_assert_double_gt(first.makespan_s + second.makespan_s, whole_s);
    close_rollout(&rollout);
}
END_TEST

/* ---- turns -------------------------------------------------------------------------------- */

/* One conversation by hand: 100 tokens in, 11 out; 2 s later 50 more in, 21 out. With its keys and
 * values kept, the second turn computes the observation and the last token sampled; without, all
 * 100
 * + 11 + 50. */
START_TEST(test_one_conversation) {
    struct generation_turn turn = {2.0, 50, 21};
    struct generation_request request = {
        .prompt_tokens = 100, .response_tokens = 11, .turn_count = 1, .turns = &turn};
    for (int keep = 0; keep < 2; keep++) {
        struct rollout rollout;
        struct generation_outcome outcome;
        struct generation_decode_cost cost;
        open_rollout(&rollout, 1, 1);
        generation_decode_cost(&rollout.plan, 1, &cost);
        struct generation_plan plan = rollout.plan;
        plan.keep_turns = keep == 1;
        struct generation_replica *replica = generation_replica_new(rollout.sim, &plan);
        ck_assert_int_eq(generation_replica_solve(replica, &request, 1, &outcome), SIM_OK);
        double tokens = keep == 1 ? 51.0 : 161.0, context = 161.0 - tokens;
        double first_s = mixed_s(&plan, 0, 0.0, 100.0, 5050.0, 1) + 10.0 * cost.base_s +
                         cost.kv_token_s * llm_causal_pairs(10.0, 100.0);
        double second_s = mixed_s(&plan, 0, 0.0, tokens, llm_causal_pairs(tokens, context), 1) +
                          20.0 * cost.base_s + cost.kv_token_s * llm_causal_pairs(20.0, 161.0);
        assert_relative(outcome.makespan_s, first_s + 2.0 + second_s, 1e-12);
        ck_assert_uint_eq(outcome.prefilled_tokens, 100 + (uint64_t)tokens);
        ck_assert_uint_eq(outcome.decoded_tokens, 32);
        generation_replica_free(replica);
        close_rollout(&rollout);
    }
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("hooks of a rollout");
    TCase *cases = tcase_create("hooks");
    tcase_add_test(cases, test_stragglers_are_cancelled);
    tcase_add_test(cases, test_stop_ends_with_the_iteration);
    tcase_add_test(cases, test_partial_rollouts_go_on);
    tcase_add_test(cases, test_one_conversation);
    suite_add_tcase(s, cases);
    return s;
}

TESTING_MAIN(suite)
