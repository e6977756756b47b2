/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Saves and loads inside a run of equal steps, against sums made by hand.
 */

#include "models/forecast/limits.h"
#include "models/forecast/plan_storage.h"
#include "models/forecast/planning.h"
#include "models/forecast/run.h"
#include "models/forecast/summarise.h"
#include "models/network/collective.h"
#include "models/scenario/scenario.h"
#include "tests/scenarios.h"
#include "tests/testing.h"

#include <stdio.h>

#define GRPO "scenarios/grpo-qwen2.5-7b-8xh100.yaml"

static const char *const equal_steps[] = {
    "steps=6",
    "algorithm.prompts_per_step=16",
    "algorithm.samples_per_prompt=4",
    "algorithm.minibatch_samples=64",
    "rollout.max_new_tokens=64",
    "rollout.prompt_tokens={law: fixed, mean: 128}",
    "rollout.response_tokens={law: fixed, mean: 64}",
    "checkpoint.every_steps=2",
    "checkpoint.keep=2",
    "cluster.nodes=2",
};

struct played {
    struct rlhfsim_scenario *scenario;
    struct forecast_plan plan;
    struct forecast_measures measures;
};

/* The equal steps with up to 6 more settings. */
static void play(const char *const *more, struct played *played) {
    const char *sets[20];
    size_t n = 0;
    for (; n < sizeof equal_steps / sizeof *equal_steps; n++)
        sets[n] = equal_steps[n];
    for (; *more != NULL; more++)
        sets[n++] = *more;
    sets[n] = NULL;
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    played->scenario = testing_scenario(GRPO, sets);
    forecast_plan_make(played->scenario, &played->plan);
    struct forecast_run_options options = {.steps = 6};
    ck_assert_int_eq(forecast_run(&played->plan, &options, diagnostics, &played->measures),
                     RLHFSIM_OK);
    rlhfsim_diagnostics_free(diagnostics);
}

static double save_s(const struct played *played) {
    return played->measures.phase_s[ALGORITHM_PHASE_CHECKPOINT];
}

/* Of one step without what the store takes. */
static double step_s(const struct played *played) {
    return (played->measures.total_s - save_s(played) -
            played->measures.phase_s[ALGORITHM_PHASE_LOAD]) /
           6;
}

/* Two nodes write at 2 GB/s each what has B bytes. */
START_TEST(a_store_of_the_scenario) {
    static const char *const sets[] = {"checkpoint.store={client_write_gb_per_s: 2}", NULL};
    struct played run;
    play(sets, &run);
    ck_assert_int_eq(run.measures.saves, 3);
    assert_relative(save_s(&run), 3 * run.plan.checkpoint.bytes / 4e9, 1e-9);
    rlhfsim_scenario_free(run.scenario);
}
END_TEST

/* Behind two steps a fast store is never seen but at the end: each of the 16 GPUs copies its part
 * over PCIe, three times, and the last write is waited for. */
START_TEST(a_write_behind_the_steps) {
    static const char *const sets[] = {"checkpoint.store={write_gb_per_s: 1000}",
                                       "checkpoint.mode=asynchronous", NULL};
    struct played run;
    play(sets, &run);
    double bytes = run.plan.checkpoint.bytes;
    double copy_s = bytes / 16 / run.scenario->cluster.gpu.host_bandwidth_bytes_per_s;
    ck_assert_double_lt(bytes / 1e12, 2 * step_s(&run));
    assert_relative(save_s(&run), 3 * copy_s + bytes / 1e12, 1e-7);
    ck_assert_double_eq(run.measures.stored_bytes, 2 * bytes);
    /* A node's host holds the copy of its 8 GPUs. */
    assert_relative(run.plan.checkpoint.staged_host_bytes, bytes / 2, 1e-12);
    rlhfsim_scenario_free(run.scenario);
}
END_TEST

/* A store that takes three steps for a save: the second and third wait for the one before, and what
 * two steps have not hidden is seen. */
START_TEST(a_save_waits_for_the_write_before) {
    static const char *const free_store[] = {"checkpoint.every_steps=0", "checkpoint.keep=1", NULL};
    struct played without, run;
    char store[64];
    play(free_store, &without);
    double work_s = step_s(&without), bytes = 0.0;
    for (int i = 0; i < 2; i++) { /* the bytes first, then the store that is so slow */
        (void)snprintf(store, sizeof store, "checkpoint.store={write_gb_per_s: %.9g}",
                       i == 0 ? 1000.0 : bytes / (3 * work_s) / 1e9);
        const char *const sets[] = {store, "checkpoint.mode=asynchronous", NULL};
        play(sets, &run);
        bytes = run.plan.checkpoint.bytes;
        if (i == 0)
            rlhfsim_scenario_free(run.scenario);
    }
    double copy_s = bytes / 16 / run.scenario->cluster.gpu.host_bandwidth_bytes_per_s;
    assert_relative(checkpoint_write_s(&run.plan.checkpoint), 3 * work_s, 1e-8);
    assert_relative(save_s(&run), 3 * copy_s + 2 * (3 - 2) * work_s + 3 * work_s, 1e-6);
    assert_relative(save_s(&run), checkpoint_run_s(&run.plan.checkpoint, 3, 2 * work_s), 1e-6);
    rlhfsim_scenario_free(run.scenario);
    rlhfsim_scenario_free(without.scenario);
}
END_TEST

/* Rank 0 gets all of it through its own NIC, and one node writes. */
START_TEST(gathered_saves_have_one_writer) {
    static const char *const sets[] = {
        "checkpoint.store={client_write_gb_per_s: 2, write_gb_per_s: 100}",
        "checkpoint.layout=gathered", NULL};
    struct played run;
    play(sets, &run);
    double bytes = run.plan.checkpoint.bytes;
    struct network_group all = network_group_strided(&run.scenario->cluster, 16, 1);
    double gather_s = network_collective_s(&run.scenario->cluster, NETWORK_GATHER, all, bytes);
    assert_relative(save_s(&run), 3 * (gather_s + bytes / 2e9), 1e-7);
    assert_relative(run.plan.checkpoint.staged_host_bytes, bytes, 1e-12);
    rlhfsim_scenario_free(run.scenario);
}
END_TEST

/* The nodes' disks take it at 10 GB/s each and are read at 1: the run waits for the first, the
 * store gets it at the pace of the second. */
START_TEST(disks_before_the_store) {
    static const char *const sets[] = {
        "checkpoint.store={write_gb_per_s: 1000}", "checkpoint.mode=asynchronous",
        "checkpoint.staging={client_write_gb_per_s: 5, client_read_gb_per_s: 4}", NULL};
    struct played run;
    play(sets, &run);
    double bytes = run.plan.checkpoint.bytes;
    assert_relative(checkpoint_blocking_s(&run.plan.checkpoint), bytes / 10e9, 1e-12);
    assert_relative(checkpoint_write_s(&run.plan.checkpoint), bytes / 8e9, 1e-12);
    rlhfsim_scenario_free(run.scenario);
}
END_TEST

/* Actor and reference, 2 bytes a parameter, and 10 GB of data, read by both nodes through 20 GB/s.
 * Nothing is lost where all share: all bytes over all of the bandwidth. */
START_TEST(loads_share_the_store) {
    static const char *const sets[] = {"checkpoint.store={read_gb_per_s: 20, write_gb_per_s: 20, "
                                       "latency_ms: 100}",
                                       "checkpoint.load=weights", "dataset.bytes=10 GB", NULL};
    struct played run;
    play(sets, &run);
    double parameters = (double)llm_parameters(
        &run.scenario->models[ALGORITHM_ROLE_ACTOR].architecture, LLM_HEAD_VOCABULARY);
    double bytes = 2 * (2 * 2 * parameters + 10e9);
    assert_relative(forecast_load_bytes(&run.plan), bytes, 1e-12);
    assert_relative(run.measures.phase_s[ALGORITHM_PHASE_LOAD], 0.1 + bytes / 20e9, 1e-7);
    assert_relative(forecast_load_s(&run.plan), 0.1 + bytes / 20e9, 1e-9);
    rlhfsim_scenario_free(run.scenario);
}
END_TEST

/* Resuming reads what was saved, once, and the frozen reference by every node. */
START_TEST(resuming_reads_the_checkpoint) {
    static const char *const sets[] = {"checkpoint.store={read_gb_per_s: 20, write_gb_per_s: 20}",
                                       "checkpoint.load=checkpoint", NULL};
    struct played run;
    play(sets, &run);
    double parameters = (double)llm_parameters(
        &run.scenario->models[ALGORITHM_ROLE_ACTOR].architecture, LLM_HEAD_VOCABULARY);
    assert_relative(forecast_load_bytes(&run.plan), run.plan.checkpoint.bytes + 2 * 2 * parameters,
                    1e-12);
    rlhfsim_scenario_free(run.scenario);
}
END_TEST

/* What a 10 % faster store saves is what a run with one takes less. */
START_TEST(the_limit_counts_saves) {
    static const char *const slow[] = {"checkpoint.store={write_gb_per_s: 1}",
                                       "checkpoint.mode=asynchronous", NULL};
    static const char *const faster[] = {"checkpoint.store={write_gb_per_s: 1.1}",
                                         "checkpoint.mode=asynchronous", NULL};
    struct played a, b;
    struct forecast_limit limit;
    struct rlhfsim_forecast_options how = {0};
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    play(slow, &a);
    play(faster, &b);
    ck_assert_int_eq(forecast_limit_find(&a.plan, &a.measures, &how, diagnostics, &limit),
                     RLHFSIM_OK);
    ck_assert_str_eq(limit.resource, "checkpoint store");
    assert_relative(limit.gain_fraction, 1.0 - b.measures.total_s / a.measures.total_s, 1e-6);
    rlhfsim_diagnostics_free(diagnostics);
    rlhfsim_scenario_free(a.scenario);
    rlhfsim_scenario_free(b.scenario);
}
END_TEST

/* ZeRO-3 over 16 GPUs in two zones, one micro-batch a rank and pass: the actor's and the
 * reference's log-probs gather the weights once each, the update twice and reduces the gradients
 * once, and the weight sync gathers them again. Each is a ring over all with two borders, and every
 * edge of it carries 15/16 of 2 bytes a parameter. That times the price is the bill. */
START_TEST(zones_are_billed) {
    static const char *const sets[] = {
        "training={tp: 1, zero_stage: 3, precision: bf16, microbatch_samples: 4, recompute: full}",
        "algorithm.kl=loss", "cluster.zones={count: 2, bandwidth: 5 GB/s, usd_per_gb: 0.03}",
        "checkpoint.every_steps=0", NULL};
    static const char *const one[] = {"training={tp: 1, zero_stage: 3, precision: bf16, "
                                      "microbatch_samples: 4, recompute: full}",
                                      "algorithm.kl=loss", "checkpoint.every_steps=0", NULL};
    struct played run, together;
    struct cost_ledger ledger;
    play(sets, &run);
    play(one, &together);
    double parameters = (double)llm_parameters(
        &run.scenario->models[ALGORITHM_ROLE_ACTOR].architecture, LLM_HEAD_VOCABULARY);
    double bytes = 6 * (1 + 1 + 3 + 1) * 2 * (2 * parameters * 15 / 16);
    assert_relative(run.measures.zone_bytes, bytes, 1e-9);
    forecast_ledger(&run.plan, &run.measures, &ledger);
    ck_assert_uint_eq(ledger.count, 5);
    ck_assert_str_eq(ledger.items[4].item, "zone_traffic");
    assert_relative(ledger.items[4].amount_usd, bytes / 1e9 * 0.03, 1e-9);
    /* Two borders of 5 GB/s: the run is at least as long as that takes, and longer than in one
     * zone, where nothing is billed. */
    ck_assert_double_ge(run.measures.total_s, bytes / 10e9);
    ck_assert_double_gt(run.measures.total_s, together.measures.total_s);
    ck_assert_double_eq(together.measures.zone_bytes, 0.0);
    forecast_ledger(&together.plan, &together.measures, &ledger);
    ck_assert_uint_eq(ledger.count, 4);
    rlhfsim_scenario_free(run.scenario);
    rlhfsim_scenario_free(together.scenario);
}
END_TEST

static Suite *suite(void) {
    Suite *result = suite_create("forecast_storage");
    TCase *tests = tcase_create("storage");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, a_store_of_the_scenario);
    tcase_add_test(tests, a_write_behind_the_steps);
    tcase_add_test(tests, a_save_waits_for_the_write_before);
    tcase_add_test(tests, gathered_saves_have_one_writer);
    tcase_add_test(tests, disks_before_the_store);
    tcase_add_test(tests, loads_share_the_store);
    tcase_add_test(tests, resuming_reads_the_checkpoint);
    tcase_add_test(tests, the_limit_counts_saves);
    tcase_add_test(tests, zones_are_billed);
    suite_add_tcase(result, tests);
    return result;
}

TESTING_MAIN(suite)
