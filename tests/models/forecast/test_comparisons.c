/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * What users compare: PPO with GRPO on equal terms, and more answers to a prompt.
 */

#include "models/forecast/planning.h"
#include "models/forecast/run.h"
#include "tests/scenarios.h"
#include "tests/testing.h"

#include <math.h>
#include <stdio.h>

#define PPO "scenarios/ppo-llama2-7b-8xa100.yaml"
#define GRPO "scenarios/grpo-qwen2.5-7b-8xh100.yaml"

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

static struct forecast_measures run_with(const char *file, const char *const *sets) {
    struct rlhfsim_scenario *scenario = testing_scenario(file, sets);
    struct forecast_measures measures = run(scenario);
    rlhfsim_scenario_free(scenario);
    return measures;
}

/* Equal K, lengths and reward model, everything on the GPUs: the critic's passes and updates are
 * all that PPO has more. */
START_TEST(ppo_is_grpo_with_a_critic) {
    static const char *const ppo[] = {
        "algorithm={name: ppo, prompts_per_step: 64, samples_per_prompt: 4, "
        "minibatch_samples: 128, kl: reward}",
        "checkpoint.every_steps=0", NULL};
    static const char *const grpo[] = {
        "algorithm={name: grpo, prompts_per_step: 64, samples_per_prompt: 4, "
        "minibatch_samples: 128, kl: loss}",
        "models={actor: {model: Llama-2-7b-hf}, reward: {model: Llama-2-7b-hf}, "
        "reference: {model: Llama-2-7b-hf}}",
        "checkpoint.every_steps=0", NULL};
    struct forecast_measures with = run_with(PPO, ppo), without = run_with(PPO, grpo);
    double critic_s =
        with.phase_s[ALGORITHM_PHASE_VALUES] + with.phase_s[ALGORITHM_PHASE_CRITIC_UPDATE];
    printf("PPO %.6f s, GRPO %.6f s and the critic %.6f s\n", with.total_s, without.total_s,
           critic_s);
    ck_assert_double_gt(critic_s, 0.0);
    for (int phase = 0; phase < ALGORITHM_PHASE_COUNT; phase++)
        if (phase != ALGORITHM_PHASE_VALUES && phase != ALGORITHM_PHASE_CRITIC_UPDATE)
            ck_assert_double_eq(with.phase_s[phase], without.phase_s[phase]);
    assert_relative(with.total_s, without.total_s + critic_s, 1e-9);
    /* An update is three passes of the model, values one: of the critic as of the actor. */
    assert_relative(with.training_flops, 2.0 * without.training_flops, 0.02);
}
END_TEST

/* A forecast with a reward model says that no measured run has its time; one without has none. */
START_TEST(reward_models_are_unvalidated) {
    static const char *const files[] = {PPO, GRPO};
    for (int i = 0; i < 2; i++) {
        static const char *const sets[] = {"steps=1", NULL};
        struct rlhfsim_scenario *scenario = testing_scenario(files[i], sets);
        struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
        struct rlhfsim_forecast_options options = {.replicates = 1, .skip_limit = true};
        struct rlhfsim_forecast *forecast = NULL;
        struct rlhfsim_value value;
        ck_assert_int_eq(rlhfsim_forecast_run(scenario, &options, diagnostics, &forecast),
                         RLHFSIM_OK);
        const struct rlhfsim_summary *summary = rlhfsim_forecast_summary(forecast);
        bool found = rlhfsim_summary_get(summary, "provenance.models.reward", &value);
        ck_assert(found == (i == 0));
        if (found)
            ck_assert_str_eq(value.text, "unvalidated");
        rlhfsim_forecast_free(forecast);
        rlhfsim_diagnostics_free(diagnostics);
        rlhfsim_scenario_free(scenario);
    }
}
END_TEST

/* With LoRA the actor is its own reference, adapters off: the same passes as of a second copy that
 * is on the GPUs, without its weights. */
START_TEST(adapters_off_are_a_reference) {
    static const char *const one[] = {"models={actor: {model: Qwen2.5-7B, lora_rank: 16}}",
                                      "checkpoint.every_steps=0", NULL};
    static const char *const two[] = {"models={actor: {model: Qwen2.5-7B, lora_rank: 16}, "
                                      "reference: {model: Qwen2.5-7B}}",
                                      "checkpoint.every_steps=0", NULL};
    static const char *const none[] = {"models={actor: {model: Qwen2.5-7B, lora_rank: 16}}",
                                       "algorithm.kl=none", "checkpoint.every_steps=0", NULL};
    struct forecast_measures alone = run_with(GRPO, one), beside = run_with(GRPO, two),
                             without = run_with(GRPO, none);
    double pass_s = alone.phase_s[ALGORITHM_PHASE_REFERENCE_LOGPROB];
    ck_assert_double_gt(pass_s, 0.0);
    assert_relative(pass_s, beside.phase_s[ALGORITHM_PHASE_REFERENCE_LOGPROB], 1e-9);
    assert_relative(alone.total_s, without.total_s + pass_s, 1e-6);
}
END_TEST

/* 64 prompts on 8 replicas that run 64 sequences at a time: up to K = 8 all answers run at once,
 * and an iteration takes little longer for more of them; from there on twice the answers are twice
 * the rounds. The trainer's part is linear throughout. */
START_TEST(more_answers_have_a_knee) {
    double rollout_s[5], update_s[5];
    for (int i = 0; i < 5; i++) {
        char algorithm[160];
        int k = 4 << i;
        (void)snprintf(algorithm, sizeof algorithm,
                       "algorithm={name: grpo, prompts_per_step: 64, samples_per_prompt: %d, "
                       "minibatch_samples: %d, kl: loss}",
                       k, 64 * k);
        const char *const sets[] = {algorithm,
                                    "rollout.tp=1",
                                    "rollout.max_num_seqs=64",
                                    "rollout.prompt_tokens={law: fixed, mean: 128}",
                                    "rollout.response_tokens={law: fixed, mean: 512}",
                                    "checkpoint.every_steps=0",
                                    NULL};
        struct forecast_measures m = run_with(GRPO, sets);
        rollout_s[i] = m.phase_s[ALGORITHM_PHASE_ROLLOUT];
        update_s[i] = m.phase_s[ALGORITHM_PHASE_ACTOR_UPDATE];
        printf("K %2d: rollout %.3f s, update %.3f s\n", k, rollout_s[i], update_s[i]);
    }
    ck_assert_double_lt(rollout_s[1], 1.4 * rollout_s[0]);
    for (int i = 2; i < 5; i++)
        assert_relative(rollout_s[i], 2.0 * rollout_s[i - 1], 0.05);
    for (int i = 2; i < 5; i++)
        assert_relative(update_s[i], 2.0 * update_s[i - 1], 0.05);
}
END_TEST

static Suite *comparisons_suite(void) {
    Suite *suite = suite_create("forecast/comparisons");
    TCase *tcase = tcase_create("comparisons");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, ppo_is_grpo_with_a_critic);
    tcase_add_test(tcase, reward_models_are_unvalidated);
    tcase_add_test(tcase, adapters_off_are_a_reference);
    tcase_add_test(tcase, more_answers_have_a_knee);
    suite_add_tcase(suite, tcase);
    return suite;
}

TESTING_MAIN(comparisons_suite)
