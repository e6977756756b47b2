/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Factors fitted on one published run, for its siblings: runs of the same source, framework
 * version, trainer, GPU, placement and model, with a mean length that is stated, which differ in
 * the number of GPUs, batch, algorithm, caps, precision or in the steps that were averaged. Every
 * pair of the tables that this rule finds is listed, and each is played both ways.
 *
 * The aim is a median of 7 % of the step. What is reached is printed, and may not get worse; a
 * forecast that is better to begin with helps both columns. Rules of the comparison: the engine's
 * share of a GPU is stated nowhere and 0.9 everywhere here.
 */

#include "models/calibration/log_fit.h"
#include "models/scenario/catalog_load.h"
#include "models/validation/run_table.h"
#include "tests/testing.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENGINE_SHARE 0.9

static const struct {
    const char *a, *b;
} pairs[] = {
    {"VERL-LOGS/ppo-q0.5b-1024-512", "VERL-LOGS/ppo-q0.5b-512-256"},
    {"VERL-LOGS/gpg-q7b-fsdp-whole", "VERL-LOGS/gpg-q7b-fsdp-steps"},
    {"VERL-LOGS/gpg-q7b-megatron-whole", "VERL-LOGS/gpg-q7b-megatron-steps"},
    {"AMD-VERL/log-grpo-ds7b-whole", "AMD-VERL/log-ppo-ds7b-whole"},
    {"AMD-VERL/log-grpo-ds7b-steps", "AMD-VERL/log-ppo-ds7b-steps"},
    {"AMD-VERL/log-grpo-ds7b-whole", "AMD-VERL/log-grpo-ds7b-steps"},
    {"AMD-VERL/log-ppo-ds7b-whole", "AMD-VERL/log-ppo-ds7b-steps"},
    {"NEMO-PERF/v0.6/H100/DeepSeekV3/on/256", "NEMO-PERF/v0.6/H100/DeepSeekV3/on/512"},
    {"NEMO-PERF/v0.6/H100/Qwen3-235B/on/128", "NEMO-PERF/v0.6/H100/Qwen3-235B/on/256"},
    {"NEMO-PERF/v0.6/GB200-NVL72/DeepSeekV3/on/128",
     "NEMO-PERF/v0.6/GB200-NVL72/DeepSeekV3/on/256"},
    {"NEMO-PERF/v0.6/GB200-NVL72/Qwen3-235B/on/64", "NEMO-PERF/v0.6/GB200-NVL72/Qwen3-235B/on/128"},
    {"NEMO-PERF/v0.6/H100/Qwen3-30B3A/off/32", "NEMO-PERF/v0.6/H100/Qwen3-30B3A/off/192"},
    {"NEMO-PERF/v0.5/H100/LLAMA3.1_8B/off/16", "NEMO-PERF/v0.5/H100/LLAMA3.1_8B/off/16/fp8"},
    {"NEMO-PERF/v0.5/H100/DeepSeekV3/off/512", "NEMO-PERF/v0.5/H100/DeepSeekV3/off/512/fp8"},
    {"NEMO-PERF/v0.6/H100/DeepSeekV3/off/512", "NEMO-PERF/v0.6/H100/DeepSeekV3/off/512/fp8"},
};
#define PAIRS (sizeof pairs / sizeof *pairs)

static struct run_case *run_named(const struct run_table *table, const char *name) {
    for (struct run_case *run = table->cases; run != NULL; run = run->next)
        if (strcmp(run->name, name) == 0) {
            ck_assert_msg(run->scenario != NULL, "%s has no scenario", name);
            return run;
        }
    ck_abort_msg("the tables have no run %s", name);
    return NULL;
}

/* The printed figures as one step of a log: verl's generation_s is its timer `gen`. */
static void log_of(const struct run_case *run, struct log_measure *measure) {
    struct log_steps steps = {0};
    struct log_step *step = log_steps_add(&steps, 1);
    const char *framework = run_case_cell(run, "framework"), *near;
    ck_assert_ptr_nonnull(step);
    for (const struct run_figure *figure = run->figures; figure != NULL; figure = figure->next) {
        size_t length = strlen(figure->metric);
        if (length < 3 || strcmp(figure->metric + length - 2, "_s") != 0)
            continue;
        bool gen = strcmp(figure->metric, "generation_s") == 0 && strcmp(framework, "verl") == 0;
        unsigned timer = log_timer_find(gen ? "gen" : figure->metric, &near);
        if (timer < LOG_TIMERS)
            step->seconds[timer] = figure->value;
    }
    ck_assert(step->seconds[LOG_STEP] > 0.0);
    ck_assert(log_measure_make(&steps, run->scenario->placement.mode == SCENARIO_ASYNC, measure));
    log_steps_release(&steps);
}

static void fit(const struct run_case *run, struct rlhfsim_diagnostics *diagnostics,
                struct log_measure *measure, struct log_fit *result) {
    run->scenario->rollout.memory_fraction = ENGINE_SHARE;
    log_of(run, measure);
    ck_assert_int_eq(log_fit_make(run->scenario, measure, true, diagnostics, result), RLHFSIM_OK);
}

/* |step with the other's factors / measured - 1|. */
static double transferred(const struct run_case *run, const struct log_measure *measure,
                          const struct log_fit *other, struct rlhfsim_diagnostics *diagnostics) {
    struct log_forecast forecast;
    ck_assert_int_eq(
        log_forecast_make(run->scenario, other->factors, false, diagnostics, &forecast),
        RLHFSIM_OK);
    return log_forecast_s(&forecast, LOG_STEP) / measure->seconds[LOG_STEP] - 1.0;
}

struct errors {
    double before[2 * PAIRS], own[2 * PAIRS], after[2 * PAIRS], in_turn[2 * PAIRS];
    size_t count, in_turn_count; /* in_turn: without the runs whose phases overlap */
};

static void add_pair(const struct run_table *table, size_t index,
                     struct rlhfsim_diagnostics *diagnostics, struct errors *errors) {
    const struct run_case *runs[2] = {run_named(table, pairs[index].a),
                                      run_named(table, pairs[index].b)};
    struct log_measure measures[2];
    struct log_fit fits[2];
    for (int i = 0; i < 2; i++)
        fit(runs[i], diagnostics, &measures[i], &fits[i]);
    for (int i = 0; i < 2; i++) {
        double step_s = measures[i].seconds[LOG_STEP];
        double before = log_forecast_s(&fits[i].before, LOG_STEP) / step_s - 1.0;
        double own = log_forecast_s(&fits[i].after, LOG_STEP) / step_s - 1.0;
        double after = transferred(runs[i], &measures[i], &fits[1 - i], diagnostics);
        printf("%-46s %+6.1f %% before, %+5.1f %% with its own, %+6.1f %% with its sibling's\n",
               runs[i]->name, 100.0 * before, 100.0 * own, 100.0 * after);
        errors->before[errors->count] = fabs(before);
        errors->own[errors->count] = fabs(own);
        errors->after[errors->count++] = fabs(after);
        if (!fits[i].before.overlaps)
            errors->in_turn[errors->in_turn_count++] = fabs(after);
    }
}

static double median(double *values, size_t count) {
    gsl_sort(values, 1, count);
    return gsl_stats_median_from_sorted_data(values, 1, count);
}

/* What was reached when this was written, and 2 points. */
#define OWN_MOST 0.01
#define AFTER_MOST 0.125
#define IN_TURN_MOST 0.09

START_TEST(siblings_come_near) {
    char directory[4096];
    struct run_table table;
    struct errors errors = {.count = 0};
    if (testing_shared_directory() == NULL) {
        printf("skipped: the shared measurements are not here\n");
        return;
    }
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    struct catalog *catalog = catalog_new();
    ck_assert_int_eq(catalog_load(catalog, "scenarios/catalog", true, diagnostics), RLHFSIM_OK);
    (void)snprintf(directory, sizeof directory, "%s/measurements/runs", testing_shared_directory());
    ck_assert_int_eq(run_table_read(catalog, directory, diagnostics, &table), RLHFSIM_OK);
    for (size_t i = 0; i < PAIRS; i++)
        add_pair(&table, i, diagnostics, &errors);
    double before = median(errors.before, errors.count), own = median(errors.own, errors.count);
    double after = median(errors.after, errors.count);
    double in_turn = median(errors.in_turn, errors.in_turn_count);
    printf("%zu siblings: median %.1f %% before, %.1f %% with their own, %.1f %% with the other's; "
           "%.1f %% of the %zu whose phases take turns\n",
           errors.count, 100.0 * before, 100.0 * own, 100.0 * after, 100.0 * in_turn,
           errors.in_turn_count);
    ck_assert_double_le(own, OWN_MOST);
    ck_assert_double_le(after, AFTER_MOST);
    ck_assert_double_le(in_turn, IN_TURN_MOST);
    run_table_release(&table);
    catalog_free(catalog);
    rlhfsim_diagnostics_free(diagnostics);
}
END_TEST

static Suite *log_siblings_suite(void) {
    Suite *suite = suite_create("siblings of a calibrated run");
    TCase *siblings = tcase_create("siblings");
    tcase_set_timeout(siblings, 300);
    tcase_add_test(siblings, siblings_come_near);
    suite_add_tcase(suite, siblings);
    return suite;
}

TESTING_MAIN(log_siblings_suite)
