/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Pools of GPUs: runs against closed forms. With fixed lengths every step's rollout takes G and its
 * training T (log-probs, rewards, updates and the driver's time), and a weight sync S. In turns a
 * step takes G + T + S. One step off it takes max(G, T) + S; the first rollout has nothing beside
 * it, and the last training neither:
 *
 *     G + (n - 1) (max(G, T) + S) + T + S
 */

#include "models/forecast/planning.h"
#include "models/forecast/run.h"
#include "models/forecast/scaling.h"
#include "tests/scenarios.h"
#include "tests/testing.h"

#include <math.h>
#include <stdio.h>

#define GRPO "scenarios/grpo-qwen2.5-7b-8xh100.yaml"
#define PPO "scenarios/ppo-llama2-7b-8xa100.yaml"

static const char *const short_steps[] = {
    "algorithm.prompts_per_step=32",
    "algorithm.samples_per_prompt=4",
    "algorithm.minibatch_samples=64",
    "training={tp: 1, zero_stage: 3, precision: bf16, microbatch_samples: 4, recompute: full}",
    "rollout.tp=1",
    "checkpoint.every_steps=0",
    NULL};

#define FIXED                                        \
    "rollout.prompt_tokens={law: fixed, mean: 128}", \
        "rollout.response_tokens={law: fixed, mean: 256}", "rollout.max_new_tokens=256"

/* short_steps and more. */
static struct rlhfsim_scenario *scenario_with(const char *path, const char *const more[]) {
    const char *sets[32];
    size_t n = 0;
    for (; short_steps[n] != NULL; n++)
        sets[n] = short_steps[n];
    for (; *more != NULL; more++)
        sets[n++] = *more;
    sets[n] = NULL;
    return testing_scenario(path, sets);
}

static struct forecast_measures run(const struct rlhfsim_scenario *scenario, int64_t steps,
                                    uint32_t replicate) {
    struct forecast_run_options options = {.steps = steps, .replicate = replicate};
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    struct forecast_plan plan;
    struct forecast_measures measures;
    forecast_plan_make(scenario, &plan);
    ck_assert_int_eq(forecast_run(&plan, &options, diagnostics, &measures), RLHFSIM_OK);
    rlhfsim_diagnostics_free(diagnostics);
    return measures;
}

struct parts {
    double generation_s, training_s, sync_s;
};

/* Of the first step, in turns. */
static struct parts parts_of(const struct rlhfsim_scenario *scenario, uint32_t replicate) {
    struct forecast_measures m = run(scenario, 1, replicate);
    struct parts parts = {.generation_s = m.phase_s[ALGORITHM_PHASE_ROLLOUT],
                          .sync_s = m.phase_s[ALGORITHM_PHASE_WEIGHT_SYNC]};
    for (int phase = 0; phase < ALGORITHM_PHASE_COUNT; phase++)
        parts.training_s += m.phase_s[phase];
    parts.training_s -= parts.generation_s + parts.sync_s;
    return parts;
}

static double one_off_s(struct parts parts, double steps) {
    return parts.generation_s +
           (steps - 1.0) * (fmax(parts.generation_s, parts.training_s) + parts.sync_s) +
           parts.training_s + parts.sync_s;
}

static double sum_of(const double *seconds) {
    double sum = 0.0;
    for (int phase = 0; phase < ALGORITHM_PHASE_COUNT; phase++)
        sum += seconds[phase];
    return sum;
}

/* A trainer of four GPUs is slower than an engine on four, and faster than one on a single GPU with
 * answers four times as long. */
START_TEST(one_step_off_is_the_longer_of_two) {
    static const char *const cases[2][8] = {
        {FIXED, "cluster.gpus_per_node=8", "placement={mode: split, train_gpus: 4}", NULL},
        {"rollout.prompt_tokens={law: fixed, mean: 128}",
         "rollout.response_tokens={law: fixed, mean: 1024}", "rollout.max_new_tokens=1024",
         "cluster.gpus_per_node=5", "placement={mode: split, train_gpus: 4}",
         "rollout.max_num_seqs=16", NULL}};
    bool generation_longer[2];
    for (int i = 0; i < 2; i++) {
        struct rlhfsim_scenario *scenario = scenario_with(GRPO, cases[i]);
        struct parts parts = parts_of(scenario, 0);
        double turns_s = run(scenario, 7, 0).total_s;
        assert_relative(turns_s, 7 * (parts.generation_s + parts.training_s + parts.sync_s), 1e-7);
        scenario->placement.mode = SCENARIO_ONE_STEP_OFF;
        struct forecast_measures m = run(scenario, 7, 0);
        printf("one step off: simulated %.6f s, closed form %.6f s, in turns %.6f s\n", m.total_s,
               one_off_s(parts, 7.0), turns_s);
        assert_relative(m.total_s, one_off_s(parts, 7.0), 1e-7);
        /* The chain of phases that ends the run is as long as the run. */
        assert_relative(sum_of(m.critical_s), m.total_s, 1e-9);
        /* The first step has the first weights, every later one those before the last sync. */
        assert_relative(m.stale_versions / m.samples, 6.0 / 7.0, 1e-12);
        assert_relative(m.stale_samples[1] / m.samples, 6.0 / 7.0, 1e-12);
        generation_longer[i] = parts.generation_s > parts.training_s;
        rlhfsim_scenario_free(scenario);
    }
    ck_assert(!generation_longer[0] && generation_longer[1]);
}
END_TEST

/* Random lengths: the rollout beside the training of a step is that of the next one, so that both
 * are independent, and a step takes E[max(G, T)] + S. From 40 steps apart come the two marginals;
 * the mean over all pairs of them against a run of 60 other steps. */
START_TEST(random_lengths_take_the_mean_of_the_longer) {
    enum { PARTS = 40, STEPS = 60 };
    static const char *const sets[] = {
        "rollout.prompt_tokens={law: fixed, mean: 128}",
        "rollout.response_tokens={law: lognormal, mean: 150, p99: 800}",
        "rollout.max_new_tokens=1024",
        "training={tp: 1, zero_stage: 3, microbatch_tokens: 4096, packing: true}",
        "placement={mode: split, train_gpus: 4}",
        "rollout.max_num_seqs=26",
        NULL};
    struct rlhfsim_scenario *scenario = scenario_with(GRPO, sets);
    struct parts parts[PARTS];
    double mean = 0.0, square = 0.0, shorter = 0.0;
    for (uint32_t i = 0; i < PARTS; i++)
        parts[i] = parts_of(scenario, i);
    for (int g = 0; g < PARTS; g++) {
        for (int t = 0; t < PARTS; t++) {
            double longer = fmax(parts[g].generation_s, parts[t].training_s);
            mean += longer / (PARTS * PARTS);
            square += longer * longer / (PARTS * PARTS);
            shorter += (parts[g].generation_s < parts[t].training_s) / (double)(PARTS * PARTS);
        }
    }
    scenario->placement.mode = SCENARIO_ONE_STEP_OFF;
    struct forecast_measures some = run(scenario, 10, 1000), all = run(scenario, 10 + STEPS, 1000);
    double step_s = (all.total_s - some.total_s) / STEPS - parts[0].sync_s;
    double error_s = sqrt((square - mean * mean) * (1.0 / STEPS + 2.0 / PARTS));
    printf("E[max(G, T)]: simulated %.4f s, from the marginals %.4f s +- %.4f; G < T in %.0f %%\n",
           step_s, mean, error_s, 100.0 * shorter);
    ck_assert_double_lt(fabs(step_s - mean), 3.0 * error_s);
    ck_assert_double_gt(shorter, 0.02); /* neither is always the longer one */
    ck_assert_double_lt(shorter, 0.98);
    rlhfsim_scenario_free(scenario);
}
END_TEST

/* Of 8 GPUs, the split that is fastest one step off is the one where both rates come nearest. */
START_TEST(the_best_split_is_where_rates_meet) {
    static const char *const splits[] = {"placement={mode: split, train_gpus: 1}",
                                         "placement={mode: split, train_gpus: 2}",
                                         "placement={mode: split, train_gpus: 4}"};
    double best_simulated = INFINITY, best_formula = INFINITY;
    int at_simulated = -1, at_formula = -1;
    for (int i = 0; i < 3; i++) {
        const char *const sets[] = {"rollout.prompt_tokens={law: fixed, mean: 128}",
                                    "rollout.response_tokens={law: fixed, mean: 2048}",
                                    "rollout.max_new_tokens=2048",
                                    "rollout.max_num_seqs=8",
                                    splits[i],
                                    NULL};
        struct rlhfsim_scenario *scenario = scenario_with(GRPO, sets);
        struct parts parts = parts_of(scenario, 0);
        double formula = fmax(parts.generation_s, parts.training_s) + parts.sync_s;
        scenario->placement.mode = SCENARIO_ONE_STEP_OFF;
        double simulated = (run(scenario, 5, 0).total_s - run(scenario, 3, 0).total_s) / 2.0;
        printf("train_gpus %d: G %.2f s, T %.2f s; step %.4f s, closed form %.4f s\n", 1 << i,
               parts.generation_s, parts.training_s, simulated, formula);
        assert_relative(simulated, formula, 1e-7);
        at_simulated = simulated < best_simulated ? i : at_simulated;
        at_formula = formula < best_formula ? i : at_formula;
        best_simulated = fmin(best_simulated, simulated);
        best_formula = fmin(best_formula, formula);
        rlhfsim_scenario_free(scenario);
    }
    ck_assert_int_eq(at_simulated, at_formula);
}
END_TEST

/* PPO with a critic of its own GPUs: values beside the log-probs, both updates at once. */
START_TEST(a_critic_pool_works_beside_the_actor) {
    static const char *const sets[] = {FIXED,
                                       "cluster.gpus_per_node=8",
                                       "algorithm.samples_per_prompt=1",
                                       "algorithm.minibatch_samples=32",
                                       "placement={mode: split, train_gpus: 2, critic_gpus: 2}",
                                       NULL};
    struct rlhfsim_scenario *scenario = scenario_with(PPO, sets);
    struct forecast_measures m = run(scenario, 3, 0);
    const double *s = m.phase_s;
    double actor_s = s[ALGORITHM_PHASE_TRANSITION] + s[ALGORITHM_PHASE_REWARD] +
                     s[ALGORITHM_PHASE_ACTOR_LOGPROB] + s[ALGORITHM_PHASE_REFERENCE_LOGPROB];
    double expected = s[ALGORITHM_PHASE_ROLLOUT] + fmax(actor_s, s[ALGORITHM_PHASE_VALUES]) +
                      fmax(s[ALGORITHM_PHASE_ACTOR_UPDATE], s[ALGORITHM_PHASE_CRITIC_UPDATE]) +
                      s[ALGORITHM_PHASE_WEIGHT_SYNC];
    printf("critic pool: simulated %.6f s, closed form %.6f s, phases in all %.6f s\n", m.total_s,
           expected, sum_of(s));
    ck_assert_double_gt(s[ALGORITHM_PHASE_VALUES], 0.0);
    assert_relative(m.total_s, expected, 1e-7);
    assert_relative(sum_of(m.critical_s), m.total_s, 1e-9);
    ck_assert_double_eq(m.stale_versions, 0.0);
    for (int pool = 0; pool < 3; pool++)
        ck_assert_double_le(m.pool_busy_gpu_s[pool], m.total_s * (pool < 2 ? 2 : 4) * (1 + 1e-12));
    assert_relative(m.pool_busy_gpu_s[0] + m.pool_busy_gpu_s[1] + m.pool_busy_gpu_s[2],
                    m.busy_gpu_s, 1e-12);
    rlhfsim_scenario_free(scenario);
}
END_TEST

/* Few prompts with a long tail: the longest answers take what they take, however many GPUs there
 * are. A step of many short ones is nearly twice as fast. Both against runs with two nodes. */
START_TEST(twice_the_gpus_buy_little_of_a_long_tail) {
    static const char *const tails[2][8] = {
        {"rollout.prompt_tokens={law: fixed, mean: 128}", "training.microbatch_samples=1",
         "rollout.response_tokens={law: lognormal, mean: 600, p99: 6000, uncut: true}",
         "rollout.max_new_tokens=8192", "training.logits=fused", "cluster.nodes=1", NULL},
        {FIXED, "algorithm.prompts_per_step=1024", "algorithm.minibatch_samples=4096",
         "cluster.nodes=1", NULL}};
    for (int i = 0; i < 2; i++) {
        struct rlhfsim_scenario *scenario = scenario_with(GRPO, tails[i]);
        struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
        struct forecast_plan plan;
        struct forecast_scaling scaling;
        forecast_plan_make(scenario, &plan);
        struct rlhfsim_forecast_options how = {0};
        ck_assert_int_eq(forecast_scaling_find(&plan, &how, diagnostics, &scaling), RLHFSIM_OK);
        double once_s = run(scenario, 2, 0).total_s;
        scenario->cluster.nodes = 2;
        double twice_s = run(scenario, 2, 0).total_s;
        printf("twice the GPUs: %.1f %% faster, %.1f %% dearer; %s is %.0f %%, %.1f %% shorter\n",
               100 * scaling.time_fraction, 100 * scaling.cost_fraction,
               algorithm_phase_name(scaling.phase), 100 * scaling.phase_share,
               100 * scaling.phase_fraction);
        ck_assert(scaling.known);
        assert_relative(scaling.time_fraction, 1.0 - twice_s / once_s, 1e-9);
        assert_relative(scaling.cost_fraction, 2.0 * twice_s / once_s - 1.0, 1e-9);
        if (i == 0) {
            ck_assert_int_eq(scaling.phase, ALGORITHM_PHASE_ROLLOUT);
            ck_assert_double_lt(scaling.phase_fraction, 0.25);
            ck_assert_double_gt(scaling.cost_fraction, 0.3);
        } else {
            ck_assert_double_gt(scaling.time_fraction, 0.35);
        }
        rlhfsim_diagnostics_free(diagnostics);
        rlhfsim_scenario_free(scenario);
    }
}
END_TEST

static Suite *placement_suite(void) {
    Suite *suite = suite_create("forecast/placement");
    TCase *group = tcase_create("pools");
    tcase_set_timeout(group, 60);
    tcase_add_test(group, one_step_off_is_the_longer_of_two);
    tcase_add_test(group, random_lengths_take_the_mean_of_the_longer);
    tcase_add_test(group, the_best_split_is_where_rates_meet);
    tcase_add_test(group, a_critic_pool_works_beside_the_actor);
    tcase_add_test(group, twice_the_gpus_buy_little_of_a_long_tail);
    suite_add_tcase(suite, group);
    return suite;
}

TESTING_MAIN(placement_suite)
