/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Asynchronous runs of algorithms that select answers, generate more of them, warm a critic up, or
 * validate; against the same run in turns, and against what chance says.
 */

#include "models/forecast/planning.h"
#include "models/forecast/run.h"
#include "models/forecast/samples.h"
#include "tests/scenarios.h"
#include "tests/testing.h"

#include <math.h>
#include <stdio.h>

#define ASYNC "scenarios/async-gspo-qwen2.5-7b-16xh100.yaml"
#define N 8
#define B 32
#define K 4

#define FIXED "rollout.response_tokens={law: fixed, mean: 256}"
#define LONG_TAIL "rollout.response_tokens={law: lognormal, mean: 500, p99: 4000, uncut: true}"

static struct rlhfsim_scenario *scenario_of(const char *algorithm, const char *response,
                                            const char *more) {
    const char *const sets[] = {algorithm,
                                "training.microbatch_tokens=5000",
                                "rollout.max_new_tokens=4096",
                                "rollout.prompt_tokens={law: fixed, mean: 128}",
                                "rollout.max_num_seqs=256",
                                "rollout.max_num_batched_tokens=65536",
                                "placement.sync_every_steps=2",
                                response,
                                more,
                                NULL};
    return testing_scenario(ASYNC, sets);
}

static struct forecast_measures run(const struct rlhfsim_scenario *scenario) {
    struct forecast_run_options options = {.steps = N};
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    struct forecast_plan plan;
    struct forecast_measures measures;
    forecast_plan_make(scenario, &plan);
    ck_assert_int_eq(forecast_run(&plan, &options, diagnostics, &measures), RLHFSIM_OK);
    rlhfsim_diagnostics_free(diagnostics);
    return measures;
}

static struct forecast_measures run_in_turns(struct rlhfsim_scenario *scenario) {
    scenario->placement.mode = SCENARIO_SPLIT;
    struct forecast_measures measures = run(scenario);
    scenario->placement.mode = SCENARIO_ASYNC;
    return measures;
}

/* A greedy answer to every prompt beside the K, which is not trained. */
START_TEST(greedy_answers_are_not_trained) {
    struct rlhfsim_scenario *scenario =
        scenario_of("algorithm={name: remax, prompts_per_step: 32, samples_per_prompt: 4, "
                    "minibatch_samples: 64, kl: none}",
                    LONG_TAIL, "placement.staleness_versions=1");
    struct forecast_measures m = run(scenario), turns = run_in_turns(scenario);
    ck_assert_double_eq(m.responses, (double)N * B * (K + 1));
    ck_assert_double_eq(m.samples, (double)N * B * K);
    ck_assert_double_eq(m.tokens, turns.tokens);
    ck_assert_double_eq(m.response_tokens, turns.response_tokens);
    assert_relative(m.training_flops, turns.training_flops, 1e-9);
    rlhfsim_scenario_free(scenario);
}
END_TEST

/* Of K answers the step trains on one. In turns other steps have them: rewards have nothing to do
 * with lengths, so that the first answer of each prompt is the one. */
START_TEST(the_best_answers_are_trained) {
    struct rlhfsim_scenario *scenario =
        scenario_of("algorithm={name: rejection_sampling, prompts_per_step: 32, "
                    "samples_per_prompt: 4, kept_samples_per_prompt: 1, minibatch_samples: 32}",
                    LONG_TAIL, "placement.staleness_versions=1");
    struct forecast_measures m = run(scenario), turns = run_in_turns(scenario);
    ck_assert_double_eq(m.responses, (double)N * B * K);
    ck_assert_double_eq(m.samples, (double)N * B);
    ck_assert_double_eq(m.tokens, turns.tokens);
    double stale = 0.0;
    for (int bin = 0; bin < FORECAST_STALENESS_BINS; bin++)
        stale += m.stale_samples[bin];
    ck_assert_double_eq(stale, m.samples);
    rlhfsim_scenario_free(scenario);
}
END_TEST

/* Prompts are answered until N x B of them are mixed, each with the chance q: their number is
 * N B / q, and its deviation sqrt(N B (1 - q)) / q (negative binomial). What is under way at the
 * end comes on top: at most (1 + staleness) versions' prompts. */
START_TEST(mixed_prompts_are_trained) {
    enum { VERSION = 2 * B };
    struct rlhfsim_scenario *scenario =
        scenario_of("algorithm={name: dapo, prompts_per_step: 32, samples_per_prompt: 4, "
                    "minibatch_samples: 64, pass_rate_mean: 0.5, pass_rate_concentration: 2}",
                    LONG_TAIL, "placement.staleness_versions=1");
    struct forecast_measures m = run(scenario);
    /* A pass rate of the uniform law: E[p^K] = 1 / (K + 1), twice. */
    double q = 1.0 - 2.0 / (K + 1);
    double expected = N * B / q, deviation = sqrt(N * B * (1.0 - q)) / q;
    double prompts = m.responses / K;
    assert_relative(forecast_mixed_chance(0.5, 2.0, K), q, 1e-12);
    printf("prompts answered: simulated %.0f, expected %.0f to %.0f\n", prompts, expected,
           expected + 2 * VERSION);
    ck_assert_double_eq(m.samples, (double)N * B * K);
    ck_assert_double_gt(prompts, expected - 4.0 * deviation);
    ck_assert_double_lt(prompts, expected + 2 * VERSION + 4.0 * deviation);
    double chain_s = 0.0;
    for (int phase = 0; phase < ALGORITHM_PHASE_COUNT; phase++)
        chain_s += m.critical_s[phase];
    assert_relative(m.total_s, chain_s, 1e-9);
    rlhfsim_scenario_free(scenario);
}
END_TEST

/* Without staleness the engine is idle when a step ends: every validation adds what it takes in
 * turns, on steps with a sync (2, 4, 6, 8) or without (3). */
START_TEST(validations_come_on_top) {
    static const struct {
        const char *every;
        int count;
    } cases[] = {{"validation={every_steps: 2, prompts: 40, samples_per_prompt: 2}", 4},
                 {"validation={every_steps: 3, prompts: 40, samples_per_prompt: 2}", 2}};
    const char *gspo = "algorithm={name: gspo, prompts_per_step: 32, samples_per_prompt: 4, "
                       "minibatch_samples: 128}";
    for (int i = 0; i < 2; i++) {
        struct rlhfsim_scenario *without =
            scenario_of(gspo, FIXED, "placement.staleness_versions=0");
        struct rlhfsim_scenario *with = scenario_of(gspo, FIXED, cases[i].every);
        with->placement.staleness_versions = 0.0;
        struct forecast_measures plain = run(without), m = run(with), turns = run_in_turns(with);
        double each_s = turns.phase_s[ALGORITHM_PHASE_VALIDATION] / cases[i].count;
        printf("%d validations: simulated %.6f s more, closed form %.6f s\n", cases[i].count,
               m.total_s - plain.total_s, cases[i].count * each_s);
        ck_assert_double_gt(each_s, 0.0);
        assert_relative(m.phase_s[ALGORITHM_PHASE_VALIDATION], cases[i].count * each_s, 1e-6);
        assert_relative(m.total_s - plain.total_s, cases[i].count * each_s, 1e-5);
        ck_assert_double_eq(m.response_tokens, plain.response_tokens);
        rlhfsim_scenario_free(without);
        rlhfsim_scenario_free(with);
    }
}
END_TEST

/* Answers that a validation interrupts are finished once, like those of a sync. */
START_TEST(validations_interrupt) {
    struct rlhfsim_scenario *scenario =
        scenario_of("algorithm={name: gspo, prompts_per_step: 32, samples_per_prompt: 4, "
                    "minibatch_samples: 128}",
                    LONG_TAIL, "validation={every_steps: 3, prompts: 40}");
    scenario->placement.staleness_versions = 2.0;
    struct forecast_measures m = run(scenario), turns = run_in_turns(scenario);
    ck_assert_double_gt(m.interrupted, 0.0);
    ck_assert_double_eq(m.response_tokens, turns.response_tokens);
    ck_assert_double_eq(m.tokens, turns.tokens);
    rlhfsim_scenario_free(scenario);
}
END_TEST

/* While the critic warms up, weights are synced as ever, and the actor is not updated: of N steps
 * of one optimizer step N - 3 are left. */
START_TEST(critics_warm_up) {
    struct rlhfsim_scenario *scenario =
        scenario_of("algorithm={name: ppo, prompts_per_step: 32, samples_per_prompt: 4, "
                    "minibatch_samples: 128, kl: none, critic_warmup_steps: 3}",
                    FIXED, "models={actor: {model: Qwen2.5-7B}, critic: {model: Qwen2.5-7B}}");
    struct forecast_measures m = run(scenario);
    scenario->algorithm.critic_warmup_steps = 0;
    struct forecast_measures without = run(scenario);
    ck_assert_int_eq(m.optimizer_steps, N - 3);
    ck_assert_int_eq(without.optimizer_steps, N);
    assert_relative(m.phase_s[ALGORITHM_PHASE_ACTOR_UPDATE],
                    without.phase_s[ALGORITHM_PHASE_ACTOR_UPDATE] * (N - 3) / N, 1e-6);
    ck_assert_double_eq(m.phase_s[ALGORITHM_PHASE_WEIGHT_SYNC],
                        without.phase_s[ALGORITHM_PHASE_WEIGHT_SYNC]);
    ck_assert_double_eq(m.samples, (double)N * B * K);
    rlhfsim_scenario_free(scenario);
}
END_TEST

static Suite *async_suite(void) {
    Suite *suite = suite_create("forecast/async_algorithms");
    TCase *tcase = tcase_create("algorithms");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, greedy_answers_are_not_trained);
    tcase_add_test(tcase, the_best_answers_are_trained);
    tcase_add_test(tcase, mixed_prompts_are_trained);
    tcase_add_test(tcase, validations_come_on_top);
    tcase_add_test(tcase, validations_interrupt);
    tcase_add_test(tcase, critics_warm_up);
    suite_add_tcase(suite, tcase);
    return suite;
}

TESTING_MAIN(async_suite)
