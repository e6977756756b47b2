/* SPDX-License-Identifier: GPL-3.0-or-later */

/* Runs that outlast the clock are refused with the key that decides, whatever the values; and the
 * largest micro-batch of a step is no larger than what a rank has. */

#include "models/forecast/durations.h"

#include "models/forecast/microbatch.h"
#include "models/forecast/planning.h"
#include "models/forecast/run.h"
#include "tests/scenarios.h"
#include "tests/testing.h"

#include <rlhfsim/forecast.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GRPO "scenarios/grpo-qwen2.5-7b-8xh100.yaml"
#define DPO "scenarios/dpo-llama2-7b-8xa100.yaml"

/* ---- the end of the clock ---------------------------------------------------------------------
 */

static enum rlhfsim_status run(const struct rlhfsim_scenario *scenario,
                               struct rlhfsim_diagnostics *diagnostics) {
    struct rlhfsim_forecast_options how = {.replicates = 1, .ignore_memory = true};
    struct rlhfsim_forecast *forecast;
    enum rlhfsim_status status = rlhfsim_forecast_run(scenario, &how, diagnostics, &forecast);
    ck_assert((forecast != NULL) == (status == RLHFSIM_OK));
    rlhfsim_forecast_free(forecast);
    return status;
}

static void expect_refused(const char *const *sets, const char *names) {
    struct rlhfsim_scenario *scenario = testing_scenario(GRPO, sets);
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    ck_assert_int_eq(run(scenario, diagnostics), RLHFSIM_INVALID);
    ck_assert_uint_eq(rlhfsim_diagnostics_count(diagnostics), 1);
    ck_assert_ptr_nonnull(strstr(rlhfsim_diagnostics_get(diagnostics, 0)->message, names));
    rlhfsim_diagnostics_free(diagnostics);
    rlhfsim_scenario_free(scenario);
}

/* 5,120 samples of 10 days by 1 worker are 140 years a step; of a store of a byte in 1,000 s 100 GB
 * are three million years. */
START_TEST(the_key_that_decides) {
    static const char *const slow_rule[] = {"steps=10", "reward.sample_time=10d", NULL};
    static const char *const slow_store[] = {"steps=1", "checkpoint.store_bandwidth=1e-9 MB/s",
                                             NULL};
    static const char *const many[] = {"steps=1000000000", "reward.sample_time=1s", NULL};
    expect_refused(slow_rule, "decided by reward.sample_time");
    expect_refused(slow_store, "decided by checkpoint.store_bandwidth");
    expect_refused(many, "decided by reward.sample_time");
}
END_TEST

/* What the bound does not see, the run does: every step as long as a third of the clock. */
START_TEST(a_run_meets_the_end) {
    static const char *const few[] = {"steps=4", "checkpoint.every_steps=0", NULL};
    struct rlhfsim_scenario *scenario = testing_scenario(GRPO, few);
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    struct forecast_run_options how = {.steps = 4};
    struct forecast_measures measures;
    struct forecast_plan plan;
    forecast_plan_make(scenario, &plan);
    ck_assert_int_eq(forecast_durations_check(&plan, diagnostics), RLHFSIM_OK);
    plan.sync_s = 3e9;
    ck_assert_int_eq(forecast_durations_check(&plan, diagnostics), RLHFSIM_INVALID);
    ck_assert_int_eq(forecast_run(&plan, &how, diagnostics, &measures), RLHFSIM_INVALID);
    ck_assert_uint_eq(rlhfsim_diagnostics_count(diagnostics), 2);
    ck_assert_ptr_nonnull(
        strstr(rlhfsim_diagnostics_get(diagnostics, 1)->message, "weight_sync of step 4 of 4"));
    plan.sync_s = 2e9; /* four of them are within the clock */
    ck_assert_int_eq(forecast_run(&plan, &how, diagnostics, &measures), RLHFSIM_OK);
    ck_assert_double_gt(measures.total_s, 8e9);
    rlhfsim_diagnostics_free(diagnostics);
    rlhfsim_scenario_free(scenario);
}
END_TEST

static const char *const absurd_gpu[] = {
    "bf16_tflops: 1e-9, matmul_tflops_measured: 1e-9",
    "memory_bandwidth_gb_per_s: 1e-300, memory_bandwidth_measured_gb_per_s: 1e-300",
    "scaleup_gb_per_s: 1e-9",
    "host_bandwidth_gb_per_s: 1e-9",
    "attention_efficiency: 1e-300",
    "kernel_launch_us: 1e15",
    "kernel_launch_us: 0"};
static const char *const absurd_node[] = {
    "network_gbit_per_s: 1e-9",   "storage_gb_per_s: 1e-9",   "scaleup_efficiency: 1e-300",
    "network_efficiency: 1e-300", "scaleup_latency_us: 1e15", "collective_start_us: 1e15",
    "network_latency_us: 1e15"};

/* Legal values of any size: a forecast, or an error, never an abort. */
START_TEST(absurd_values_are_errors) {
    const char *path = _i % 2 == 0 ? GRPO : DPO;
    char gpu[256], node[256];
    (void)snprintf(gpu, sizeof gpu, "cluster.gpu={like: H100-SXM5-80GB, %s}", absurd_gpu[_i % 7]);
    (void)snprintf(node, sizeof node, "cluster.node={like: aws-p5.48xlarge, %s}",
                   absurd_node[_i * 3 % 7]);
    const char *const sets[] = {"steps=2", gpu, node, NULL};
    struct rlhfsim_scenario *scenario = testing_scenario(path, sets);
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    enum rlhfsim_status status = run(scenario, diagnostics);
    ck_assert(status == RLHFSIM_OK || status == RLHFSIM_INVALID);
    ck_assert_uint_eq(rlhfsim_diagnostics_count(diagnostics), status == RLHFSIM_INVALID);
    rlhfsim_diagnostics_free(diagnostics);
    rlhfsim_scenario_free(scenario);
}
END_TEST

/* ---- the largest micro-batch ------------------------------------------------------------------
 */

static struct llm_batch largest(const char *path, const char *const *sets, int64_t samples,
                                enum forecast_pass pass) {
    struct rlhfsim_scenario *scenario = testing_scenario(path, sets);
    struct forecast_plan plan;
    forecast_plan_make(scenario, &plan);
    if (samples == 0)
        samples = forecast_fullest_step(scenario);
    struct llm_batch batch = forecast_largest_batch(&plan, pass, samples);
    rlhfsim_scenario_free(scenario);
    return batch;
}

/* 8 x 2 samples on 8 ranks: two of 512 + 1,024 tokens at most, whatever the budget; of four
 * mini-batches of 8 an update has one at a time. */
START_TEST(a_budget_that_no_rank_fills) {
    static const char *const wide[] = {"algorithm.prompts_per_step=8",
                                       "algorithm.samples_per_prompt=2",
                                       "training.microbatch_tokens=48000", NULL};
    static const char *const halves[] = {
        "algorithm.prompts_per_step=8", "algorithm.samples_per_prompt=2",
        "algorithm.minibatch_samples=8", "training.microbatch_tokens=48000", NULL};
    struct llm_batch batch = largest(GRPO, wide, 0, FORECAST_PASS_UPDATE);
    ck_assert_double_eq(batch.tokens, 2 * 1536.0);
    ck_assert_double_eq(batch.sequences, 2.0);
    ck_assert_double_eq(batch.score_pairs, 2 * 1536.0 * 1537.0 / 2.0);
    ck_assert_double_eq(largest(GRPO, halves, 0, FORECAST_PASS_UPDATE).tokens, 1536.0);
    ck_assert_double_eq(largest(GRPO, halves, 0, FORECAST_PASS_SCORE).tokens, 2 * 1536.0);
}
END_TEST

/* A data set of one pair is one pair on one rank: two sequences. A short step is what it has. */
START_TEST(short_steps_are_small) {
    static const char *const one[] = {"dataset.pairs=1", "dataset.drop_last=false", NULL};
    struct llm_batch full = largest(DPO, NULL, 0, FORECAST_PASS_UPDATE);
    struct llm_batch single = largest(DPO, one, 0, FORECAST_PASS_UPDATE);
    ck_assert_double_eq(single.sequences, 2.0);
    assert_relative(single.tokens / single.sequences, full.tokens / full.sequences, 1e-12);
    ck_assert_double_eq(largest(DPO, NULL, 9, FORECAST_PASS_UPDATE).sequences, 2 * 2.0);
}
END_TEST

static Suite *durations_suite(void) {
    Suite *suite = suite_create("forecast/durations");
    TCase *tests = tcase_create("durations");
    tcase_add_test(tests, the_key_that_decides);
    tcase_add_test(tests, a_run_meets_the_end);
    tcase_add_loop_test(tests, absurd_values_are_errors, 0, 14);
    tcase_add_test(tests, a_budget_that_no_rank_fills);
    tcase_add_test(tests, short_steps_are_small);
    suite_add_tcase(suite, tests);
    return suite;
}

TESTING_MAIN(durations_suite)
