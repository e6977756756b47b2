/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Factors that are put into a forecast come back out of its own timers: the loop is closed in each
 * placement. A factor multiplies its own phases and no others.
 */

#include "models/calibration/log_causes.h"
#include "models/calibration/log_fit.h"
#include "tests/scenarios.h"
#include "tests/testing.h"

#include <math.h>
#include <string.h>

static const char colocated[] = "scenarios/grpo-qwen2.5-7b-8xh100.yaml";
static const char with_critic[] = "scenarios/ppo-llama2-7b-8xa100.yaml";
static const char asynchronous[] = "scenarios/async-gspo-qwen2.5-7b-16xh100.yaml";

static struct log_forecast play(const struct rlhfsim_scenario *scenario, const double *factors) {
    struct log_forecast forecast;
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    ck_assert_int_eq(log_forecast_make(scenario, factors, true, diagnostics, &forecast),
                     RLHFSIM_OK);
    rlhfsim_diagnostics_free(diagnostics);
    return forecast;
}

/* A log of one step with the timers in `set` as the forecast has them. */
static struct log_measure log_of(const struct log_forecast *forecast, const enum log_timer *set,
                                 size_t count, bool waits) {
    struct log_steps steps = {0};
    struct log_measure measure;
    struct log_step *step = log_steps_add(&steps, 1);
    ck_assert_ptr_nonnull(step);
    for (size_t i = 0; i < count; i++)
        step->seconds[set[i]] = log_forecast_s(forecast, set[i]);
    ck_assert(log_measure_make(&steps, waits, &measure));
    log_steps_release(&steps);
    return measure;
}

static struct log_fit fit(const struct rlhfsim_scenario *scenario,
                          const struct log_measure *measure) {
    struct log_fit result;
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    ck_assert_int_eq(log_fit_make(scenario, measure, true, diagnostics, &result), RLHFSIM_OK);
    rlhfsim_diagnostics_free(diagnostics);
    return result;
}

static const double ones[] = {1.0, 1.0, 1.0, 1.0};

/* Without overlap: phases of the trainer are exactly 1.5 times as long, the others stay, and the
 * step is the sum. The engine's are 1.5 times as long but for the nanoseconds that events round to
 * (a step has some thousands). */
START_TEST(a_factor_has_its_phases) {
    static const enum log_timer own[SCENARIO_PARTS][3] = {
        {LOG_ROLLOUT, LOG_ROLLOUT, LOG_ROLLOUT},
        {LOG_ACTOR_UPDATE, LOG_CRITIC_UPDATE, LOG_VALUES},
        {LOG_WEIGHT_SYNC, LOG_WEIGHT_SYNC, LOG_WEIGHT_SYNC},
        {LOG_TRANSITION, LOG_HOST, LOG_TRANSITION}};
    struct rlhfsim_scenario *scenario = testing_scenario(with_critic, NULL);
    struct log_forecast before = play(scenario, ones);
    for (int part = 0; part < SCENARIO_PARTS; part++) {
        double factors[] = {1.0, 1.0, 1.0, 1.0}, rest = 0.0;
        factors[part] = 1.5;
        struct log_forecast after = play(scenario, factors);
        for (int i = 0; i < 3; i++)
            assert_relative(log_forecast_s(&after, own[part][i]),
                            1.5 * log_forecast_s(&before, own[part][i]), 1e-6);
        for (int share = 0; share < LOG_SHARES; share++)
            rest += share == part ? 0.0 : before.seconds[LOG_STEP][share];
        assert_relative(log_forecast_s(&after, LOG_STEP),
                        rest + 1.5 * before.seconds[LOG_STEP][part], 1e-6);
    }
    rlhfsim_scenario_free(scenario);
}
END_TEST

/* The prior pulls a logarithm towards 0 by (prior / weight)^2 of it, at most: 0.04^2 over the share
 * of the step. Parts below 1 % of a step are held to it more loosely. */
START_TEST(factors_come_back) {
    static const enum log_timer timers[] = {
        LOG_GENERATION,   LOG_REWARD,      LOG_ACTOR_LOGPROB, LOG_REFERENCE_LOGPROB,
        LOG_ACTOR_UPDATE, LOG_WEIGHT_SYNC, LOG_STEP};
    static const double factors[] = {1.4, 0.8, 1.3, 1.2};
    struct rlhfsim_scenario *scenario = testing_scenario(colocated, NULL);
    struct log_forecast truth = play(scenario, factors);
    struct log_measure measure = log_of(&truth, timers, sizeof timers / sizeof *timers, false);
    struct log_fit found = fit(scenario, &measure);
    ck_assert(!found.common);
    ck_assert(found.fitted[SCENARIO_PART_ROLLOUT] && found.fitted[SCENARIO_PART_TRAINING]);
    ck_assert(found.fitted[SCENARIO_PART_SYNC]);
    assert_relative(found.factors[SCENARIO_PART_ROLLOUT], factors[SCENARIO_PART_ROLLOUT], 0.01);
    assert_relative(found.factors[SCENARIO_PART_TRAINING], factors[SCENARIO_PART_TRAINING], 0.01);
    assert_relative(found.factors[SCENARIO_PART_SYNC], factors[SCENARIO_PART_SYNC], 0.1);
    assert_relative(log_forecast_s(&found.after, LOG_STEP), measure.seconds[LOG_STEP], 0.005);
    rlhfsim_scenario_free(scenario);
}
END_TEST

/* The same factors: nothing to do. */
START_TEST(a_forecast_that_is_right_stays) {
    static const enum log_timer timers[] = {LOG_ROLLOUT, LOG_TRANSITION,    LOG_ACTOR_LOGPROB,
                                            LOG_VALUES,  LOG_CRITIC_UPDATE, LOG_ACTOR_UPDATE,
                                            LOG_STEP};
    struct rlhfsim_scenario *scenario = testing_scenario(with_critic, NULL);
    struct log_forecast truth = play(scenario, ones);
    struct log_measure measure = log_of(&truth, timers, sizeof timers / sizeof *timers, false);
    struct log_fit found = fit(scenario, &measure);
    for (int part = 0; part < SCENARIO_PARTS; part++)
        ck_assert_double_eq_tol(found.factors[part], 1.0, 1e-3);
    rlhfsim_scenario_free(scenario);
}
END_TEST

/* One number tells one factor. */
START_TEST(the_step_alone) {
    static const enum log_timer timers[] = {LOG_STEP};
    static const double factors[] = {1.3, 1.3, 1.3, 1.3};
    struct rlhfsim_scenario *scenario = testing_scenario(with_critic, NULL);
    struct log_forecast truth = play(scenario, factors);
    struct log_measure measure = log_of(&truth, timers, 1, false);
    struct log_fit found = fit(scenario, &measure);
    ck_assert(found.common);
    for (int part = 0; part < SCENARIO_PARTS; part++)
        assert_relative(found.factors[part], found.factors[0], 1e-12);
    assert_relative(found.factors[0], 1.3, 0.005);
    rlhfsim_scenario_free(scenario);
}
END_TEST

/* A part whose timer is not there keeps 1. */
START_TEST(a_timer_alone) {
    static const enum log_timer timers[] = {LOG_ACTOR_UPDATE};
    static const double factors[] = {1.0, 0.7, 1.0, 1.0};
    struct rlhfsim_scenario *scenario = testing_scenario(with_critic, NULL);
    struct log_forecast truth = play(scenario, factors);
    struct log_measure measure = log_of(&truth, timers, 1, false);
    struct log_fit found = fit(scenario, &measure);
    assert_relative(found.factors[SCENARIO_PART_TRAINING], 0.7, 0.005);
    ck_assert(!found.fitted[SCENARIO_PART_ROLLOUT]);
    ck_assert_double_eq(found.factors[SCENARIO_PART_ROLLOUT], 1.0);
    ck_assert_double_eq(found.factors[SCENARIO_PART_HOST], 1.0);
    rlhfsim_scenario_free(scenario);
}
END_TEST

/* Where phases overlap the rollout shows in the step. */
START_TEST(overlapping_phases) {
    static const enum log_timer timers[] = {LOG_ACTOR_LOGPROB, LOG_ACTOR_UPDATE, LOG_STEP};
    static const double factors[] = {1.2, 1.1, 1.0, 1.0};
    struct rlhfsim_scenario *scenario = testing_scenario(asynchronous, NULL);
    struct log_forecast truth = play(scenario, factors);
    struct log_measure measure = log_of(&truth, timers, sizeof timers / sizeof *timers, true);
    struct log_fit found = fit(scenario, &measure);
    ck_assert(found.before.overlaps);
    assert_relative(found.factors[SCENARIO_PART_TRAINING], 1.1, 0.03);
    assert_relative(log_forecast_s(&found.after, LOG_ACTOR_UPDATE),
                    measure.seconds[LOG_ACTOR_UPDATE], 0.03);
    rlhfsim_scenario_free(scenario);
}
END_TEST

/* ---- measures -------------------------------------------------------------------------------- */

/* Steps of 20, 21 and 60 s with a checkpoint of 38 s in the last: 20, 21, 22. Their rests beside 8
 * and 10 s are 2, 3, 4. */
START_TEST(medians) {
    struct log_steps steps = {0};
    struct log_measure measure;
    static const double step_s[] = {20.0, 21.0, 60.0};
    for (int i = 0; i < 3; i++) {
        struct log_step *step = log_steps_add(&steps, i);
        step->seconds[LOG_STEP] = step_s[i];
        step->seconds[LOG_ROLLOUT] = 8.0;
        step->seconds[LOG_ACTOR_UPDATE] = 10.0;
        step->response_tokens = 100.0 * (i + 1);
    }
    steps.at[2].seconds[LOG_CHECKPOINT] = 38.0;
    ck_assert_ptr_nonnull(log_steps_add(&steps, 9)); /* nothing in it */
    ck_assert(log_measure_make(&steps, false, &measure));
    ck_assert_uint_eq(measure.usable, 3);
    ck_assert_double_eq_tol(measure.seconds[LOG_STEP], 21.0, 1e-12);
    ck_assert_double_eq_tol(measure.seconds[LOG_HOST], 3.0, 1e-12);
    ck_assert_double_eq_tol(measure.seconds[LOG_CHECKPOINT], 38.0, 1e-12);
    ck_assert_uint_eq(measure.steps[LOG_CHECKPOINT], 1);
    ck_assert_double_eq_tol(measure.response_tokens, 200.0, 1e-12);
    ck_assert(isnan(measure.prompt_tokens) && isnan(measure.seconds[LOG_VALUES]));
    log_steps_release(&steps);
}
END_TEST

/* ---- causes ---------------------------------------------------------------------------------- */

static const char *cause(const struct rlhfsim_scenario *scenario, enum log_timer timer,
                         double measured_s, double forecast_s, bool lengths_known) {
    struct log_gap gap = {timer, measured_s, forecast_s, 100.0, lengths_known};
    const char *found = log_cause(scenario, &gap);
    return found == NULL ? "" : found;
}

/* Small ones have none: 10 % of the timer; half of it, but 1 % of the step. */
START_TEST(causes) {
    struct rlhfsim_scenario *scenario = testing_scenario(with_critic, NULL);
    ck_assert_str_eq(cause(scenario, LOG_ROLLOUT, 50.0, 45.0, false), "");
    ck_assert_str_eq(cause(scenario, LOG_ROLLOUT, 2.0, 1.0, false), "");
    ck_assert_ptr_nonnull(strstr(cause(scenario, LOG_ROLLOUT, 50.0, 30.0, false), "longer"));
    ck_assert_ptr_nonnull(strstr(cause(scenario, LOG_ROLLOUT, 30.0, 50.0, false), "shorter"));
    ck_assert_ptr_null(strstr(cause(scenario, LOG_ROLLOUT, 50.0, 30.0, true), "longer"));
    ck_assert_ptr_nonnull(strstr(cause(scenario, LOG_GENERATION, 50.0, 30.0, false), "longer"));
    scenario->training.packing = false;
    ck_assert_ptr_nonnull(
        strstr(cause(scenario, LOG_ACTOR_UPDATE, 30.0, 50.0, true), "training.packing"));
    ck_assert_ptr_nonnull(strstr(cause(scenario, LOG_REWARD, 30.0, 1.0, true), "sample_time"));
    ck_assert_ptr_nonnull(strstr(cause(scenario, LOG_HOST, 30.0, 1.0, true), "logger"));
    rlhfsim_scenario_free(scenario);
}
END_TEST

static Suite *log_fit_suite(void) {
    Suite *suite = suite_create("factors from a log");
    TCase *fits = tcase_create("fits"), *rest = tcase_create("measures and causes");
    tcase_add_test(fits, a_factor_has_its_phases);
    tcase_add_test(fits, factors_come_back);
    tcase_add_test(fits, a_forecast_that_is_right_stays);
    tcase_add_test(fits, the_step_alone);
    tcase_add_test(fits, a_timer_alone);
    tcase_add_test(fits, overlapping_phases);
    tcase_add_test(rest, medians);
    tcase_add_test(rest, causes);
    suite_add_tcase(suite, fits);
    suite_add_tcase(suite, rest);
    return suite;
}

TESTING_MAIN(log_fit_suite)
