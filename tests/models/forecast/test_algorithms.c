/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Every algorithm's scenario, with fixed lengths, against counts made by hand: which phases a step
 * has, how many responses are generated and trained, and the model FLOPs of its passes. A forward
 * pass over n equal sequences takes n times what llm_forward_flops says of one, an update three
 * times that; what the rollout takes beside is that of the replicas' batches.
 */

#include "models/forecast/planning.h"
#include "models/forecast/run.h"
#include "models/forecast/samples.h"
#include "tests/scenarios.h"
#include "tests/testing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define PROMPTS 16
#define PROMPT_TOKENS 128
#define RESPONSE_TOKENS 256
#define STEPS 2

/* Passes of a step, in sequences for each prompt (offline: for each pair or answer). */
struct counts {
    const char *path;
    bool offline;
    int samples; /* K; offline: nothing */
    int generated, trained;
    int actor_forward, reference_forward, values, reward_forward;
    bool rule; /* gives the rewards */
};

#define ON "-qwen2.5-7b-8xh100.yaml"
#define OFF "-llama2-7b-8xa100.yaml"
static const struct counts cases[] = {
    {"scenarios/ppo-llama2-7b-8xa100.yaml", false, 1, 1, 1, 1, 1, 1, 1, false},
    {"scenarios/grpo" ON, false, 4, 4, 4, 4, 4, 0, 0, true},
    {"scenarios/dr-grpo" ON, false, 4, 4, 4, 0, 0, 0, 0, true},
    {"scenarios/gspo" ON, false, 4, 4, 4, 4, 0, 0, 0, true},
    {"scenarios/rloo" ON, false, 4, 4, 4, 4, 4, 0, 4, false},
    {"scenarios/reinforce-plus-plus" ON, false, 1, 1, 1, 1, 1, 0, 0, true},
    {"scenarios/reinforce-plus-plus-baseline" ON, false, 4, 4, 4, 4, 4, 0, 0, true},
    {"scenarios/remax" ON, false, 4, 5, 4, 4, 4, 0, 0, true},
    {"scenarios/rejection-sampling" ON, false, 4, 4, 1, 0, 0, 0, 4, false},
    {"scenarios/online-dpo" ON, false, 4, 4, 2, 0, 2, 0, 4, false},
    {"scenarios/dpo" OFF, true, 0, 0, 2, 0, 2, 0, 0, false},
    {"scenarios/ipo" OFF, true, 0, 0, 2, 0, 2, 0, 0, false},
    {"scenarios/kto" OFF, true, 0, 0, 1, 1, 2, 0, 0, false},
    {"scenarios/cpo" OFF, true, 0, 0, 2, 0, 0, 0, 0, false},
    {"scenarios/simpo" OFF, true, 0, 0, 2, 0, 0, 0, 0, false},
    {"scenarios/orpo" OFF, true, 0, 0, 2, 0, 0, 0, 0, false},
    {"scenarios/sft" OFF, true, 0, 0, 1, 0, 0, 0, 0, false},
    {"scenarios/reward-model" OFF, true, 0, 0, 2, 0, 0, 0, 0, false},
};
#define CASES (int)(sizeof cases / sizeof cases[0])

static struct rlhfsim_scenario *fixed_scenario(const struct counts *counts) {
    static char samples[64];
    const char *sets[] = {
        "steps=2",
        counts->trained % 2 == 0 || counts->offline ? "algorithm.minibatch_samples=16"
                                                    : "algorithm.minibatch_samples=8",
        "training={tp: 1, zero_stage: 3, precision: bf16, microbatch_samples: 1, recompute: full}",
        "rollout.prompt_tokens={law: fixed, mean: 128}",
        "rollout.response_tokens={law: fixed, mean: 256}",
        "rollout.max_new_tokens=256",
        "algorithm.prompts_per_step=16",
        samples,
        NULL};
    snprintf(samples, sizeof samples, "algorithm.samples_per_prompt=%d", counts->samples);
    if (counts->offline)
        sets[6] = NULL;
    return testing_scenario(counts->path, sets);
}

static struct forecast_measures run(const struct forecast_plan *plan, int64_t steps,
                                    uint32_t replicate) {
    struct forecast_run_options options = {.steps = steps, .replicate = replicate};
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    struct forecast_measures measures;
    ck_assert_int_eq(forecast_run(plan, &options, diagnostics, &measures), RLHFSIM_OK);
    rlhfsim_diagnostics_free(diagnostics);
    return measures;
}

/* Of one sequence through a model with this head, forward. */
static double sequence_flops(const struct rlhfsim_scenario *scenario, enum algorithm_role role,
                             enum llm_head head) {
    double tokens = PROMPT_TOKENS + RESPONSE_TOKENS;
    struct llm_batch batch = {.sequences = 1.0,
                              .tokens = tokens,
                              .score_pairs = tokens * (tokens + 1.0) / 2.0,
                              .logit_tokens = tokens};
    return llm_forward_flops(&scenario->models[role].architecture, head, &batch);
}

/* Of the rollouts of a step: the replicas share the prompts evenly. */
static double rollout_flops(const struct forecast_plan *plan, int copies) {
    struct generation_request requests[PROMPTS * 4];
    struct generation_outcome outcome;
    int count = PROMPTS / plan->replicas * copies;
    struct sim *sim = sim_new(NULL);
    struct generation_replica *replica = generation_replica_new(sim, &plan->generation);
    for (int i = 0; i < count; i++)
        requests[i] = (struct generation_request){.prompt_tokens = PROMPT_TOKENS,
                                                  .response_tokens = RESPONSE_TOKENS,
                                                  .group = (uint32_t)(i / copies)};
    ck_assert_int_eq(generation_replica_solve(replica, requests, (size_t)count, &outcome), SIM_OK);
    generation_replica_free(replica);
    sim_free(sim);
    return outcome.flops * plan->replicas;
}

static double expected_flops(const struct counts *counts, const struct forecast_plan *plan,
                             double *training) {
    const struct rlhfsim_scenario *scenario = plan->scenario;
    bool reward_training = counts == &cases[CASES - 1];
    double actor = sequence_flops(scenario, ALGORITHM_ROLE_ACTOR,
                                  reward_training ? LLM_HEAD_SCALAR : LLM_HEAD_VOCABULARY);
    double flops = counts->actor_forward * actor;
    *training = 3.0 * counts->trained * actor;
    if (counts->reference_forward > 0)
        flops += counts->reference_forward *
                 sequence_flops(scenario, ALGORITHM_ROLE_REFERENCE, LLM_HEAD_VOCABULARY);
    if (counts->reward_forward > 0)
        flops += counts->reward_forward *
                 sequence_flops(scenario, ALGORITHM_ROLE_REWARD, LLM_HEAD_SCALAR);
    if (counts->values > 0) {
        double critic = sequence_flops(scenario, ALGORITHM_ROLE_CRITIC, LLM_HEAD_SCALAR);
        flops += counts->values * critic;
        *training += 3.0 * counts->trained * critic;
    }
    *training *= STEPS * PROMPTS;
    flops *= STEPS * PROMPTS;
    if (!counts->offline)
        flops += STEPS * rollout_flops(plan, counts->samples);
    if (counts->generated > counts->samples)
        flops += STEPS * rollout_flops(plan, 1);
    return flops + *training;
}

static void assert_phases(const struct counts *counts, const struct forecast_measures *m) {
    const bool expected[ALGORITHM_PHASE_COUNT] = {
        [ALGORITHM_PHASE_ROLLOUT] = !counts->offline,
        [ALGORITHM_PHASE_TRANSITION] = !counts->offline,
        [ALGORITHM_PHASE_REWARD] = counts->rule || counts->reward_forward > 0,
        [ALGORITHM_PHASE_ACTOR_LOGPROB] = counts->actor_forward > 0,
        [ALGORITHM_PHASE_REFERENCE_LOGPROB] = counts->reference_forward > 0,
        [ALGORITHM_PHASE_VALUES] = counts->values > 0,
        [ALGORITHM_PHASE_CRITIC_UPDATE] = counts->values > 0,
        [ALGORITHM_PHASE_ACTOR_UPDATE] = true,
        [ALGORITHM_PHASE_WEIGHT_SYNC] = !counts->offline};
    for (int phase = 0; phase < ALGORITHM_PHASE_COUNT; phase++)
        if (phase != ALGORITHM_PHASE_CHECKPOINT)
            ck_assert_msg((m->phase_s[phase] > 0.0) == expected[phase], "%s: %s takes %g s",
                          counts->path, algorithm_phase_name((enum algorithm_phase)phase),
                          m->phase_s[phase]);
}

START_TEST(passes_of_a_step_by_hand) {
    const struct counts *counts = &cases[_i];
    struct rlhfsim_scenario *scenario = fixed_scenario(counts);
    struct forecast_plan plan;
    double training, sequences = STEPS * PROMPTS;
    forecast_plan_make(scenario, &plan);
    struct forecast_measures m = run(&plan, STEPS, 0);
    double flops = expected_flops(counts, &plan, &training);
    printf("%-60s %.6e FLOP, by hand %.6e\n", counts->path, m.flops, flops);
    assert_phases(counts, &m);
    assert_relative(m.flops, flops, 1e-12);
    assert_relative(m.training_flops, training, 1e-12);
    ck_assert_double_eq(m.tokens, sequences * counts->trained * (PROMPT_TOKENS + RESPONSE_TOKENS));
    ck_assert_double_eq(m.trained_responses, sequences * counts->trained);
    ck_assert_double_eq(m.responses,
                        sequences * (counts->offline ? counts->trained : counts->generated));
    rlhfsim_scenario_free(scenario);
}
END_TEST

/* The old log-probs skipped: one forward pass of the actor less, and nothing else. */
START_TEST(old_logprobs_may_be_skipped) {
    static const char *const skipped[] = {"steps=3", "algorithm.old_logprobs=skipped", NULL};
    static const char *const made[] = {"steps=3", NULL};
    struct rlhfsim_scenario *a = testing_scenario("scenarios/gspo" ON, made);
    struct rlhfsim_scenario *b = testing_scenario("scenarios/gspo" ON, skipped);
    struct forecast_plan with, without;
    forecast_plan_make(a, &with);
    forecast_plan_make(b, &without);
    struct forecast_measures m = run(&with, 3, 0), n = run(&without, 3, 0);
    ck_assert_double_gt(m.phase_s[ALGORITHM_PHASE_ACTOR_LOGPROB], 0.0);
    assert_relative(m.total_s - m.phase_s[ALGORITHM_PHASE_ACTOR_LOGPROB], n.total_s, 1e-9);
    rlhfsim_scenario_free(a);
    rlhfsim_scenario_free(b);
}
END_TEST

/* While the critic warms up, the actor neither learns nor sends its weights. */
START_TEST(critic_warms_up) {
    static const char *const sets[] = {"steps=5", "algorithm.critic_warmup_steps=2",
                                       "checkpoint.every_steps=0", NULL};
    static const char *const cold[] = {"steps=5", "checkpoint.every_steps=0", NULL};
    struct rlhfsim_scenario *a = testing_scenario("scenarios/ppo-llama2-7b-8xa100.yaml", sets);
    struct rlhfsim_scenario *b = testing_scenario("scenarios/ppo-llama2-7b-8xa100.yaml", cold);
    struct forecast_plan warm, plain;
    forecast_plan_make(a, &warm);
    forecast_plan_make(b, &plain);
    struct forecast_measures m = run(&warm, 5, 0), n = run(&plain, 5, 0);
    ck_assert_int_eq(m.optimizer_steps, n.optimizer_steps * 3 / 5);
    assert_relative(m.phase_s[ALGORITHM_PHASE_WEIGHT_SYNC],
                    n.phase_s[ALGORITHM_PHASE_WEIGHT_SYNC] * 3 / 5, 1e-9);
    ck_assert_double_eq(m.phase_s[ALGORITHM_PHASE_CRITIC_UPDATE],
                        n.phase_s[ALGORITHM_PHASE_CRITIC_UPDATE]);
    rlhfsim_scenario_free(a);
    rlhfsim_scenario_free(b);
}
END_TEST

/* Every algorithm that there is has a row, and so a scenario; DAPO's is counted below. */
START_TEST(all_algorithms_are_counted) {
    const struct algorithm_type *type;
    for (size_t i = 0; (type = algorithm_at(i)) != NULL; i++) {
        bool counted = strcmp(type->name, "dapo") == 0;
        for (int c = 0; c < CASES && !counted; c++) {
            struct rlhfsim_scenario *scenario = testing_scenario(cases[c].path, NULL);
            counted = scenario->algorithm.type == type;
            rlhfsim_scenario_free(scenario);
        }
        ck_assert_msg(counted, "%s is counted nowhere", type->name);
    }
}
END_TEST

/* ---- rounds ---------------------------------------------------------------------------------- */

/* P(Bin(n, q) < b), term by term. */
static double binomial_below(int n, double q, int b) {
    double term = pow(1.0 - q, n), sum = 0.0;
    for (int k = 0; k < b && k <= n; k++) {
        sum += term;
        term *= (double)(n - k) / (k + 1) * q / (1.0 - q);
    }
    return sum;
}

/* The chance that K answers are mixed, over a Beta law of the pass rate, by the midpoint rule in
 * the law's own probability where it is uniform (mean 0.5, concentration 2). */
START_TEST(mixed_chance_of_uniform_pass_rates) {
    for (int64_t answers = 2; answers <= 16; answers *= 2) {
        double sum = 0.0;
        for (int i = 0; i < 100000; i++) {
            double p = (i + 0.5) / 100000;
            sum += pow(p, (double)answers) + pow(1.0 - p, (double)answers);
        }
        assert_relative(forecast_mixed_chance(0.5, 2.0, answers), 1.0 - sum / 100000, 1e-8);
        /* In closed form 1 - 2 / (K + 1). */
        assert_relative(forecast_mixed_chance(0.5, 2.0, answers), 1.0 - 2.0 / (double)(answers + 1),
                        1e-12);
    }
    /* One pass rate for all prompts. */
    assert_relative(forecast_mixed_chance(0.3, 1e12, 4), 1.0 - pow(0.3, 4) - pow(0.7, 4), 1e-9);
}
END_TEST

/* E[rounds] = sum over r of P(Bin(r G, q) < B), the sum ending at the maximum; a step is exhausted
 * with P(Bin(max G, q) < B). */
START_TEST(rounds_have_a_closed_form) {
    enum { B = 32, G = 24, MOST = 4, K = 8, RUN = 400 };
    static const char *const sets[] = {"steps=400",
                                       "algorithm.prompts_per_step=32",
                                       "algorithm.generated_prompts=24",
                                       "algorithm.samples_per_prompt=8",
                                       "algorithm.minibatch_samples=256",
                                       "algorithm.max_rounds=4",
                                       "algorithm.pass_rate_mean=0.4",
                                       "algorithm.pass_rate_concentration=0.5",
                                       "rollout.prompt_tokens={law: fixed, mean: 32}",
                                       "rollout.response_tokens={law: fixed, mean: 16}",
                                       "rollout.max_new_tokens=16",
                                       NULL};
    struct rlhfsim_scenario *scenario =
        testing_scenario("scenarios/dapo-qwen2.5-7b-16xh100.yaml", sets);
    struct forecast_plan plan;
    forecast_plan_make(scenario, &plan);
    struct forecast_measures m = run(&plan, RUN, 0);
    double q = forecast_mixed_chance(0.4, 0.5, K), rounds = 0.0, square = 0.0;
    for (int r = 0; r < MOST; r++) { /* E[R] and E[R^2] = sum of (2 r + 1) P(R > r) */
        rounds += binomial_below(r * G, q, B);
        square += (2.0 * r + 1.0) * binomial_below(r * G, q, B);
    }
    double exhausted = binomial_below(MOST * G, q, B);
    printf("rounds: simulated %.4f, closed form %.4f; exhausted %.4f, closed form %.4f (q %.4f)\n",
           m.rounds / RUN, rounds, m.exhausted / RUN, exhausted, q);
    ck_assert_double_lt(fabs(m.rounds / RUN - rounds),
                        3.0 * sqrt((square - rounds * rounds) / RUN));
    ck_assert_double_lt(fabs(m.exhausted / RUN - exhausted),
                        3.0 * sqrt(exhausted * (1.0 - exhausted) / RUN));
    ck_assert_double_gt(exhausted, 0.02); /* both happen */
    ck_assert_double_lt(exhausted, 0.98);
    ck_assert_double_eq(m.responses, m.rounds * G * K);
    ck_assert_double_le(m.samples, (double)RUN * B * K);
    /* A later round wakes the engine again. */
    assert_relative(m.phase_s[ALGORITHM_PHASE_TRANSITION], m.rounds * (plan.sleep_s + plan.wake_s),
                    1e-6);
    rlhfsim_scenario_free(scenario);
}
END_TEST

/* DAPO: every round answers G prompts K times; the passes go over the samples that are kept, all of
 * the wanted ones, as ten rounds are enough. */
START_TEST(dapo_passes_by_hand) {
    enum { G = PROMPTS, K = 4 };
    static const char *const sets[] = {
        "steps=2",
        "algorithm.prompts_per_step=16",
        "algorithm.generated_prompts=16",
        "algorithm.samples_per_prompt=4",
        "algorithm.minibatch_samples=16",
        "algorithm.max_rounds=10",
        "algorithm.pass_rate_mean=0.4",
        "algorithm.pass_rate_concentration=2",
        "training={tp: 1, zero_stage: 3, precision: bf16, microbatch_samples: 1, recompute: full}",
        "rollout.prompt_tokens={law: fixed, mean: 128}",
        "rollout.response_tokens={law: fixed, mean: 256}",
        "rollout.max_new_tokens=256",
        NULL};
    static const struct counts counts = {
        .path = "scenarios/dapo-qwen2.5-7b-16xh100.yaml", .actor_forward = 1, .rule = true};
    struct rlhfsim_scenario *scenario = testing_scenario(counts.path, sets);
    struct forecast_plan plan;
    forecast_plan_make(scenario, &plan);
    struct forecast_measures m = run(&plan, STEPS, 0);
    double samples = (double)STEPS * PROMPTS * K;
    double actor = sequence_flops(scenario, ALGORITHM_ROLE_ACTOR, LLM_HEAD_VOCABULARY);
    double flops = m.rounds * rollout_flops(&plan, K) + 4.0 * samples * actor;
    printf("%-60s %.6e FLOP, by hand %.6e, in %.0f rounds\n", counts.path, m.flops, flops,
           m.rounds);
    ck_assert_double_gt(m.rounds, STEPS); /* of 16 prompts some are all right or all wrong */
    ck_assert_double_eq(m.exhausted, 0.0);
    assert_phases(&counts, &m);
    assert_relative(m.flops, flops, 1e-12);
    assert_relative(m.training_flops, 3.0 * samples * actor, 1e-12);
    ck_assert_double_eq(m.tokens, samples * (PROMPT_TOKENS + RESPONSE_TOKENS));
    ck_assert_double_eq(m.responses, m.rounds * G * K);
    ck_assert_double_eq(m.response_tokens, m.rounds * G * K * RESPONSE_TOKENS);
    rlhfsim_scenario_free(scenario);
}
END_TEST

static Suite *algorithms_suite(void) {
    Suite *suite = suite_create("forecast/algorithms");
    TCase *tcase = tcase_create("steps");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, passes_of_a_step_by_hand, 0, CASES);
    tcase_add_test(tcase, old_logprobs_may_be_skipped);
    tcase_add_test(tcase, critic_warms_up);
    tcase_add_test(tcase, all_algorithms_are_counted);
    tcase_add_test(tcase, mixed_chance_of_uniform_pass_rates);
    tcase_add_test(tcase, rounds_have_a_closed_form);
    tcase_add_test(tcase, dapo_passes_by_hand);
    suite_add_tcase(suite, tcase);
    return suite;
}

TESTING_MAIN(algorithms_suite)
