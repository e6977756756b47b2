/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * A job in the neighbourhood that comes and goes, against runs with the same job there all the time
 * or never.
 */

#include "models/forecast/neighbour.h"
#include "models/forecast/planning.h"
#include "models/forecast/run.h"
#include "models/scenario/scenario.h"
#include "tests/scenarios.h"
#include "tests/testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define GRPO "scenarios/grpo-qwen2.5-7b-8xh100.yaml"
#define SPINE "kind: leaf_spine, block_nodes: 1, oversubscription: 8"

/* ---- one piece of work ----------------------------------------------------------------------- */

static double random_up_to(double limit) {
    return limit * rand() / RAND_MAX;
}

/* What is done outside of the window and within it is the whole work, wherever it begins. */
START_TEST(work_is_conserved) {
    unsigned seed = 20261201;
    srand(seed);
    for (int round = 0; round < 10000; round++) {
        struct hardware_neighbour window = {.share = 0.5, .from_s = random_up_to(10)};
        window.until_s = window.from_s + random_up_to(10);
        double start_s = random_up_to(20), calm_s = 0.01 + random_up_to(10);
        double crowded_s = calm_s * (1 + random_up_to(5));
        double seconds = forecast_neighbour_s(&window, start_s, calm_s, crowded_s);
        double within_s =
            fmax(0.0, fmin(start_s + seconds, window.until_s) - fmax(start_s, window.from_s));
        double work = (seconds - within_s) / calm_s + within_s / crowded_s;
        ck_assert_msg(fabs(work - 1.0) < 1e-9, "seed %u round %d: %.12g", seed, round, work);
    }
}
END_TEST

/* 10 s of work, 20 beside the neighbour, who is there from 4 to 12: 4 s do 0.4 of it, 8 s another
 * 0.4, and the last fifth takes 2 s. */
START_TEST(work_by_hand) {
    struct hardware_neighbour window = {.share = 0.5, .from_s = 4, .until_s = 12};
    assert_relative(forecast_neighbour_s(&window, 0, 10, 20), 14, 1e-12);
    assert_relative(forecast_neighbour_s(&window, 4, 3, 6), 6, 1e-12);
    assert_relative(forecast_neighbour_s(&window, 12, 3, 6), 3, 1e-12);
    assert_relative(forecast_neighbour_s(&window, 1, 3, 6), 3, 1e-12);
    assert_relative(forecast_neighbour_s(&window, 5, 3, 3), 3, 1e-12);
}
END_TEST

/* ---- runs ------------------------------------------------------------------------------------ */

/* Six equal steps on four nodes, each of which is a block below a narrow spine. */
static struct forecast_measures play(const char *background, const char *first,
                                     const char *second) {
    char topology[192];
    (void)snprintf(topology, sizeof topology, "cluster.topology={" SPINE "%s}", background);
    const char *sets[] = {"steps=6",
                          "algorithm.prompts_per_step=32",
                          "algorithm.samples_per_prompt=4",
                          "algorithm.minibatch_samples=128",
                          "rollout.max_new_tokens=64",
                          "rollout.prompt_tokens={law: fixed, mean: 128}",
                          "rollout.response_tokens={law: fixed, mean: 64}",
                          "checkpoint.every_steps=0",
                          "checkpoint.keep=1",
                          "cluster.nodes=4",
                          topology,
                          first,
                          second,
                          NULL};
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    struct rlhfsim_scenario *scenario = testing_scenario(GRPO, sets);
    struct forecast_run_options options = {.steps = 6};
    struct forecast_measures measures;
    struct forecast_plan plan;
    forecast_plan_make(scenario, &plan);
    ck_assert_int_eq(forecast_run(&plan, &options, diagnostics, &measures), RLHFSIM_OK);
    rlhfsim_diagnostics_free(diagnostics);
    rlhfsim_scenario_free(scenario);
    return measures;
}

static const struct {
    const char *first, *second;
} layouts[] = {
    {"training.zero_stage=3", NULL},
    {"training.zero_stage=1", "training.pp=2"},
    {"placement={mode: split, train_gpus: 16, rollout_gpus: 16}", NULL},
    {"placement={mode: one_step_off, train_gpus: 16, rollout_gpus: 16}", NULL},
};

/* Who is there from before to after the run is there all the time; who comes later is not seen. */
START_TEST(always_and_never) {
    const char *first = layouts[_i].first, *second = layouts[_i].second;
    double calm_s = play("", first, second).total_s;
    double crowded_s = play(", background: 0.6", first, second).total_s;
    ck_assert_double_gt(crowded_s, calm_s * 1.01);
    ck_assert_double_eq(play(", background: 0.6, background_from: 0 s", first, second).total_s,
                        crowded_s);
    ck_assert_double_eq(play(", background: 0.6, background_until: 1 d", first, second).total_s,
                        crowded_s);
    ck_assert_double_eq(play(", background: 0.6, background_from: 1 d", first, second).total_s,
                        calm_s);
    ck_assert_double_eq(play(", background: 0, background_from: 0 s", first, second).total_s,
                        calm_s);
}
END_TEST

/* Three of six steps beside the neighbour, the other three alone. */
START_TEST(a_neighbour_for_three_steps) {
    char window[96];
    double calm_s = play("", layouts[0].first, NULL).total_s / 6;
    double crowded_s = play(", background: 0.6", layouts[0].first, NULL).total_s / 6;
    (void)snprintf(window, sizeof window, ", background: 0.6, background_until: %.9f s",
                   3 * crowded_s);
    assert_relative(play(window, layouts[0].first, NULL).total_s, 3 * (crowded_s + calm_s), 1e-6);
    (void)snprintf(window, sizeof window, ", background: 0.6, background_from: %.9f s", 3 * calm_s);
    assert_relative(play(window, layouts[0].first, NULL).total_s, 3 * (crowded_s + calm_s), 1e-6);
}
END_TEST

/* Two equal jobs on one spine, each of which leaves the other half of it: each is slowed while the
 * other is there, and the one that is left alone then is as fast as ever. */
START_TEST(two_jobs_share_a_spine) {
    char window[96];
    double alone_s = play("", layouts[0].first, NULL).total_s;
    double both_s = play(", background: 0.5", layouts[0].first, NULL).total_s;
    (void)snprintf(window, sizeof window, ", background: 0.5, background_until: %.9f s",
                   both_s / 2);
    double longer_s = play(window, layouts[0].first, NULL).total_s;
    ck_assert_double_gt(both_s, alone_s);
    assert_relative(longer_s, both_s / 2 + alone_s / 2, 1e-6);
}
END_TEST

static Suite *suite(void) {
    Suite *result = suite_create("forecast_neighbour");
    TCase *tests = tcase_create("neighbour");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, work_is_conserved);
    tcase_add_test(tests, work_by_hand);
    tcase_add_loop_test(tests, always_and_never, 0, (int)(sizeof layouts / sizeof *layouts));
    tcase_add_test(tests, a_neighbour_for_three_steps);
    tcase_add_test(tests, two_jobs_share_a_spine);
    suite_add_tcase(result, tests);
    return result;
}

TESTING_MAIN(suite)
