/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Rewards that are made one by one: closed forms of workers and of a judge, a brute-force twin, and
 * a run whose rewards are hidden behind its rollout.
 */

#include "models/forecast/planning.h"
#include "models/forecast/rewards.h"
#include "models/forecast/run.h"
#include "tests/scenarios.h"
#include "tests/testing.h"

#include <math.h>
#include <stdio.h>

#define N 1000

START_TEST(equal_checks_come_in_waves) {
    static double arrivals[N], lengths[N], free_at[64];
    for (int i = 0; i < N; i++)
        lengths[i] = 0.25;
    for (size_t workers = 1; workers <= 64; workers *= 4) {
        struct forecast_checker checker = {.workers = workers};
        double waves = ceil((double)N / (double)workers);
        assert_relative(forecast_checked_at(&checker, arrivals, lengths, N, free_at), 0.25 * waves,
                        1e-12);
    }
    /* A judge accepts one call every 1 / rate: the last begins (N - 1) / rate after the first. */
    struct forecast_checker judge = {.calls_per_s = 50.0};
    assert_relative(forecast_checked_at(&judge, arrivals, lengths, N, NULL), (N - 1) / 50.0 + 0.25,
                    1e-12);
}
END_TEST

/* Samples that come more slowly than they are checked wait for nobody. */
START_TEST(slow_arrivals_do_not_wait) {
    static double arrivals[N], lengths[N], free_at[4];
    for (int i = 0; i < N; i++) {
        arrivals[i] = i * 1.0;
        lengths[i] = 0.9;
    }
    struct forecast_checker checker = {.workers = 1}, judge = {.calls_per_s = 2.0};
    assert_relative(forecast_checked_at(&checker, arrivals, lengths, N, free_at), N - 1 + 0.9,
                    1e-12);
    assert_relative(forecast_checked_at(&judge, arrivals, lengths, N, NULL), N - 1 + 0.9, 1e-12);
}
END_TEST

/* First come, first served, by looking at every worker every time. */
START_TEST(workers_against_a_plain_search) {
    static double arrivals[N], lengths[N], free_at[7];
    double twin[7] = {0.0}, last = 0.0;
    struct forecast_checker checker = {.workers = 7};
    unsigned state = 12345;
    for (int i = 0; i < N; i++) {
        state = state * 1664525u + 1013904223u;
        arrivals[i] = (i > 0 ? arrivals[i - 1] : 0.0) + (state >> 8) * 1e-9;
        state = state * 1664525u + 1013904223u;
        lengths[i] = (state >> 8) * 7e-9;
    }
    for (int i = 0; i < N; i++) {
        int first = 0;
        for (int w = 1; w < 7; w++)
            first = twin[w] < twin[first] ? w : first;
        twin[first] = fmax(twin[first], arrivals[i]) + lengths[i];
        last = fmax(last, twin[first]);
    }
    assert_relative(forecast_checked_at(&checker, arrivals, lengths, N, free_at), last, 1e-12);
}
END_TEST

/* The law has the mean and the quantile that were asked for, and ends at the time-out. */
START_TEST(times_have_their_law) {
    struct forecast_checker checker = {.sample_s = 0.5, .sample_p99_s = 3.0};
    double mean = 0.0;
    for (int i = 0; i < 200000; i++)
        mean += forecast_check_s(&checker, (i + 0.5) / 200000) / 200000;
    assert_relative(forecast_check_s(&checker, 0.99), 3.0, 1e-9);
    assert_relative(mean, 0.5, 1e-3);
    checker.timeout_s = 2.0;
    ck_assert_double_eq(forecast_check_s(&checker, 0.99), 2.0);
    checker.sample_p99_s = 0.0;
    ck_assert_double_eq(forecast_check_s(&checker, 0.99), 0.5);
}
END_TEST

#define GRPO "scenarios/grpo-qwen2.5-7b-8xh100.yaml"

static struct forecast_measures run(const char *const sets[], int64_t steps) {
    struct rlhfsim_scenario *scenario = testing_scenario(GRPO, sets);
    struct forecast_run_options options = {.steps = steps};
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    struct forecast_plan plan;
    struct forecast_measures measures;
    forecast_plan_make(scenario, &plan);
    ck_assert_int_eq(forecast_run(&plan, &options, diagnostics, &measures), RLHFSIM_OK);
    rlhfsim_diagnostics_free(diagnostics);
    rlhfsim_scenario_free(scenario);
    return measures;
}

/* A sandbox that takes a second a sample: behind the rollout only the last ones are left. */
START_TEST(rewards_hide_behind_the_rollout) {
    static const char *const after[] = {"reward={sample_time: 1 s, workers: 500, timeout: 10 s}",
                                        NULL};
    static const char *const during[] = {
        "reward={sample_time: 1 s, workers: 500, timeout: 10 s, during_rollout: true}", NULL};
    struct forecast_measures a = run(after, 2), d = run(during, 2);
    double after_s = a.phase_s[ALGORITHM_PHASE_REWARD], left = d.phase_s[ALGORITHM_PHASE_REWARD];
    printf("rewards: %.3f s after the rollout, %.3f s left of them during it\n", after_s, left);
    assert_relative(after_s, 2 * ceil(5120 / 500.0), 1e-9);
    ck_assert_double_lt(left, 2 * 1.0); /* at most one check, the engine falling asleep meanwhile */
    assert_relative(a.total_s - after_s, d.total_s - left, 1e-9);
}
END_TEST

/* Every other step the engine answers 256 prompts twice more; nothing else changes. */
START_TEST(validation_is_a_rollout_more) {
    static const char *const plain[] = {"checkpoint.every_steps=0", NULL};
    static const char *const validated[] = {
        "checkpoint.every_steps=0",
        "validation={every_steps: 2, prompts: 256, samples_per_prompt: 2}", NULL};
    static const char *const often[] = {
        "checkpoint.every_steps=0",
        "validation={every_steps: 1, prompts: 256, samples_per_prompt: 2}", NULL};
    struct forecast_measures a = run(plain, 4), b = run(validated, 4), c = run(often, 4);
    double validation_s = b.phase_s[ALGORITHM_PHASE_VALIDATION];
    ck_assert_double_gt(validation_s, 0.0);
    assert_relative(b.total_s - validation_s, a.total_s, 1e-9);
    ck_assert_double_eq(b.response_tokens, a.response_tokens);
    ck_assert_double_eq(b.samples, a.samples);
    /* Four validations against two, of other lengths. */
    assert_relative(c.phase_s[ALGORITHM_PHASE_VALIDATION], 2 * validation_s, 0.3);
}
END_TEST

static Suite *rewards_suite(void) {
    Suite *suite = suite_create("forecast/rewards");
    TCase *tcase = tcase_create("rewards");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, equal_checks_come_in_waves);
    tcase_add_test(tcase, slow_arrivals_do_not_wait);
    tcase_add_test(tcase, workers_against_a_plain_search);
    tcase_add_test(tcase, times_have_their_law);
    tcase_add_test(tcase, rewards_hide_behind_the_rollout);
    tcase_add_test(tcase, validation_is_a_rollout_more);
    suite_add_tcase(suite, tcase);
    return suite;
}

TESTING_MAIN(rewards_suite)
