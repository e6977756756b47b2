/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Plans and ranges of published runs that lack inputs, on made rows: the plan is the best of all
 * that are tried here one by one, and the ends of a range are worked out anew from forecasts with
 * the input at both ends of its prior.
 */

#include "models/scenario/catalog_load.h"
#include "models/validation/run_plan.h"
#include "models/validation/run_ranges.h"
#include "models/validation/run_table.h"
#include "tests/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct catalog *catalog;
static struct rlhfsim_diagnostics *diagnostics;
static struct run_table table;
static char directory[] = "/tmp/rlhfsim-ranges-XXXXXX";

#define HEADER                                                                             \
    "run_key,source_key,framework,algorithm,actor_model,reference_model,gpu,num_gpus,"     \
    "gpus_per_node,placement,train_backend,train_tp,train_pp,train_cp,recompute,packing,"  \
    "rollout_tp,prompts_per_step,samples_per_prompt,mean_prompt_tokens,max_prompt_tokens," \
    "mean_response_tokens,max_response_tokens,minibatch_samples,microbatch_samples,"       \
    "microbatch_tokens\n"

static const char runs[] =
    HEADER "stated,OTHER,nemo-rl,grpo,Qwen2.5-0.5B,no,H100-SXM5-80GB,8,8,colocated,megatron,"
           "1,1,1,none,yes,1,16,8,100,512,300,1024,64,,8192\n"
           "planless,OTHER,nemo-rl,grpo,Qwen2.5-0.5B,no,H100-SXM5-80GB,8,8,colocated,megatron,"
           ",,1,none,yes,1,16,8,100,512,300,1024,64,,8192\n"
           "lengthless,OTHER,nemo-rl,grpo,Qwen2.5-0.5B,no,H100-SXM5-80GB,8,8,colocated,megatron,"
           "1,1,1,none,yes,1,16,8,100,512,,1024,64,,8192\n"
           "own,NEMO-PERF,nemo-rl,grpo,Qwen2.5-0.5B,no,H100-SXM5-80GB,8,8,colocated,megatron,"
           "1,1,1,none,yes,1,16,8,100,512,300,1024,64,,8192\n";

static const char figures[] = "run_key,metric,value,notes\n"
                              "stated,step_s,10,\nstated,tokens_per_s,5000,prompt + response\n"
                              "planless,step_s,10,\nlengthless,step_s,10,\n"
                              "lengthless,weight_sync_s,1,\nown,step_s,10,\n";

static void write_file(const char *name, const char *text) {
    char path[64];
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}

static void setup(void) {
    strcpy(strrchr(directory, '-'), "-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    write_file("runs.csv", runs);
    write_file("figures.csv", figures);
    catalog = catalog_new();
    diagnostics = rlhfsim_diagnostics_new();
    ck_assert_int_eq(catalog_load(catalog, "scenarios/catalog", true, diagnostics), RLHFSIM_OK);
    ck_assert_int_eq(run_table_read(catalog, directory, diagnostics, &table), RLHFSIM_OK);
}

static void teardown(void) {
    char path[64];
    run_table_release(&table);
    catalog_free(catalog);
    rlhfsim_diagnostics_free(diagnostics);
    (void)snprintf(path, sizeof path, "%s/runs.csv", directory);
    unlink(path);
    (void)snprintf(path, sizeof path, "%s/figures.csv", directory);
    unlink(path);
    rmdir(directory);
}

static const struct run_case *find(const char *name) {
    const struct run_case *run = table.cases;
    while (run != NULL && strcmp(run->name, name) != 0)
        run = run->next;
    ck_assert_ptr_nonnull(run);
    ck_assert_msg(run->reason == NULL, "%s: %s", name, run->reason);
    return run;
}

static double step_with(const struct run_case *run, const struct run_replacement *cells,
                        size_t count) {
    struct run_variant variant = {.cells = cells, .count = count};
    ck_assert_int_eq(run_variant_forecast(catalog, run, diagnostics, &variant), RLHFSIM_OK);
    return variant.forecast ? variant.outcome.step_s : (double)INFINITY;
}

static double step_of(const struct run_case *run) {
    struct run_outcome outcome;
    ck_assert_int_eq(run_forecast(run, diagnostics, &outcome), RLHFSIM_OK);
    return outcome.step_s;
}

/* ---- plans ----------------------------------------------------------------------------------- */

/* Of 24 layers and 14 heads with 2 of keys: tp 1 and 2, pp 1 to 8 are legal; all fit. */
START_TEST(the_fastest_plan_is_assumed) {
    static const char *const sizes[] = {"1", "2", "4", "8"};
    const struct run_case *run = find("planless");
    double best = (double)INFINITY, worst = 0.0;
    const char *tp = "", *pp = "";
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            struct run_replacement cells[] = {{"train_tp", sizes[i]}, {"train_pp", sizes[j]}};
            double step = step_with(run, cells, 2);
            if (isfinite(step))
                worst = fmax(worst, step);
            if (step >= best)
                continue;
            best = step;
            tp = sizes[i];
            pp = sizes[j];
        }
    ck_assert_str_eq(run_case_cell(run, "train_tp"), tp);
    ck_assert_str_eq(run_case_cell(run, "train_pp"), pp);
    ck_assert_double_eq(step_of(run), best);
    struct run_replacement slowest[RUN_PLAN_CELLS];
    for (size_t i = 0; i < RUN_PLAN_CELLS; i++)
        slowest[i] = (struct run_replacement){run_plan_column(i), run->slowest_plan[i]};
    ck_assert_double_eq(step_with(run, slowest, RUN_PLAN_CELLS), worst);
}
END_TEST

START_TEST(a_searched_plan_is_said) {
    char expected[64];
    const struct run_case *run = find("planless");
    const char *said = run_assumptions_text(&table.arena, &run->complete);
    (void)snprintf(expected, sizeof expected, "train_tp=%s train_pp=%s",
                   run_case_cell(run, "train_tp"), run_case_cell(run, "train_pp"));
    ck_assert_ptr_nonnull(strstr(said, expected));
    ck_assert_ptr_null(find("stated")->slowest_plan[0]);
}
END_TEST

/* ---- ranges ---------------------------------------------------------------------------------- */

static struct run_range range_of(const struct run_case *run, struct run_ranges *ranges) {
    struct run_range range;
    ck_assert_int_eq(run_ranges_forecast(catalog, run, diagnostics, ranges), RLHFSIM_OK);
    ck_assert(run_range_of(catalog, run, run->figures, step_of(run), ranges, &range));
    return range;
}

START_TEST(a_complete_run_has_the_models_error) {
    struct run_ranges ranges;
    const struct run_case *run = find("stated");
    const struct catalog_band *band = catalog_band(catalog, "colocated", "step", "");
    struct run_range range = range_of(run, &ranges);
    ck_assert(!ranges.incomplete);
    ck_assert_ptr_null(range.input);
    assert_relative(range.low, band->p10 * step_of(run), 1e-9);
    assert_relative(range.high, band->p90 * step_of(run), 1e-9);
    ck_assert(!run_range_of(catalog, run, run->figures->next, 5000.0, &ranges, &range));
}
END_TEST

/* Runs of a source say nothing of their own error. */
START_TEST(a_source_has_the_band_of_the_others) {
    struct run_ranges ranges;
    const struct run_case *run = find("own");
    const struct catalog_band *band = catalog_band(catalog, "colocated", "step", "NEMO-PERF");
    ck_assert_ptr_nonnull(band);
    assert_relative(range_of(run, &ranges).high, band->p90 * step_of(run), 1e-9);
}
END_TEST

/* The default is 10 sqrt(1024) = 320 tokens; its prior 128 to 384. */
START_TEST(a_missing_length_widens) {
    struct run_ranges ranges;
    const struct run_case *run = find("lengthless");
    const struct catalog_band *band = catalog_band(catalog, "colocated", "step", "");
    struct run_replacement low[] = {{"mean_response_tokens", "128"}},
                           high[] = {{"mean_response_tokens", "384"}};
    double step = step_of(run);
    double down = log(step / step_with(run, low, 1)), up = log(step_with(run, high, 1) / step);
    struct run_range range = range_of(run, &ranges);
    ck_assert(ranges.incomplete);
    ck_assert_uint_eq(ranges.count, 1);
    ck_assert_str_eq(range.input, "mean_response_tokens");
    ck_assert_double_gt(down, 0.0);
    ck_assert_double_gt(up, 0.0);
    double below = sqrt(down * down + pow(log(band->p50 / band->p10), 2.0));
    double above = sqrt(up * up + pow(log(band->p90 / band->p50), 2.0));
    assert_relative(range.low, step * band->p50 * exp(-below), 1e-9);
    assert_relative(range.high, step * band->p50 * exp(above), 1e-9);
    ck_assert(!run_range_of(catalog, run, run->figures->next, 1.0, &ranges, &range));
}
END_TEST

/* A prior is of an input that has a default. */
START_TEST(priors_are_of_defaults) {
    const char *column, *why, *filled, *rule;
    for (size_t i = 0; run_prior_at(i, &column, &why); i++) {
        bool found = false;
        for (size_t j = 0; run_default_at(j, &filled, &rule); j++)
            found = found || strcmp(filled, column) == 0;
        ck_assert_msg(found, "%s has no default", column);
        ck_assert_str_ne(why, "");
    }
}
END_TEST

static Suite *ranges_suite(void) {
    Suite *suite = suite_create("validation.run_ranges");
    TCase *tests = tcase_create("ranges");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, the_fastest_plan_is_assumed);
    tcase_add_test(tests, a_searched_plan_is_said);
    tcase_add_test(tests, a_complete_run_has_the_models_error);
    tcase_add_test(tests, a_source_has_the_band_of_the_others);
    tcase_add_test(tests, a_missing_length_widens);
    tcase_add_test(tests, priors_are_of_defaults);
    suite_add_tcase(suite, tests);
    return suite;
}

TESTING_MAIN(ranges_suite)
