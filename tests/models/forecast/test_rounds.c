/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * DAPO one step off, against closed forms. With fixed lengths a round of the rollout takes G and
 * its rewards C, the training of a step T and a weight sync S. With R(s) rounds in step s the
 * generation takes R(s) (G + C), and a run of n steps
 *
 *     R(1) (G + C) + sum over s = 2..n of (max(R(s) (G + C), T) + S) + T + S.
 *
 * As P(R > r) = P(Bin(r g, q) < B) with g prompts a round, the mean of a step is
 *
 *     E[max(R (G + C), T)] + S = T + S + sum over r >= 0 of P(R > r) x
 *         (max((r + 1) (G + C), T) - max(r (G + C), T)).
 */

#include "models/forecast/planning.h"
#include "models/forecast/run.h"
#include "models/forecast/samples.h"
#include "tests/scenarios.h"
#include "tests/testing.h"

#include <math.h>
#include <stdio.h>

#define B 16
#define ROUND 32
#define K 4
#define MOST 12

#define RULE "reward={sample_time: 20 ms, workers: 1}"

/* Rewards by a rule, or by a model on two GPUs of its own. */
static struct rlhfsim_scenario *scenario_with(const char *max_num_seqs, bool judge) {
    const char *const sets[] = {
        "algorithm.prompts_per_step=16",
        "algorithm.generated_prompts=32",
        "algorithm.samples_per_prompt=4",
        "algorithm.minibatch_samples=64",
        "algorithm.max_rounds=12",
        "algorithm.pass_rate_mean=0.5",
        "algorithm.pass_rate_concentration=2",
        "training={tp: 1, zero_stage: 3, precision: bf16, microbatch_samples: 4, recompute: full}",
        "rollout.tp=1",
        "rollout.prompt_tokens={law: fixed, mean: 128}",
        "rollout.response_tokens={law: fixed, mean: 256}",
        "rollout.max_new_tokens=256",
        "checkpoint.every_steps=0",
        "cluster.nodes=1",
        "placement={mode: split, train_gpus: 4}",
        max_num_seqs,
        judge ? "reward={}" : RULE,
        judge ? "models.reward={model: Qwen2.5-7B}" : NULL,
        "placement.reward_gpus=2",
        NULL};
    return testing_scenario("scenarios/dapo-qwen2.5-7b-16xh100.yaml", sets);
}

static struct forecast_measures run(struct rlhfsim_scenario *scenario, enum scenario_placement mode,
                                    int64_t steps) {
    struct forecast_run_options options = {.steps = steps};
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    struct forecast_plan plan;
    struct forecast_measures measures;
    scenario->placement.mode = mode;
    forecast_plan_make(scenario, &plan);
    ck_assert_int_eq(forecast_run(&plan, &options, diagnostics, &measures), RLHFSIM_OK);
    rlhfsim_diagnostics_free(diagnostics);
    return measures;
}

struct parts {
    double round_s, training_s, sync_s;
};

/* Of the first step in turns. The driver's time, there of every round, is of a step one off. */
static struct parts parts_of(struct rlhfsim_scenario *scenario) {
    struct forecast_measures m = run(scenario, SCENARIO_SPLIT, 1);
    struct forecast_plan plan;
    forecast_plan_make(scenario, &plan);
    double samples_s = m.phase_s[ALGORITHM_PHASE_ROLLOUT] + m.phase_s[ALGORITHM_PHASE_REWARD];
    return (struct parts){.round_s = samples_s / m.rounds,
                          .sync_s = m.phase_s[ALGORITHM_PHASE_WEIGHT_SYNC],
                          .training_s = m.phase_s[ALGORITHM_PHASE_ACTOR_LOGPROB] +
                                        m.phase_s[ALGORITHM_PHASE_ACTOR_UPDATE] + plan.sleep_s};
}

/* Step by step, with the rounds that each had in turns: the same prompts are mixed. */
START_TEST(rounds_are_part_of_the_generation) {
    enum { N = 12 };
    static const char *const cases[] = {"rollout.max_num_seqs=256", "rollout.max_num_seqs=4",
                                        "rollout.max_num_seqs=16"};
    for (int i = 0; i < 3; i++) {
        struct rlhfsim_scenario *scenario = scenario_with(cases[i], i == 2);
        struct parts p = parts_of(scenario);
        double before = 0.0, closed_s = p.training_s + p.sync_s;
        int longer = 0;
        for (int n = 1; n <= N; n++) {
            double rounds = run(scenario, SCENARIO_SPLIT, n).rounds;
            double generation_s = (rounds - before) * p.round_s;
            closed_s += n == 1 ? generation_s : fmax(generation_s, p.training_s) + p.sync_s;
            longer += generation_s > p.training_s;
            before = rounds;
        }
        struct forecast_measures turns = run(scenario, SCENARIO_SPLIT, N);
        struct forecast_measures m = run(scenario, SCENARIO_ONE_STEP_OFF, N);
        printf("round %.2f s, training %.2f s: simulated %.6f s, closed form %.6f s, in turns "
               "%.6f s; %d of %d steps wait for samples\n",
               p.round_s, p.training_s, m.total_s, closed_s, turns.total_s, longer, N);
        assert_relative(m.total_s, closed_s, 1e-7);
        ck_assert_double_eq(m.rounds, turns.rounds);
        ck_assert_double_eq(m.responses, m.rounds * ROUND * K);
        ck_assert_double_eq(m.samples, (double)N * B * K);
        ck_assert_double_eq(m.tokens, turns.tokens);
        assert_relative(m.flops, turns.flops, 1e-12);
        /* All but the first step's samples are a version old. */
        assert_relative(m.stale_versions / m.samples, (N - 1.0) / N, 1e-12);
        double chain_s = 0.0;
        for (int phase = 0; phase < ALGORITHM_PHASE_COUNT; phase++)
            chain_s += m.critical_s[phase];
        assert_relative(chain_s, m.total_s, 1e-9);
        rlhfsim_scenario_free(scenario);
    }
}
END_TEST

/* P(Bin(n, q) < b), term by term. */
static double binomial_below(int n, double q, int b) {
    double term = pow(1.0 - q, n), sum = 0.0;
    for (int k = 0; k < b && k <= n; k++) {
        sum += term;
        term *= (double)(n - k) / (k + 1) * q / (1.0 - q);
    }
    return sum;
}

START_TEST(a_step_takes_the_mean_of_the_longer) {
    enum { N = 300 };
    struct rlhfsim_scenario *scenario = scenario_with("rollout.max_num_seqs=256", false);
    struct parts p = parts_of(scenario);
    double q = 1.0 - 2.0 / (K + 1); /* pass rates of the uniform law */
    double mean = p.training_s, square = p.training_s * p.training_s, last = p.training_s;
    for (int r = 0; r < MOST; r++) {
        double more = binomial_below(r * ROUND, q, B), now = fmax((r + 1) * p.round_s, last);
        mean += more * (now - last);
        square += more * (now * now - last * last);
        last = now;
    }
    struct forecast_measures some = run(scenario, SCENARIO_ONE_STEP_OFF, 2);
    struct forecast_measures all = run(scenario, SCENARIO_ONE_STEP_OFF, N + 2);
    double step_s = (all.total_s - some.total_s) / N - p.sync_s;
    double error_s = sqrt((square - mean * mean) / N);
    printf("E[max(R (G + C), T)]: simulated %.4f s, closed form %.4f s +- %.4f (T %.4f s)\n",
           step_s, mean, error_s, p.training_s);
    ck_assert_double_gt(error_s, 0.0);
    ck_assert_double_lt(fabs(step_s - mean), 3.0 * error_s);
    rlhfsim_scenario_free(scenario);
}
END_TEST

static Suite *rounds_suite(void) {
    Suite *suite = suite_create("forecast/rounds");
    TCase *tcase = tcase_create("one step off");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, rounds_are_part_of_the_generation);
    tcase_add_test(tcase, a_step_takes_the_mean_of_the_longer);
    suite_add_tcase(suite, tcase);
    return suite;
}

TESTING_MAIN(rounds_suite)
