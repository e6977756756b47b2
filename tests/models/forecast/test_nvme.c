/* SPDX-License-Identifier: GPL-3.0-or-later */

/* Optimizers that wait on local disks: their time by hand, where their bytes are, and what the
 * verdict says of hosts and disks that are too small. */

#include "models/forecast/footprint.h"
#include "models/forecast/planning.h"
#include "models/forecast/verdict.h"
#include "tests/scenarios.h"
#include "tests/testing.h"

#include <rlhfsim/rlhfsim.h>

#include <stdio.h>
#include <string.h>

#define PPO "scenarios/ppo-llama2-7b-8xa100.yaml"
#define STATE_BYTES (12.0 * (6738415616.0 + 6607347712.0)) /* of actor and critic */
#define HOST "training.offload=optimizer"
#define NVME "training.offload_optimizer_to=nvme"

/* An A100 node with 1.2 TB of disks that read 10 and write 8 GB/s. */
#define NODE(host, disks)                                                               \
    "cluster.node={like: aws-p4de.24xlarge, host_memory_gib: " host ", nvme_gb: " disks \
    ", nvme_read_gb_per_s: 10, nvme_write_gb_per_s: 8}"
#define PRICE "prices.node_usd_per_hour=40"
#define FIXED "rollout.response_tokens={law: fixed, mean: 256}"

static struct rlhfsim_diagnostics *diagnostics;

static void setup(void) {
    diagnostics = rlhfsim_diagnostics_new();
}

static void teardown(void) {
    rlhfsim_diagnostics_free(diagnostics);
}

static double step_s(const char *const *sets) {
    const struct rlhfsim_forecast_options options = {.replicates = 1, .ignore_memory = true};
    struct rlhfsim_scenario *scenario = testing_scenario(PPO, sets);
    struct rlhfsim_forecast *forecast;
    struct rlhfsim_value value;
    ck_assert_int_eq(rlhfsim_forecast_run(scenario, &options, diagnostics, &forecast), RLHFSIM_OK);
    ck_assert(rlhfsim_summary_get(rlhfsim_forecast_summary(forecast), "time.step_s", &value));
    rlhfsim_forecast_free(forecast);
    rlhfsim_scenario_free(scenario);
    return value.p50;
}

/* Four optimizer steps a step, in each of which all states of a model come and go. */
START_TEST(disks_read_and_write_all_states) {
    static const char *const host[] = {
        "steps=2", "checkpoint.every_steps=0", FIXED, NODE("1152", "1200"), PRICE, HOST, NULL};
    static const char *const nvme[] = {
        "steps=2", "checkpoint.every_steps=0", FIXED, NODE("1152", "1200"), PRICE, HOST, NVME,
        NULL};
    double more = step_s(nvme) - step_s(host);
    assert_relative(more, 4.0 * STATE_BYTES * (1.0 / 10e9 + 1.0 / 8e9), 1e-6);
}
END_TEST

static double sum_of(double held[FORECAST_OWNER_COUNT][FORECAST_CATEGORY_COUNT]) {
    return held[ALGORITHM_ROLE_ACTOR][FORECAST_CATEGORY_OPTIMIZER] +
           held[ALGORITHM_ROLE_CRITIC][FORECAST_CATEGORY_OPTIMIZER];
}

static void state_with(const char *tier, struct forecast_memory_state *state) {
    const char *const sets[] = {NODE("1152", "1200"), PRICE, HOST, tier, NULL};
    struct rlhfsim_scenario *scenario = testing_scenario(PPO, sets);
    struct forecast_plan plan;
    forecast_plan_make(scenario, &plan);
    forecast_host_at(&plan, 0, 0, state);
    rlhfsim_scenario_free(scenario);
}

/* What leaves the host is on the disks, to the byte; the host has the part that is updated at once:
 * here, with fewer than 1e9 parameters a GPU, one model's all. */
START_TEST(bytes_move_and_none_is_lost) {
    struct forecast_memory_state host, nvme;
    state_with("training.offload_optimizer_to=host", &host);
    state_with(NVME, &nvme);
    ck_assert_double_eq(sum_of(host.disk), 0.0);
    assert_relative(sum_of(host.host), STATE_BYTES, 1e-12);
    ck_assert_double_eq(sum_of(nvme.disk), sum_of(host.host));
    ck_assert_double_le(sum_of(nvme.host), sum_of(host.host));
}
END_TEST

static void verdict_of(const char *node, const char *tier, struct rlhfsim_summary *summary,
                       struct forecast_verdict *verdict) {
    const char *const sets[] = {node, PRICE, HOST, "checkpoint.every_steps=0", tier, NULL};
    struct rlhfsim_scenario *scenario = testing_scenario(PPO, sets);
    static struct forecast_plan plan;
    *summary = (struct rlhfsim_summary){0};
    *verdict = (struct forecast_verdict){0};
    forecast_plan_make(scenario, &plan);
    forecast_verdict_make(&plan, summary, verdict);
    rlhfsim_scenario_free(scenario);
}

/* 160 GB of states on 100 GB of disks. */
START_TEST(disks_that_are_too_small) {
    static struct rlhfsim_summary summary;
    static struct forecast_verdict verdict;
    verdict_of(NODE("1152", "100"), NVME, &summary, &verdict);
    ck_assert(!summary.memory.fits);
    ck_assert_str_eq(summary.memory.verdict, "does not fit");
    ck_assert_str_eq(summary.memory.device, "node0/nvme");
    ck_assert_double_eq(summary.memory.capacity_bytes, 100e9);
    ck_assert_str_eq(verdict.reason, "the NVMe disks of every node (nvme_gb) lack 60.15 GB for "
                                     "offloaded optimizers");
    ck_assert_uint_eq(verdict.row_count, 2);
    verdict_of(NODE("1152", "161"), NVME, &summary, &verdict);
    ck_assert(summary.memory.fits);
}
END_TEST

/* A 70B actor and critic trained on 16 GPUs whose hosts have 900 GiB each: their states, 1.66 TB,
 * do not fit there beside the frozen models; on disks they do. */
START_TEST(advised_where_hosts_are_full) {
    static const char *const sets[] = {
        NODE("900", "8000"),
        PRICE,
        "training.offload=optimizer+parameters",
        "cluster.nodes=2",
        "checkpoint.every_steps=0",
        "models={actor: {model: Llama-2-70b-hf}, critic: {model: Llama-2-70b-hf}, reward: {model: "
        "Llama-2-7b-hf}, reference: {model: Llama-2-70b-hf, offload: parameters}}",
        "rollout.tp=8",
        "training.load=sharded",
        NULL};
    struct rlhfsim_scenario *scenario = testing_scenario(PPO, sets);
    static struct forecast_plan plan;
    forecast_plan_make(scenario, &plan);
    ck_assert_double_gt(forecast_host_fill(&plan), 1.0);
    scenario->training.offload_optimizer_to = SCENARIO_OPTIMIZER_NVME;
    forecast_plan_make(scenario, &plan);
    ck_assert_double_le(forecast_host_fill(&plan), 1.0);
    ck_assert_double_le(forecast_disk_fill(&plan), 1.0);
    /* Of each node 8 GPUs: 2 models x 12 bytes x 1e9, and what is offloaded of the weights. */
    struct forecast_memory_state host;
    forecast_host_at(&plan, 0, 0, &host);
    assert_relative(sum_of(host.host), 8.0 * 2.0 * 12e9, 1e-12);
    rlhfsim_scenario_free(scenario);
}
END_TEST

static void refused(const char *const *sets, size_t count, const char *expected) {
    const struct rlhfsim_scenario_options options = {
        .catalog_directory = "scenarios/catalog", .sets = sets, .set_count = count};
    struct rlhfsim_scenario *scenario = NULL;
    char text[1024];
    ck_assert_int_eq(rlhfsim_scenario_load(PPO, &options, diagnostics, &scenario), RLHFSIM_INVALID);
    ck_assert_uint_eq(rlhfsim_diagnostics_count(diagnostics), 1);
    rlhfsim_error_format(rlhfsim_diagnostics_get(diagnostics, 0), text, sizeof text);
    ck_assert_str_eq(text, expected);
}

START_TEST(nothing_to_move) {
    static const char *const sets[] = {"training.offload=parameters", NVME};
    refused(sets, 2,
            "--set:1:10: error: training.offload_optimizer_to is not used: no model offloads "
            "its optimizer (training.offload); leave it out");
}
END_TEST

START_TEST(disks_that_are_not_known) {
    static const char *const sets[] = {HOST, NVME};
    refused(sets, 2,
            PPO ":46:9: error: node 'aws-p4de.24xlarge' has no nvme_read_gb_per_s, "
                "nvme_write_gb_per_s, which this run needs and no source gives; write "
                "nodes.csv of your own for it, or describe it in the scenario");
}
END_TEST

START_TEST(no_disks) {
    static const char *const sets[] = {"cluster.node={like: azure-ND96isr_H100_v5, nvme_gb: 0}",
                                       PRICE, HOST, NVME};
    refused(sets, 4,
            "--set:1:10: error: training.offload_optimizer_to is nvme, but node "
            "'azure-ND96isr_H100_v5' "
            "has no local disks (nvme_gb is 0); expected host");
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("forecast.nvme");
    TCase *nvme = tcase_create("nvme");
    tcase_add_checked_fixture(nvme, setup, teardown);
    tcase_set_timeout(nvme, 60);
    tcase_add_test(nvme, disks_read_and_write_all_states);
    tcase_add_test(nvme, bytes_move_and_none_is_lost);
    tcase_add_test(nvme, disks_that_are_too_small);
    tcase_add_test(nvme, advised_where_hosts_are_full);
    tcase_add_test(nvme, nothing_to_move);
    tcase_add_test(nvme, no_disks);
    tcase_add_test(nvme, disks_that_are_not_known);
    suite_add_tcase(suite, nvme);
    return suite;
}

TESTING_MAIN(suite)
