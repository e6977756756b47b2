/* SPDX-License-Identifier: GPL-3.0-or-later */

/* Serving points: forecasts in closed form, and published tables as a whole. */

#include "models/generation/iteration.h"
#include "models/validation/serving.h"
#include "tests/models/generation/fixture.h"
#include "tests/testing.h"

#include <rlhfsim/validation.h>

#include <stdio.h>

/* Plan and case point into one place. */
static void served(struct serving_case *serving, int64_t in, int64_t out, int64_t clients) {
    *serving = (struct serving_case){.plan = fixture_plan(),
                                     .cluster = fixture_h100,
                                     .architecture = fixture_llama_3_8b,
                                     .mode = SERVING_CLIENTS,
                                     .input_tokens = in,
                                     .output_tokens = out,
                                     .requests = clients,
                                     .memory_fraction = 0.9};
    serving->cluster.gpu.memory_bytes = 80e9;
    ck_assert(serving_case_size(serving));
}

/* (0.9 x 80 GB - 16.06 GB) / (16 x 131,072 bytes) = 26,674 blocks. */
START_TEST(test_cache_of_a_case) {
    struct serving_case serving;
    served(&serving, 1000, 1000, 8);
    ck_assert_int_eq(serving.plan.kv_blocks, 26674);
    serving.memory_fraction = 0.2;
    ck_assert(!serving_case_size(&serving)); /* not even the weights */
    serving.memory_fraction = 0.92;
    serving.of_free = true; /* 0.92 x (80 - 16.06) GB */
    ck_assert(serving_case_size(&serving));
    ck_assert_int_eq(serving.plan.kv_blocks, 28049);
}
END_TEST

/* One client is one sequence: the mean of its decode iterations, at the context of the middle, is
 * the whole run less its prompt, but for half a token of context. */
START_TEST(test_one_client_is_one_sequence) {
    struct serving_case serving;
    served(&serving, 1000, 400, 1);
    struct serving_forecast forecast;
    struct generation_outcome outcome;
    struct generation_request request = {.prompt_tokens = 1000, .response_tokens = 400};
    struct sim *sim = sim_new(NULL);
    struct generation_replica *replica = generation_replica_new(sim, &serving.plan);
    ck_assert(serving_case_forecast(&serving, &forecast));
    ck_assert_int_eq(generation_replica_solve(replica, &request, 1, &outcome), SIM_OK);
    assert_relative(forecast.ttft_s + 399.0 * forecast.tpot_s, outcome.makespan_s, 1e-4);
    generation_replica_free(replica);
    sim_free(sim);
}
END_TEST

/* Answers of one length under an engine that computes prompts first: all 8 at once, then all
 * decode. The closed form is the run of one batch. */
START_TEST(test_bunched_clients_are_a_batch) {
    struct serving_case serving;
    served(&serving, 500, 200, 8);
    struct serving_forecast clients, batch;
    serving.plan.software.prefill = GENERATION_PREFILL_FIRST;
    ck_assert(serving_case_forecast(&serving, &clients));
    serving.mode = SERVING_BATCH;
    ck_assert(serving_case_forecast(&serving, &batch));
    assert_relative(clients.output_tokens_per_s, batch.output_tokens_per_s, 0.02);
    ck_assert(isnan(batch.tpot_s));
}
END_TEST

/* More clients never wait less, and never get less in all. */
START_TEST(test_more_clients) {
    double last_s = 0.0, last_rate = 0.0;
    for (int64_t clients = 1; clients <= 512; clients *= 2) {
        struct serving_case serving;
        served(&serving, 700, 300, clients);
        struct serving_forecast forecast;
        ck_assert(serving_case_forecast(&serving, &forecast));
        ck_assert_double_ge(forecast.tpot_s, last_s);
        ck_assert_double_gt(forecast.output_tokens_per_s, last_rate * 0.999);
        last_s = forecast.tpot_s;
        last_rate = forecast.output_tokens_per_s;
    }
}
END_TEST

/* 1,578 published values: what the forecasts reach, with a little room for other coefficients. */
START_TEST(test_published_rows) {
    const char *shared = testing_shared_directory();
    char path[4096];
    const char *paths[] = {path};
    struct rlhfsim_validation_options options = {.catalog_directory = "scenarios/catalog"};
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    struct rlhfsim_validation *validation;
    struct rlhfsim_validation_errors errors;
    if (shared == NULL) {
        printf("skipped: there are no shared measurements\n");
        rlhfsim_diagnostics_free(diagnostics);
        return;
    }
    (void)snprintf(path, sizeof path, "%s/measurements/components/generation_throughput.csv",
                   shared);
    ck_assert_int_eq(
        rlhfsim_validation_run("generation", paths, 1, &options, diagnostics, &validation),
        RLHFSIM_OK);
    ck_assert(rlhfsim_validation_overall(validation, &errors));
    printf("%zu of %zu compared: median %.1f %%, P90 %.1f %%\n", errors.compared, errors.rows,
           100.0 * errors.median_abs_error, 100.0 * errors.p90_abs_error);
    ck_assert_double_ge((double)errors.compared, 0.95 * (double)errors.rows);
    ck_assert_double_le(errors.median_abs_error, 0.085);
    ck_assert_double_le(errors.p90_abs_error, 0.32);
    rlhfsim_validation_free(validation);
    rlhfsim_diagnostics_free(diagnostics);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("validation of generation");
    TCase *cases = tcase_create("serving");
    tcase_set_timeout(cases, 240.0);
    tcase_add_test(cases, test_cache_of_a_case);
    tcase_add_test(cases, test_one_client_is_one_sequence);
    tcase_add_test(cases, test_bunched_clients_are_a_batch);
    tcase_add_test(cases, test_more_clients);
    tcase_add_test(cases, test_published_rows);
    suite_add_tcase(s, cases);
    return s;
}

TESTING_MAIN(suite)
