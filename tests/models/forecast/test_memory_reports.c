/* SPDX-License-Identifier: GPL-3.0-or-later */

/* Public reports of memory that ran out, phase included. tests/validation/memory_reports.csv lists
 * all that were found, with why most cannot be compared and which come out otherwise. */

#include "tests/scenarios.h"
#include "tests/testing.h"

#include <rlhfsim/rlhfsim.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *text, *phase;
} reports[] = {
    /* huggingface/trl issues 3168 and 5200: "80 GB exhausted by 0.5B". 16 sequences of 1,024 tokens
     * have 2.5e9 logits, and 24 blocks keep their activations in fp32. */
    {"name: trl-3168\nframework: trl\nsteps: 4\n"
     "algorithm: {name: dpo, minibatch_samples: 8}\n"
     "models: {actor: {model: Qwen2.5-0.5B}, reference: {model: Qwen2.5-0.5B}}\n"
     "cluster: {node: aws-p4de.24xlarge, gpus_per_node: 1}\n"
     "training: {zero_stage: 0, microbatch_samples: 8, recompute: none, precision: fp32}\n"
     "rollout: {max_new_tokens: 512, prompt_tokens: {law: fixed, mean: 512}, response_tokens: "
     "{law: fixed, mean: 512}}\n",
     "actor_update"},
};

static struct rlhfsim_forecast *check(const char *text, const char *set,
                                      enum rlhfsim_status expected) {
    char path[] = "/tmp/rlhfsim-report-XXXXXX";
    const char *sets[] = {set};
    const struct rlhfsim_scenario_options options = {
        .catalog_directory = "scenarios/catalog", .sets = sets, .set_count = set == NULL ? 0 : 1};
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    struct rlhfsim_scenario *scenario;
    struct rlhfsim_forecast *forecast;
    FILE *file = fdopen(mkstemp(path), "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
    ck_assert_int_eq(rlhfsim_scenario_load(path, &options, diagnostics, &scenario), RLHFSIM_OK);
    unlink(path);
    ck_assert_int_eq(rlhfsim_forecast_check(scenario, diagnostics, &forecast), expected);
    rlhfsim_scenario_free(scenario);
    rlhfsim_diagnostics_free(diagnostics);
    return forecast;
}

START_TEST(comes_out_as_reported) {
    struct rlhfsim_value phase;
    struct rlhfsim_forecast *forecast = check(reports[_i].text, NULL, RLHFSIM_INFEASIBLE);
    ck_assert(rlhfsim_summary_get(rlhfsim_forecast_summary(forecast), "memory.phase", &phase));
    ck_assert_str_eq(phase.text, reports[_i].phase);
    rlhfsim_forecast_free(forecast);
}
END_TEST

/* The remedies named there: bf16, a fused loss, a smaller batch; the last two alone suffice. */
START_TEST(remedies_work) {
    rlhfsim_forecast_free(check(reports[0].text, "training.logits=fused", RLHFSIM_OK));
    rlhfsim_forecast_free(check(reports[0].text, "training.microbatch_samples=4", RLHFSIM_OK));
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("forecast.memory_reports");
    TCase *tests = tcase_create("reports");
    tcase_add_loop_test(tests, comes_out_as_reported, 0, (int)(sizeof reports / sizeof *reports));
    tcase_add_test(tests, remedies_work);
    suite_add_tcase(suite, tests);
    return suite;
}

TESTING_MAIN(suite)
