/* SPDX-License-Identifier: GPL-3.0-or-later */
/* "run --json" and "check --json" print one JSON document with every key of the contract; jansson
 * reads it, which has no part in writing the rest of the test. */
#include "tests/testing.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define SCENARIO "scenarios/ppo-llama2-7b-8xa100.yaml"

/* Runs the program with these arguments and parses its stdout. */
static json_t *output_of(const char *arguments, int expected_status) {
    char command[512];
    json_error_t error;
    snprintf(command, sizeof command, "'%s' %s", getenv("RLHFSIM_PROGRAM"), arguments);
    FILE *pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    json_t *root = json_loadf(pipe, JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(root != NULL, "%s: line %d: %s", command, error.line, error.text);
    int status = pclose(pipe);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), expected_status);
    return root;
}

static json_t *at(json_t *root, const char *path) {
    char copy[128];
    snprintf(copy, sizeof copy, "%s", path);
    for (char *rest = copy, *key; (key = strtok_r(rest, ".", &rest)) != NULL;) {
        if (json_is_null(root))
            return root; /* a group that is null stands for its members */
        root = json_object_get(root, key);
        ck_assert_msg(root != NULL, "no %s", path);
    }
    return root;
}

static const char *const time_and_price[] = {
    "time.total_s",
    "time.step_s",
    "time.phases_s.rollout",
    "time.phases_s.transition",
    "time.phases_s.reward",
    "time.phases_s.actor_logprob",
    "time.phases_s.reference_logprob",
    "time.phases_s.values",
    "time.phases_s.critic_update",
    "time.phases_s.actor_update",
    "time.phases_s.weight_sync",
    "time.phases_s.checkpoint",
    "time.phases_s.validation",
    "throughput.tokens_per_s_per_gpu",
    "throughput.samples_per_s",
    "throughput.mfu_training",
    "throughput.mfu_overall",
    "cost.total_usd",
    "cost.formula_usd",
};

static const char *const others[] = {"rollout.mean_response_tokens",
                                     "rollout.p99_response_tokens",
                                     "rollout.share_cut",
                                     "rollout.tail_idle_s",
                                     "rollout.p50_response_tokens",
                                     "rollout.p90_response_tokens",
                                     "rollout.max_response_tokens",
                                     "rollout.useless_tokens",
                                     "staleness.mean_versions",
                                     "memory.peak_bytes",
                                     "memory.host_peak_bytes",
                                     "gpu_hours",
                                     "idle_fraction",
                                     "limit.gain_fraction"};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Three numbers in order. */
static void expect_figure(json_t *root, const char *path) {
    json_t *figure = at(root, path);
    ck_assert_msg(json_object_size(figure) == 3, "%s is no figure", path);
    double low = json_number_value(at(figure, "p10")), high = json_number_value(at(figure, "p90"));
    double middle = json_number_value(at(figure, "p50"));
    ck_assert_msg(low <= middle && middle <= high, "%s is not in order", path);
    ck_assert(json_is_number(at(figure, "p50")));
}

START_TEST(a_run_knows_everything) {
    json_t *root = output_of("run " SCENARIO " --set steps=2 --replicates 3 --json", 0);
    for (size_t i = 0; i < COUNT(time_and_price); i++)
        expect_figure(root, time_and_price[i]);
    for (size_t i = 0; i < COUNT(others); i++)
        expect_figure(root, others[i]);
    ck_assert_int_eq(json_integer_value(at(root, "steps.rollout")), 2);
    ck_assert(json_integer_value(at(root, "steps.optimizer")) >= 2);
    ck_assert(json_integer_value(at(root, "events")) > 0);
    ck_assert(json_is_true(at(root, "memory.fits")));
    ck_assert(json_is_number(at(root, "memory.capacity_bytes")));
    ck_assert(json_is_string(at(root, "memory.phase")));
    ck_assert(json_is_string(at(root, "memory.device")));
    ck_assert(json_is_string(at(root, "limit.resource")));
    ck_assert(json_array_size(at(root, "critical_path")) > 0);
    ck_assert(json_object_size(at(root, "cost.items_usd")) > 0);
    ck_assert(json_object_size(at(root, "provenance")) > 0);
    json_decref(root);
}
END_TEST

static void expect_no_time_and_price(json_t *root) {
    for (size_t i = 0; i < COUNT(time_and_price); i++)
        ck_assert_msg(json_is_null(at(root, time_and_price[i])), "%s is known", time_and_price[i]);
}

START_TEST(a_run_that_does_not_fit_has_no_price) {
    json_t *root = output_of("run " SCENARIO " --set training.zero_stage=0 --json", 1);
    expect_no_time_and_price(root);
    expect_figure(root, "memory.peak_bytes");
    ck_assert(json_is_false(at(root, "memory.fits")));
    ck_assert(json_number_value(at(at(root, "memory.peak_bytes"), "p50")) >
              json_number_value(at(root, "memory.capacity_bytes")));
    json_decref(root);
}
END_TEST

START_TEST(a_check_knows_the_memory) {
    json_t *root = output_of("check " SCENARIO " --json", 0);
    expect_no_time_and_price(root);
    expect_figure(root, "memory.peak_bytes");
    ck_assert(json_is_true(at(root, "memory.fits")));
    ck_assert(json_integer_value(at(root, "steps.rollout")) > 0);
    json_decref(root);
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("json");
    TCase *tcase = tcase_create("json");
    tcase_add_test(tcase, a_run_knows_everything);
    tcase_add_test(tcase, a_run_that_does_not_fit_has_no_price);
    tcase_add_test(tcase, a_check_knows_the_memory);
    suite_add_tcase(suite, tcase);
    return suite;
}

TESTING_MAIN(suite)
