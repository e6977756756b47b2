/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/forecast/pass_cache.h"
#include "tests/models/training/fixtures.h"
#include "tests/testing.h"

static struct llm_batch batch_of(double sequences, double tokens) {
    return (struct llm_batch){.sequences = sequences,
                              .tokens = sequences * tokens,
                              .score_pairs = sequences * tokens * (tokens + 1.0) / 2.0,
                              .logit_tokens = sequences * tokens};
}

static void assert_same(const struct training_cost *kept, const struct training_cost *direct) {
    ck_assert(kept->total_s == direct->total_s && direct->total_s > 0.0);
    ck_assert(kept->compute_s == direct->compute_s);
    ck_assert(kept->exposed_communication_s == direct->exposed_communication_s);
    ck_assert(kept->exposed.data_s == direct->exposed.data_s);
    ck_assert(kept->flops == direct->flops && kept->hardware_flops == direct->hardware_flops);
    ck_assert(kept->bytes == direct->bytes && kept->data_bytes == direct->data_bytes);
}

/* One call against the functions that the cache stands for, bit by bit. */
static void ask(struct forecast_pass_cache *cache, const struct training_plan *plan,
                enum algorithm_role role, enum forecast_cost pass, struct llm_batch batch) {
    struct training_cost direct;
    if (pass == FORECAST_COST_FORWARD)
        training_forward(plan, &batch, &direct);
    else
        training_forward_backward(plan, &batch, pass == FORECAST_COST_UPDATE_REDUCING, &direct);
    assert_same(forecast_pass_cost(cache, plan, role, pass, &batch), &direct);
}

/* Two models, all kinds of pass, batches that return at once, later, and never; with weights that
 * are gathered and with resident ones. */
START_TEST(test_gives_what_passes_cost) {
    struct hardware_cluster cluster = round_cluster(2);
    struct training_plan actor = plain_plan(&cluster, &llama2_7b);
    actor.dp = 16;
    actor.zero_stage = _i;
    struct training_plan reference = actor;
    actor.trained = true;
    reference.trained = false;
    struct forecast_pass_cache cache = {0};
    for (int i = 0; i < 12; i++) {
        struct llm_batch batch = batch_of(1.0 + i / 2 % 3, 512.0);
        ask(&cache, &reference, ALGORITHM_ROLE_REFERENCE, FORECAST_COST_FORWARD, batch);
        for (int pass = 0; pass < FORECAST_COST_COUNT; pass++)
            ask(&cache, &actor, ALGORITHM_ROLE_ACTOR, (enum forecast_cost)pass, batch);
    }
}
END_TEST

/* A batch that differs in nothing but its pairs is another one. */
START_TEST(test_tells_batches_apart) {
    struct hardware_cluster cluster = round_cluster(1);
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    struct forecast_pass_cache cache = {0};
    struct llm_batch packed = batch_of(2.0, 1024.0), whole = packed;
    whole.score_pairs = 2048.0 * 2049.0 / 2.0;
    double packed_s =
        forecast_pass_cost(&cache, &plan, ALGORITHM_ROLE_REWARD, FORECAST_COST_FORWARD, &packed)
            ->total_s;
    ask(&cache, &plan, ALGORITHM_ROLE_REWARD, FORECAST_COST_FORWARD, whole);
    ck_assert(cache.last[ALGORITHM_ROLE_REWARD][FORECAST_COST_FORWARD].cost.total_s > packed_s);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("pass cache");
    TCase *cases = tcase_create("costs");
    tcase_add_loop_test(cases, test_gives_what_passes_cost, 0, 4);
    tcase_add_test(cases, test_tells_batches_apart);
    suite_add_tcase(s, cases);
    return s;
}

TESTING_MAIN(suite)
