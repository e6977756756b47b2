/* SPDX-License-Identifier: GPL-3.0-or-later */

/* What makes a scenario fit, kind by kind, and searches against twins that try every value. */

#include "models/forecast/variant.h"
#include "tests/scenarios.h"
#include "tests/testing.h"

#include <rlhfsim/rlhfsim.h>

#include <stdio.h>
#include <string.h>

#define PPO "scenarios/ppo-llama2-7b-8xa100.yaml"
#define GRPO "scenarios/grpo-qwen2.5-7b-8xh100.yaml"
#define DPO "scenarios/dpo-llama2-7b-8xa100.yaml"

static struct rlhfsim_diagnostics *diagnostics;
static struct rlhfsim_source *source;

static void setup(void) {
    diagnostics = rlhfsim_diagnostics_new();
    source = NULL;
}

static void teardown(void) {
    rlhfsim_source_free(source);
    rlhfsim_diagnostics_free(diagnostics);
}

/* The source keeps the options. */
static void read_source(const char *path, const char *const *sets) {
    static struct rlhfsim_scenario_options options;
    options =
        (struct rlhfsim_scenario_options){.catalog_directory = "scenarios/catalog", .sets = sets};
    while (sets[options.set_count] != NULL)
        options.set_count++;
    rlhfsim_source_free(source);
    ck_assert_int_eq(rlhfsim_source_read(path, &options, diagnostics, &source), RLHFSIM_OK);
}

/* ---- kinds of changes ------------------------------------------------------------------------ */

#define SETS 7

/* Optimizer states of 70B, 828 GB, on a host of 644 GB beside disks of 1.2 TB. */
#define DPO_70B                                                                        \
    "models={actor: {model: Llama-2-70b-hf}, reference: {model: Llama-2-70b-hf}}",     \
        "training.offload=optimizer", "training.microbatch_samples=1",                 \
        "cluster.node={like: aws-p4de.24xlarge, host_memory_gib: 600, nvme_gb: 1200, " \
        "nvme_read_gb_per_s: 10, nvme_write_gb_per_s: 8}",                             \
        "prices.node_usd_per_hour=27", "checkpoint.every_steps=0"

static const struct {
    const char *what, *path, *sets[SETS], *settings;
} kinds[] = {
    {"smaller micro-batches",
     DPO,
     {"training.microbatch_samples=8", "training.recompute=none"},
     ""},
    {"a smaller token budget", GRPO, {"training.microbatch_tokens=90000"}, ""},
    {"more recomputation",
     DPO,
     {"training.microbatch_samples=4", "training.recompute=none", "rollout.max_new_tokens=2048"},
     ""},
    {"a higher ZeRO stage", PPO, {"training.zero_stage=2", "rollout.memory_fraction=0.45"}, ""},
    {"offload of what is trained", PPO, {"rollout.memory_fraction=0.7"}, ""},
    {"offload of the reference",
     PPO,
     {"rollout.memory_fraction=0.65", "models.reference.model=Llama-2-70b-hf"},
     "models.reference.offload=parameters"},
    {"offload of activations",
     DPO,
     {"training.microbatch_samples=4", "training.recompute=none", "rollout.max_new_tokens=2048"},
     "training.offload_activations=true"},
    {"tensor parallelism", GRPO, {"training.microbatch_tokens=90000"}, ""},
    {"another share for the engine",
     PPO,
     {"rollout.memory_fraction=0.9"},
     "rollout.memory_fraction=0.55"},
    {"logits in slices", GRPO, {"training.microbatch_tokens=60000"}, "training.logits=chunked"},
    {"LoRA adapters",
     PPO,
     {"rollout.memory_fraction=0.7"},
     "models.actor.lora_rank=32 models.critic.lora_rank=32"},
    {"more GPUs", PPO, {"rollout.memory_fraction=0.7"}, ""},
    {"models loaded in parts",
     "scenarios/dpo-lora-llama2-70b-8xa100.yaml",
     {"training.load=every_rank", "cluster.node={like: aws-p4de.24xlarge, host_memory_gib: 600}",
      "prices.node_usd_per_hour=27"},
     "training.load=first_rank"},
    {"an engine that wakes in stages",
     PPO,
     {"rollout.wake=whole", "rollout.memory_fraction=0.64", "training.recompute=full"},
     "rollout.wake=staged"},
    {"an engine that drops its weights",
     PPO,
     {"rollout.sleeping_weights=host", "checkpoint.every_steps=0",
      "cluster.node={like: aws-p4de.24xlarge, host_memory_gib: 64}", "prices.node_usd_per_hour=27"},
     "rollout.sleeping_weights=discarded"},
    {"offload of the reward model",
     PPO,
     {"rollout.memory_fraction=0.65", "models.reward.model=Llama-2-70b-hf"},
     "models.reward.offload=parameters"},
    {"pipeline stages", DPO, {"training.zero_stage=0"}, "training.pp=2"},
    {"context parallelism", GRPO, {"training.microbatch_tokens=60000"}, "training.cp=2"},
    {"tensor parallelism of the engine", PPO, {"rollout.memory_fraction=0.17"}, "rollout.tp=2"},
    {"an 8-bit optimizer", DPO, {DPO_70B}, "training.optimizer=adam_8bit"},
    {"offloaded optimizers on NVMe", DPO, {DPO_70B}, "training.offload_optimizer_to=nvme"},
    {"nothing trained offloaded",
     DPO,
     {"training.offload=optimizer", "cluster.node={like: aws-p4de.24xlarge, host_memory_gib: 64}",
      "prices.node_usd_per_hour=27", "checkpoint.every_steps=0"},
     "training.offload=none"},
    {"offloaded optimizers on the host",
     DPO,
     {"training.offload=optimizer", "training.offload_optimizer_to=nvme",
      "cluster.node={like: aws-p4de.24xlarge, nvme_gb: 50, nvme_read_gb_per_s: 10, "
      "nvme_write_gb_per_s: 8}",
      "prices.node_usd_per_hour=27", "checkpoint.every_steps=0"},
     "training.offload_optimizer_to=host"},
};

/* Each kind is found where it helps, with its settings, and what it takes: the mildest value that
 * is no marginal case, where there is one. The scenario as it stands does not fit. */
START_TEST(each_kind_is_found) {
    struct rlhfsim_advice *advice;
    struct rlhfsim_change change;
    bool found = false;
    double before = 0.0;
    read_source(kinds[_i].path, kinds[_i].sets);
    ck_assert_int_eq(rlhfsim_advice_find(source, diagnostics, &advice), RLHFSIM_OK);
    ck_assert_msg(rlhfsim_advice_change(advice, 0, &change), "%s: nothing", kinds[_i].what);
    for (size_t i = 0; rlhfsim_advice_change(advice, i, &change); i++) {
        ck_assert_double_ge(change.cost_usd, before);
        ck_assert_double_gt(change.time_s, 0.0);
        before = change.cost_usd;
        if (strcmp(change.what, kinds[_i].what) != 0)
            continue;
        found = true;
        if (kinds[_i].settings[0] != '\0')
            ck_assert_str_eq(change.settings, kinds[_i].settings);
    }
    ck_assert_msg(found, "%s: not found", kinds[_i].what);
    rlhfsim_advice_free(advice);
}
END_TEST

/* ---- twins ----------------------------------------------------------------------------------- */

static bool fits(struct forecast_variant *variant, const char *settings) {
    ck_assert_int_eq(forecast_variant_try(variant, settings), RLHFSIM_OK);
    return forecast_variant_fits(variant);
}

static const struct {
    const char *path, *sets[SETS];
} scenarios[] = {
    {DPO, {"training.microbatch_samples=1", "algorithm.minibatch_samples=840"}},
    {DPO, {"training.zero_stage=2", "training.microbatch_samples=1"}},
    {PPO, {"training.recompute=none", "training.microbatch_samples=2"}},
    {PPO, {"training.offload=optimizer", "rollout.memory_fraction=0.8"}},
    {GRPO, {"training.logits=chunked"}},
    {"scenarios/reinforce-plus-plus-qwen2.5-7b-8xh100.yaml", {"steps=4"}},
    {GRPO, {"rollout.tp=1", "rollout.memory_fraction=0.7"}},
    {PPO,
     {"placement={mode: split, train_gpus: 6, rollout_gpus: 2}", "rollout.weight_sync=verl-nccl",
      "algorithm.prompts_per_step=96", "algorithm.minibatch_samples=96",
      "training.microbatch_samples=1"}},
};

/* The first number of GPUs, and after a node of nodes, that is legal and fits. */
START_TEST(least_gpus) {
    struct rlhfsim_search search;
    char settings[192];
    int expected = 0;
    bool split = strstr(scenarios[_i].sets[0], "split") != NULL;
    read_source(scenarios[_i].path, scenarios[_i].sets);
    struct forecast_variant *variant = forecast_variant_new(source);
    for (int gpus = 1; gpus <= 32 && expected == 0; gpus++) {
        if (gpus > 8 && gpus % 8 != 0)
            continue;
        int used = snprintf(settings, sizeof settings, "cluster.nodes=%d cluster.gpus_per_node=%d",
                            (gpus + 7) / 8, gpus < 8 ? gpus : 8);
        if (split && gpus % 4 != 0)
            continue;
        if (split) /* three to one */
            snprintf(settings + used, sizeof settings - (size_t)used,
                     " placement.train_gpus=%d placement.rollout_gpus=%d", gpus / 4 * 3, gpus / 4);
        if (fits(variant, settings))
            expected = gpus;
    }
    ck_assert_int_eq(rlhfsim_search_min_gpus(source, diagnostics, &search), RLHFSIM_OK);
    ck_assert_int_gt(expected, 0);
    ck_assert(search.found);
    ck_assert_int_eq(search.gpus, expected);
    forecast_variant_free(variant);
}
END_TEST

/* Every number of samples; of token budgets every 499th, and those beside the answer. */
START_TEST(largest_micro_batch) {
    struct rlhfsim_search search;
    char settings[96];
    int64_t samples = 0, tokens = 0;
    read_source(scenarios[_i].path, scenarios[_i].sets);
    struct forecast_variant *variant = forecast_variant_new(source);
    ck_assert_int_eq(rlhfsim_search_max_microbatch(source, diagnostics, &search), RLHFSIM_OK);
    (void)fits(variant, "");
    bool budget = variant->scenario->training.microbatch_tokens > 0;
    int64_t longest = variant->plan.prompt_limit + variant->plan.response_limit;
    int64_t rank = variant->scenario->algorithm.minibatch_samples / variant->plan.dp;
    for (int64_t n = 1; !budget && n <= rank; n++) {
        snprintf(settings, sizeof settings, "training.microbatch_samples=%d", (int)n);
        if (fits(variant, settings))
            samples = n;
    }
    /* Log-probs are made of all samples of a step at once. */
    if (budget)
        rank = variant->scenario->algorithm.prompts_per_step *
               variant->scenario->algorithm.samples_per_prompt / variant->plan.dp;
    for (int64_t n = longest; budget && n <= rank * longest;
         n += n < search.tokens - 499 ? 499 : 1) {
        if (n > search.tokens + 1)
            n += 498;
        snprintf(settings, sizeof settings, "training.microbatch_tokens=%d", (int)n);
        if (fits(variant, settings))
            tokens = n;
    }
    ck_assert_int_eq(search.samples, samples);
    ck_assert_int_eq(search.tokens, tokens);
    forecast_variant_free(variant);
}
END_TEST

/* Three to one: of 4 GPUs, 8, 16, ... */
START_TEST(pools_keep_their_proportions) {
    static const char *const sets[] = {
        "placement={mode: split, train_gpus: 6, rollout_gpus: 2}", "rollout.weight_sync=verl-nccl",
        "algorithm.prompts_per_step=96", "algorithm.minibatch_samples=96", NULL};
    char settings[192];
    read_source(PPO, sets);
    struct forecast_variant *variant = forecast_variant_new(source);
    ck_assert(fits(variant, ""));
    ck_assert(!forecast_variant_gpus(&variant->plan, 3, settings, sizeof settings));
    ck_assert(!forecast_variant_gpus(&variant->plan, 12, settings, sizeof settings));
    ck_assert(forecast_variant_gpus(&variant->plan, 16, settings, sizeof settings));
    ck_assert_str_eq(settings, "cluster.nodes=2 cluster.gpus_per_node=8 placement.train_gpus=12 "
                               "placement.rollout_gpus=4");
    forecast_variant_free(variant);
}
END_TEST

/* An answer near the limit says how likely it is. */
START_TEST(answers_near_the_limit) {
    static const char *const sets[] = {"training.logits=chunked", NULL};
    struct rlhfsim_search search;
    read_source(GRPO, sets);
    ck_assert_int_eq(rlhfsim_search_max_microbatch(source, diagnostics, &search), RLHFSIM_OK);
    double fill = search.peak_bytes / search.capacity_bytes;
    ck_assert_double_gt(fill, 0.95);
    ck_assert_double_le(fill, 1.0);
    ck_assert_double_gt(search.fit_probability, 0.5 - 1e-3);
    ck_assert_double_lt(search.fit_probability, 0.85);
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("forecast.searches");
    TCase *tests = tcase_create("searches");
    const int count = (int)(sizeof scenarios / sizeof *scenarios);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, each_kind_is_found, 0, (int)(sizeof kinds / sizeof *kinds));
    tcase_add_loop_test(tests, least_gpus, 0, count);
    tcase_add_loop_test(tests, largest_micro_batch, 0, count);
    tcase_add_test(tests, pools_keep_their_proportions);
    tcase_add_test(tests, answers_near_the_limit);
    suite_add_tcase(suite, tests);
    return suite;
}

TESTING_MAIN(suite)
