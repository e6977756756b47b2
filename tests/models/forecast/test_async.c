/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Fully asynchronous runs against closed forms and laws of conservation. With fixed lengths the
 * engine takes G for the prompts B of a step and G2 for two steps' at once, the trainer T for a
 * step, a weight sync S.
 *
 *   staleness 0             n (G + T + S): as in turns
 *   staleness 1, no partial rollouts: two steps' prompts at the start, afterwards one at every
 * sync, which waits for the engine, and none for beyond the run
 *
 *       G2 + (T + S) + (n - 2) (max(G, T) + S) + (T + S)
 *
 *   a trainer that is slower than the engine, staleness e: the buffer is always full when a step
 *   takes from it, (1 + e) B prompts, first come, first served, so that a prompt is taken e B
 *   prompts after it came: e versions, in the mean, and from the first step on min(step - 1, e).
 */

#include "models/forecast/planning.h"
#include "models/forecast/run.h"
#include "tests/scenarios.h"
#include "tests/testing.h"

#include <math.h>
#include <stdio.h>

#define GRPO "scenarios/grpo-qwen2.5-7b-8xh100.yaml"
#define B 32
#define K 4

static struct rlhfsim_scenario *scenario_with(const char *placement, const char *response,
                                              const char *node) {
    const char *const sets[] = {
        "algorithm.prompts_per_step=32",
        "algorithm.samples_per_prompt=4",
        "algorithm.minibatch_samples=64",
        "training={tp: 1, zero_stage: 3, precision: bf16, microbatch_tokens: 5000, packing: true}",
        "rollout.tp=1",
        "rollout.max_new_tokens=4096",
        "rollout.prompt_tokens={law: fixed, mean: 128}",
        "rollout.max_num_seqs=256",
        "rollout.max_num_batched_tokens=65536", /* one iteration for all prompts */
        "checkpoint.every_steps=0",
        response,
        placement,
        node,
        NULL};
    return testing_scenario(GRPO, sets);
}

static struct forecast_measures run(const struct rlhfsim_scenario *scenario, int64_t steps) {
    struct forecast_run_options options = {.steps = steps};
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    struct forecast_plan plan;
    struct forecast_measures measures;
    forecast_plan_make(scenario, &plan);
    ck_assert_int_eq(forecast_run(&plan, &options, diagnostics, &measures), RLHFSIM_OK);
    rlhfsim_diagnostics_free(diagnostics);
    return measures;
}

/* Of the engine's replicas, which share the prompts evenly. */
static double rollout_s(const struct rlhfsim_scenario *scenario, int prompts, uint32_t response) {
    struct generation_request requests[2 * B * K];
    struct generation_outcome outcome;
    struct forecast_plan plan;
    forecast_plan_make(scenario, &plan);
    ck_assert_int_eq(prompts % plan.replicas, 0);
    int count = prompts / plan.replicas * K;
    struct sim *sim = sim_new(NULL);
    struct generation_replica *replica = generation_replica_new(sim, &plan.generation);
    for (int i = 0; i < count; i++)
        requests[i] = (struct generation_request){
            .prompt_tokens = 128, .response_tokens = response, .group = (uint32_t)(i / K)};
    ck_assert_int_eq(generation_replica_solve(replica, requests, (size_t)count, &outcome), SIM_OK);
    generation_replica_free(replica);
    sim_free(sim);
    return outcome.makespan_s;
}

static double sum_of(const double *seconds) {
    double sum = 0.0;
    for (int phase = 0; phase < ALGORITHM_PHASE_COUNT; phase++)
        sum += seconds[phase];
    return sum;
}

struct parts {
    double generation_s, training_s, sync_s;
};

/* Of a step in turns. */
static struct parts parts_of(struct rlhfsim_scenario *scenario) {
    enum scenario_placement mode = scenario->placement.mode;
    scenario->placement.mode = SCENARIO_SPLIT;
    struct forecast_measures m = run(scenario, 1);
    scenario->placement.mode = mode;
    struct parts parts = {.generation_s = m.phase_s[ALGORITHM_PHASE_ROLLOUT],
                          .sync_s = m.phase_s[ALGORITHM_PHASE_WEIGHT_SYNC]};
    parts.training_s = sum_of(m.phase_s) - parts.generation_s - parts.sync_s;
    return parts;
}

START_TEST(no_staleness_is_in_turns) {
    struct rlhfsim_scenario *scenario =
        scenario_with("placement={mode: async, train_gpus: 4, staleness_versions: 0}",
                      "rollout.response_tokens={law: fixed, mean: 256}", "cluster.gpus_per_node=8");
    struct parts parts = parts_of(scenario);
    struct forecast_measures m = run(scenario, 6);
    double closed_s = 6 * (parts.generation_s + parts.training_s + parts.sync_s);
    printf("staleness 0: simulated %.6f s, closed form %.6f s\n", m.total_s, closed_s);
    assert_relative(m.total_s, closed_s, 1e-7);
    assert_relative(sum_of(m.critical_s), m.total_s, 1e-9);
    ck_assert_double_eq(m.stale_versions, 0.0);
    ck_assert_double_eq(m.interrupted, 0.0);
    rlhfsim_scenario_free(scenario);
}
END_TEST

START_TEST(a_version_of_staleness_is_the_longer_of_two) {
    enum { N = 7 };
    static const struct {
        const char *response, *node;
        uint32_t tokens;
    } cases[2] = {
        {"rollout.response_tokens={law: fixed, mean: 128}", "cluster.gpus_per_node=8", 128},
        {"rollout.response_tokens={law: fixed, mean: 2048}", "cluster.gpus_per_node=5", 2048}};
    for (int i = 0; i < 2; i++) {
        struct rlhfsim_scenario *scenario = scenario_with(
            "placement={mode: async, train_gpus: 4, staleness_versions: 1, partial_rollout: false}",
            cases[i].response, cases[i].node);
        struct parts p = parts_of(scenario);
        double both_s = rollout_s(scenario, 2 * B, cases[i].tokens);
        struct forecast_measures m = run(scenario, N);
        double closed_s = both_s + 2 * (p.training_s + p.sync_s) +
                          (N - 2) * (fmax(p.generation_s, p.training_s) + p.sync_s);
        printf("staleness 1: G %.2f s, T %.2f s; simulated %.6f s, closed form %.6f s\n",
               p.generation_s, p.training_s, m.total_s, closed_s);
        ck_assert((p.generation_s > p.training_s) == (i == 1));
        assert_relative(m.total_s, closed_s, 1e-7);
        assert_relative(m.stale_versions / m.samples, (N - 1.0) / N, 1e-12);
        rlhfsim_scenario_free(scenario);
    }
}
END_TEST

/* A full buffer: the lag of step s is min(s - 1, e), for a fraction e the mean is e. */
START_TEST(a_full_buffer_lags_by_its_bound) {
    enum { N = 12 };
    static const char *const placements[] = {
        "placement={mode: async, train_gpus: 4, staleness_versions: 0.5}",
        "placement={mode: async, train_gpus: 4, staleness_versions: 1}",
        "placement={mode: async, train_gpus: 4, staleness_versions: 2}",
        "placement={mode: async, train_gpus: 4, staleness_versions: 3}"};
    static const double bounds[] = {0.5, 1.0, 2.0, 3.0};
    for (int i = 0; i < 4; i++) {
        struct rlhfsim_scenario *scenario =
            scenario_with(placements[i], "rollout.response_tokens={law: fixed, mean: 32}",
                          "cluster.gpus_per_node=8");
        struct parts parts = parts_of(scenario);
        struct forecast_measures m = run(scenario, N);
        double lag = 0.0;
        for (int step = 1; step <= N; step++)
            lag += fmin(step - 1.0, bounds[i]) / N;
        printf("staleness %.1f: mean simulated %.4f versions, closed form %.4f\n", bounds[i],
               m.stale_versions / m.samples, lag);
        ck_assert_double_lt(4.0 * parts.generation_s, parts.training_s); /* the buffer is full */
        assert_relative(m.stale_versions / m.samples, lag, 1e-12);
        rlhfsim_scenario_free(scenario);
    }
}
END_TEST

#define LONG_TAIL "rollout.response_tokens={law: lognormal, mean: 500, p99: 4000, uncut: true}"

/* Whatever is interrupted, the run trains on the very answers of a synchronous one, each once. */
START_TEST(interrupted_answers_are_finished_once) {
    enum { N = 10 };
    static const char *const placements[] = {
        "placement={mode: async, train_gpus: 4, staleness_versions: 0.5}",
        "placement={mode: async, train_gpus: 4, staleness_versions: 2}",
        "placement={mode: async, train_gpus: 4, staleness_versions: 2, partial_rollout: false}",
        "placement={mode: async, train_gpus: 4, staleness_versions: 1, sync_every_steps: 2}"};
    for (int i = 0; i < 4; i++) {
        struct rlhfsim_scenario *scenario =
            scenario_with(placements[i], LONG_TAIL, "cluster.gpus_per_node=6");
        struct forecast_measures m = run(scenario, N);
        scenario->placement.mode = SCENARIO_SPLIT;
        struct forecast_measures turns = run(scenario, N);
        scenario->placement.mode = SCENARIO_ASYNC;
        printf("%s: %.0f interrupted; %.1f s, in turns %.1f s\n", placements[i], m.interrupted,
               m.total_s, turns.total_s);
        ck_assert_double_eq(m.response_tokens, turns.response_tokens);
        ck_assert_double_eq(m.tokens, turns.tokens);
        ck_assert_double_eq(m.samples, (double)N * B * K);
        ck_assert_double_eq(m.trained_responses, m.responses);
        assert_relative(m.training_flops, turns.training_flops, 1e-9);
        ck_assert((m.interrupted > 0.0) == (i != 2));
        ck_assert_double_lt(m.total_s, turns.total_s);
        assert_relative(sum_of(m.critical_s), m.total_s, 1e-9);
        /* What was computed again is on top. */
        if (i != 2)
            ck_assert_double_gt(m.flops, turns.flops);
        rlhfsim_scenario_free(scenario);
    }
}
END_TEST

/* No sample is trained beyond the bound, and only dropping wastes any. */
START_TEST(the_bound_holds) {
    enum { N = 16 };
    static const char *const placements[] = {
        "placement={mode: async, train_gpus: 4, staleness_versions: 1}",
        "placement={mode: async, train_gpus: 4, staleness_versions: 1, beyond_bound: drop}"};
    double waited_s = 0.0;
    for (int drops = 0; drops < 2; drops++) {
        struct rlhfsim_scenario *scenario =
            scenario_with(placements[drops], LONG_TAIL, "cluster.gpus_per_node=6");
        struct forecast_measures m = run(scenario, N);
        double beyond = 0.0, all = 0.0;
        for (int bin = 0; bin < FORECAST_STALENESS_BINS; bin++) {
            beyond += bin > 1 ? m.stale_samples[bin] : 0.0;
            all += m.stale_samples[bin];
        }
        printf("%s: %.1f s, %.2f %% wasted\n", drops ? "drop" : "wait", m.total_s,
               100.0 * (1.0 - m.trained_responses / m.responses));
        ck_assert_double_eq(beyond, 0.0);
        ck_assert_double_eq(all, (double)N * B * K);
        ck_assert_double_eq(m.samples, (double)N * B * K);
        ck_assert((m.trained_responses < m.responses) == (drops == 1));
        waited_s = drops == 0 ? m.total_s : waited_s;
        rlhfsim_scenario_free(scenario);
    }
    ck_assert_double_gt(waited_s, 0.0);
}
END_TEST

static Suite *async_suite(void) {
    Suite *suite = suite_create("forecast/async");
    TCase *tcase = tcase_create("async");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, no_staleness_is_in_turns);
    tcase_add_test(tcase, a_version_of_staleness_is_the_longer_of_two);
    tcase_add_test(tcase, a_full_buffer_lags_by_its_bound);
    tcase_add_test(tcase, interrupted_answers_are_finished_once);
    tcase_add_test(tcase, the_bound_holds);
    suite_add_tcase(suite, tcase);
    return suite;
}

TESTING_MAIN(async_suite)
