/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Wall time and memory of large runs, one replicate, nothing written, what limits them left out: a
 * step on 16,384 GPUs, and 300 steps of a fully asynchronous run on 512. The peak is the process's
 * after the first.
 */

#include <rlhfsim/rlhfsim.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#define DIRECTORY RLHFSIM_SOURCE_DIRECTORY

static double now_s(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void complain(const struct rlhfsim_diagnostics *diagnostics) {
    char text[1024];
    for (size_t i = 0; i < rlhfsim_diagnostics_count(diagnostics); i++) {
        rlhfsim_error_format(rlhfsim_diagnostics_get(diagnostics, i), text, sizeof text);
        fprintf(stderr, "%s\n", text);
    }
}

/* Seconds of one forecast; below 0 when it failed. */
static double run_s(const char *path) {
    const struct rlhfsim_scenario_options options = {.catalog_directory =
                                                         DIRECTORY "/scenarios/catalog"};
    const struct rlhfsim_forecast_options run = {.replicates = 1, .skip_limit = true};
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    struct rlhfsim_scenario *scenario = NULL;
    struct rlhfsim_forecast *forecast = NULL;
    double wall_s = -1.0;
    if (diagnostics == NULL)
        return wall_s;
    if (rlhfsim_scenario_load(path, &options, diagnostics, &scenario) == RLHFSIM_OK) {
        double start_s = now_s();
        if (rlhfsim_forecast_run(scenario, &run, diagnostics, &forecast) == RLHFSIM_OK)
            wall_s = now_s() - start_s;
    }
    if (wall_s < 0.0)
        complain(diagnostics);
    rlhfsim_forecast_free(forecast);
    rlhfsim_scenario_free(scenario);
    rlhfsim_diagnostics_free(diagnostics);
    return wall_s;
}

int main(void) {
    struct rusage usage;
    double step_s = run_s(DIRECTORY "/tests/bench/grpo-16384.yaml");
    getrusage(RUSAGE_SELF, &usage);
    double async_s = run_s(DIRECTORY "/tests/bench/async-512.yaml");
    if (step_s < 0.0 || async_s < 0.0)
        return EXIT_FAILURE;
    printf("{\"name\":\"grpo_16384_gpus_step_wall_s\",\"value\":%.6g,\"unit\":\"s\"}\n", step_s);
    printf("{\"name\":\"grpo_16384_gpus_step_peak_bytes\",\"value\":%.0f,\"unit\":\"bytes\"}\n",
           1024.0 * (double)usage.ru_maxrss);
    printf("{\"name\":\"async_512_gpus_300_steps_wall_s\",\"value\":%.6g,\"unit\":\"s\"}\n",
           async_s);
    return EXIT_SUCCESS;
}
