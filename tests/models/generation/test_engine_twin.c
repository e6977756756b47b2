/* SPDX-License-Identifier: GPL-3.0-or-later */

/* The engine against its token-by-token twin on random batches. */

#include "tests/models/generation/fixture.h"
#include "tests/oracle/generation_twin.h"
#include "tests/testing.h"

#include <stdio.h>

#define CASES 2000
#define MOST_REQUESTS 40
#define MOST_TURNS 3

struct twin_case {
    struct generation_plan plan;
    struct generation_request requests[MOST_REQUESTS];
    struct generation_turn turns[MOST_REQUESTS][MOST_TURNS];
    size_t count;
    uint64_t preemptions, swapped_blocks; /* filled by the run, for the coverage below */
};

static void draw_requests(struct twin_case *c, uint64_t *state) {
    uint32_t longest_prompt = fixture_random(state, 1, 70);
    uint32_t longest_response = fixture_random(state, 1, 60);
    uint32_t most_samples = fixture_random(state, 1, 6), samples_left = 0, prompt = 0, group = 7;
    c->count = fixture_random(state, 1, MOST_REQUESTS);
    for (size_t i = 0; i < c->count; i++) {
        if (samples_left == 0) {
            samples_left = fixture_random(state, 1, most_samples);
            prompt = fixture_random(state, 1, longest_prompt);
            group += fixture_random(state, 1, 3);
        }
        samples_left--;
        uint32_t response = fixture_random(state, 0, longest_response);
        c->requests[i] = (struct generation_request){
            .prompt_tokens = prompt, .response_tokens = response, .group = group};
        /* an answer that was begun before */
        if (response > 1 && fixture_random(state, 0, 9) == 0)
            c->requests[i].generated_tokens = fixture_random(state, 1, response - 1);
    }
}

/* Conversations, with an environment that takes some iterations' time (5 ms and more each). */
static void draw_turns(struct twin_case *c, uint64_t *state) {
    if (c->plan.software.batching != GENERATION_CONTINUOUS || fixture_random(state, 0, 2) > 0)
        return;
    c->plan.keep_turns = fixture_random(state, 0, 1) == 1;
    for (size_t i = 0; i < c->count; i++) {
        c->requests[i].turn_count = fixture_random(state, 0, MOST_TURNS);
        c->requests[i].turns = c->turns[i];
        for (int k = 0; k < MOST_TURNS; k++)
            c->turns[i][k] = (struct generation_turn){fixture_random(state, 0, 40) * 7e-3,
                                                      fixture_random(state, 0, 20),
                                                      fixture_random(state, 0, 20)};
    }
}

/* The options of an engine. */
static void draw_software(struct generation_software *software, uint64_t *state) {
    software->block_tokens = fixture_random(state, 1, 17);
    software->prefix_caching = fixture_random(state, 0, 1) == 1;
    software->chunked_prefill = fixture_random(state, 0, 2) > 0;
    software->prefill =
        fixture_random(state, 0, 2) == 0 ? GENERATION_PREFILL_FIRST : GENERATION_PREFILL_MIXED;
    software->preemption =
        fixture_random(state, 0, 2) == 0 ? GENERATION_SWAP : GENERATION_RECOMPUTE;
    if (fixture_random(state, 0, 3) > 0)
        return;
    software->graph_step = 8;
    software->graph_dense = software->graph_limit = 16;
    software->eager_layer_s = 2e-4;
    software->expert_layer_s = 1e-5;
}

/* Fixed batches, of answers that are padded to 70 tokens. */
static void draw_batching(struct generation_plan *plan, uint64_t *state) {
    if (fixture_random(state, 0, 5) > 0)
        return;
    plan->software.batching =
        fixture_random(state, 0, 1) == 0 ? GENERATION_PADDED_TO_BATCH : GENERATION_PADDED_TO_LIMIT;
    plan->software.prefix_caching = false;
    plan->response_limit = 70;
    plan->pp = plan->dp = plan->ep = 1;
    plan->speculation.tokens = 0;
}

static const struct llm_architecture *draw_model(uint64_t *state) {
    const struct llm_architecture *const models[] = {&fixture_llama_3_8b, &fixture_llama_3_8b,
                                                     &fixture_experts, &fixture_windows};
    return models[fixture_random(state, 0, 3)];
}

/* How a replica is cut, and speculation. */
static void draw_layout(struct generation_plan *plan, uint64_t *state) {
    const int degrees[] = {1, 1, 2, 4};
    plan->tp = degrees[fixture_random(state, 0, 3)];
    plan->pp = degrees[fixture_random(state, 0, 2)];
    if (plan->architecture == &fixture_experts && fixture_random(state, 0, 1) == 1) {
        plan->dp = degrees[fixture_random(state, 0, 2)];
        plan->ep = plan->tp * plan->dp;
    }
    if (fixture_random(state, 0, 4) == 0)
        plan->speculation =
            (struct generation_speculation){.tokens = 3, .acceptance = 0.6, .draft_cost = 0.1};
}

/* Blocks from just enough for the longest sequence to enough for half of all. */
static void draw_plan(struct twin_case *c, uint64_t *state) {
    const uint32_t budgets[] = {1, 8, 24, 64, 8192};
    const uint32_t limits[] = {1, 2, 5, 256};
    int64_t total = 0, longest = 0;
    c->plan = fixture_plan();
    c->plan.architecture = draw_model(state);
    draw_software(&c->plan.software, state);
    draw_layout(&c->plan, state);
    draw_batching(&c->plan, state);
    draw_turns(c, state);
    c->plan.max_batched_tokens = budgets[fixture_random(state, 0, 4)];
    c->plan.max_sequences = (int)limits[fixture_random(state, 0, 3)];
    for (size_t i = 0; i < c->count; i++) {
        int64_t tokens = generation_request_tokens(&c->requests[i]);
        int64_t blocks =
            (tokens + c->plan.software.block_tokens - 1) / c->plan.software.block_tokens;
        total += blocks;
        longest = blocks > longest ? blocks : longest;
    }
    uint32_t spare = fixture_random(state, 0, 2) == 0 ? 1 : (uint32_t)(total / 2 + 1);
    c->plan.kv_blocks = (longest + fixture_random(state, 0, fixture_random(state, 0, spare)));
    if (c->plan.kv_blocks < c->plan.dp * longest)
        c->plan.kv_blocks = c->plan.dp * longest; /* each group holds the longest */
}

static void compare(struct twin_case *c, uint64_t seed) {
    double finish_s[MOST_REQUESTS];
    struct generation_twin_result twin;
    struct generation_outcome outcome;
    struct sim *sim = sim_new(NULL);
    struct generation_replica *replica = generation_replica_new(sim, &c->plan);
    ck_assert(generation_twin(&c->plan, c->requests, c->count, finish_s, &twin));
    ck_assert_int_eq(generation_replica_solve(replica, c->requests, c->count, &outcome), SIM_OK);
    bool same = fabs(outcome.makespan_s - twin.makespan_s) <= 1e-9 * twin.makespan_s &&
                fabs(outcome.tail_s - (twin.makespan_s - twin.half_s)) <= 1e-9 * twin.makespan_s &&
                outcome.iterations == twin.iterations &&
                outcome.prefilled_tokens == twin.prefilled_tokens &&
                outcome.decoded_tokens == twin.decoded_tokens &&
                outcome.preemptions == twin.preemptions &&
                outcome.swapped_blocks == twin.swapped_blocks &&
                fabs(outcome.flops - twin.flops) <= 1e-12 * twin.flops &&
                fabs(outcome.bytes - twin.bytes) <= 1e-12 * twin.bytes;
    for (size_t i = 0; i < c->count; i++)
        same = same &&
               fabs(generation_replica_finish_s(replica, i) - finish_s[i]) <= 1e-9 * finish_s[i];
    ck_assert_msg(
        same,
        "seed %llu: makespan %.17g / %.17g, iterations %llu / %llu, prefilled %llu / "
        "%llu, decoded %llu / %llu, preemptions %llu / %llu (engine / twin)",
        (unsigned long long)seed, outcome.makespan_s, twin.makespan_s,
        (unsigned long long)outcome.iterations, (unsigned long long)twin.iterations,
        (unsigned long long)outcome.prefilled_tokens, (unsigned long long)twin.prefilled_tokens,
        (unsigned long long)outcome.decoded_tokens, (unsigned long long)twin.decoded_tokens,
        (unsigned long long)outcome.preemptions, (unsigned long long)twin.preemptions);
    uint64_t turns = 0; /* one that comes back cuts the span that it comes back in */
    for (size_t i = 0; i < c->count; i++)
        turns += c->requests[i].turn_count;
    ck_assert_msg(outcome.spans <= 4 * (c->count + turns) + 2 * outcome.preemptions,
                  "seed %llu: %llu spans for %zu requests and %llu preemptions",
                  (unsigned long long)seed, (unsigned long long)outcome.spans, c->count,
                  (unsigned long long)outcome.preemptions);
    c->preemptions = outcome.preemptions;
    c->swapped_blocks = outcome.swapped_blocks;
    generation_replica_free(replica);
    sim_free(sim);
}

/* Every finish time, and what was done on the way; the cases must have met what they are for. */
START_TEST(test_equals_the_twin) {
    int preempted = 0, storms = 0, alone = 0, grouped = 0, experts = 0, swapped = 0, windows = 0;
    int whole = 0, fixed = 0, turns = 0;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        uint64_t state = seed;
        struct twin_case c;
        draw_requests(&c, &state);
        draw_plan(&c, &state);
        compare(&c, seed);
        preempted += c.preemptions > 0;
        storms += c.preemptions > c.count;
        alone += c.count == 1;
        grouped += c.plan.software.prefix_caching && c.preemptions > 0;
        experts += c.plan.architecture == &fixture_experts;
        swapped += c.swapped_blocks > 0;
        windows += c.plan.architecture == &fixture_windows && c.preemptions > 0;
        fixed += c.plan.software.batching != GENERATION_CONTINUOUS;
        turns += c.plan.keep_turns && c.preemptions > 0;
        whole += !c.plan.software.chunked_prefill && c.plan.max_batched_tokens < 70;
    }
    printf("of %d batches %d preempt, %d more often than they have requests, %d preempt with "
           "shared prompts, %d are one request\n",
           CASES, preempted, storms, grouped, alone);
    ck_assert_int_gt(preempted, CASES / 10);
    ck_assert_int_gt(storms, CASES / 100);
    ck_assert_int_gt(grouped, CASES / 20);
    ck_assert_int_gt(alone, CASES / 100);
    ck_assert_int_gt(experts, CASES / 5);
    ck_assert_int_gt(swapped, CASES / 50);
    ck_assert_int_gt(windows, CASES / 50);
    ck_assert_int_gt(fixed, CASES / 10);
    ck_assert_int_gt(turns, CASES / 50);
    ck_assert_int_gt(whole, CASES / 10);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("rollout engine and its twin");
    TCase *cases = tcase_create("random batches");
    tcase_set_timeout(cases, 120.0);
    tcase_add_test(cases, test_equals_the_twin);
    suite_add_tcase(s, cases);
    return s;
}

TESTING_MAIN(suite)
