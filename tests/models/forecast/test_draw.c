/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lengths as a forecast draws them: the correlation of a prompt's answers, drifts, traces, what the
 * summary says of them. */
#include "models/forecast/planning.h"
#include "models/forecast/run.h"
#include "models/forecast/samples.h"
#include "tests/scenarios.h"
#include "tests/testing.h"

#include <rlhfsim/forecast.h>
#include <rlhfsim/summary.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GRPO "scenarios/grpo-qwen2.5-7b-8xh100.yaml"

struct drawn {
    struct rlhfsim_scenario *scenario;
    struct forecast_plan plan;
    struct forecast_samples samples;
};

static void open_samples(struct drawn *drawn, const char *const *sets) {
    drawn->scenario = testing_scenario(GRPO, sets);
    forecast_plan_make(drawn->scenario, &drawn->plan);
    ck_assert_int_eq(forecast_samples_new(&drawn->plan, &drawn->samples), RLHFSIM_OK);
}

static void close_samples(struct drawn *drawn) {
    forecast_samples_free(&drawn->samples);
    rlhfsim_scenario_free(drawn->scenario);
}

static double mean_at(struct drawn *drawn, int64_t step) {
    double sum = 0.0;
    forecast_samples_draw(&drawn->plan, 0, step, &drawn->samples);
    for (size_t i = 0; i < drawn->samples.sequences; i++)
        sum += drawn->samples.response_tokens[i];
    return sum / (double)drawn->samples.sequences;
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* The correlation of the logarithms of two answers to one prompt: of a log-normal law ln X is the
 * score itself. All pairs of 5 answers to 1,024 prompts of 4 steps. */
static double pair_correlation(const char *const *sets, double *mean) {
    struct drawn drawn;
    double product = 0.0, sum = 0.0, square = 0.0, tokens = 0.0, pairs = 0.0, n = 0.0;
    open_samples(&drawn, sets);
    for (int64_t step = 1; step <= 4; step++) {
        forecast_samples_draw(&drawn.plan, 0, step, &drawn.samples);
        const uint32_t *at = drawn.samples.response_tokens;
        for (size_t i = 0; i < drawn.samples.sequences; i++) {
            double x = log(at[i]);
            sum += x;
            square += x * x;
            tokens += at[i];
            n += 1.0;
            for (size_t j = i + 1; j < (i / 5 + 1) * 5; j++, pairs += 1.0)
                product += x * log(at[j]);
        }
    }
    close_samples(&drawn);
    *mean = tokens / n;
    return (product / pairs - sum / n * sum / n) / (square / n - sum / n * sum / n);
}

#define LAW "rollout.response_tokens={law: lognormal, mean: 2000, cv: 0.8, uncut: true"
#define LARGE "rollout.max_new_tokens=30000", "training.microbatch_tokens=40000"

/* Recovered within 4 standard errors, about 1/sqrt(prompts); the law of each is as it was. */
START_TEST(test_group_correlation) {
    static const char *const sets[][4] = {{LAW "}", LARGE, NULL},
                                          {LAW ", group_correlation: 0.3}", LARGE, NULL},
                                          {LAW ", group_correlation: 0.8}", LARGE, NULL},
                                          {LAW ", group_correlation: 1}", LARGE, NULL}};
    static const double expected[] = {0.0, 0.3, 0.8, 1.0};
    for (int i = 0; i < 4; i++) {
        double mean, r = pair_correlation(sets[i], &mean);
        ck_assert_double_eq_tol(r, expected[i], i == 3 ? 1e-12 : 4.0 / 64.0);
        assert_relative(mean, 2000.0, 4.0 * 0.8 / 64.0);
    }
}
END_TEST

/* ---- drifts ---------------------------------------------------------------------------------- */

/* Fixed lengths drift exactly. */
START_TEST(test_drift_of_fixed_lengths) {
    static const char *const sets[] = {"rollout.response_tokens={law: fixed, mean: 100, drift: "
                                       "linear, drift_mean: 300, drift_steps: 101}",
                                       NULL};
    struct drawn drawn;
    open_samples(&drawn, sets);
    ck_assert(mean_at(&drawn, 1) == 100.0);
    ck_assert(mean_at(&drawn, 26) == 150.0);
    ck_assert(mean_at(&drawn, 101) == 300.0);
    ck_assert(mean_at(&drawn, 102) == 300.0);
    close_samples(&drawn);
}
END_TEST

/* The mean of what is seen is the drift's, near the limit too, and without drift_steps it is
 * reached in the last step. 5,120 samples: 4 standard errors. */
START_TEST(test_drift_of_what_is_seen) {
    static const char *const sets[] = {"rollout.response_tokens={law: gamma, mean: 200, cv: 0.9, "
                                       "cap_share: 0.01, drift: linear, drift_mean: 800}",
                                       NULL};
    struct drawn drawn;
    open_samples(&drawn, sets);
    assert_relative(mean_at(&drawn, 1), 200.0, 4.0 * 0.9 / 71.5);
    assert_relative(mean_at(&drawn, drawn.scenario->steps), 800.0, 4.0 * 0.9 / 71.5);
    close_samples(&drawn);
}
END_TEST

/* ---- traces ---------------------------------------------------------------------------------- */

static void write_trace(char *path, const char *text) {
    int file = mkstemp(path);
    FILE *stream = fdopen(file, "w");
    ck_assert_ptr_nonnull(stream);
    ck_assert_int_ge(fputs(text, stream), 0);
    ck_assert_int_eq(fclose(stream), 0);
}

/* Every prompt of the forecast is one of the trace with the answers of its group, each once in so
 * many samples as it has. */
START_TEST(test_trace_rows_stay_together) {
    char path[] = "/tmp/rlhfsim-trace-XXXXXX", prompt[128], response[128];
    write_trace(path, "prompt,response,group\n10,1,a\n10,2,a\n10,3,a\n10,4,a\n10,5,a\n"
                      "20,100,b\n20,200,b\n20,300,b\n20,400,b\n20,500,b\n");
    snprintf(prompt, sizeof prompt, "rollout.prompt_tokens={law: trace, file: %s}", path);
    snprintf(response, sizeof response, "rollout.response_tokens={law: trace, file: %s}", path);
    const char *const sets[] = {prompt, response, NULL};
    struct drawn drawn;
    open_samples(&drawn, sets);
    forecast_samples_draw(&drawn.plan, 0, 3, &drawn.samples);
    size_t short_prompts = 0;
    for (size_t i = 0; i < drawn.samples.sequences; i += 5) {
        uint32_t tokens = drawn.samples.prompt_tokens[i], sum = 0;
        ck_assert(tokens == 10 || tokens == 20);
        short_prompts += tokens == 10;
        for (size_t k = 0; k < 5; k++)
            sum += drawn.samples.response_tokens[i + k];
        ck_assert_uint_eq(sum, tokens == 10 ? 15 : 1500);
    }
    /* 1,024 prompts, half of them short: 5 standard deviations */
    ck_assert(short_prompts > 512 - 80 && short_prompts < 512 + 80);
    close_samples(&drawn);
    unlink(path);
}
END_TEST

/* ---- what the summary says ------------------------------------------------------------------- */

static double median(const struct rlhfsim_summary *summary, const char *path) {
    struct rlhfsim_value value;
    ck_assert(rlhfsim_summary_get(summary, path, &value));
    ck_assert_int_eq(value.kind, RLHFSIM_VALUE_FIGURE);
    return value.p50;
}

START_TEST(test_summary) {
    static const char *const sets[] = {"rollout.response_tokens={law: weibull, mean: 200, p90: "
                                       "450, cap_share: 0.02, useless_share: 0.25}",
                                       "steps=3", NULL};
    struct rlhfsim_scenario *scenario = testing_scenario(GRPO, sets);
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    struct rlhfsim_forecast_options options = {.replicates = 1};
    struct rlhfsim_forecast *forecast = NULL;
    ck_assert_int_eq(rlhfsim_forecast_run(scenario, &options, diagnostics, &forecast), RLHFSIM_OK);
    const struct rlhfsim_summary *summary = rlhfsim_forecast_summary(forecast);
    double mean = median(summary, "rollout.mean_response_tokens");
    assert_relative(mean, 200.0, 0.03);
    assert_relative(median(summary, "rollout.useless_tokens"), mean / 4.0, 1e-12);
    assert_relative(median(summary, "rollout.p90_response_tokens"), 450.0, 0.05);
    ck_assert(median(summary, "rollout.p50_response_tokens") < mean);
    ck_assert(median(summary, "rollout.max_response_tokens") == 1024.0);
    ck_assert_double_eq_tol(median(summary, "rollout.share_cut"), 0.02, 0.006);
    rlhfsim_forecast_free(forecast);
    rlhfsim_diagnostics_free(diagnostics);
    rlhfsim_scenario_free(scenario);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("draw");
    TCase *t = tcase_create("draw");
    tcase_set_timeout(t, 60.0);
    tcase_add_test(t, test_group_correlation);
    tcase_add_test(t, test_drift_of_fixed_lengths);
    tcase_add_test(t, test_drift_of_what_is_seen);
    tcase_add_test(t, test_trace_rows_stay_together);
    tcase_add_test(t, test_summary);
    suite_add_tcase(s, t);
    return s;
}

TESTING_MAIN(suite)
