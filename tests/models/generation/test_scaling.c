/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * What more replicas bring to a rollout of 512 prompts x 16 answers of log-normal lengths: mean
 * 2,000 and 99th percentile 12,000 tokens (before a limit), on replicas of one H100 with an 8B
 * model. With sigma = s, ln 12000 - ln 2000 = 2.3263 s - s^2 / 2 has the smaller root s = 0.97.
 */

#include "models/generation/floor.h"
#include "tests/models/generation/fixture.h"
#include "tests/testing.h"

#include <gsl/gsl_cdf.h>
#include <stdio.h>
#include <stdlib.h>

#define PROMPTS 512
#define SAMPLES 16
#define COUNT (PROMPTS * SAMPLES)
#define LIMIT 16384

static struct generation_request *draw_requests(uint32_t limit) {
    struct generation_request *requests = calloc(COUNT, sizeof *requests);
    const double z = 2.3263478740, gap = log(12000.0 / 2000.0);
    double sigma = z - sqrt(z * z - 2.0 * gap), mu = log(2000.0) - sigma * sigma / 2.0;
    uint64_t state = 11;
    ck_assert_ptr_nonnull(requests);
    for (uint32_t i = 0; i < COUNT; i++) {
        double u = ((double)fixture_random(&state, 0, 999999999) + 0.5) / 1e9;
        double tokens = ceil(gsl_cdf_lognormal_Pinv(u, mu, sigma));
        requests[i] = (struct generation_request){.prompt_tokens = 512,
                                                  .response_tokens = (uint32_t)fmin(tokens, limit),
                                                  .group = i / SAMPLES};
    }
    return requests;
}

static struct generation_plan replica_plan(void) {
    struct generation_plan plan = fixture_plan();
    plan.software.prefix_caching = true;
    plan.max_sequences = 256;
    plan.kv_blocks = 26000; /* 54 GB of 131,072 bytes a token */
    return plan;
}

/* The longest of `replicas` that get equal shares of the requests. */
static double makespan_s(const struct generation_request *requests, size_t replicas) {
    struct generation_plan plan = replica_plan();
    struct sim *sim = sim_new(NULL);
    struct generation_replica *replica = generation_replica_new(sim, &plan);
    double longest = 0.0;
    size_t share = COUNT / replicas;
    for (size_t r = 0; r < replicas; r++) {
        struct generation_outcome outcome;
        ck_assert_int_eq(generation_replica_solve(replica, requests + r * share, share, &outcome),
                         SIM_OK);
        longest = fmax(longest, outcome.makespan_s);
    }
    generation_replica_free(replica);
    sim_free(sim);
    return longest;
}

static double floor_s(const struct generation_request *requests) {
    struct generation_plan plan = replica_plan();
    const struct generation_request *longest = requests;
    for (size_t i = 1; i < COUNT; i++)
        if (requests[i].response_tokens > longest->response_tokens)
            longest = &requests[i];
    return generation_alone_s(&plan, longest);
}

/* More replicas are never slower and never below the floor, and where each has only some prompts
 * the floor is nearly all that is left: the last doublings of the GPUs bring next to nothing. */
static void check_scaling(uint32_t limit) {
    struct generation_request *requests = draw_requests(limit);
    double floor = floor_s(requests), last = (double)INFINITY, times[16];
    int count = 0;
    for (size_t replicas = 1; replicas <= COUNT; replicas *= 2) {
        double seconds = makespan_s(requests, replicas);
        ck_assert_double_le(seconds, last * (1.0 + 1e-12));
        ck_assert_double_ge(seconds, floor * (1.0 - 1e-9));
        printf("limit %u, %4zu replicas: %7.1f s, %.2f of the floor\n", limit, replicas, seconds,
               seconds / floor);
        last = times[count++] = seconds;
    }
    assert_relative(times[13], floor, 1e-9);       /* one sequence each */
    ck_assert_double_gt(times[0] / times[1], 1.6); /* two for one: still work for all */
    ck_assert_double_lt(times[8] / times[9], 1.1); /* 32 and 16 sequences each */
    ck_assert_double_lt(times[9] / floor, 1.15);   /* ... and the prompts of one group */
    free(requests);
}

START_TEST(test_limited_answers) {
    check_scaling(LIMIT);
}
END_TEST

START_TEST(test_unlimited_answers) {
    check_scaling(UINT32_MAX / 2);
}
END_TEST

/* The closed form is what the engine makes of one request, whatever its options. */
START_TEST(test_floor_is_one_sequence) {
    const struct llm_architecture *const models[] = {&fixture_llama_3_8b, &fixture_experts,
                                                     &fixture_windows};
    for (uint64_t seed = 1; seed <= 200; seed++) {
        uint64_t state = seed;
        struct generation_plan plan = fixture_plan();
        plan.architecture = models[seed % 3];
        plan.max_batched_tokens = fixture_random(&state, 1, 300);
        plan.software.chunked_prefill = seed % 2 == 0;
        plan.tp = seed % 5 == 0 ? 2 : 1;
        if (seed % 7 == 0)
            plan.software.batching = GENERATION_PADDED_TO_LIMIT;
        plan.response_limit = 500;
        struct generation_request request = {
            fixture_random(&state, 1, 400), fixture_random(&state, 0, 400), 0, 0, 0, NULL};
        struct sim *sim = sim_new(NULL);
        struct generation_replica *replica = generation_replica_new(sim, &plan);
        struct generation_outcome outcome;
        ck_assert_int_eq(generation_replica_solve(replica, &request, 1, &outcome), SIM_OK);
        assert_relative(generation_alone_s(&plan, &request), outcome.makespan_s, 1e-11);
        generation_replica_free(replica);
        sim_free(sim);
    }
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("scaling of a rollout");
    TCase *cases = tcase_create("replicas");
    tcase_add_test(cases, test_limited_answers);
    tcase_add_test(cases, test_unlimited_answers);
    tcase_add_test(cases, test_floor_is_one_sequence);
    suite_add_tcase(s, cases);
    return s;
}

TESTING_MAIN(suite)
