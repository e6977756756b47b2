/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Rollouts in turns: how answers are cut, against brute force; the whole rollout, against replicas
 * that are given the same conversations by hand; and what tools add.
 */

#include "models/forecast/planning.h"
#include "models/forecast/run.h"
#include "models/forecast/turns.h"
#include "tests/scenarios.h"
#include "tests/testing.h"

#include <math.h>
#include <stdio.h>

#define GRPO "scenarios/grpo-qwen2.5-7b-8xh100.yaml"
#define B 32
#define K 4
#define RESPONSE 300

static struct rlhfsim_scenario *scenario_with(const char *turns, const char *tool,
                                              const char *more) {
    const char *const sets[] = {"algorithm.prompts_per_step=32",
                                "algorithm.samples_per_prompt=4",
                                "algorithm.minibatch_samples=128",
                                "rollout.tp=1",
                                "rollout.max_new_tokens=1024",
                                "rollout.prompt_tokens={law: fixed, mean: 128}",
                                "rollout.response_tokens={law: fixed, mean: 300}",
                                "checkpoint.every_steps=0",
                                turns,
                                tool,
                                more,
                                NULL};
    return testing_scenario(GRPO, sets);
}

static struct forecast_measures run(const struct rlhfsim_scenario *scenario) {
    struct forecast_run_options options = {.steps = 1};
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    struct forecast_plan plan;
    struct forecast_measures measures;
    forecast_plan_make(scenario, &plan);
    ck_assert_int_eq(forecast_run(&plan, &options, diagnostics, &measures), RLHFSIM_OK);
    rlhfsim_diagnostics_free(diagnostics);
    return measures;
}

/* The most turns that fit, one by one. */
START_TEST(turns_have_a_token_each) {
    for (uint32_t most = 1; most <= 6; most++)
        for (uint32_t observation = 0; observation <= 20; observation += 5)
            for (uint32_t tokens = 0; tokens <= 150; tokens++) {
                uint32_t turns = 1;
                while (turns < most && (turns + 1) + turns * observation <= tokens)
                    turns++;
                ck_assert_uint_eq(forecast_turn_count(tokens, observation, most), turns);
            }
}
END_TEST

/* 300 tokens, 3 turns, 2 observations of 40: 220 of the model, in 74 + 73 + 73. */
START_TEST(answers_are_cut) {
    struct rlhfsim_scenario *scenario =
        scenario_with("rollout.turns=3", "rollout.tool_time=2 s", "rollout.observation_tokens=40");
    struct generation_request request = {.prompt_tokens = 128, .response_tokens = RESPONSE};
    struct generation_turn turns[2];
    struct forecast_plan plan;
    struct forecast_draw draw;
    forecast_plan_make(scenario, &plan);
    forecast_draw_start(&plan, 0, 1, &draw);
    forecast_turns_give(&draw, 7, turns, &request);
    ck_assert_uint_eq(request.response_tokens, 74);
    ck_assert_uint_eq(request.turn_count, 2);
    for (int t = 0; t < 2; t++) {
        ck_assert_uint_eq(turns[t].response_tokens, 73);
        ck_assert_uint_eq(turns[t].observation_tokens, 40);
        ck_assert_double_eq(turns[t].latency_s, 2.0);
    }
    ck_assert_uint_eq(forecast_turns_tokens(&request), 220);
    ck_assert_double_eq(forecast_turns_latency_s(&request), 4.0);
    ck_assert_int_eq(generation_request_tokens(&request), 128 + RESPONSE);
    rlhfsim_scenario_free(scenario);
}
END_TEST

/* Eight replicas of four prompts each, with conversations made by hand. */
static double by_hand_s(const struct rlhfsim_scenario *scenario) {
    static const struct generation_turn turns[2] = {{2.0, 40, 73}, {2.0, 40, 73}};
    struct generation_request requests[B / 8 * K];
    struct generation_outcome outcome;
    struct forecast_plan plan;
    forecast_plan_make(scenario, &plan);
    ck_assert_int_eq(plan.replicas, 8);
    struct sim *sim = sim_new(NULL);
    struct generation_replica *replica = generation_replica_new(sim, &plan.generation);
    for (int i = 0; i < B / 8 * K; i++)
        requests[i] = (struct generation_request){.prompt_tokens = 128,
                                                  .response_tokens = 74,
                                                  .group = (uint32_t)(i / K),
                                                  .turn_count = 2,
                                                  .turns = turns};
    ck_assert_int_eq(generation_replica_solve(replica, requests, B / 8 * K, &outcome), SIM_OK);
    generation_replica_free(replica);
    sim_free(sim);
    return outcome.makespan_s;
}

START_TEST(rollouts_are_those_of_the_engine) {
    static const char *const keep[] = {"rollout={keep_kv: true}", "rollout={keep_kv: false}"};
    double rollout_s[2];
    for (int i = 0; i < 2; i++) {
        struct rlhfsim_scenario *scenario = scenario_with(
            "rollout.turns=3", "rollout.tool_time=2 s", "rollout.observation_tokens=40");
        scenario->rollout.keep_kv = i == 0;
        struct forecast_measures m = run(scenario);
        rollout_s[i] = m.phase_s[ALGORITHM_PHASE_ROLLOUT];
        printf("%s: simulated %.6f s, by hand %.6f s\n", keep[i], rollout_s[i],
               by_hand_s(scenario));
        assert_relative(rollout_s[i], by_hand_s(scenario), 1e-8);
        ck_assert_double_eq(m.response_tokens, (double)B * K * RESPONSE);
        ck_assert_double_eq(m.tokens, (double)B * K * (RESPONSE + 128));
        rlhfsim_scenario_free(scenario);
    }
    ck_assert_double_gt(rollout_s[1], rollout_s[0]); /* contexts are computed again */
}
END_TEST

/* All sequences wait at once: each of two calls adds its 2 s. Instead of a decoding iteration the
 * first one of a turn computes a token of a prompt, which costs about as much. */
START_TEST(tools_add_their_time) {
    struct rlhfsim_scenario *plain =
        scenario_with("rollout.turns=1", "rollout.routing=static", "rollout.max_num_seqs=256");
    struct rlhfsim_scenario *turned =
        scenario_with("rollout.turns=3", "rollout.tool_time=2 s", "rollout.max_num_seqs=256");
    struct forecast_measures without = run(plain), with = run(turned);
    double more_s =
        with.phase_s[ALGORITHM_PHASE_ROLLOUT] - without.phase_s[ALGORITHM_PHASE_ROLLOUT];
    printf("two calls of 2 s add %.4f s\n", more_s);
    assert_relative(more_s, 4.0, 0.01);
    ck_assert_double_ge(with.tail_floor_s, without.tail_floor_s + 4.0 - 1e-9);
    ck_assert_double_le(with.tail_floor_s, with.phase_s[ALGORITHM_PHASE_ROLLOUT]);
    /* The passes of the trainer see the same sequences. */
    ck_assert_double_eq(with.phase_s[ALGORITHM_PHASE_ACTOR_UPDATE],
                        without.phase_s[ALGORITHM_PHASE_ACTOR_UPDATE]);
    rlhfsim_scenario_free(plain);
    rlhfsim_scenario_free(turned);
}
END_TEST

/* Times of a law: every answer has its own, and their mean is tool_time (5 sigma of 128 x 2 draws:
 * sigma of the law is about 0.9 of the mean). */
START_TEST(tools_have_a_law) {
    struct rlhfsim_scenario *scenario =
        scenario_with("rollout.turns=3", "rollout.tool_time=2 s", "rollout.tool_time_p99=9 s");
    struct forecast_plan plan;
    struct forecast_draw draw;
    double sum = 0.0, first = 0.0;
    forecast_plan_make(scenario, &plan);
    forecast_draw_start(&plan, 0, 1, &draw);
    for (uint64_t answer = 0; answer < B * K; answer++) {
        struct generation_request request = {.prompt_tokens = 128, .response_tokens = RESPONSE};
        struct generation_turn turns[2];
        forecast_turns_give(&draw, answer, turns, &request);
        sum += forecast_turns_latency_s(&request);
        ck_assert_double_ne(turns[0].latency_s, turns[1].latency_s);
        ck_assert_double_ne(turns[0].latency_s, first);
        first = turns[0].latency_s;
    }
    assert_relative(sum / (2 * B * K), 2.0, 5.0 * 0.9 / sqrt(2.0 * B * K));
    rlhfsim_scenario_free(scenario);
}
END_TEST

static Suite *turns_suite(void) {
    Suite *suite = suite_create("forecast/turns");
    TCase *tcase = tcase_create("turns");
    tcase_add_test(tcase, turns_have_a_token_each);
    tcase_add_test(tcase, answers_are_cut);
    tcase_add_test(tcase, rollouts_are_those_of_the_engine);
    tcase_add_test(tcase, tools_add_their_time);
    tcase_add_test(tcase, tools_have_a_law);
    suite_add_tcase(suite, tcase);
    return suite;
}

TESTING_MAIN(turns_suite)
