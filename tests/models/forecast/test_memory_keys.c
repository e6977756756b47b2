/* SPDX-License-Identifier: GPL-3.0-or-later */

/* Keys that change what is in memory: each by the bytes that it must change, from a scenario as a
 * user has it, and the mistakes with it. */

#include "models/forecast/footprint.h"
#include "models/forecast/microbatch.h"
#include "models/forecast/planning.h"
#include "tests/scenarios.h"
#include "tests/testing.h"

#include <rlhfsim/rlhfsim.h>

#include <stdio.h>
#include <string.h>

#define GRPO "scenarios/grpo-qwen2.5-7b-8xh100.yaml"
#define PPO "scenarios/ppo-llama2-7b-8xa100.yaml"

#define QWEN_VOCABULARY 152064.0
#define LLAMA_2_VOCABULARY 32000.0

static struct rlhfsim_scenario *scenario;
static struct forecast_plan plan;

static void plan_with(const char *path, const char *const *sets) {
    rlhfsim_scenario_free(scenario);
    scenario = testing_scenario(path, sets);
    forecast_plan_make(scenario, &plan);
}

static void teardown(void) {
    rlhfsim_scenario_free(scenario);
    scenario = NULL;
}

/* Of the actor in a phase. */
static double held(enum algorithm_phase phase, enum forecast_category category) {
    for (size_t i = 0; i < plan.step_count; i++)
        if (plan.steps[i].phase == phase)
            return plan.memory[i].gpu[plan.steps[i].role][category];
    ck_abort_msg("no such phase");
    return 0.0;
}

/* The first error names the key. */
static void refused(const char *path, const char *const *sets, const char *text) {
    struct rlhfsim_scenario_options options = {.catalog_directory = "scenarios/catalog",
                                               .sets = sets};
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    struct rlhfsim_scenario *none = NULL;
    while (sets[options.set_count] != NULL)
        options.set_count++;
    ck_assert_int_eq(rlhfsim_scenario_load(path, &options, diagnostics, &none), RLHFSIM_INVALID);
    const char *message = rlhfsim_diagnostics_get(diagnostics, 0)->message;
    ck_assert_msg(strstr(message, text) != NULL, "'%s' is not in '%s'", text, message);
    rlhfsim_diagnostics_free(diagnostics);
}

/* ---- the loss -------------------------------------------------------------------------------- */

/* verl's fused loss has logits and two gradients in bf16, 6 bytes; the entropy's softmax and
 * gradient are 4 more. A loss in slices has its own, whatever is in it. */
START_TEST(entropy_keeps_copies) {
    const char *const sets[][3] = {
        {"training.microbatch_tokens=32768", NULL},
        {"training.microbatch_tokens=32768", "training.entropy_loss=true", NULL},
        {"training.entropy_loss=true", "training.logits=fused", NULL}};
    const double bytes[] = {6.0, 10.0, 0.0};
    for (size_t i = 0; i < 3; i++) {
        plan_with(GRPO, sets[i]);
        double tokens =
            forecast_largest_batch(&plan, FORECAST_PASS_UPDATE, forecast_fullest_step(scenario))
                .tokens;
        ck_assert_double_gt(tokens, 0.0);
        ck_assert_double_eq(held(ALGORITHM_PHASE_ACTOR_UPDATE, FORECAST_CATEGORY_LOGITS),
                            bytes[i] * tokens * QWEN_VOCABULARY);
    }
}
END_TEST

/* ---- micro-batches of passes without gradients ------------------------------------------------
 */

/* Sequences of 256 + 512 tokens; verl keeps 4 bytes of a logit then. Updates keep theirs. */
START_TEST(log_probs_have_their_own_micro_batches) {
    static const char *const none[] = {NULL};
    static const char *const samples[] = {"training.logprob_microbatch_samples=32", NULL};
    static const char *const budget[] = {"training.packing=true",
                                         "training.logprob_microbatch_tokens=30000", NULL};
    const char *const *const sets[] = {none, samples, budget};
    const double tokens[] = {8.0 * 768.0, 32.0 * 768.0, 30000.0};
    double update = 0.0;
    for (size_t i = 0; i < 3; i++) {
        plan_with(PPO, sets[i]);
        ck_assert_double_eq(held(ALGORITHM_PHASE_ACTOR_LOGPROB, FORECAST_CATEGORY_LOGITS),
                            4.0 * tokens[i] * LLAMA_2_VOCABULARY);
        double now = held(ALGORITHM_PHASE_ACTOR_UPDATE, FORECAST_CATEGORY_ACTIVATIONS);
        ck_assert(i == 0 || now == update);
        update = now;
    }
}
END_TEST

START_TEST(mistakes_with_micro_batches) {
    static const char *const both[] = {"training.packing=true",
                                       "training.logprob_microbatch_samples=4",
                                       "training.logprob_microbatch_tokens=30000", NULL};
    static const char *const padded[] = {"training.logprob_microbatch_tokens=30000", NULL};
    static const char *const small[] = {"training.packing=true",
                                        "training.logprob_microbatch_tokens=700", NULL};
    static const char *const unused[] = {"training.logprob_microbatch_samples=1", NULL};
    refused(PPO, both, "exclude each other");
    refused(PPO, padded, "expected training.packing: true");
    refused(PPO, small, "training.logprob_microbatch_tokens is 700, expected at least");
    refused("scenarios/sft-llama2-7b-8xa100.yaml", unused,
            "training.logprob_microbatch_samples is not used by sft, which has no passes without "
            "gradients");
}
END_TEST

/* ---- fusion -----------------------------------------------------------------------------------
 */

/* verl trains eager modules (its row says so). Without recomputation, of each of 32 blocks and
 * token, 4,096 wide with 11,008 in the feed-forward: two norms keep 4 bytes an element more, the
 * gate 2. */
START_TEST(fusion_is_the_frameworks_unless_said) {
    static const char *const own[] = {"training.recompute=none", NULL};
    static const char *const eager[] = {"training.recompute=none", "training.fusion=eager", NULL};
    static const char *const compiled[] = {"training.recompute=none", "training.fusion=compiled",
                                           NULL};
    const char *const *const sets[] = {own, eager, compiled};
    double bytes[3];
    for (size_t i = 0; i < 3; i++) {
        plan_with(PPO, sets[i]);
        bytes[i] = held(ALGORITHM_PHASE_ACTOR_UPDATE, FORECAST_CATEGORY_ACTIVATIONS);
    }
    ck_assert_double_eq(bytes[0], bytes[1]);
    double more = 32.0 * (2.0 * 4.0 * 4096.0 + 2.0 * 11008.0);
    assert_relative(bytes[1] - bytes[2], 8.0 * 768.0 * more, 1e-9);
}
END_TEST

/* ---- adapters ---------------------------------------------------------------------------------
 */

/* Rank 16 on queries, keys and values alone: 16 x (4,096 + 3 x 4,096) of each of 32 blocks where
 * they are one product, in fp32 with two moments over 8 ranks. */
START_TEST(targets_of_adapters) {
    static const char *const sets[] = {"models.actor.lora_rank=16", "models.actor.lora_targets=qkv",
                                       NULL};
    plan_with(PPO, sets);
    double adapters = 32.0 * 16.0 * (4096.0 + 3.0 * 4096.0);
    assert_relative(held(ALGORITHM_PHASE_ACTOR_UPDATE, FORECAST_CATEGORY_OPTIMIZER),
                    8.0 * adapters / 8.0, 1e-9);
}
END_TEST

/* The actor with its adapters off is the reference: its weights, which are offloaded, are fetched
 * for that pass as for its own. */
START_TEST(adapters_off_need_the_weights) {
    static const char *const sets[] = {"models={actor: {model: Qwen2.5-7B, lora_rank: 16}}",
                                       "training.offload=parameters", NULL};
    plan_with("scenarios/grpo-qwen2.5-7b-8xh100.yaml", sets);
    double own = held(ALGORITHM_PHASE_ACTOR_LOGPROB, FORECAST_CATEGORY_WEIGHTS);
    ck_assert_double_gt(own, 7615616512.0 * 2.0 / 8.0);
    for (size_t i = 0; i < plan.step_count; i++)
        if (plan.steps[i].phase == ALGORITHM_PHASE_REFERENCE_LOGPROB)
            ck_assert_double_eq(plan.memory[i].gpu[ALGORITHM_ROLE_ACTOR][FORECAST_CATEGORY_WEIGHTS],
                                own);
}
END_TEST

/* Merged adapters are no work in passes without gradients: they then take what those of the model
 * without adapters take, but for the bytes of the adapters in each block's gather. */
START_TEST(merged_adapters_cost_nothing) {
    static const char *const plain[] = {NULL};
    static const char *const apart[] = {"models.actor.lora_rank=16", NULL};
    static const char *const merged[] = {"models.actor.lora_rank=16", "training.lora_merged=true",
                                         NULL};
    const char *const *const sets[] = {plain, apart, merged};
    struct llm_batch batch = {8.0, 8.0 * 768.0, 8.0 * llm_causal_pairs(768.0, 0.0), 8.0 * 512.0,
                              0.0};
    double seconds[3];
    for (size_t i = 0; i < 3; i++) {
        struct training_cost cost;
        plan_with(PPO, sets[i]);
        training_forward(&plan.passes[ALGORITHM_ROLE_ACTOR], &batch, &cost);
        seconds[i] = cost.total_s;
    }
    assert_relative(seconds[2], seconds[0], 1e-3);
    ck_assert_double_gt(seconds[1], 1.02 * seconds[0]);
}
END_TEST

START_TEST(mistakes_with_adapters) {
    static const char *const merged[] = {"training.lora_merged=true", NULL};
    static const char *const targets[] = {"models.actor.lora_targets=qkv", NULL};
    static const char *const packed[] = {"training.base_weights=nf4", NULL};
    refused(PPO, merged, "training.lora_merged is true, but there is nothing to merge");
    refused(PPO, targets,
            "models.actor.lora_targets is written, but models.actor has no lora_rank");
    refused(PPO, packed, "training.base_weights is nf4, which no model uses");
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("forecast.memory_keys");
    TCase *tests = tcase_create("keys");
    tcase_add_checked_fixture(tests, NULL, teardown);
    tcase_add_test(tests, entropy_keeps_copies);
    tcase_add_test(tests, log_probs_have_their_own_micro_batches);
    tcase_add_test(tests, mistakes_with_micro_batches);
    tcase_add_test(tests, fusion_is_the_frameworks_unless_said);
    tcase_add_test(tests, targets_of_adapters);
    tcase_add_test(tests, adapters_off_need_the_weights);
    tcase_add_test(tests, merged_adapters_cost_nothing);
    tcase_add_test(tests, mistakes_with_adapters);
    suite_add_tcase(suite, tests);
    return suite;
}

TESTING_MAIN(suite)
