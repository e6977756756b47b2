/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/generation/costs.h"
#include "tests/models/generation/fixture.h"
#include "tests/testing.h"

#define MOST 40

/* The table against the functions that it remembers, bit by bit, in an order that jumps; every
 * entry twice, of which the second is what is remembered. */
START_TEST(test_remembers_what_the_plan_says) {
    struct generation_plan plan = fixture_plan();
    plan.architecture = &fixture_experts;
    struct generation_cost *costs = generation_costs_new(&plan, MOST);
    ck_assert_ptr_nonnull(costs);
    for (int64_t i = 0; i < 2 * MOST; i++) {
        int64_t n = 1 + i * 23 % MOST; /* 23 and 40 share no factor */
        struct generation_decode_cost direct;
        generation_decode_cost(&plan, n, &direct);
        const struct generation_cost *kept = generation_costs_at(costs, &plan, n);
        ck_assert(kept->decode.base_s == direct.base_s);
        ck_assert(kept->decode.kv_token_s == direct.kv_token_s);
        ck_assert(kept->decode.window_token_s == direct.window_token_s);
        ck_assert(kept->expert_bytes == generation_expert_bytes(&plan, (double)n));
        ck_assert(kept->expert_bytes > 0.0);
    }
    generation_costs_free(costs);
}
END_TEST

START_TEST(test_entries) {
    struct generation_plan plan = fixture_plan();
    plan.max_sequences = 16;
    ck_assert_uint_eq(generation_costs_count(&plan, 3), 4); /* 0 to 3 */
    ck_assert_uint_eq(generation_costs_count(&plan, 16), 17);
    ck_assert_uint_eq(generation_costs_count(&plan, 1000), 17);
    generation_costs_free(NULL);
}
END_TEST

static void solve(struct generation_replica *replica, struct generation_outcome *outcome) {
    struct generation_request requests[MOST];
    for (uint32_t i = 0; i < MOST; i++)
        requests[i] = (struct generation_request){
            .prompt_tokens = 20 + i, .response_tokens = 5 + 7 * (i % 9), .group = i};
    ck_assert_int_eq(generation_replica_solve(replica, requests, MOST, outcome), SIM_OK);
}

/* A replica that finds the table of another filled does what it does alone. */
START_TEST(test_shared_by_replicas) {
    struct generation_plan plan = fixture_plan();
    struct sim *sim = sim_new(NULL);
    struct generation_cost *costs = generation_costs_new(&plan, MOST);
    struct generation_replica *replicas[3];
    struct generation_outcome outcomes[3];
    for (int i = 0; i < 3; i++) {
        replicas[i] = generation_replica_new(sim, &plan);
        ck_assert_ptr_nonnull(replicas[i]);
        if (i > 0)
            generation_replica_share(replicas[i], costs);
        solve(replicas[i], &outcomes[i]);
    }
    ck_assert(costs[MOST].known); /* all of them decode together before the first ends */
    for (int i = 1; i < 3; i++) {
        ck_assert(outcomes[i].makespan_s == outcomes[0].makespan_s);
        ck_assert(outcomes[i].bytes == outcomes[0].bytes);
        ck_assert_uint_eq(outcomes[i].spans, outcomes[0].spans);
    }
    for (int i = 0; i < 3; i++)
        generation_replica_free(replicas[i]);
    generation_costs_free(costs);
    sim_free(sim);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("costs");
    TCase *cases = tcase_create("table");
    tcase_add_test(cases, test_remembers_what_the_plan_says);
    tcase_add_test(cases, test_entries);
    tcase_add_test(cases, test_shared_by_replicas);
    suite_add_tcase(s, cases);
    return s;
}

TESTING_MAIN(suite)
