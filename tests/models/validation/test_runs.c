/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Published runs: what is filled in where a run does not state it, what printed figures are in a
 * forecast, and anchors (tests/validation/runs) whose errors may not grow.
 */

#include "models/scenario/catalog_load.h"
#include "models/validation/run_outcome.h"
#include "models/validation/run_table.h"
#include "tests/testing.h"

#include <rlhfsim/validation.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ANCHORS "tests/validation/runs"

static struct catalog *catalog;
static struct rlhfsim_diagnostics *diagnostics;
static struct base_arena arena;

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

/* ---- anchors --------------------------------------------------------------------------------- */

/* Median |error| of each source's runs when its coefficients were fitted, and what it may become.
 * VERL-DOCS has a run without a plan: undivided, which does not fit its memory, it would be 0.342.
 */
static const struct {
    const char *source;
    double median;
} anchors[] = {{"NEMO-PERF", 0.046}, {"NEMO-BLOG", 0.106}, {"VERL-LOGS", 0.133},
               {"AMD-VERL", 0.118},  {"EASYR1", 0.248},    {"VERL-DOCS", 0.425},
               {"PRIMERL", 0.030},   {"CKPTENG", 0.003}};
#define SLACK 0.02

START_TEST(anchors_hold) {
    static const char *const paths[] = {ANCHORS};
    struct rlhfsim_validation_options options = {.catalog_directory = "scenarios/catalog"};
    struct rlhfsim_validation *validation;
    struct rlhfsim_validation_errors errors;
    size_t sources = sizeof anchors / sizeof *anchors;
    ck_assert_int_eq(rlhfsim_validation_run("runs", paths, 1, &options, diagnostics, &validation),
                     RLHFSIM_OK);
    for (size_t i = 0; i < sources; i++) {
        ck_assert(rlhfsim_validation_source(validation, i, &errors));
        ck_assert_str_eq(errors.name, anchors[i].source);
        printf("%s: median %.3f, was %.3f\n", errors.name, errors.median_abs_error,
               anchors[i].median);
        ck_assert_double_le(errors.median_abs_error, anchors[i].median + SLACK);
        ck_assert_uint_eq(errors.rows, errors.compared + errors.skipped);
    }
    ck_assert(!rlhfsim_validation_source(validation, sources, &errors));
    ck_assert(rlhfsim_validation_overall(validation, &errors));
    ck_assert_double_ge((double)errors.compared, 0.95 * (double)errors.rows);
    rlhfsim_validation_free(validation);
}
END_TEST

/* ---- defaults -------------------------------------------------------------------------------- */

static struct run_complete complete_row(const char *header, const char *row,
                                        struct run_printed printed) {
    char file[2048];
    struct csv_table table;
    struct run_complete complete;
    int length = snprintf(file, sizeof file, "%s\n%s\n", header, row);
    char *kept = base_arena_text(&arena, file, (size_t)length);
    ck_assert_int_eq(csv_table_read(&arena, "t.csv", kept, (size_t)length, diagnostics, &table),
                     RLHFSIM_OK);
    ck_assert(run_row_complete(&arena, catalog, &table, table.rows, &printed, &complete));
    return complete;
}

static const char *cell(const struct run_complete *complete, const char *column) {
    return validation_cell(&complete->row, validation_column(&complete->table, column));
}

static const struct run_assumption *assumption(const struct run_complete *complete,
                                               const char *column) {
    for (size_t i = 0; i < complete->assumed_count; i++)
        if (strcmp(complete->assumed[i].column, column) == 0)
            return &complete->assumed[i];
    return NULL;
}

static const struct run_printed nothing = {(double)NAN, (double)NAN, (double)NAN, (double)NAN};

#define HEADER                                                                              \
    "run_key,framework,framework_version,algorithm,actor_model,gpu,num_gpus,train_backend," \
    "prompts_per_step,samples_per_prompt,max_prompt_tokens,mean_response_tokens,"           \
    "max_response_tokens,notes"

/* Qwen3 thinks: min(0.78 x 8192, 70 x sqrt(8192)) = min(6389.8, 6335.7). 32B x 2 bytes is 65.5 GB,
 * over 35 % of 79.2 GiB on one GPU and on two (32.8), under it on four. */
START_TEST(a_bare_row_is_filled_in) {
    struct run_complete complete =
        complete_row(HEADER, "a,verl,v0.7.0,grpo,Qwen3-32B,,64,megatron,64,16,,,8192,", nothing);
    ck_assert_str_eq(cell(&complete, "gpu"), "H100-SXM5-80GB");
    ck_assert_str_eq(cell(&complete, "zero_stage"), "1");
    ck_assert_str_eq(cell(&complete, "recompute"), "none");
    ck_assert_str_eq(cell(&complete, "packing"), "yes");
    ck_assert_str_eq(cell(&complete, "mean_response_tokens"), "6336");
    ck_assert_str_eq(cell(&complete, "mean_prompt_tokens"), "130");
    ck_assert_str_eq(cell(&complete, "rollout_tp"), "4");
    ck_assert_str_eq(cell(&complete, "minibatch_samples"), "1024");
    ck_assert_str_eq(cell(&complete, "microbatch_tokens"), "16384");
    ck_assert(assumption(&complete, "gpu")->guess);
    ck_assert_ptr_null(assumption(&complete, "num_gpus"));
}
END_TEST

/* What is stated stays; an instruct model does not think: 10 x sqrt(1024) = 320. */
START_TEST(what_is_stated_stays) {
    struct run_complete complete = complete_row(
        HEADER, "a,verl,v0.7.0,grpo,Qwen/Qwen2-7B-Instruct,MI300X,8,fsdp,64,16,512,,1024,",
        nothing);
    ck_assert_str_eq(cell(&complete, "gpu"), "MI300X");
    ck_assert_str_eq(cell(&complete, "max_prompt_tokens"), "512");
    ck_assert_str_eq(cell(&complete, "mean_response_tokens"), "320");
    ck_assert_str_eq(cell(&complete, "zero_stage"), "3");
    ck_assert_str_eq(cell(&complete, "recompute"), "full");
}
END_TEST

/* 10,000 tokens a second for 100 s are 1,000,000 of 1,024 samples, 976.6 each, 130 of them the
 * prompt. That is arithmetic, no guess. */
START_TEST(tokens_follow_from_rate_and_time) {
    struct run_printed printed = nothing;
    printed.step_s = 100.0;
    printed.tokens_per_s = 1e4;
    struct run_complete complete =
        complete_row(HEADER, "a,verl,v0.7.0,grpo,Qwen3-32B,,64,megatron,64,16,,,8192,", printed);
    ck_assert_str_eq(cell(&complete, "mean_response_tokens"), "846.6");
    ck_assert(!assumption(&complete, "mean_response_tokens")->guess);
}
END_TEST

/* 7.6e9 parameters x 6 x (130 + 870) tokens x 1,024 samples in 100 s on 8 GPUs at an MFU of 0.187
 * are 3.1e14 FLOP/s of peak: an A100, of which 312e12 are printed. */
START_TEST(the_gpu_follows_from_the_mfu) {
    struct run_printed printed = nothing;
    printed.update_s = 100.0;
    printed.mfu = 0.187;
    struct run_complete complete = complete_row(
        HEADER ",mean_prompt_tokens",
        "a,verl,v0.7.0,grpo,Qwen/Qwen2-7B-Instruct,,8,fsdp,64,16,512,870,1024,,130", printed);
    ck_assert_str_eq(cell(&complete, "gpu"), "A100-SXM4-80GB");
    ck_assert(!assumption(&complete, "gpu")->guess);
}
END_TEST

START_TEST(a_common_cap_is_parted) {
    struct run_complete complete = complete_row(
        HEADER,
        "a,nemo-rl,v0.5.0,grpo,Llama-3.1-8B,H100-SXM5-80GB,8,,64,32,,700,4096,prompt + response "
        "together capped at 4096; implied mean prompt 109 tokens",
        nothing);
    ck_assert_str_eq(cell(&complete, "mean_prompt_tokens"), "109");
    ck_assert_str_eq(cell(&complete, "max_response_tokens"), "3987");
    ck_assert_str_eq(cell(&complete, "train_backend"), "megatron");
}
END_TEST

/* ---- figures --------------------------------------------------------------------------------- */

static const struct run_case *find_run(const struct run_table *table, const char *name) {
    const struct run_case *run = table->cases;
    while (run != NULL && strcmp(run->name, name) != 0)
        run = run->next;
    ck_assert_ptr_nonnull(run);
    return run;
}

static double figure_of(const struct run_case *run, const struct run_outcome *outcome,
                        const char *metric, const char *notes) {
    struct run_figure figure = {.metric = metric, .value = 1.0, .notes = notes};
    const char *reason;
    return run_figure_forecast(run, &figure, outcome, &reason);
}

/* A made outcome, each part a power of two: every sum tells its parts. */
static struct run_outcome made_outcome(void) {
    struct run_outcome outcome = {.steps = 1.0,
                                  .step_s = 4096.0,
                                  .driver_s = 1.0,
                                  .gpus = 8.0,
                                  .peak_flops_per_s = 1e15,
                                  .samples = 512.0,
                                  .tokens = 8192e3,
                                  .response_tokens = 4096e3,
                                  .training_flops = 4e15,
                                  .training_gpu_s = 16.0,
                                  .peak_bytes = 2147483648.0};
    outcome.phase_s[ALGORITHM_PHASE_TRANSITION] = 5.0;
    outcome.phase_s[ALGORITHM_PHASE_ROLLOUT] = 8.0;
    outcome.phase_s[ALGORITHM_PHASE_WEIGHT_SYNC] = 16.0;
    outcome.phase_s[ALGORITHM_PHASE_ACTOR_LOGPROB] = 32.0;
    outcome.phase_s[ALGORITHM_PHASE_REFERENCE_LOGPROB] = 64.0;
    outcome.phase_s[ALGORITHM_PHASE_VALUES] = 128.0;
    outcome.phase_s[ALGORITHM_PHASE_REWARD] = 256.0;
    outcome.phase_s[ALGORITHM_PHASE_CRITIC_UPDATE] = 512.0;
    outcome.phase_s[ALGORITHM_PHASE_ACTOR_UPDATE] = 1024.0;
    return outcome;
}

START_TEST(printed_figures_are_sums_of_phases) {
    struct run_table table;
    struct run_outcome outcome = made_outcome();
    ck_assert_int_eq(run_table_read(catalog, ANCHORS, diagnostics, &table), RLHFSIM_OK);
    const struct run_case *verl = find_run(&table, "VERL-LOGS/gpg-q7b-fsdp-whole");
    const struct run_case *nemo = find_run(&table, "NEMO-BLOG/8b-meg");
    /* verl's timer: rollout, sleep and wake without the driver, the sync it does not print */
    ck_assert_double_eq(figure_of(verl, &outcome, "generation_s", ""), 8.0 + 4.0 + 16.0);
    ck_assert_double_eq(figure_of(nemo, &outcome, "generation_s", ""), 8.0);
    ck_assert_double_eq(figure_of(nemo, &outcome, "experience_s", ""), 32.0 + 64.0 + 128.0 + 256.0);
    ck_assert_double_eq(figure_of(nemo, &outcome, "training_s", ""), 512.0 + 1024.0);
    ck_assert_double_eq(figure_of(nemo, &outcome, "training_s", "with log-probs"),
                        512.0 + 1024.0 + 32.0 + 64.0);
    ck_assert_double_eq(figure_of(verl, &outcome, "reshard_s", ""), 16.0);
    ck_assert_double_eq(figure_of(nemo, &outcome, "tokens_per_s", "prompt + response tokens"),
                        2000.0);
    ck_assert_double_eq(figure_of(nemo, &outcome, "tokens_per_s_per_gpu", "response tokens"),
                        125.0);
    ck_assert_double_eq(figure_of(nemo, &outcome, "mfu", ""), 0.25);
    ck_assert_double_eq(figure_of(nemo, &outcome, "mfu", "relative to 500 TFLOPS"), 0.5);
    ck_assert_double_eq(figure_of(nemo, &outcome, "peak_memory_gb", "GiB"), 2.0);
    ck_assert_double_eq(figure_of(nemo, &outcome, "hours_total", "steps=90"), 102.4);
    ck_assert_double_eq(figure_of(nemo, &outcome, "hours_total", "samples=46080"), 102.4);
    ck_assert(isnan(figure_of(nemo, &outcome, "hours_total", "")));
    /* the step less rewards, log-probs, values, updates and the sync: 4096 - 480 - 16 - 1536 */
    ck_assert_double_eq(figure_of(nemo, &outcome, "wait_s", ""), 2064.0);
    ck_assert(isnan(figure_of(nemo, &outcome, "loss", "")));
    run_table_release(&table);
}
END_TEST

/* The phases of a synchronous step fill it. */
START_TEST(phases_add_up_to_the_step) {
    struct run_table table;
    ck_assert_int_eq(run_table_read(catalog, ANCHORS, diagnostics, &table), RLHFSIM_OK);
    for (const struct run_case *run = table.cases; run != NULL; run = run->next) {
        struct run_outcome outcome;
        double sum = 0.0;
        if (run->reason != NULL || run->scenario == NULL)
            continue;
        ck_assert_int_eq(run_forecast(run, diagnostics, &outcome), RLHFSIM_OK);
        for (int phase = 0; phase < ALGORITHM_PHASE_COUNT; phase++)
            sum += outcome.phase_s[phase];
        assert_relative(sum, outcome.step_s, 1e-9);
        ck_assert_double_eq(outcome.samples, (double)(run->scenario->algorithm.prompts_per_step *
                                                      run->scenario->algorithm.samples_per_prompt));
    }
    run_table_release(&table);
}
END_TEST

/* ---- as files -------------------------------------------------------------------------------- */

/* A run's scenario, written and read again, is the same one. */
START_TEST(an_emitted_scenario_can_be_loaded) {
    struct run_table table;
    struct rlhfsim_scenario_options options = {.catalog_directory = "scenarios/catalog"};
    struct rlhfsim_scenario *scenario;
    char path[] = "/tmp/rlhfsim-run-XXXXXX";
    int descriptor = mkstemp(path);
    ck_assert_int_ge(descriptor, 0);
    ck_assert_int_eq(run_table_read(catalog, ANCHORS, diagnostics, &table), RLHFSIM_OK);
    const struct run_case *run = find_run(&table, "NEMO-BLOG/q32-meg");
    char *text = run_case_yaml(run);
    ck_assert_ptr_nonnull(strstr(text, "# assumed: recompute none"));
    FILE *file = fdopen(descriptor, "w");
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(rlhfsim_scenario_load(path, &options, diagnostics, &scenario), RLHFSIM_OK);
    ck_assert_int_eq(scenario->training.tp, run->scenario->training.tp);
    ck_assert_int_eq(scenario->rollout.max_new_tokens, run->scenario->rollout.max_new_tokens);
    ck_assert_double_eq(scenario->rollout.response.fitted.scale,
                        run->scenario->rollout.response.fitted.scale);
    rlhfsim_scenario_free(scenario);
    free(text);
    unlink(path);
    run_table_release(&table);
}
END_TEST

START_TEST(a_folder_without_runs_is_an_error) {
    struct run_table table;
    ck_assert_int_eq(run_table_read(catalog, "tests/validation/none", diagnostics, &table),
                     RLHFSIM_INVALID);
    ck_assert_ptr_null(table.cases);
}
END_TEST

static Suite *runs_suite(void) {
    Suite *suite = suite_create("validation.runs");
    TCase *tests = tcase_create("runs");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, anchors_hold);
    tcase_add_test(tests, a_bare_row_is_filled_in);
    tcase_add_test(tests, what_is_stated_stays);
    tcase_add_test(tests, tokens_follow_from_rate_and_time);
    tcase_add_test(tests, the_gpu_follows_from_the_mfu);
    tcase_add_test(tests, a_common_cap_is_parted);
    tcase_add_test(tests, printed_figures_are_sums_of_phases);
    tcase_add_test(tests, phases_add_up_to_the_step);
    tcase_add_test(tests, an_emitted_scenario_can_be_loaded);
    tcase_add_test(tests, a_folder_without_runs_is_an_error);
    suite_add_tcase(suite, tests);
    return suite;
}

TESTING_MAIN(runs_suite)
