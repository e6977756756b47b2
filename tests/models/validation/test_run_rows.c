/* SPDX-License-Identifier: GPL-3.0-or-later */

/* Rows of published runs as scenarios: settings, the file they make, what is lacking. */

#include "models/scenario/catalog_load.h"
#include "models/validation/run_rows.h"
#include "tests/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER                                                                               \
    "run_key,framework,algorithm,actor_model,critic_model,reward_model,reference_model,gpu," \
    "num_gpus,gpus_per_node,placement,train_backend,train_tp,train_pp,train_cp,train_ep,"    \
    "zero_stage,train_precision,recompute,offload,lora_rank,packing,rollout_tp,"             \
    "prompts_per_step,samples_per_prompt,mean_prompt_tokens,max_prompt_tokens,"              \
    "mean_response_tokens,max_response_tokens,minibatch_samples,microbatch_samples,"         \
    "microbatch_tokens,ppo_epochs,notes\n"

static struct catalog *catalog;
static struct rlhfsim_diagnostics *diagnostics;
static struct base_arena arena;
static struct run_settings settings;

static void setup(void) {
    catalog = catalog_new();
    diagnostics = rlhfsim_diagnostics_new();
    arena = (struct base_arena){0};
    ck_assert_int_eq(catalog_load(catalog, "scenarios/catalog", true, diagnostics), RLHFSIM_OK);
}

static void teardown(void) {
    catalog_free(catalog);
    rlhfsim_diagnostics_free(diagnostics);
    base_arena_release(&arena);
}

static void read_row(const char *text, bool only_memory) {
    char file[2048];
    struct csv_table table;
    int length = snprintf(file, sizeof file, HEADER "%s\n", text);
    ck_assert_int_eq(csv_table_read(&arena, "t.csv", file, (size_t)length, diagnostics, &table),
                     RLHFSIM_OK);
    run_row_read(catalog, &table, table.rows, only_memory, &settings);
}

static bool has(const char *setting) {
    for (size_t i = 0; i < settings.count; i++)
        if (strcmp(settings.at[i], setting) == 0)
            return true;
    return false;
}

/* yushengsu-thu/verl_training_log @deb1507ca: PPO of a 7B model on 8 MI300X. */
static const char ppo[] =
    "ppo-7b,verl,ppo,deepseek-ai/deepseek-llm-7b-chat,deepseek-ai/deepseek-llm-7b-chat,rule,yes,"
    "MI300X,8,8,colocated,fsdp,1,1,,,3,bf16,full,reference,0,yes,4,1024,1,82.63,512,136.034,512,"
    "256,16,,1,";

START_TEST(a_row_is_a_scenario) {
    struct rlhfsim_scenario *scenario;
    read_row(ppo, false);
    ck_assert_str_eq(settings.reason, "");
    ck_assert(has("algorithm.prompts_per_step=1024"));
    ck_assert(has("models.reference.offload=parameters"));
    ck_assert(has("training.microbatch_samples=16"));
    ck_assert_int_eq(run_scenario_load(catalog, &settings, &scenario), RLHFSIM_OK);
    ck_assert_str_eq(settings.reason, "");
    ck_assert_ptr_nonnull(scenario);
    ck_assert_str_eq(scenario->cluster.gpu.name, "MI300X");
    ck_assert_int_eq(hardware_cluster_gpus(&scenario->cluster), 8);
    ck_assert_int_eq(scenario->algorithm.minibatch_samples, 256);
    ck_assert_int_eq(scenario->models[ALGORITHM_ROLE_REFERENCE].offload,
                     TRAINING_OFFLOAD_PARAMETERS);
    ck_assert(scenario->models[ALGORITHM_ROLE_CRITIC].present);
    ck_assert(!scenario->models[ALGORITHM_ROLE_REWARD].present);
    rlhfsim_scenario_free(scenario);
}
END_TEST

/* For memory alone a step fills one micro-batch of every rank: a budget of 16,384 tokens takes 11
 * of the longest sequences of 1,536; where a mini-batch has 4 a rank, 4. */
START_TEST(a_step_fills_a_budget) {
    static const char *const minibatches[] = {"", "32"};
    static const char *const samples[] = {"algorithm.minibatch_samples=88",
                                          "algorithm.minibatch_samples=32"};
    for (size_t i = 0; i < 2; i++) {
        char text[512];
        snprintf(
            text, sizeof text,
            "grpo,verl,grpo,Qwen2.5-7B,,rule,yes,H100-SXM5-80GB,8,8,colocated,fsdp,1,1,,,3,bf16,"
            "full,none,0,yes,2,,,,1024,,512,%s,,16384,1,",
            minibatches[i]);
        read_row(text, true);
        ck_assert_str_eq(settings.reason, "");
        ck_assert(has(samples[i]));
    }
}
END_TEST

/* The file made of the settings, loaded as a user's, is the same scenario. */
START_TEST(the_file_is_the_same_scenario) {
    char path[] = "/tmp/rlhfsim-row-XXXXXX";
    struct rlhfsim_scenario *direct, *loaded;
    const struct rlhfsim_scenario_options options = {.catalog_directory = "scenarios/catalog"};
    read_row(ppo, false);
    char *text = run_settings_yaml(&settings);
    ck_assert_ptr_nonnull(text);
    ck_assert_ptr_nonnull(strstr(text, "\nmodels:\n  actor:\n    model: deepseek-ai/"));
    ck_assert_ptr_nonnull(strstr(text, "\n  critic:\n    model: "));
    FILE *file = fdopen(mkstemp(path), "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
    free(text);
    ck_assert_int_eq(run_scenario_load(catalog, &settings, &direct), RLHFSIM_OK);
    ck_assert_int_eq(rlhfsim_scenario_load(path, &options, diagnostics, &loaded), RLHFSIM_OK);
    remove(path);
    ck_assert_str_eq(direct->name, loaded->name);
    ck_assert_int_eq(direct->algorithm.prompts_per_step, loaded->algorithm.prompts_per_step);
    ck_assert_int_eq(direct->training.zero_stage, loaded->training.zero_stage);
    ck_assert_double_eq(direct->rollout.response.moments.mean,
                        loaded->rollout.response.moments.mean);
    ck_assert_double_eq(direct->cluster.gpu.memory_bytes, loaded->cluster.gpu.memory_bytes);
    rlhfsim_scenario_free(direct);
    rlhfsim_scenario_free(loaded);
}
END_TEST

/* verl examples/tuning @v0.7.0: 72B on 32 H800 with an engine over two nodes. For memory alone a
 * node of 16 GPUs stands for them, with the host memory of two; for time they are what they are. */
START_TEST(an_engine_over_nodes) {
    static const char row[] =
        "72b,verl,grpo,Qwen/"
        "Qwen2-72B-Instruct,,rule,yes,H800-SXM5-80GB,32,8,colocated,fsdp,1,1,,,3,"
        "bf16,full,optimizer+params,0,yes,16,1024,5,,512,,512,1280,,24000,,";
    struct rlhfsim_scenario *scenario;
    read_row(row, true);
    ck_assert_int_eq(run_scenario_load(catalog, &settings, &scenario), RLHFSIM_OK);
    ck_assert_str_eq(settings.reason, "");
    ck_assert_int_eq(scenario->cluster.nodes, 2);
    ck_assert_int_eq(scenario->cluster.gpus_per_node, 16);
    assert_relative(scenario->cluster.node.host_memory_bytes, 2.0 * 2048.0 * 1073741824.0, 1e-9);
    ck_assert_int_eq(scenario->models[ALGORITHM_ROLE_ACTOR].offload,
                     TRAINING_OFFLOAD_OPTIMIZER_PARAMETERS);
    rlhfsim_scenario_free(scenario);
    read_row(row, false); /* wires matter to time */
    ck_assert(has("cluster.node=hgx-h800-8"));
    ck_assert_int_eq(run_scenario_load(catalog, &settings, &scenario), RLHFSIM_OK);
    ck_assert_str_eq(settings.reason, "");
    ck_assert_int_eq(scenario->cluster.nodes, 4);
    ck_assert_int_eq(scenario->rollout.tp, 16);
    rlhfsim_scenario_free(scenario);
}
END_TEST

START_TEST(what_is_lacking) {
    static const struct {
        const char *row, *reason;
        bool only_memory;
    } rows[] = {
        {"a,verl,grpo,Qwen3-8B,,rule,yes,,8,8,colocated,fsdp,1,1,,,3,bf16,full,none,0,yes,1,64,4,,"
         "512,,512,256,4,,1,",
         "not stated: gpu", true},
        {"a,verl,grpo,Qwen3-8B,,rule,yes,H100-SXM5-80GB,8,8,colocated,fsdp,1,1,,,3,bf16,full,none,"
         "0,"
         "yes,1,,4,,512,,512,256,4,,1,",
         "not stated: prompts_per_step", false},
        {"a,verl,grpo,Qwen3-8B,,rule,yes,H100-SXM5-80GB,8,8,colocated,fsdp,1,1,,,3,bf16,full,none,"
         "0,"
         "yes,1,64,4,,512,,512,256,,,1,",
         "not stated: microbatch_samples, microbatch_tokens", true},
        {"a,verl,grpo,Qwen3-8B,,rule,yes,H100-SXM5-80GB,16,8,split,fsdp,1,1,,,3,bf16,full,none,0,"
         "yes,1,64,4,,512,,512,256,4,,1,",
         "placement is split", true},
        {"a,verl,grpo,Qwen3-8B,,rule,yes,H100-SXM5-80GB,16,8,split,fsdp,1,1,,,3,bf16,full,none,0,"
         "yes,1,64,4,,512,,512,256,4,,1,",
         "not stated: train_gpus, rollout_gpus", false},
        {"a,verl,grpo,Qwen3-8B,,rule,yes,H100-SXM5-80GB,8,8,colocated,fsdp,3,1,,,3,bf16,full,none,"
         "0,"
         "yes,1,64,4,,512,,512,256,4,,1,",
         "num_gpus is not a multiple of train_tp x train_pp x train_cp", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        read_row(rows[i].row, rows[i].only_memory);
        ck_assert_str_eq(settings.reason, rows[i].reason);
    }
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("validation.run_rows");
    TCase *rows = tcase_create("rows");
    tcase_add_checked_fixture(rows, setup, teardown);
    tcase_add_test(rows, a_row_is_a_scenario);
    tcase_add_test(rows, a_step_fills_a_budget);
    tcase_add_test(rows, the_file_is_the_same_scenario);
    tcase_add_test(rows, an_engine_over_nodes);
    tcase_add_test(rows, what_is_lacking);
    suite_add_tcase(suite, rows);
    return suite;
}

TESTING_MAIN(suite)
