/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * What software loses beside its kernels: contention with collectives that run behind them,
 * products of odd widths, gradients that are reduced in fp32.
 */

#include "models/training/block.h"
#include "models/training/links.h"
#include "models/training/pass.h"
#include "tests/models/training/fixtures.h"
#include "tests/testing.h"

#define INFINITE 1e30

/* Llama-2-7B: 4 x 4096^2 + 3 x 4096 x 11008 + 2 x 4096 a layer; 32000 x 4096 + 4096 with the norm
 * on top. */
#define LAYER 202383360.0
#define TOP 131076096.0

static struct hardware_cluster no_memory_limit(int nodes) {
    struct hardware_cluster cluster = round_cluster(nodes);
    cluster.gpu.memory_bandwidth_bytes_per_s = INFINITE;
    return cluster;
}

static double forward_s(const struct training_plan *plan, double tokens) {
    struct llm_batch batch = whole_batch(1.0, tokens);
    struct training_cost cost;
    training_forward(plan, &batch, &cost);
    return cost.total_s;
}

/* ZeRO-3 on 8 GPUs: a layer's gather sends 7/8 of 2 bytes a weight over 1e11 bytes/s, 3.5 ms
 * behind products of 2 x 8000 x LAYER / 5e13 = 65 ms; the head 2.3 ms behind 42. The embedding
 * computes nothing that could lose. On two nodes 15/16 are sent, at 8e10 bytes/s; kernels lose as
 * if it were 1e11. */
START_TEST(kernels_lose_to_what_runs_behind_them) {
    for (int nodes = 1; nodes <= 2; nodes++) {
        struct hardware_cluster cluster = no_memory_limit(nodes);
        struct training_plan plan = plain_plan(&cluster, &llama2_7b);
        plan.dp = 8 * nodes;
        plan.zero_stage = 3;
        double alone = forward_s(&plan, 8000.0);
        plan.software.contention_share = 0.5;
        double sent = (1.0 - 1.0 / (double)plan.dp) * 2.0 * (32.0 * LAYER + TOP);
        assert_relative(forward_s(&plan, 8000.0) - alone, 0.5 * sent / 1e11, 1e-6);
    }
}
END_TEST

/* Weights that are not sharded are not gathered: nothing to lose to. */
START_TEST(nothing_behind_nothing_lost) {
    struct hardware_cluster cluster = no_memory_limit(1);
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    plan.dp = 8;
    double alone = forward_s(&plan, 8000.0);
    plan.software.contention_share = 0.5;
    ck_assert_double_eq(forward_s(&plan, 8000.0), alone);
}
END_TEST

/* A feed-forward of 11,000, which 64 does not divide, on one GPU: its three products of 2 x 2000 x
 * 4096 x 11000 FLOPs a layer at 5e13 take twice as long; queries to output do not. */
START_TEST(odd_widths_take_longer) {
    struct hardware_cluster cluster = no_memory_limit(1);
    struct llm_architecture odd = llama2_7b;
    struct training_plan plan = plain_plan(&cluster, &odd);
    plan.software.misaligned_factor = 2.0;
    double even = forward_s(&plan, 2000.0);
    plan.software.misaligned_factor = 1.0;
    ck_assert_double_eq(forward_s(&plan, 2000.0), even); /* 11,008 = 172 x 64 */
    odd.ffn = 11000;
    double alone = forward_s(&plan, 2000.0);
    plan.software.misaligned_factor = 2.0;
    double feed_forward_s = 32.0 * 3.0 * 2.0 * 2000.0 * 4096.0 * 11000.0 / 5e13;
    assert_relative(forward_s(&plan, 2000.0) - alone, feed_forward_s, 1e-9);
}
END_TEST

/* Twice the bytes of bf16; the new weights that come back are as wide as ever. */
START_TEST(gradients_reduced_in_fp32) {
    struct hardware_cluster cluster = no_memory_limit(1);
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    struct training_segment segments[TRAINING_SEGMENTS];
    plan.trained = true;
    plan.dp = 8;
    plan.zero_stage = 1;
    training_segments(&plan, segments);
    double narrow = training_reduce_bytes(&plan, &segments[1]);
    double narrow_s = training_reduce_s(&plan, &segments[1]);
    double renewed = training_renew_bytes(&plan, 0);
    assert_relative(narrow, 7.0 / 8.0 * 2.0 * LAYER, 1e-12);
    plan.gradient_bytes = 4.0;
    assert_relative(training_reduce_bytes(&plan, &segments[1]), 2.0 * narrow, 1e-12);
    assert_relative(training_reduce_s(&plan, &segments[1]), 2.0 * narrow_s, 1e-12);
    ck_assert_double_eq(training_renew_bytes(&plan, 0), renewed);
}
END_TEST

/* 32 layers, each as long as the host takes to start its kernels (1 s; kernels take 65 ms), once
 * forward and once backward; a host that is faster than the kernels is not seen. */
START_TEST(layers_wait_for_the_host) {
    struct hardware_cluster cluster = no_memory_limit(1);
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    struct training_block block;
    struct llm_batch batch = whole_batch(1.0, 8000.0);
    struct training_segment segment = {.part = TRAINING_LAYER, .kind = {.count = 32}, .blocks = 32};
    plan.trained = true;
    plan.recompute = TRAINING_RECOMPUTE_FULL;
    training_block_compute(&plan, &batch, &segment, &block);
    double forward = block.forward_s, backward = block.backward_s;
    plan.software.layer_host_s = forward / 2.0;
    training_block_compute(&plan, &batch, &segment, &block);
    ck_assert_double_eq(block.forward_s, forward);
    plan.software.layer_host_s = 10.0;
    training_block_compute(&plan, &batch, &segment, &block);
    ck_assert_double_lt(backward, 10.0);
    ck_assert_double_eq(block.forward_s, 10.0);
    ck_assert_double_eq(block.backward_s, 10.0);
    ck_assert_double_eq(block.recompute_s, 10.0);
}
END_TEST

/* The host's wait for the router: once a forward and a recomputation, twice a backward, only where
 * a layer has experts. */
START_TEST(experts_wait_for_the_router) {
    struct hardware_cluster cluster = no_memory_limit(1);
    struct training_plan plan = plain_plan(&cluster, &expert_model);
    struct training_block block, waiting;
    struct llm_batch batch = whole_batch(1.0, 8000.0);
    struct training_segment segment = {.part = TRAINING_LAYER, .blocks = 1};
    plan.trained = true;
    plan.recompute = TRAINING_RECOMPUTE_FULL;
    for (int moe = 0; moe <= 1; moe++) {
        segment.kind = (struct llm_layer_kind){.count = 1, .moe = moe == 1};
        plan.software.expert_layer_s = 0.0;
        training_block_compute(&plan, &batch, &segment, &block);
        plan.software.expert_layer_s = 0.5;
        training_block_compute(&plan, &batch, &segment, &waiting);
        assert_relative(waiting.forward_s - block.forward_s, 0.5 * moe, 1e-9);
        assert_relative(waiting.backward_s - block.backward_s, 1.0 * moe, 1e-9);
        assert_relative(waiting.recompute_s - block.recompute_s, 0.5 * moe, 1e-9);
    }
}
END_TEST

static Suite *losses_suite(void) {
    Suite *suite = suite_create("training.losses");
    TCase *tests = tcase_create("losses");
    tcase_add_test(tests, kernels_lose_to_what_runs_behind_them);
    tcase_add_test(tests, nothing_behind_nothing_lost);
    tcase_add_test(tests, odd_widths_take_longer);
    tcase_add_test(tests, layers_wait_for_the_host);
    tcase_add_test(tests, experts_wait_for_the_router);
    tcase_add_test(tests, gradients_reduced_in_fp32);
    suite_add_tcase(suite, tests);
    return suite;
}

TESTING_MAIN(losses_suite)
