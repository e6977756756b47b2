/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Whole steps: closed forms of bubbles and of traffic, what overlaps and what does not, on a
 * machine with one finite rate where it can be. Durations are rounded to nanoseconds by the engine.
 */

#include "models/training/step.h"

#include "models/training/chunk.h"
#include "tests/models/training/fixtures.h"
#include "tests/testing.h"

#include <stdio.h>
#include <stdlib.h>

#define INFINITE 1e30

/* ---- helpers ------------------------------------------------------------------------------- */

static struct training_step step_of(const struct training_plan *plan, struct llm_batch batch,
                                    size_t count) {
    struct training_work work = {&batch, count, true};
    struct training_step step;
    ck_assert_int_eq(training_step(plan, &work, &step), SIM_OK);
    return step;
}

static struct training_step forward_of(const struct training_plan *plan, struct llm_batch batch,
                                       size_t count) {
    struct training_work work = {&batch, count, true};
    struct training_step step;
    ck_assert_int_eq(training_step_forward(plan, &work, &step), SIM_OK);
    return step;
}

static double sum_of(const struct training_step *step) {
    return step->compute_s + step->host_s + step->tensor_s + step->context_s + step->expert_s +
           step->gather_s + step->offload_s + step->bubble_s + step->reduction_s +
           step->optimizer_s;
}

static struct hardware_cluster only_compute(int nodes) {
    struct hardware_cluster cluster = round_cluster(nodes);
    cluster.gpu.memory_bandwidth_bytes_per_s = INFINITE;
    cluster.gpu.scaleup_bandwidth_bytes_per_s = INFINITE;
    cluster.node.network_bandwidth_bytes_per_s = INFINITE;
    return cluster;
}

static struct hardware_cluster only_network(int nodes) {
    struct hardware_cluster cluster = round_cluster(nodes);
    cluster.gpu.memory_bandwidth_bytes_per_s = INFINITE;
    cluster.gpu.peak_flops_per_s[HARDWARE_BF16] = INFINITE;
    return cluster;
}

/* Without logits embedding and head take no time where memory is infinite: all stages are equal. */
static struct llm_batch no_logits(double sequences, double tokens) {
    struct llm_batch batch = whole_batch(sequences, tokens);
    batch.logit_tokens = 0.0;
    return batch;
}

/* ---- one stage ----------------------------------------------------------------------------- */

/* Micro-batch after micro-batch, as pass.h has them, and the optimizer. */
START_TEST(one_stage_is_its_passes_in_a_row) {
    struct hardware_cluster cluster = round_cluster(2);
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    struct llm_batch batch = whole_batch(1.0, 700.0);
    plan.dp = 8;
    plan.tp = 2;
    plan.software.microbatch_host_s = 0.01;
    plan.software.optimizer_host_s = 0.02;
    for (plan.zero_stage = 0; plan.zero_stage <= 3; plan.zero_stage++) {
        struct training_cost cost;
        double expected_s = 0.0, bytes = 0.0, flops = 0.0;
        for (int m = 0; m < 3; m++) {
            training_forward_backward(&plan, &batch, training_reduces(&plan, m == 2), &cost);
            expected_s += cost.total_s;
            bytes += cost.bytes;
            flops += cost.flops;
        }
        training_optimizer(&plan, &cost);
        struct training_step step = step_of(&plan, batch, 3);
        assert_relative(step.total_s, expected_s + cost.total_s, 1e-7);
        assert_relative(step.bytes, bytes + cost.bytes, 1e-12);
        assert_relative(step.flops, flops, 1e-12);
        assert_relative(sum_of(&step), step.total_s, 1e-12);
        ck_assert_double_eq_tol(step.bubble_s, 0.0, 1e-7);
        assert_relative(step.host_s, 3.0 * 2.0 * 0.01, 1e-12);
    }
}
END_TEST

/* 6 N D and attention: N = 6,607,077,376 without embedding rows and norms (32 x 202,375,168 +
 * 131,072,000), 12 x 4,096 x 32 a pair. At 5e13 FLOP/s for products and 2.5e13 forward, 2e13
 * backward (2.5 times the pairs) for attention, that is the time as well. */
START_TEST(flops_of_a_step) {
    struct hardware_cluster cluster = only_compute(1);
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    double tokens = 2048.0, pairs = tokens * (tokens + 1.0) / 2.0;
    struct training_step step = step_of(&plan, whole_batch(1.0, tokens), 4);
    double products = 6.0 * 6607077376.0 * tokens, pair = 4.0 * 4096.0 * 32.0;
    assert_relative(step.flops, 4.0 * (products + 3.0 * pair * pairs), 1e-12);
    assert_relative(step.total_s,
                    4.0 * (products / 5e13 + pair * pairs * (1.0 / 2.5e13 + 2.5 / 2e13)), 1e-7);
}
END_TEST

/* Bytes of weights and gradients that each GPU sends in a step of M = 5 micro-batches, in units of
 * the ring's share of P = 2 bytes x parameters. */
START_TEST(traffic_by_stage_and_reduction) {
    struct hardware_cluster cluster = round_cluster(128);
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    const struct {
        int stage;
        bool reshard;
        enum training_reduction reduction;
        double expected;
    } cases[] = {
        {0, true, TRAINING_REDUCE_BY_STAGE, 2.0},
        {1, true, TRAINING_REDUCE_BY_STAGE, 2.0},
        {2, true, TRAINING_REDUCE_BY_STAGE, 5.0 + 1.0},
        {2, true, TRAINING_REDUCE_ONCE, 2.0},
        {1, true, TRAINING_REDUCE_EVERY_MICROBATCH, 5.0 + 1.0},
        {0, true, TRAINING_REDUCE_EVERY_MICROBATCH, 2.0 * 5.0},
        {3, true, TRAINING_REDUCE_BY_STAGE, 3.0 * 5.0},
        {3, true, TRAINING_REDUCE_ONCE, 2.0 * 5.0 + 1.0},
        {3, false, TRAINING_REDUCE_BY_STAGE, 2.0 * 5.0},
        {3, false, TRAINING_REDUCE_ONCE, 5.0 + 1.0},
    };
    double unit = 2.0 * 6738415616.0 * 1023.0 / 1024.0;
    plan.dp = 1024;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        plan.zero_stage = cases[i].stage;
        plan.reshard_after_forward = cases[i].reshard;
        plan.reduction = cases[i].reduction;
        struct training_step step = step_of(&plan, whole_batch(1.0, 64.0), 5);
        assert_relative(step.data_bytes, cases[i].expected * unit, 1e-12);
        ck_assert_double_eq(step.bytes, step.data_bytes);
    }
}
END_TEST

/* DeepSpeed's pipelines: sums that are 4 bytes wide are all-reduced, 2 x 2P, and new weights
 * gathered, P. Other stages do not read it. */
START_TEST(sums_that_every_rank_gets) {
    struct hardware_cluster cluster = round_cluster(128);
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    const double expected[] = {2.0 * 2.0, 2.0 * 2.0 + 1.0, 2.0 + 1.0};
    double unit = 2.0 * 6738415616.0 * 1023.0 / 1024.0;
    plan.dp = 1024;
    plan.reduction = TRAINING_REDUCE_ONCE;
    plan.reduces_whole = true;
    plan.gradient_bytes = 4.0;
    for (plan.zero_stage = 0; plan.zero_stage <= 2; plan.zero_stage++)
        assert_relative(step_of(&plan, whole_batch(1.0, 64.0), 5).data_bytes,
                        expected[plan.zero_stage] * unit, 1e-12);
}
END_TEST

/* A pipeline that keeps gathered weights gathers them once: 1 + 8 reductions, or 1 + 1. */
START_TEST(pipelines_keep_gathered_weights) {
    struct hardware_cluster cluster = round_cluster(32);
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    double unit = 2.0 * 6738415616.0 * 63.0 / 64.0 / 4.0;
    plan.dp = 64;
    plan.pp = 4;
    plan.zero_stage = 3;
    assert_relative(step_of(&plan, whole_batch(1.0, 64.0), 8).data_bytes, 3.0 * 8.0 * unit, 1e-12);
    plan.reshard_after_forward = false;
    assert_relative(step_of(&plan, whole_batch(1.0, 64.0), 8).data_bytes, 9.0 * unit, 1e-12);
    plan.reduction = TRAINING_REDUCE_ONCE;
    assert_relative(step_of(&plan, whole_batch(1.0, 64.0), 8).data_bytes, 2.0 * unit, 1e-12);
}
END_TEST

/* Over four stages each has its own part: the sum over the stages is that of the whole. */
START_TEST(stages_reduce_their_own_part) {
    struct hardware_cluster cluster = round_cluster(32);
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    plan.dp = 64;
    plan.pp = 4;
    plan.zero_stage = 1;
    double unit = 2.0 * 6738415616.0 * 63.0 / 64.0;
    double bytes = step_of(&plan, whole_batch(1.0, 64.0), 8).data_bytes;
    assert_relative(4.0 * bytes, 2.0 * unit, 1e-12); /* reduced once, gathered once */
}
END_TEST

/* Frozen weights of 0.52 bytes are made into 2 bytes for each of 3 micro-batches in the forward,
 * when that is made again and in the backward: 9 x 32 layers x 202,375,168 weights (query and
 * output 4096^2 each, keys and values 2 x 4096^2, 3 x 4096 x 11008) x 2.52 bytes at 1e12 bytes/s.
 */
START_TEST(packed_weights_cost_a_step_their_bytes) {
    struct hardware_cluster cluster = round_cluster(1);
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    plan.lora_rank = 16;
    plan.recompute = TRAINING_RECOMPUTE_FULL;
    struct training_step plain = step_of(&plan, whole_batch(1.0, 512.0), 3);
    plan.base_bytes = 0.52;
    struct training_step packed = step_of(&plan, whole_batch(1.0, 512.0), 3);
    assert_relative(packed.total_s - plain.total_s, 9.0 * 32.0 * 202375168.0 * 2.52 / 1e12, 1e-6);
    ck_assert_double_eq(packed.flops, plain.flops);
}
END_TEST

START_TEST(infinite_links_make_sharding_free) {
    struct hardware_cluster cluster = only_compute(8);
    struct training_plan plan = plain_plan(&cluster, &llama31_8b);
    struct training_step alone = step_of(&plan, whole_batch(1.0, 4096.0), 2);
    plan.dp = 64;
    plan.zero_stage = 3;
    struct training_step sharded = step_of(&plan, whole_batch(1.0, 4096.0), 2);
    assert_relative(sharded.total_s, alone.total_s, 1e-7);
    assert_relative(sharded.compute_s, sharded.total_s, 1e-7);
}
END_TEST

/* Links alone, all 8 GPUs of a node: without prefetch or with it, what is sent is the time. With
 * computation, prefetch hides and its absence does not: gathers are added. */
START_TEST(prefetch_hides_gathers) {
    struct hardware_cluster cluster = round_cluster(1);
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    struct llm_batch batch = whole_batch(4.0, 4096.0);
    plan.dp = 8;
    plan.zero_stage = 3;
    plan.reduction = TRAINING_REDUCE_ONCE;
    double gathered_s = 2.0 * 6738415616.0 * (7.0 / 8.0) / 1e11;
    double hidden_s = forward_of(&plan, batch, 1).gather_s;
    plan.prefetch = false;
    assert_relative(forward_of(&plan, batch, 1).gather_s, gathered_s, 1e-6);
    ck_assert_double_lt(hidden_s, 0.2 * gathered_s); /* of the embedding, mostly */
}
END_TEST

/* HSDP on two nodes of 8: gathers and scatters stay in a node (7/8 of P each), an eighth of the
 * gradients is all-reduced over the 2 nodes, 2 x 1/2 x P/8. */
START_TEST(hybrid_sharding_stays_in_the_node) {
    struct hardware_cluster cluster = only_network(2);
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    double weights = 2.0 * 6738415616.0;
    plan.dp = 16;
    plan.zero_stage = 3;
    plan.shard_ranks = 8;
    plan.software.optimizer_host_s = 0.0;
    struct training_step step = step_of(&plan, whole_batch(1.0, 16.0), 1);
    assert_relative(step.data_bytes, weights * (3.0 * 7.0 / 8.0 + 1.0 / 8.0), 1e-12);
    /* NVLink at 1e11, then each GPU's NIC at 1e10 bytes/s. */
    double expected_s = weights * (3.0 * 7.0 / 8.0 / 1e11 + 1.0 / 8.0 / 1e10);
    assert_relative(step.total_s, expected_s, 1e-4);
    ck_assert_double_eq(training_shards(&plan, TRAINING_SHARDED_WEIGHTS), 8.0);
}
END_TEST

/* ---- pipelines ----------------------------------------------------------------------------- */

/* Idle (p-1)/(M+p-1) of the passes, interleaved (p-1)/(v M+p-1). */
START_TEST(bubbles_are_the_closed_form) {
    struct hardware_cluster cluster = only_compute(1);
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    struct llm_batch batch = no_logits(1.0, 1000.0);
    double alone_s = step_of(&plan, batch, 8).total_s;
    for (plan.pp = 2; plan.pp <= 8; plan.pp *= 2)
        for (plan.vpp = 1; plan.vpp <= 4; plan.vpp *= 2) {
            struct training_step step = step_of(&plan, batch, 8);
            double p = plan.pp, v = plan.vpp;
            assert_relative(step.bubble_s / step.total_s, (p - 1.0) / (v * 8.0 + p - 1.0), 1e-6);
            assert_relative(step.total_s, alone_s / p * (1.0 + (p - 1.0) / (v * 8.0)), 1e-6);
            assert_relative(sum_of(&step), step.total_s, 1e-12);
        }
}
END_TEST

START_TEST(forward_only_pipelines) {
    struct hardware_cluster cluster = only_compute(1);
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    double alone_s = forward_of(&plan, no_logits(1.0, 1000.0), 6).total_s;
    plan.pp = 4;
    double total_s = forward_of(&plan, no_logits(1.0, 1000.0), 6).total_s;
    assert_relative(total_s, alone_s / 4.0 * (1.0 + 3.0 / 6.0), 1e-6);
}
END_TEST

/* The head is on the last stage: with M large the step is M times that stage. */
START_TEST(the_head_makes_the_last_stage_slow) {
    struct hardware_cluster cluster = only_compute(1);
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    struct llm_batch batch = whole_batch(1.0, 1000.0);
    double pairs = 1000.0 * 1001.0 / 2.0;
    double layer_s =
        6.0 * 202375168.0 * 1000.0 / 5e13 + 4.0 * 4096.0 * pairs * (1.0 / 2.5e13 + 2.5 / 2e13);
    double head_s = 6.0 * 131072000.0 * 1000.0 / 5e13;
    plan.pp = 4;
    /* The last stage starts after three others' forwards and ends before their backwards. */
    double expected_s = 64.0 * (8.0 * layer_s + head_s) + 3.0 * 8.0 * layer_s;
    assert_relative(step_of(&plan, batch, 64).total_s, expected_s, 1e-6);
}
END_TEST

/* Stages on nodes of their own: of 1e10 bytes/s a GPU, t x 4096 x 2 bytes. With nothing else, a
 * micro-batch crosses three links and comes back over them. */
START_TEST(sends_are_paid) {
    struct hardware_cluster cluster = only_network(4);
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    cluster.gpus_per_node = 1;
    cluster.node.network_bandwidth_bytes_per_s = 1e10;
    plan.pp = 4;
    double send_s = 1000.0 * 4096.0 * 2.0 / 1e10;
    struct training_step step = step_of(&plan, whole_batch(1.0, 1000.0), 1);
    assert_relative(step.total_s, 6.0 * send_s, 1e-6);
    assert_relative(step.bytes, 6.0 * send_s * 1e10 / 4.0, 1e-12);
}
END_TEST

/* The two ranks' micro-batches may differ; so may those of one rank. Two of 1000 and 500 tokens
 * without attention: the pipeline's end by hand, a = 1000 tokens' forward of a stage, b = 2a its
 * backward. Stage 0: F0 0-a, F1 a-1.5a. Stage 1: F0 a-2a, B0 2a-4a, F1 4a-4.5a, B1 4.5a-5.5a. Stage
 * 0: B0 4a-6a, B1 6a-7a. */
START_TEST(uneven_microbatches) {
    struct hardware_cluster cluster = only_compute(1);
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    struct llm_batch batches[2] = {no_logits(1.0, 1000.0), no_logits(1.0, 500.0)};
    batches[0].score_pairs = batches[1].score_pairs = 0.0;
    plan.pp = 2;
    struct training_work work = {batches, 2, false};
    struct training_step step;
    ck_assert_int_eq(training_step(&plan, &work, &step), SIM_OK);
    double a = 16.0 * 2.0 * 202375168.0 * 1000.0 / 5e13;
    assert_relative(step.total_s, 7.0 * a, 1e-6);
    assert_relative(step.bubble_s, 7.0 * a - 4.5 * a, 1e-6);
}
END_TEST

/* Three micro-batches on two interleaved stages are filled up with one that is empty. */
START_TEST(interleaved_is_filled_up) {
    struct hardware_cluster cluster = only_compute(1);
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    plan.pp = plan.vpp = 2;
    double three = step_of(&plan, no_logits(1.0, 1000.0), 3).total_s;
    double four = step_of(&plan, no_logits(1.0, 1000.0), 4).total_s;
    double one = step_of(&plan, no_logits(1.0, 1000.0), 1).total_s;
    ck_assert_double_lt(three, four);
    ck_assert_double_ge(three, four * 3.0 / 4.5);
    plan.pp = plan.vpp = 1; /* alone, a micro-batch finds all stages idle */
    assert_relative(one, step_of(&plan, no_logits(1.0, 1000.0), 1).total_s, 1e-6);
}
END_TEST

/* Equal micro-batches that are played in part take as long as when all of them are. */
START_TEST(many_equal_microbatches_are_periodic) {
    struct hardware_cluster cluster = round_cluster(16);
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    struct llm_batch batches[150];
    unsigned seed = 20260403u;
    printf("seed %u\n", seed);
    srand(seed);
    cluster.node.network_latency_s = 1e-4;
    for (int i = 0; i < 60; i++) {
        struct llm_batch batch = whole_batch(1.0, 100.0 + rand() % 3000);
        struct training_work all = {batches, 0, false}, equal = {&batch, 0, true};
        struct training_step step, played;
        plan.pp = 1 << rand() % 4;
        plan.vpp = plan.pp > 1 ? 1 << rand() % 3 : 1;
        plan.dp = 1 + rand() % 3;
        plan.zero_stage = rand() % 4;
        plan.overlap_update = rand() % 2;
        plan.software.microbatch_host_s = 1e-3 * (rand() % 5);
        all.count = equal.count = (size_t)(14 * plan.pp + rand() % 30);
        for (size_t m = 0; m < all.count; m++)
            batches[m] = batch;
        ck_assert_int_eq(training_step(&plan, &equal, &step), SIM_OK);
        ck_assert_int_eq(training_step(&plan, &all, &played), SIM_OK);
        assert_relative(step.total_s, played.total_s, 1e-9);
        assert_relative(step.compute_s, played.compute_s, 1e-9);
        ck_assert_double_eq_tol(step.bubble_s, played.bubble_s, 1e-6);
        ck_assert_double_eq_tol(step.reduction_s, played.reduction_s, 1e-6);
        assert_relative(step.bytes + 1.0, played.bytes + 1.0, 1e-9);
        assert_relative(step.flops, played.flops, 1e-9);
        assert_relative(sum_of(&step), step.total_s, 1e-9);
    }
}
END_TEST

/* ---- chunks -------------------------------------------------------------------------------- */

/* 126 layers on 16 stages: 128 places, the first and the last with 7 layers. */
START_TEST(embedding_and_head_take_a_layers_place) {
    struct llm_architecture deep = llama31_8b;
    struct training_plan plan = plain_plan(NULL, &deep);
    deep.layers = 126;
    plan.pp = 16;
    for (int c = 0; c < 16; c++)
        ck_assert_int_eq(training_chunk_layers(&plan, c), c == 0 || c == 15 ? 7 : 8);
    plan.vpp = 8; /* 128 chunks of one place: the first and the last have no layer */
    for (int c = 0; c < 128; c++)
        ck_assert_int_eq(training_chunk_layers(&plan, c), c == 0 || c == 127 ? 0 : 1);
}
END_TEST

/* 78 layers on 12 stages: 80 places, of which stage s has those up to 80 (s + 1) / 12: 6, 13, 20,
 * 26, 33, 40, ..., 80, one of each end's without a layer. And no chunk of any model has more than
 * the even share, rounded up. */
START_TEST(the_ends_have_less_of_what_does_not_divide) {
    static const int expected[] = {5, 7, 7, 6, 7, 7, 6, 7, 7, 6, 7, 6};
    struct llm_architecture deep = llama31_8b;
    struct training_plan plan = plain_plan(NULL, &deep);
    deep.layers = 78;
    plan.pp = 12;
    for (int c = 0; c < 12; c++)
        ck_assert_int_eq(training_chunk_layers(&plan, c), expected[c]);
    for (deep.layers = 2; deep.layers <= 60; deep.layers++)
        for (plan.pp = 1; plan.pp <= deep.layers; plan.pp++) {
            int64_t most = (deep.layers + plan.pp - 1) / plan.pp, sum = 0;
            for (int c = 0; c < plan.pp; c++) {
                int64_t layers = training_chunk_layers(&plan, c);
                ck_assert(layers >= 0 && layers <= most);
                sum += layers;
            }
            ck_assert_int_eq(sum, deep.layers);
        }
}
END_TEST

START_TEST(chunks_add_up_to_the_model) {
    struct llm_architecture mixed = expert_model; /* 12 layers, 8 of them with experts */
    struct training_plan plan = plain_plan(NULL, &mixed);
    for (plan.pp = 1; plan.pp <= 6; plan.pp++)
        for (plan.vpp = 1; plan.vpp <= 2; plan.vpp++) {
            double sum = 0.0;
            int64_t blocks[TRAINING_SEGMENTS], layers = 0;
            for (int stage = 0; stage < plan.pp; stage++)
                sum += training_stage_sum(&plan, stage, training_segment_parameters);
            assert_relative(sum, training_parameters(&plan), 1e-15);
            for (int c = 0; c < training_chunks(&plan); c++) {
                ck_assert_int_eq(training_chunk_blocks(&plan, c, blocks), 4);
                ck_assert_int_eq(blocks[1] + blocks[2], training_chunk_layers(&plan, c));
                ck_assert_int_eq(blocks[0], c == 0);
                ck_assert_int_eq(blocks[3], c + 1 == training_chunks(&plan));
                layers += blocks[1] + blocks[2];
            }
            ck_assert_int_eq(layers, 12);
        }
    plan.pp = 4; /* a third of each chunk is dense */
    plan.vpp = 1;
    int64_t blocks[TRAINING_SEGMENTS];
    for (int c = 0; c < 4; c++) {
        training_chunk_blocks(&plan, c, blocks);
        ck_assert_int_eq(blocks[1], 1);
        ck_assert_int_eq(blocks[2], 2);
    }
}
END_TEST

static TCase *pipelines_case(void) {
    TCase *pipelines = tcase_create("pipelines");
    tcase_add_test(pipelines, bubbles_are_the_closed_form);
    tcase_add_test(pipelines, forward_only_pipelines);
    tcase_add_test(pipelines, the_head_makes_the_last_stage_slow);
    tcase_add_test(pipelines, sends_are_paid);
    tcase_add_test(pipelines, uneven_microbatches);
    tcase_add_test(pipelines, interleaved_is_filled_up);
    tcase_add_test(pipelines, many_equal_microbatches_are_periodic);
    tcase_add_test(pipelines, embedding_and_head_take_a_layers_place);
    tcase_add_test(pipelines, the_ends_have_less_of_what_does_not_divide);
    tcase_add_test(pipelines, chunks_add_up_to_the_model);
    return pipelines;
}

static Suite *suite(void) {
    Suite *suite = suite_create("training step");
    TCase *stage = tcase_create("one stage");
    tcase_add_test(stage, one_stage_is_its_passes_in_a_row);
    tcase_add_test(stage, flops_of_a_step);
    tcase_add_test(stage, traffic_by_stage_and_reduction);
    tcase_add_test(stage, sums_that_every_rank_gets);
    tcase_add_test(stage, stages_reduce_their_own_part);
    tcase_add_test(stage, pipelines_keep_gathered_weights);
    tcase_add_test(stage, packed_weights_cost_a_step_their_bytes);
    tcase_add_test(stage, infinite_links_make_sharding_free);
    tcase_add_test(stage, prefetch_hides_gathers);
    tcase_add_test(stage, hybrid_sharding_stays_in_the_node);
    suite_add_tcase(suite, stage);
    suite_add_tcase(suite, pipelines_case());
    return suite;
}

TESTING_MAIN(suite)
