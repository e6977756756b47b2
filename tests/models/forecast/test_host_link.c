/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * What GPUs and their host exchange, where the host moves less than their links could.
 */

#include "models/forecast/planning.h"
#include "models/scenario/scenario.h"
#include "models/training/optimizer.h"
#include "tests/scenarios.h"
#include "tests/testing.h"

#include <stdio.h>

#define GRPO "scenarios/grpo-qwen2.5-7b-8xh100.yaml"

/* GPUs of 50 GB/s each on hosts of 100 GB/s: two of them fill one, eight have a quarter each. */
START_TEST(shares_by_hand) {
    struct hardware_cluster cluster = {.gpu = {.host_bandwidth_bytes_per_s = 50e9},
                                       .node = {.host_bandwidth_bytes_per_s = 100e9}};
    ck_assert_double_eq(hardware_host_link(&cluster, 1), 50e9);
    ck_assert_double_eq(hardware_host_link(&cluster, 2), 50e9);
    ck_assert_double_eq(hardware_host_link(&cluster, 8), 12.5e9);
    cluster.node.host_bandwidth_bytes_per_s = 0.0;
    ck_assert_double_eq(hardware_host_link(&cluster, 8), 50e9);
}
END_TEST

struct planned {
    double sleep_s, wake_s, host_s; /* host_s: of parameters that come from the host */
    double stage_s;
};

/* A plan whose hosts move `share` of what their 8 GPUs' links do; 0: no limit is said. */
static struct planned plan_with(double share) {
    char node[128];
    struct planned planned;
    struct forecast_plan plan;
    const char *sets[] = {node, "models.reference={model: Qwen2.5-7B, offload: parameters}",
                          "algorithm.kl=loss", "checkpoint.mode=asynchronous", NULL};
    double link = 0.0;
    for (int i = 0; i < 2; i++) { /* the link first */
        (void)snprintf(node, sizeof node, "cluster.node={like: aws-p5.48xlarge%s%.12g%s}",
                       i == 1 && share > 0.0 ? ", host_gb_per_s: " : ", storage_gb_per_s: ",
                       i == 1 && share > 0.0 ? share * 8 * link / 1e9 : 1.2, "");
        struct rlhfsim_scenario *scenario = testing_scenario(GRPO, sets);
        forecast_plan_make(scenario, &plan);
        link = scenario->cluster.gpu.host_bandwidth_bytes_per_s;
        planned = (struct planned){
            .sleep_s = plan.sleep_s - scenario->framework.step_host_s,
            .wake_s = plan.wake_s,
            .host_s = training_parameter_transfer_s(&plan.passes[ALGORITHM_ROLE_REFERENCE]),
            .stage_s = plan.checkpoint.stage_s};
        rlhfsim_scenario_free(scenario);
    }
    return planned;
}

/* A host of a quarter of the links takes four times as long for all that its GPUs do at once; one
 * of as much as the links, or more, changes nothing. */
START_TEST(a_host_that_is_shared) {
    struct planned free = plan_with(0.0), even = plan_with(1.0), wide = plan_with(3.0);
    struct planned tight = plan_with(0.25);
    ck_assert_double_gt(free.host_s, 0.0);
    ck_assert_double_gt(free.stage_s, 0.0);
    ck_assert_double_gt(free.wake_s, 0.0);
    const struct planned *same[] = {&even, &wide};
    for (size_t i = 0; i < 2; i++) {
        assert_relative(same[i]->sleep_s, free.sleep_s, 1e-12);
        assert_relative(same[i]->wake_s, free.wake_s, 1e-12);
        assert_relative(same[i]->host_s, free.host_s, 1e-12);
        assert_relative(same[i]->stage_s, free.stage_s, 1e-12);
    }
    assert_relative(tight.sleep_s, 4 * free.sleep_s, 1e-9);
    assert_relative(tight.wake_s, 4 * free.wake_s, 1e-9);
    assert_relative(tight.host_s, 4 * free.host_s, 1e-9);
    assert_relative(tight.stage_s, 4 * free.stage_s, 1e-9);
}
END_TEST

static Suite *suite(void) {
    Suite *result = suite_create("forecast_host_link");
    TCase *tests = tcase_create("host_link");
    tcase_add_test(tests, shares_by_hand);
    tcase_add_test(tests, a_host_that_is_shared);
    suite_add_tcase(result, tests);
    return result;
}

TESTING_MAIN(suite)
