/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `check` says of the layout of a step, against sums made by hand from the scenario files. */
#include "tests/scenarios.h"
#include "tests/testing.h"

#include <rlhfsim/forecast.h>

#include <math.h>
#include <string.h>

#define GIB 1073741824.0
#define PPO "scenarios/ppo-llama2-7b-8xa100.yaml"

static struct rlhfsim_scenario *scenario;
static struct rlhfsim_forecast *forecast;

static const struct rlhfsim_layout *check(const char *path, const char *const *sets) {
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    scenario = testing_scenario(path, sets);
    enum rlhfsim_status status = rlhfsim_forecast_check(scenario, diagnostics, &forecast);
    ck_assert(status == RLHFSIM_OK || status == RLHFSIM_INFEASIBLE);
    rlhfsim_diagnostics_free(diagnostics);
    return rlhfsim_forecast_layout(forecast);
}

static void teardown(void) {
    rlhfsim_forecast_free(forecast);
    rlhfsim_scenario_free(scenario);
    forecast = NULL;
    scenario = NULL;
}

/* 512 samples a step in mini-batches of 128 on 8 ranks, 8 samples a pass. */
START_TEST(test_trainer) {
    const struct rlhfsim_layout *layout = check(PPO, NULL);
    ck_assert_int_eq(layout->train_tp, 1);
    ck_assert_int_eq(layout->train_cp * layout->train_pp * layout->train_vpp, 1);
    ck_assert_int_eq(layout->ranks, 8);
    ck_assert_int_eq(layout->zero_stage, 3);
    ck_assert_int_eq(layout->optimizer_steps, 512 / 128);
    ck_assert_int_eq(layout->rank_samples, 128 / 8);
    ck_assert_int_eq(layout->microbatch_samples, 8);
    ck_assert_double_eq(layout->microbatches, 2.0);
}
END_TEST

/* Half of 79.15 GiB less the bf16 weights and 1.5 GiB of graphs, in blocks of 16 tokens; a token is
 * 2 x 32 layers x 4096 x 2 bytes. The longest sequence, 512 + 256 tokens, takes 48 blocks. */
START_TEST(test_engine) {
    const struct rlhfsim_layout *layout = check(PPO, NULL);
    double room = 0.5 * 79.15 * GIB - 2.0 * 6738415616.0 - 1.5 * GIB;
    int64_t blocks = (int64_t)floor(room / (16.0 * 2.0 * 32.0 * 4096.0 * 2.0));
    ck_assert_int_eq(layout->replicas, 8);
    ck_assert_int_eq(layout->rollout_tp, 1);
    ck_assert_int_eq(layout->kv_tokens, blocks * 16);
    ck_assert_int_eq(layout->longest_tokens, 768);
    ck_assert_int_eq(layout->longest_at_once, blocks / 48);
    ck_assert_int_eq(layout->max_num_seqs, 256);
}
END_TEST

START_TEST(test_more_room_than_sequences) {
    static const char *const sets[] = {"rollout.max_num_seqs=20", NULL};
    ck_assert_int_eq(check(PPO, sets)->longest_at_once, 20);
}
END_TEST

/* A fifth of the GPU is 17.0 GB: 13.5 of weights and 1.6 of graphs leave 1.9 GB, and 0.18 of it
 * nothing at all. */
START_TEST(test_no_room) {
    static const char *const sets[] = {"rollout.memory_fraction=0.18", NULL};
    const struct rlhfsim_layout *layout = check(PPO, sets);
    ck_assert_int_eq(layout->kv_tokens, 0);
    ck_assert_int_eq(layout->longest_at_once, 0);
}
END_TEST

/* The actor in bf16 goes to the engine; a checkpoint has 2 + 4 + 8 bytes a parameter of actor and
 * critic, whose counts test_results.sh derives. */
START_TEST(test_bytes_and_price) {
    const struct rlhfsim_layout *layout = check(PPO, NULL);
    ck_assert_str_eq(layout->weight_sync, "ipc_bucket");
    assert_relative(layout->weight_sync_bytes, 2.0 * 6738415616.0, 1e-15);
    assert_relative(layout->checkpoint_bytes, 14.0 * (6738415616.0 + 6607347712.0), 1e-12);
    ck_assert_int_eq(layout->checkpoint_every_steps, 100);
    ck_assert_int_eq(layout->checkpoint_keep, 3);
    ck_assert_double_eq(layout->node_usd_per_hour, 27.44705);
    ck_assert_double_eq(layout->usd_per_hour, 27.44705);
    assert_relative(layout->host_bytes, 1152.0 * GIB, 1e-15);
}
END_TEST

START_TEST(test_price_of_all_nodes) {
    static const char *const sets[] = {"prices.node_usd_per_hour=10", NULL};
    const struct rlhfsim_layout *layout = check("scenarios/ppo-llama2-70b-32xh100.yaml", sets);
    ck_assert_double_eq(layout->usd_per_hour, 40.0);
    ck_assert_str_eq(layout->price_source, "prices.node_usd_per_hour of the scenario");
}
END_TEST

/* 1,024 x 5 samples on 8 ranks are 640 of 93 + 197 tokens in the mean, over a budget of 24,000.
 * Lengths are whole tokens. */
START_TEST(test_token_budget) {
    const struct rlhfsim_layout *layout = check("scenarios/grpo-qwen2.5-7b-8xh100.yaml", NULL);
    ck_assert_int_eq(layout->microbatch_tokens, 24000);
    ck_assert_int_eq(layout->microbatch_samples, 0);
    assert_relative(layout->microbatches, 640.0 * (93.0 + 197.0) / 24000.0, 0.01);
}
END_TEST

START_TEST(test_offline) {
    const struct rlhfsim_layout *layout = check("scenarios/dpo-lora-llama2-70b-8xa100.yaml", NULL);
    ck_assert_int_eq(layout->replicas, 0);
    ck_assert_int_eq(layout->optimizer_steps, 1);
    ck_assert_int_eq(layout->rank_samples, 128 / 8);
    ck_assert_ptr_null(layout->weight_sync);
    ck_assert_double_eq(layout->weight_sync_bytes, 0.0);
}
END_TEST

/* ---- phases ---------------------------------------------------------------------------------- */

static double category_bytes(size_t phase, const char *category) {
    const char *name;
    double bytes;
    for (size_t c = 0; rlhfsim_forecast_phase_category(forecast, phase, c, &name, &bytes); c++)
        if (strcmp(name, category) == 0)
            return bytes;
    ck_abort_msg("no category %s", category);
    return 0.0;
}

/* Categories add up to the phase, the fullest phase is the peak of the verdict, no phase comes
 * twice, and the cache is there only while the engine is awake. */
START_TEST(test_phases) {
    struct rlhfsim_phase_memory memory, other;
    struct rlhfsim_value peak;
    double most = 0.0;
    size_t count = 0;
    check(PPO, NULL);
    for (; rlhfsim_forecast_phase(forecast, count, &memory); count++) {
        const char *name;
        double bytes, sum = 0.0;
        for (size_t c = 0; rlhfsim_forecast_phase_category(forecast, count, c, &name, &bytes); c++)
            sum += bytes;
        assert_relative(sum, memory.gpu_bytes, 1e-12);
        most = fmax(most, memory.gpu_bytes);
        for (size_t i = 0; i < count && rlhfsim_forecast_phase(forecast, i, &other); i++)
            ck_assert_str_ne(other.phase, memory.phase);
        bool awake = strcmp(memory.phase, "rollout") == 0 ||
                     strcmp(memory.phase, "transition") == 0 ||
                     strcmp(memory.phase, "checkpoint") == 0;
        ck_assert((category_bytes(count, "kv_cache") > 0.0) == awake);
    }
    ck_assert_uint_eq(count,
                      11); /* the ten steps of PPO but for the second transition; load and save */
    ck_assert(rlhfsim_summary_get(rlhfsim_forecast_summary(forecast), "memory.peak_bytes", &peak));
    assert_relative(most, peak.p50, 1e-12);
    const char *name;
    double bytes;
    ck_assert(!rlhfsim_forecast_phase_category(forecast, count, 0, &name, &bytes));
}
END_TEST

static Suite *layout_suite(void) {
    Suite *suite = suite_create("forecast.layout");
    TCase *tests = tcase_create("layout");
    tcase_add_checked_fixture(tests, NULL, teardown);
    tcase_add_test(tests, test_trainer);
    tcase_add_test(tests, test_engine);
    tcase_add_test(tests, test_more_room_than_sequences);
    tcase_add_test(tests, test_no_room);
    tcase_add_test(tests, test_bytes_and_price);
    tcase_add_test(tests, test_price_of_all_nodes);
    tcase_add_test(tests, test_token_budget);
    tcase_add_test(tests, test_offline);
    tcase_add_test(tests, test_phases);
    suite_add_tcase(suite, tests);
    return suite;
}

TESTING_MAIN(layout_suite)
