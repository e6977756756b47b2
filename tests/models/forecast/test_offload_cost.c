/* SPDX-License-Identifier: GPL-3.0-or-later */

/* What offload costs in time, as the summary tells it: against two runs, and by hand. */

#include "tests/scenarios.h"
#include "tests/testing.h"

#include <rlhfsim/rlhfsim.h>

#include <stdio.h>

#define PPO "scenarios/ppo-llama2-7b-8xa100.yaml"
#define ACTOR 6738415616.0
#define CRITIC 6607347712.0

static struct rlhfsim_diagnostics *diagnostics;

static void setup(void) {
    diagnostics = rlhfsim_diagnostics_new();
}

static void teardown(void) {
    rlhfsim_diagnostics_free(diagnostics);
}

/* Lengths are fixed, so that all steps are equal; nothing is saved. */
static double figure(const char *offload, const char *path) {
    char set[64];
    const char *const sets[] = {"steps=2", "checkpoint.every_steps=0",
                                "rollout.response_tokens={law: fixed, mean: 256}", set, NULL};
    const struct rlhfsim_forecast_options options = {.replicates = 1, .ignore_memory = true};
    struct rlhfsim_forecast *forecast;
    struct rlhfsim_value value;
    snprintf(set, sizeof set, "%s", offload);
    struct rlhfsim_scenario *scenario = testing_scenario(PPO, sets);
    ck_assert_int_eq(rlhfsim_forecast_run(scenario, &options, diagnostics, &forecast), RLHFSIM_OK);
    ck_assert(rlhfsim_summary_get(rlhfsim_forecast_summary(forecast), path, &value));
    double p50 = value.kind == RLHFSIM_VALUE_UNKNOWN ? (double)NAN : value.p50;
    rlhfsim_forecast_free(forecast);
    rlhfsim_scenario_free(scenario);
    return p50;
}

START_TEST(it_is_the_difference_of_two_runs) {
    static const char *const offloads[] = {
        "training.offload=optimizer", "training.offload=parameters",
        "training.offload=optimizer+parameters", "models.reference.offload=parameters",
        "training.offload_activations=true"};
    double step_s = figure("training.offload=none", "time.step_s");
    for (size_t i = 0; i < sizeof offloads / sizeof *offloads; i++) {
        double cost = figure(offloads[i], "time.offload_s");
        ck_assert_double_ge(cost, 0.0);
        ck_assert_double_eq_tol(cost, figure(offloads[i], "time.step_s") - step_s, 1e-6 * step_s);
    }
    ck_assert(isnan(figure("training.offload=none", "time.offload_s")));
}
END_TEST

/* Four optimizer steps of a step, in each of which an eighth of the gradients goes down and of the
 * weights comes up, 2 bytes each, over PCIe: less it cannot be. */
START_TEST(at_least_what_pcie_takes) {
    struct rlhfsim_scenario *scenario = testing_scenario(PPO, NULL);
    double bytes = 4.0 * 4.0 * (ACTOR + CRITIC) / 8.0;
    double least = bytes / scenario->cluster.gpu.host_bandwidth_bytes_per_s;
    ck_assert_double_gt(figure("training.offload=optimizer", "time.offload_s"), 0.9 * least);
    rlhfsim_scenario_free(scenario);
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("forecast.offload_cost");
    TCase *tests = tcase_create("offload");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, it_is_the_difference_of_two_runs);
    tcase_add_test(tests, at_least_what_pcie_takes);
    suite_add_tcase(suite, tests);
    return suite;
}

TESTING_MAIN(suite)
