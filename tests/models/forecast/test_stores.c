/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * What a store costs and how much it holds, in runs of equal steps, against sums made by hand.
 */

#include "models/forecast/capacity.h"
#include "models/forecast/plan_storage.h"
#include "models/forecast/planning.h"
#include "models/forecast/run.h"
#include "models/forecast/summarise.h"
#include "models/scenario/scenario.h"
#include "tests/scenarios.h"
#include "tests/testing.h"

#include <rlhfsim/forecast.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#define GRPO "scenarios/grpo-qwen2.5-7b-8xh100.yaml"

/* Six equal steps on two nodes; three saves, two are kept. */
static struct rlhfsim_scenario *equal_steps(const char *first, const char *second) {
    const char *sets[] = {"steps=6",
                          "algorithm.prompts_per_step=16",
                          "algorithm.samples_per_prompt=4",
                          "algorithm.minibatch_samples=64",
                          "rollout.max_new_tokens=64",
                          "rollout.prompt_tokens={law: fixed, mean: 128}",
                          "rollout.response_tokens={law: fixed, mean: 64}",
                          "checkpoint.every_steps=2",
                          "checkpoint.keep=2",
                          "cluster.nodes=2",
                          first,
                          second,
                          NULL};
    return testing_scenario(GRPO, sets);
}

static const struct cost_item *item_of(const struct cost_ledger *ledger, const char *name) {
    for (size_t i = 0; i < ledger->count; i++)
        if (strcmp(ledger->items[i].item, name) == 0)
            return &ledger->items[i];
    ck_abort_msg("no item %s", name);
    return NULL;
}

/* Saves end after a third, two thirds and all of the run of T: one checkpoint of B bytes is there
 * for T / 3, then two for T / 3, which is B x T. Two nodes write half of it each in parts of 8 MB,
 * three times. Both nodes load actor and reference. */
START_TEST(bills_of_a_store) {
    struct rlhfsim_scenario *scenario =
        equal_steps("checkpoint.store={client_write_gb_per_s: 2, client_read_gb_per_s: 4, "
                    "usd_per_gb_month: 0.1, usd_per_1000_writes: 0.005, part_mb: 8, "
                    "usd_per_gb_read: 0.09}",
                    "prices={provider: aws, region: us-east-1}");
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    struct forecast_run_options options = {.steps = 6};
    struct forecast_measures measures;
    struct forecast_plan plan;
    struct cost_ledger ledger;
    forecast_plan_make(scenario, &plan);
    ck_assert_int_eq(forecast_run(&plan, &options, diagnostics, &measures), RLHFSIM_OK);
    forecast_ledger(&plan, &measures, &ledger);
    double bytes = plan.checkpoint.bytes;
    assert_relative(item_of(&ledger, "checkpoint_storage")->amount_usd,
                    bytes * measures.total_s / 1e9 / 3600 / 730 * 0.1, 1e-6);
    double requests = 3 * 2 * ceil(bytes / 2 / 8e6);
    ck_assert_double_eq(item_of(&ledger, "store_requests")->quantity, requests);
    assert_relative(item_of(&ledger, "store_requests")->amount_usd, requests * 5e-6, 1e-12);
    ck_assert_double_eq(item_of(&ledger, "store_reads")->amount_usd, 0.0);
    ck_assert_str_eq(item_of(&ledger, "store_requests")->source, "store 'inline store'");
    rlhfsim_diagnostics_free(diagnostics);
    rlhfsim_scenario_free(scenario);
}
END_TEST

/* 2 bytes a parameter of actor and reference, by each of two nodes. */
START_TEST(reads_are_billed) {
    struct rlhfsim_scenario *scenario =
        equal_steps("checkpoint.store={write_gb_per_s: 20, read_gb_per_s: 20, "
                    "usd_per_gb_read: 0.09}",
                    "checkpoint.load=weights");
    struct forecast_measures measures = {.total_s = 3600.0};
    struct forecast_plan plan;
    struct cost_ledger ledger;
    forecast_plan_make(scenario, &plan);
    forecast_ledger(&plan, &measures, &ledger);
    double parameters = (double)llm_parameters(&scenario->models[ALGORITHM_ROLE_ACTOR].architecture,
                                               LLM_HEAD_VOCABULARY);
    assert_relative(item_of(&ledger, "store_reads")->amount_usd,
                    2 * 2 * 2 * parameters / 1e9 * 0.09, 1e-12);
    ck_assert_uint_eq(ledger.count, 5); /* requests are not counted */
    rlhfsim_scenario_free(scenario);
}
END_TEST

/* The scenario's own price of storage goes before that of the store. */
START_TEST(the_scenarios_price_of_storage) {
    struct rlhfsim_scenario *scenario =
        equal_steps("checkpoint.store={write_gb_per_s: 20, usd_per_gb_month: 0.1}",
                    "prices.storage_usd_per_gb_month=0.2");
    ck_assert_double_eq(scenario->prices.storage_gb_month_usd, 0.2);
    rlhfsim_scenario_free(scenario);
}
END_TEST

/* Checks the scenario with a store of `room_gb`; the message, if it is refused. */
static enum rlhfsim_status check(const char *key, double room_gb, const char *second,
                                 char message[512]) {
    char store[128];
    (void)snprintf(store, sizeof store,
                   "%s={client_write_gb_per_s: 2, client_read_gb_per_s: 2, "
                   "client_capacity_gb: %.12g}",
                   key, room_gb / 2);
    struct rlhfsim_scenario *scenario = equal_steps(second, store);
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    struct rlhfsim_forecast *forecast;
    enum rlhfsim_status status = rlhfsim_forecast_check(scenario, diagnostics, &forecast);
    message[0] = '\0';
    if (status == RLHFSIM_INVALID)
        (void)snprintf(message, 512, "%s", rlhfsim_diagnostics_get(diagnostics, 0)->message);
    rlhfsim_forecast_free(forecast);
    rlhfsim_diagnostics_free(diagnostics);
    rlhfsim_scenario_free(scenario);
    return status;
}

static double checkpoint_gb(void) {
    struct rlhfsim_scenario *scenario = equal_steps("checkpoint.keep=1", "checkpoint.keep=2");
    struct forecast_plan plan;
    forecast_plan_make(scenario, &plan);
    double bytes = plan.checkpoint.bytes;
    rlhfsim_scenario_free(scenario);
    return bytes / 1e9;
}

/* Two are kept while the third is written. */
START_TEST(a_store_that_is_too_small) {
    char message[512];
    double one_gb = checkpoint_gb();
    const char *same = "checkpoint.mode=synchronous";
    ck_assert_int_eq(check("checkpoint.store", 3 * one_gb + 1e-3, same, message), RLHFSIM_OK);
    ck_assert_int_eq(check("checkpoint.store", 3 * one_gb - 5, same, message), RLHFSIM_INVALID);
    ck_assert_ptr_nonnull(strstr(message, "checkpoint.store 'inline store' has room for "));
    const char *missing = strstr(message, "at once: ");
    ck_assert_ptr_nonnull(missing);
    double bytes = 0.0;
    ck_assert_int_eq(sscanf(missing, "at once: %lf bytes are missing", &bytes), 1);
    ck_assert_double_eq_tol(bytes, 5e9, 1e3);
    ck_assert_ptr_nonnull(strstr(message, "checkpoint.keep"));
    /* One save in all, at the end of the run, needs room for one. */
    ck_assert_int_eq(check("checkpoint.store", one_gb + 1e-3, "checkpoint.every_steps=9", message),
                     RLHFSIM_OK);
}
END_TEST

/* One passes through at a time. */
START_TEST(disks_that_are_too_small) {
    char message[512];
    double one_gb = checkpoint_gb();
    const char *behind = "checkpoint.mode=asynchronous";
    ck_assert_int_eq(check("checkpoint.staging", one_gb + 1e-3, behind, message), RLHFSIM_OK);
    ck_assert_int_eq(check("checkpoint.staging", one_gb - 1, behind, message), RLHFSIM_INVALID);
    ck_assert_ptr_nonnull(strstr(message, "checkpoint.staging 'inline store'"));
}
END_TEST

static Suite *suite(void) {
    Suite *result = suite_create("forecast_stores");
    TCase *tests = tcase_create("stores");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, bills_of_a_store);
    tcase_add_test(tests, reads_are_billed);
    tcase_add_test(tests, the_scenarios_price_of_storage);
    tcase_add_test(tests, a_store_that_is_too_small);
    tcase_add_test(tests, disks_that_are_too_small);
    suite_add_tcase(result, tests);
    return result;
}

TESTING_MAIN(suite)
