/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Wall time of a whole run: tests/bench/ppo-7b.yaml, one replicate, nothing written. The best of
 * three, what limits it included; the loading of the scenario is not.
 */

#include <rlhfsim/rlhfsim.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define RUNS 3
#define DIRECTORY RLHFSIM_SOURCE_DIRECTORY

static double now_s(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int complain(const struct rlhfsim_diagnostics *diagnostics) {
    char text[1024];
    for (size_t i = 0; i < rlhfsim_diagnostics_count(diagnostics); i++) {
        rlhfsim_error_format(rlhfsim_diagnostics_get(diagnostics, i), text, sizeof text);
        fprintf(stderr, "%s\n", text);
    }
    return EXIT_FAILURE;
}

/* Seconds of one forecast; below 0 when it failed. *sequences: answered over the whole run. */
static double run_s(const struct rlhfsim_scenario *scenario,
                    struct rlhfsim_diagnostics *diagnostics, double *sequences) {
    const struct rlhfsim_forecast_options options = {.replicates = 1};
    struct rlhfsim_forecast *forecast;
    struct rlhfsim_value rate = {0}, total = {0};
    double start_s = now_s();
    if (rlhfsim_forecast_run(scenario, &options, diagnostics, &forecast) != RLHFSIM_OK)
        return -1.0;
    double wall_s = now_s() - start_s;
    rlhfsim_summary_get(rlhfsim_forecast_summary(forecast), "throughput.samples_per_s", &rate);
    rlhfsim_summary_get(rlhfsim_forecast_summary(forecast), "time.total_s", &total);
    *sequences = rate.p50 * total.p50;
    rlhfsim_forecast_free(forecast);
    return wall_s;
}

int main(void) {
    const struct rlhfsim_scenario_options options = {.catalog_directory =
                                                         DIRECTORY "/scenarios/catalog"};
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    struct rlhfsim_scenario *scenario = NULL;
    double best_s = -1.0, sequences = 0.0;
    if (diagnostics == NULL || rlhfsim_scenario_load(DIRECTORY "/tests/bench/ppo-7b.yaml", &options,
                                                     diagnostics, &scenario) != RLHFSIM_OK)
        return complain(diagnostics);
    for (int i = 0; i < RUNS; i++) {
        double wall_s = run_s(scenario, diagnostics, &sequences);
        if (wall_s < 0.0)
            return complain(diagnostics);
        best_s = best_s < 0.0 || wall_s < best_s ? wall_s : best_s;
    }
    printf("{\"name\":\"ppo_7b_run_wall_s\",\"value\":%.6g,\"unit\":\"s\"}\n", best_s);
    printf("{\"name\":\"ppo_7b_run_sequences\",\"value\":%.0f,\"unit\":\"sequences\"}\n",
           sequences);
    rlhfsim_scenario_free(scenario);
    rlhfsim_diagnostics_free(diagnostics);
    return EXIT_SUCCESS;
}
