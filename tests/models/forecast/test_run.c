/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * A whole run against sums made by hand: with fixed lengths nothing waits and nothing is random, so
 * every phase has a closed form in the pure functions of the physics.
 */

#include "models/forecast/footprint.h"
#include "models/forecast/microbatch.h"
#include "models/forecast/planning.h"
#include "models/forecast/run.h"
#include "models/forecast/samples.h"
#include "models/scenario/steps.h"
#include "tests/scenarios.h"
#include "tests/testing.h"

#include <stdlib.h>

#define GRPO "scenarios/grpo-qwen2.5-7b-8xh100.yaml"
#define PPO "scenarios/ppo-llama2-7b-8xa100.yaml"
#define DPO "scenarios/dpo-llama2-7b-8xa100.yaml"

/* 16 prompts x 4 samples of 128 + 256 tokens on 8 ranks: 8 samples a rank, micro-batches of 4. */
static const char *const fixed_lengths[] = {
    "steps=3",
    "algorithm.prompts_per_step=16",
    "algorithm.samples_per_prompt=4",
    "algorithm.minibatch_samples=32",
    "algorithm.kl=loss",
    "training={tp: 1, zero_stage: 3, precision: bf16, microbatch_samples: 4, recompute: full}",
    "rollout.tp=1",
    "rollout.max_new_tokens=256",
    "rollout.prompt_tokens={law: fixed, mean: 128}",
    "rollout.response_tokens={law: fixed, mean: 256}",
    "checkpoint.every_steps=0",
    NULL};

static struct forecast_measures run(const struct forecast_plan *plan, int64_t steps,
                                    uint32_t replicate) {
    struct forecast_run_options options = {.steps = steps, .replicate = replicate};
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    struct forecast_measures measures;
    ck_assert_int_eq(forecast_run(plan, &options, diagnostics, &measures), RLHFSIM_OK);
    rlhfsim_diagnostics_free(diagnostics);
    return measures;
}

static struct llm_batch sequences(double count, double tokens) {
    return (struct llm_batch){.sequences = count,
                              .tokens = count * tokens,
                              .score_pairs = count * tokens * (tokens + 1.0) / 2.0,
                              .logit_tokens = count * tokens};
}

static double rollout_s(const struct forecast_plan *plan) {
    struct generation_request requests[8];
    struct generation_outcome outcome;
    struct sim *sim = sim_new(NULL);
    struct generation_replica *replica = generation_replica_new(sim, &plan->generation);
    for (uint32_t i = 0; i < 8; i++) /* two prompts a replica */
        requests[i] = (struct generation_request){128, 256, i / 4, 0, 0, NULL};
    ck_assert_int_eq(generation_replica_solve(replica, requests, 8, &outcome), SIM_OK);
    generation_replica_free(replica);
    sim_free(sim);
    return outcome.makespan_s;
}

START_TEST(fixed_lengths_have_closed_forms) {
    struct rlhfsim_scenario *scenario = testing_scenario(GRPO, fixed_lengths);
    struct forecast_plan plan;
    forecast_plan_make(scenario, &plan);
    struct forecast_measures m = run(&plan, 3, 0);
    const struct training_plan *actor = &plan.passes[ALGORITHM_ROLE_ACTOR];
    struct llm_batch batch = sequences(4.0, 384.0);
    struct training_cost forward, train, optimizer;
    training_forward(actor, &batch, &forward);
    training_forward_backward(actor, &batch, true, &train);
    training_optimizer(actor, &optimizer);
    /* A rank has 8 samples a step: two micro-batches, in two optimizer steps of one each. */
    assert_relative(m.phase_s[ALGORITHM_PHASE_ACTOR_LOGPROB], 3 * 2 * forward.total_s, 1e-7);
    assert_relative(m.phase_s[ALGORITHM_PHASE_ACTOR_UPDATE],
                    3 * 2 * (train.total_s + optimizer.total_s), 1e-7);
    assert_relative(m.phase_s[ALGORITHM_PHASE_ROLLOUT], 3 * rollout_s(&plan), 1e-7);
    assert_relative(m.phase_s[ALGORITHM_PHASE_TRANSITION], 3 * (plan.sleep_s + plan.wake_s), 1e-7);
    assert_relative(m.phase_s[ALGORITHM_PHASE_WEIGHT_SYNC], 3 * plan.sync_s, 1e-7);
    ck_assert_double_eq(m.phase_s[ALGORITHM_PHASE_VALUES], 0.0);
    ck_assert_double_eq(m.phase_s[ALGORITHM_PHASE_CRITIC_UPDATE], 0.0);
    ck_assert_int_eq(m.optimizer_steps, 3 * 2);
    ck_assert_double_eq(m.samples, 3 * 64.0);
    ck_assert_double_eq(m.tokens, 3 * 64.0 * 384.0);
    /* 6 FLOPs a weight and token, and 12 x pairs x width for attention, see llm/work.h. */
    double flops = 3.0 * llm_forward_flops(actor->architecture, LLM_HEAD_VOCABULARY, &batch);
    assert_relative(m.training_flops, 3 * 16 * flops, 1e-12);
    rlhfsim_scenario_free(scenario);
}
END_TEST

/* fixed_lengths with something else at the end. */
static struct rlhfsim_scenario *fixed_with(const char *const more[], const char *sets[32]) {
    size_t n = 0;
    for (; fixed_lengths[n] != NULL; n++)
        sets[n] = fixed_lengths[n];
    for (; *more != NULL; more++)
        sets[n++] = *more;
    sets[n] = NULL;
    return testing_scenario(GRPO, sets);
}

/* The update of fixed_lengths on GPUs that it fills to 94 % and to 96 %: the passes of the latter
 * are slower by what the scenario says. */
START_TEST(updates_on_full_gpus_are_slower) {
    struct rlhfsim_scenario *scenario = testing_scenario(GRPO, fixed_lengths);
    struct forecast_plan plan;
    double bytes = 0.0, update_s[2];
    forecast_plan_make(scenario, &plan);
    for (size_t i = 0; i < plan.step_count; i++)
        for (int owner = 0; owner < FORECAST_OWNER_COUNT; owner++)
            for (int category = 0; category < FORECAST_CATEGORY_COUNT; category++)
                if (plan.steps[i].work == ALGORITHM_WORK_UPDATE)
                    bytes += plan.memory[i].gpu[owner][category];
    scenario->training.full_memory_slowdown = 0.25;
    for (int full = 0; full < 2; full++) {
        scenario->cluster.gpu.memory_bytes = bytes / (full ? 0.96 : 0.94);
        forecast_plan_make(scenario, &plan);
        update_s[full] = run(&plan, 1, 0).phase_s[ALGORITHM_PHASE_ACTOR_UPDATE];
    }
    struct training_cost optimizer; /* two a step */
    training_optimizer(&plan.passes[ALGORITHM_ROLE_ACTOR], &optimizer);
    double optimizers_s = 2.0 * optimizer.total_s;
    assert_relative(update_s[1] - optimizers_s, 1.25 * (update_s[0] - optimizers_s), 1e-7);
    rlhfsim_scenario_free(scenario);
}
END_TEST

/* Two stages of two chunks, so four ranks with 16 samples a step: log-probs are four micro-batches
 * through the pipeline at once, an optimizer step two. */
START_TEST(pipelines_have_closed_forms) {
    static const char *const more[] = {"training.pp=2", "training.vpp=2", "training.zero_stage=1",
                                       NULL};
    const char *sets[32];
    struct rlhfsim_scenario *scenario = fixed_with(more, sets);
    struct forecast_plan plan;
    forecast_plan_make(scenario, &plan);
    ck_assert_int_eq(plan.dp, 4);
    struct forecast_measures m = run(&plan, 3, 0);
    const struct training_plan *actor = &plan.passes[ALGORITHM_ROLE_ACTOR];
    struct llm_batch batch = sequences(4.0, 384.0);
    struct training_work four = {&batch, 4, true}, two = {&batch, 2, true};
    struct training_step forward, update;
    ck_assert_int_eq(training_step_forward(actor, &four, &forward), SIM_OK);
    ck_assert_int_eq(training_step(actor, &two, &update), SIM_OK);
    assert_relative(m.phase_s[ALGORITHM_PHASE_ACTOR_LOGPROB], 3 * forward.total_s, 1e-7);
    assert_relative(m.phase_s[ALGORITHM_PHASE_ACTOR_UPDATE], 3 * 2 * update.total_s, 1e-7);
    assert_relative(m.training_flops, 3 * 2 * 4 * update.flops, 1e-12);
    ck_assert_double_le(m.busy_gpu_s, m.total_s * plan.gpus * (1.0 + 1e-12));
    rlhfsim_scenario_free(scenario);
}
END_TEST

/* Uneven packed sequences on two stages, weights not sharded: in each optimizer step the ranks wait
 * for the slowest of four pipelines. */
START_TEST(ranks_wait_for_the_slowest_pipeline) {
    static const char *const more[] = {
        "training={tp: 1, pp: 2, zero_stage: 1, microbatch_tokens: 1024, packing: true}",
        "rollout.response_tokens={law: lognormal, mean: 128, p99: 250}", NULL};
    const char *sets[32];
    struct rlhfsim_scenario *scenario = fixed_with(more, sets);
    struct forecast_plan plan;
    struct forecast_samples samples;
    struct forecast_split split;
    forecast_plan_make(scenario, &plan);
    const struct training_plan *actor = &plan.passes[ALGORITHM_ROLE_ACTOR];
    struct training_cost optimizer;
    double expected_s = 0.0;
    bool uneven = false;
    training_optimizer(actor, &optimizer);
    ck_assert_int_eq(forecast_samples_new(&plan, &samples), RLHFSIM_OK);
    ck_assert_int_eq(forecast_split_new(&plan, plan.dp, &split), RLHFSIM_OK);
    forecast_samples_draw(&plan, 0, 1, &samples);
    for (size_t first = 0; first < 64; first += 32) {
        double slowest_s = 0.0;
        forecast_split_make(&plan, &samples, first, 32, FORECAST_PASS_UPDATE, &split);
        for (int rank = 0; rank < 4; rank++) {
            struct training_work work = {split.batches + (size_t)rank * split.stride,
                                         split.counts[rank], false};
            struct training_step step;
            ck_assert_int_eq(training_step_passes(actor, &work, &step), SIM_OK);
            uneven = uneven || (rank > 0 && step.total_s != slowest_s);
            slowest_s = fmax(slowest_s, step.total_s);
        }
        expected_s += slowest_s + optimizer.total_s;
    }
    ck_assert(uneven);
    struct forecast_measures m = run(&plan, 1, 0);
    assert_relative(m.phase_s[ALGORITHM_PHASE_ACTOR_UPDATE], expected_s, 1e-7);
    forecast_split_free(&split);
    forecast_samples_free(&samples);
    rlhfsim_scenario_free(scenario);
}
END_TEST

/* The run is its phases and nothing else, and GPUs are busy no longer than it lasts. */
START_TEST(phases_add_up) {
    static const char *const paths[] = {PPO, DPO, GRPO};
    static const char *const short_run[] = {"steps=4", NULL};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct rlhfsim_scenario *scenario = testing_scenario(paths[i], short_run);
        struct forecast_plan plan;
        forecast_plan_make(scenario, &plan);
        struct forecast_measures m = run(&plan, 4, 0);
        double sum_s = 0.0;
        for (int phase = 0; phase < ALGORITHM_PHASE_COUNT; phase++)
            sum_s += m.phase_s[phase];
        assert_relative(m.total_s, sum_s, 1e-12);
        ck_assert_double_gt(m.busy_gpu_s, 0.0);
        ck_assert_double_le(m.busy_gpu_s, m.total_s * plan.gpus * (1.0 + 1e-12));
        rlhfsim_scenario_free(scenario);
    }
}
END_TEST

/* Each step is the same work: twice the steps of a fixed-length run take twice as long. */
START_TEST(steps_are_independent) {
    static const char *const more[] = {"steps=6", NULL};
    const char *sets[32];
    size_t n = 0;
    for (; fixed_lengths[n] != NULL; n++)
        sets[n] = fixed_lengths[n];
    sets[n++] = more[0];
    sets[n] = NULL;
    struct rlhfsim_scenario *scenario = testing_scenario(GRPO, sets);
    struct forecast_plan plan;
    forecast_plan_make(scenario, &plan);
    double three_s = run(&plan, 3, 0).total_s, six_s = run(&plan, 6, 0).total_s;
    assert_relative(six_s, 2.0 * three_s, 1e-9);
    rlhfsim_scenario_free(scenario);
}
END_TEST

/* Replicates differ in their lengths, the same replicate does not. */
START_TEST(replicates_differ) {
    static const char *const short_run[] = {"steps=4", NULL};
    struct rlhfsim_scenario *scenario = testing_scenario(PPO, short_run);
    struct forecast_plan plan;
    forecast_plan_make(scenario, &plan);
    struct forecast_measures a = run(&plan, 4, 0), b = run(&plan, 4, 0), c = run(&plan, 4, 1);
    ck_assert(a.total_s == b.total_s && a.response_tokens == b.response_tokens);
    ck_assert(a.total_s != c.total_s && a.response_tokens != c.response_tokens);
    rlhfsim_scenario_free(scenario);
}
END_TEST

/* Saves: after every 3rd of 8 steps and after the last, so 3 in all; the two newest are kept. */
START_TEST(checkpoints_are_saved_and_kept) {
    const char *sets[32];
    size_t n = 0;
    for (; fixed_lengths[n] != NULL; n++)
        sets[n] = fixed_lengths[n];
    sets[n++] = "steps=8";
    sets[n++] = "checkpoint.every_steps=3";
    sets[n++] = "checkpoint.keep=2";
    sets[n] = NULL;
    struct rlhfsim_scenario *scenario = testing_scenario(GRPO, sets);
    struct forecast_plan plan;
    forecast_plan_make(scenario, &plan);
    struct forecast_measures m = run(&plan, 8, 0);
    double save_s = checkpoint_save_s(&plan.checkpoint);
    double step_s = (m.total_s - 3 * save_s) / 8;
    assert_relative(m.phase_s[ALGORITHM_PHASE_CHECKPOINT], 3 * save_s, 1e-7);
    ck_assert_double_eq(m.stored_bytes, 2 * plan.checkpoint.bytes);
    /* One is there from the end of the first save, for 3 steps and a save; then two, for 2 steps
     * and a save. */
    double byte_s = plan.checkpoint.bytes * (3 * step_s + save_s + 2 * (2 * step_s + save_s));
    assert_relative(m.storage_byte_s, byte_s, 1e-6);
    rlhfsim_scenario_free(scenario);
}
END_TEST

/* A precomputed reference goes once over all pairs, not once an epoch. */
START_TEST(precomputed_reference_passes_once) {
    static const char *const every[] = {"dataset.pairs=200", /* 64 + 64 + 64 + 8 */
                                        "dataset.epochs=3",
                                        "algorithm.minibatch_samples=64",
                                        "rollout.prompt_tokens={law: fixed, mean: 128}",
                                        "rollout.response_tokens={law: fixed, mean: 256}",
                                        NULL};
    static const char *const once[] = {"dataset.pairs=200",
                                       "dataset.epochs=3",
                                       "algorithm.minibatch_samples=64",
                                       "rollout.prompt_tokens={law: fixed, mean: 128}",
                                       "rollout.response_tokens={law: fixed, mean: 256}",
                                       "algorithm.reference_logprobs=precomputed",
                                       NULL};
    struct rlhfsim_scenario *a = testing_scenario(DPO, every), *b = testing_scenario(DPO, once);
    struct forecast_plan plan_a, plan_b;
    forecast_plan_make(a, &plan_a);
    forecast_plan_make(b, &plan_b);
    struct forecast_measures every_step = run(&plan_a, 12, 0), before = run(&plan_b, 12, 0);
    assert_relative(every_step.phase_s[ALGORITHM_PHASE_REFERENCE_LOGPROB],
                    3.0 * before.phase_s[ALGORITHM_PHASE_REFERENCE_LOGPROB], 1e-6);
    ck_assert_double_eq(every_step.phase_s[ALGORITHM_PHASE_ACTOR_UPDATE],
                        before.phase_s[ALGORITHM_PHASE_ACTOR_UPDATE]);
    ck_assert_double_le(forecast_gpu_peak(&plan_b).bytes, forecast_gpu_peak(&plan_a).bytes);
    rlhfsim_scenario_free(a);
    rlhfsim_scenario_free(b);
}
END_TEST

/* ---- short steps ----------------------------------------------------------------------------- */

struct played {
    struct rlhfsim_scenario *scenario;
    struct forecast_plan plan;
    struct forecast_measures m;
};

/* A whole run of a scenario with fixed lengths, `steps` left out. */
static void play(struct played *played, const char *prompts, const char *epochs) {
    const char *sets[32];
    size_t n = 0;
    for (; fixed_lengths[n + 1] != NULL; n++)
        sets[n] = fixed_lengths[n + 1];
    sets[n++] = "dataset.drop_last=false";
    sets[n++] = prompts;
    sets[n++] = epochs;
    sets[n] = NULL;
    played->scenario = testing_scenario(GRPO, sets);
    forecast_plan_make(played->scenario, &played->plan);
    played->m = run(&played->plan, played->scenario->steps, 0);
}

/* 41 prompts are two steps of 16 and one of 9: 36 samples, of which ranks 0 to 3 score 5 and the
 * others 4 (micro-batches of 4 and 1), and train 4 each in a first mini-batch of 32 and one each,
 * or none, in a last one of 4. Of 8 replicas one has two prompts, as in a full step. */
START_TEST(short_step_by_hand) {
    struct played played;
    struct training_cost forward[2], train[2], optimizer;
    play(&played, "dataset.prompts=41", "dataset.epochs=1");
    const struct forecast_measures *m = &played.m;
    const struct training_plan *actor = &played.plan.passes[ALGORITHM_ROLE_ACTOR];
    for (int i = 0; i < 2; i++) {
        struct llm_batch batch = sequences(i == 0 ? 4.0 : 1.0, 384.0);
        training_forward(actor, &batch, &forward[i]);
        training_forward_backward(actor, &batch, true, &train[i]);
    }
    training_optimizer(actor, &optimizer);
    ck_assert_int_eq(played.scenario->steps, 3);
    assert_relative(m->phase_s[ALGORITHM_PHASE_ACTOR_LOGPROB],
                    5 * forward[0].total_s + forward[1].total_s, 1e-7);
    assert_relative(m->phase_s[ALGORITHM_PHASE_ACTOR_UPDATE],
                    5 * train[0].total_s + train[1].total_s + 6 * optimizer.total_s, 1e-7);
    assert_relative(m->phase_s[ALGORITHM_PHASE_ROLLOUT], 3 * rollout_s(&played.plan), 1e-7);
    assert_relative(m->phase_s[ALGORITHM_PHASE_REWARD], 41 * 4 * played.scenario->reward.sample_s,
                    1e-7);
    ck_assert_double_eq(m->samples, 41 * 4.0);
    ck_assert_double_eq(m->tokens, 41 * 4 * 384.0);
    ck_assert_int_eq(m->optimizer_steps, 6);
    struct llm_batch all = sequences(41 * 4.0, 384.0);
    assert_relative(m->training_flops,
                    3.0 * llm_forward_flops(actor->architecture, LLM_HEAD_VOCABULARY, &all), 1e-12);
    rlhfsim_scenario_free(played.scenario);
}
END_TEST

/* Fewer samples than ranks: four ranks have one each, the others wait for them. */
START_TEST(fewer_samples_than_ranks) {
    struct played one, full;
    struct llm_batch batch = sequences(1.0, 384.0);
    struct training_cost forward, train, optimizer;
    play(&one, "dataset.prompts=1", "dataset.epochs=15");
    play(&full, "dataset.prompts=16", "dataset.epochs=15");
    const struct training_plan *actor = &one.plan.passes[ALGORITHM_ROLE_ACTOR];
    training_forward(actor, &batch, &forward);
    training_forward_backward(actor, &batch, true, &train);
    training_optimizer(actor, &optimizer);
    assert_relative(one.m.phase_s[ALGORITHM_PHASE_ACTOR_LOGPROB], 15 * forward.total_s, 1e-7);
    assert_relative(one.m.phase_s[ALGORITHM_PHASE_ACTOR_UPDATE],
                    15 * (train.total_s + optimizer.total_s), 1e-7);
    ck_assert_double_eq(one.m.samples, 15 * 4.0);
    ck_assert_int_eq(one.m.optimizer_steps, 15);
    ck_assert_double_eq(full.m.samples, 15 * 64.0);
    ck_assert_double_lt(one.m.total_s, full.m.total_s);
    /* Everything waits for the one replica and the four ranks that work. */
    ck_assert_double_le(one.m.busy_gpu_s,
                        one.m.total_s * 8.0 - 7.0 * one.m.phase_s[ALGORITHM_PHASE_ROLLOUT] -
                            4.0 * 15.0 * (forward.total_s + train.total_s) + 1e-6);
    rlhfsim_scenario_free(one.scenario);
    rlhfsim_scenario_free(full.scenario);
}
END_TEST

struct conserved_case {
    const char *path, *size, *minibatch;
    double samples; /* of three passes over the data */
};

/* Prompts x samples a prompt x epochs, whatever a step takes; drop_last leaves the rest out. */
START_TEST(every_prompt_is_rolled_out) {
    static const struct conserved_case cases[] = {
        {PPO, "dataset.prompts=75", "algorithm.minibatch_samples=16", 3 * 75.0},
        {GRPO, "dataset.prompts=75", "algorithm.minibatch_samples=40", 3 * 75 * 5.0},
        {DPO, "dataset.pairs=75", "algorithm.minibatch_samples=32", 3 * 75.0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool pairs = i == 2;
        for (int drop = 0; drop < 2; drop++) {
            const char *sets[8] = {cases[i].size, cases[i].minibatch, "dataset.epochs=3",
                                   drop ? "dataset.drop_last=true" : "dataset.drop_last=false"};
            size_t n = 4;
            sets[n++] = i == 0 ? "training.microbatch_samples=2" : "checkpoint.every_steps=0";
            sets[n++] = pairs ? "training.microbatch_samples=2" : "algorithm.prompts_per_step=32";
            struct rlhfsim_scenario *scenario = testing_scenario(cases[i].path, sets);
            struct forecast_plan plan;
            forecast_plan_make(scenario, &plan);
            struct forecast_measures m = run(&plan, scenario->steps, 0);
            /* 75 = 32 + 32 + 11 */
            ck_assert_int_eq(scenario->steps, drop ? 6 : 9);
            ck_assert_double_eq(m.samples,
                                drop ? cases[i].samples * 64.0 / 75.0 : cases[i].samples);
            ck_assert_int_eq(m.optimizer_steps, scenario_optimizer_steps(scenario));
            rlhfsim_scenario_free(scenario);
        }
    }
}
END_TEST

static Suite *run_suite(void) {
    Suite *suite = suite_create("forecast/run");
    TCase *tcase = tcase_create("run");
    tcase_add_test(tcase, pipelines_have_closed_forms);
    tcase_add_test(tcase, ranks_wait_for_the_slowest_pipeline);
    tcase_add_test(tcase, fixed_lengths_have_closed_forms);
    tcase_add_test(tcase, updates_on_full_gpus_are_slower);
    tcase_add_test(tcase, phases_add_up);
    tcase_add_test(tcase, steps_are_independent);
    tcase_add_test(tcase, replicates_differ);
    tcase_add_test(tcase, checkpoints_are_saved_and_kept);
    tcase_add_test(tcase, precomputed_reference_passes_once);
    tcase_add_test(tcase, short_step_by_hand);
    tcase_add_test(tcase, fewer_samples_than_ranks);
    tcase_add_test(tcase, every_prompt_is_rolled_out);
    suite_add_tcase(suite, tcase);
    return suite;
}

TESTING_MAIN(run_suite)
