/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Passes and optimizer steps against closed forms: with one rate finite and all others infinite, a
 * pass is work over that rate.
 */

#include "models/training/optimizer.h"

#include "tests/models/training/fixtures.h"
#include "tests/testing.h"

#include <signal.h>

#define INFINITE 1e30

/* ---- helpers ------------------------------------------------------------------------------- */

static struct training_cost forward(const struct training_plan *plan, struct llm_batch batch) {
    struct training_cost cost;
    training_forward(plan, &batch, &cost);
    return cost;
}

static struct training_cost update(const struct training_plan *plan, struct llm_batch batch,
                                   bool reduce) {
    struct training_cost cost;
    training_forward_backward(plan, &batch, reduce, &cost);
    return cost;
}

static struct training_cost optimizer(const struct training_plan *plan) {
    struct training_cost cost;
    training_optimizer(plan, &cost);
    return cost;
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

/* ---- compute ------------------------------------------------------------------------------- */

/* Llama-2-7B by hand, FLOPs a token. Matrices of a block: 4 x 4096^2 (attention) + 3 x 4096 x 11008
 * = 202,375,168; 32 blocks; head 4096 x 32000 = 131,072,000. Attention: 4 x 4096 a pair and layer.
 * The round machine makes 5e13 of the products' and 2.5e13 of attention's FLOPs a second, and
 * 2e13 of attention's in its backward, which has 2.5 times the work. */
static const double layer_flops = 2.0 * 32.0 * 202375168.0;
static const double head_flops = 2.0 * 131072000.0;
static const double pair_flops = 4.0 * 4096.0 * 32.0;

START_TEST(forward_is_flops_over_rates) {
    struct hardware_cluster cluster = only_compute(1);
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    struct llm_batch batch = whole_batch(2.0, 1000.0);
    double pairs = 2.0 * 1000.0 * 1001.0 / 2.0;
    batch.logit_tokens = 500.0;
    struct training_cost cost = forward(&plan, batch);
    double products_s = (layer_flops * 2000.0 + head_flops * 500.0) / 5e13;
    assert_relative(cost.compute_s, products_s + pair_flops * pairs / 2.5e13, 1e-12);
    assert_relative(cost.total_s, cost.compute_s, 1e-12);
    assert_relative(cost.flops, layer_flops * 2000.0 + head_flops * 500.0 + pair_flops * pairs,
                    1e-12);
    ck_assert_double_eq(cost.bytes, 0.0);
}
END_TEST

START_TEST(backward_is_twice_the_products) {
    struct hardware_cluster cluster = only_compute(1);
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    double tokens = 3000.0, pairs = tokens * (tokens + 1.0) / 2.0;
    struct training_cost cost = update(&plan, whole_batch(1.0, tokens), true);
    double products_s = 3.0 * (layer_flops + head_flops) * tokens / 5e13;
    double attention_s = pair_flops * pairs * (1.0 / 2.5e13 + 2.5 / 2e13);
    assert_relative(cost.compute_s, products_s + attention_s, 1e-12);
    assert_relative(cost.flops, 3.0 * ((layer_flops + head_flops) * tokens + pair_flops * pairs),
                    1e-12);
    ck_assert_double_eq(cost.hardware_flops, cost.flops);
}
END_TEST

START_TEST(a_scalar_head_is_one_column) {
    struct hardware_cluster cluster = only_compute(1);
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    plan.head = LLM_HEAD_SCALAR;
    struct llm_batch batch = whole_batch(1.0, 1000.0);
    batch.score_pairs = 0.0;
    double expected = (layer_flops + 2.0 * 4096.0) * 1000.0 / 5e13;
    assert_relative(forward(&plan, batch).compute_s, expected, 1e-12);
}
END_TEST

/* Full: all of the blocks again, not the head. Selective: attention again, its products not. */
START_TEST(recomputation_adds_what_it_makes_again) {
    struct hardware_cluster cluster = only_compute(1);
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    double tokens = 2048.0, pairs = tokens * (tokens + 1.0) / 2.0;
    struct llm_batch batch = whole_batch(1.0, tokens);
    struct training_cost none = update(&plan, batch, true);
    plan.recompute = TRAINING_RECOMPUTE_FULL;
    struct training_cost full = update(&plan, batch, true);
    plan.recompute = TRAINING_RECOMPUTE_SELECTIVE;
    struct training_cost selective = update(&plan, batch, true);
    double attention_s = pair_flops * pairs / 2.5e13;
    assert_relative(full.total_s - none.total_s, layer_flops * tokens / 5e13 + attention_s, 1e-11);
    assert_relative(selective.total_s - none.total_s, attention_s, 1e-10);
    assert_relative(full.hardware_flops - full.flops, layer_flops * tokens + pair_flops * pairs,
                    1e-11);
    assert_relative(selective.hardware_flops - selective.flops, pair_flops * pairs, 1e-10);
    ck_assert_double_eq(full.flops, none.flops);
}
END_TEST

/* On a real machine too, where launches and traffic count: the difference is a forward of the
 * blocks, that is, of the whole model less what a model without layers would take. */
START_TEST(full_recomputation_is_exactly_a_forward_of_the_blocks) {
    struct hardware_cluster cluster = round_cluster(1);
    cluster.gpu.kernel_launch_s = 5e-6;
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    struct llm_architecture doubled = llama2_7b;
    doubled.layers = 64;
    struct llm_batch batch = whole_batch(3.0, 700.0);
    double without = update(&plan, batch, true).total_s;
    plan.recompute = TRAINING_RECOMPUTE_FULL;
    double added = update(&plan, batch, true).total_s - without;
    double once = forward(&plan, batch).total_s;
    plan.architecture = &doubled;
    assert_relative(added, forward(&plan, batch).total_s - once, 1e-10);
}
END_TEST

/* Adapters of rank r have r (in + out) weights a projection: a block of Llama-2-7B has 4 x 2 x 4096
 * + 3 x (4096 + 11008) of them a rank. Their products are made three times; the frozen ones twice,
 * forward and input gradient; attention in full. */
START_TEST(lora_makes_no_weight_gradients_of_frozen_matrices) {
    struct hardware_cluster cluster = only_compute(1);
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    plan.lora_rank = 64;
    double tokens = 2000.0, pairs = tokens * (tokens + 1.0) / 2.0;
    double adapters = 32.0 * 64.0 * (8.0 * 4096.0 + 3.0 * (4096.0 + 11008.0));
    struct training_cost cost = update(&plan, whole_batch(1.0, tokens), true);
    double frozen = (layer_flops + head_flops) * tokens, trained = 2.0 * adapters * tokens;
    double attention_s = pair_flops * pairs * (1.0 / 2.5e13 + 2.5 / 2e13);
    assert_relative(cost.compute_s, (2.0 * frozen + 3.0 * trained) / 5e13 + attention_s, 1e-12);
    assert_relative(cost.flops, 2.0 * frozen + 3.0 * trained + 3.0 * pair_flops * pairs, 1e-12);
}
END_TEST

/* fp8 has twice the peak for the blocks' products; attention and head stay at bf16's. */
START_TEST(fp8_speeds_up_the_products_of_the_blocks_only) {
    struct hardware_cluster cluster = only_compute(1);
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    plan.precision = HARDWARE_FP8;
    double tokens = 1500.0, pairs = tokens * (tokens + 1.0) / 2.0;
    double attention_s = pair_flops * pairs * (1.0 / 2.5e13 + 2.5 / 2e13);
    double expected = 3.0 * tokens * (layer_flops / 1e14 + head_flops / 5e13) + attention_s;
    assert_relative(update(&plan, whole_batch(1.0, tokens), true).compute_s, expected, 1e-12);
}
END_TEST

START_TEST(software_share_divides_products_and_attention) {
    struct hardware_cluster cluster = only_compute(1);
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    struct llm_batch batch = whole_batch(4.0, 512.0);
    double all = update(&plan, batch, true).compute_s;
    plan.software.matmul_share = plan.software.attention_share = 0.8;
    assert_relative(update(&plan, batch, true).compute_s, all / 0.8, 1e-12);
}
END_TEST

START_TEST(host_time_once_a_pass) {
    struct hardware_cluster cluster = only_compute(1);
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    struct llm_batch batch = whole_batch(1.0, 64.0);
    double forward_s = forward(&plan, batch).total_s;
    double update_s = update(&plan, batch, true).total_s;
    plan.software.microbatch_host_s = 0.25;
    assert_relative(forward(&plan, batch).compute_s, forward_s + 0.25, 1e-12);
    assert_relative(update(&plan, batch, true).total_s, update_s + 0.5, 1e-12);
}
END_TEST

/* HBM alone: bytes a token of one block of Llama-2-7B, elements of 2 bytes, h = 4096, f = 11008.
 * forward   products  in and out of qkv (1+3)h, output (1+1)h, gate and up h + 2f, down f + h: 8h +
 *                     3f; weights 202,375,168 once
 *           others    two add+norms 8h, rotary 4h, gate x up 3f; attention 2h + 2h
 * backward  products  input gradients as forward; weight gradients the same tokens again
 *           others    two add+norms 8h, rotary 4h, gate x up 5f; attention 4h + 4h
 * and around the blocks: embedding 2h (3h backward), final norm 4h (4h), head h + v twice and the
 * other way round, logits v x (10 and 14 bytes), v = 32000, weights v h three times. */
START_TEST(traffic_is_bytes_over_bandwidth) {
    struct hardware_cluster cluster = round_cluster(1);
    cluster.gpu.peak_flops_per_s[HARDWARE_BF16] = INFINITE;
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    double h = 4096.0, f = 11008.0, v = 32000.0, t = 1000.0;
    double forward_bytes = 2.0 * t * (8 * h + 3 * f + 8 * h + 4 * h + 3 * f + 4 * h);
    double backward_bytes = 2.0 * t * (2 * (8 * h + 3 * f) + 8 * h + 4 * h + 5 * f + 8 * h);
    double weights = 2.0 * 202375168.0;
    double ends_forward = 2.0 * (t * (2 * h + 4 * h + h + v) + v * h) + 10.0 * t * v;
    double ends_backward = 2.0 * (t * (3 * h + 4 * h + 2 * (h + v)) + 2 * v * h) + 14.0 * t * v;
    struct llm_batch batch = whole_batch(1.0, t);
    assert_relative(forward(&plan, batch).compute_s,
                    (32.0 * (forward_bytes + weights) + ends_forward) / 1e12, 1e-12);
    double total =
        32.0 * (forward_bytes + backward_bytes + 3.0 * weights) + ends_forward + ends_backward;
    assert_relative(update(&plan, batch, true).compute_s, total / 1e12, 1e-12);
}
END_TEST

/* A norm of queries and keys (Qwen3): read and written forward; two read, one written backward. */
START_TEST(head_norms_move_queries_and_keys) {
    struct hardware_cluster cluster = round_cluster(1);
    cluster.gpu.peak_flops_per_s[HARDWARE_BF16] = INFINITE;
    struct llm_architecture normed = llama31_8b;
    struct training_plan plan = plain_plan(&cluster, &llama31_8b);
    struct llm_batch batch = whole_batch(1.0, 1000.0);
    double without = update(&plan, batch, true).compute_s;
    normed.qk_norm = true;
    plan.architecture = &normed;
    double bytes = 32.0 * 1000.0 * 2.0 * (2.0 + 3.0) * (4096.0 + 1024.0);
    assert_relative(update(&plan, batch, true).compute_s - without, bytes / 1e12, 1e-9);
}
END_TEST

/* The linear layers of a block of Llama-2-7B: columns, rows, projections fused in one. */
static const double linears[4][3] = {
    {12288.0, 4096.0, 3.0}, {4096.0, 4096.0, 1.0}, {22016.0, 4096.0, 2.0}, {4096.0, 11008.0, 1.0}};

/* Adapters of rank 16, forward: for each of the a projections two products [t x k][k x r][r x n/a],
 * and one read more of their output in the kernel that follows. */
START_TEST(lora_traffic) {
    struct hardware_cluster cluster = round_cluster(1);
    cluster.gpu.peak_flops_per_s[HARDWARE_BF16] = INFINITE;
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    struct llm_batch batch = whole_batch(1.0, 1000.0);
    double without = forward(&plan, batch).compute_s, elements = 0.0, r = 16.0, t = 1000.0;
    for (int i = 0; i < 4; i++) {
        double n = linears[i][0], k = linears[i][1], a = linears[i][2];
        elements += a * (t * k + k * r + t * r) + a * t * r + r * n + t * n + t * n;
    }
    plan.lora_rank = 16;
    double added = forward(&plan, batch).compute_s - without;
    assert_relative(added, 32.0 * 2.0 * elements / 1e12, 1e-9);
}
END_TEST

/* fp8: products read inputs and weights in one byte less; each input is cast, read in 2 bytes and
 * written in 1, and once more transposed (1) where a weight gradient will want it; output gradients
 * likewise. Backward, both products read an output gradient and the other factor in fp8. */
START_TEST(fp8_traffic) {
    struct hardware_cluster cluster = round_cluster(1);
    cluster.gpu.peak_flops_per_s[HARDWARE_BF16] = INFINITE;
    cluster.gpu.peak_flops_per_s[HARDWARE_FP8] = INFINITE;
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    struct llm_batch batch = whole_batch(1.0, 1000.0);
    double forward_s = forward(&plan, batch).compute_s;
    double update_s = update(&plan, batch, true).compute_s;
    double inference = 0.0, training = 0.0, t = 1000.0;
    for (int i = 0; i < 4; i++) {
        double n = linears[i][0], k = linears[i][1];
        inference += 3.0 * t * k - (t * k + k * n);
        training += 4.0 * t * (k + n) - (t * k + k * n) - (t * n + n * k) - (k * t + t * n);
    }
    plan.precision = HARDWARE_FP8;
    assert_relative(forward(&plan, batch).compute_s - forward_s, 32.0 * inference / 1e12, 1e-9);
    assert_relative(update(&plan, batch, true).compute_s - update_s, 32.0 * training / 1e12, 1e-9);
}
END_TEST

START_TEST(more_tokens_take_longer) {
    struct hardware_cluster cluster = round_cluster(4);
    cluster.gpu.kernel_launch_s = 5e-6;
    struct training_plan plan = plain_plan(&cluster, &llama31_8b);
    plan.dp = 16;
    plan.tp = 2;
    for (plan.zero_stage = 0; plan.zero_stage <= 3; plan.zero_stage++) {
        double before_forward = 0.0, before_update = 0.0;
        for (double tokens = 1.0; tokens < 70000.0; tokens *= 1.7) {
            double forward_s = forward(&plan, whole_batch(1.0, tokens)).total_s;
            double update_s = update(&plan, whole_batch(1.0, tokens), true).total_s;
            ck_assert_double_ge(forward_s, before_forward);
            ck_assert_double_ge(update_s, before_update);
            ck_assert_double_gt(update_s, forward_s);
            before_forward = forward_s;
            before_update = update_s;
        }
    }
}
END_TEST

/* ---- kinds of layers ----------------------------------------------------------------------- */

/* expert_model by hand, weights that a token meets. Attention: 1024 x 384 + 384 x 16 x 96 + 1024 x
 * 288 + 256 x 16 x 128 + 16 x 64 x 1024. Feed-forward: 3 x 1024 x 4096; with experts 32 x 1024 + 5
 * x 3 x 1024 x 512. A pair: 2 x 16 x (96 + 64) FLOPs a layer. */
static const double latent_weights = 393216.0 + 589824.0 + 294912.0 + 524288.0 + 1048576.0;
static const double dense_weights = 12582912.0, expert_weights = 32768.0 + 5.0 * 1572864.0;
static const double expert_pair_flops = 12.0 * 2.0 * 16.0 * 160.0;

static double expert_matrices(void) {
    return 12.0 * latent_weights + 4.0 * dense_weights + 8.0 * expert_weights;
}

START_TEST(experts_cost_what_a_token_meets) {
    struct hardware_cluster cluster = only_compute(1);
    struct training_plan plan = plain_plan(&cluster, &expert_model);
    struct llm_batch batch = whole_batch(2.0, 1000.0);
    batch.logit_tokens = 0.0;
    double pairs = 1000.0 * 1001.0, products_s = 2.0 * expert_matrices() * 2000.0 / 5e13;
    struct training_cost cost = forward(&plan, batch);
    assert_relative(cost.compute_s, products_s + expert_pair_flops * pairs / 2.5e13, 1e-12);
    assert_relative(cost.flops, 2.0 * expert_matrices() * 2000.0 + expert_pair_flops * pairs,
                    1e-12);
    cost = update(&plan, batch, false);
    assert_relative(cost.compute_s,
                    3.0 * products_s + expert_pair_flops * pairs * (1.0 / 2.5e13 + 2.5 / 2e13),
                    1e-12);
    plan.tp = 8; /* all but the down projections of the latents and the router is divided */
    double whole = 12.0 * (393216.0 + 294912.0) + 8.0 * 32768.0;
    assert_relative(forward(&plan, batch).compute_s,
                    2.0 * (whole + (expert_matrices() - whole) / 8.0) * 2000.0 / 5e13 +
                        expert_pair_flops * pairs / 8.0 / 2.5e13,
                    1e-12);
}
END_TEST

/* With nothing but memory traffic, one layer with experts and t tokens: 2 bytes for weights, inputs
 * and outputs of every product, of experts for the 32 (1 - (7/8)^t) that have tokens; the table of
 * block.c for the rest. 1 TB/s. */
static double expert_layer_bytes(double t) {
    double touched = 32.0 * (1.0 - pow(7.0 / 8.0, t)), h = 1024.0;
    double weights = latent_weights + 32768.0 + 1572864.0 + touched * 1572864.0;
    double values = (h + 384.0) + (384.0 + 1536.0) + (h + 288.0) + (256.0 + 2048.0) + (1024.0 + h) +
                    (h + 32.0) + 4.0 * (h + 1024.0 + 512.0 + h) + (h + 1024.0 + 512.0 + h);
    double queries = 1536.0, keys = 1536.0, value = 1024.0;
    double elements =
        8.0 * h + 2.0 * (queries + keys) + 3.0 * 5.0 * 512.0 + 2.0 * (384.0 + 256.0) + 10.0 * h;
    double attention = queries + keys + 2.0 * value;
    return 2.0 * (weights + t * (values + elements + attention));
}

START_TEST(experts_move_the_weights_of_those_that_have_tokens) {
    struct hardware_cluster cluster = round_cluster(1);
    struct llm_architecture few = expert_model;
    struct training_plan plan = plain_plan(&cluster, &few);
    cluster.gpu.peak_flops_per_s[HARDWARE_BF16] = INFINITE;
    for (double t = 1.0; t < 300.0; t *= 4.0) {
        struct llm_batch batch = whole_batch(1.0, t);
        batch.score_pairs = batch.logit_tokens = 0.0;
        few.layers = few.moe_layers = 2;
        double two_s = forward(&plan, batch).compute_s;
        few.layers = few.moe_layers = 1;
        double layer_s = two_s - forward(&plan, batch).compute_s;
        assert_relative(layer_s, expert_layer_bytes(t) / 1e12, 1e-9);
    }
}
END_TEST

/* LoRA of rank 64: adapters of 64 (inputs + outputs), of the experts those of the four that a token
 * meets and the shared one, with both of their gradients; frozen matrices have their input gradient
 * alone, the router too. */
START_TEST(adapters_of_experts) {
    struct hardware_cluster cluster = only_compute(1);
    struct training_plan plan = plain_plan(&cluster, &expert_model);
    struct llm_batch batch = whole_batch(1.0, 500.0);
    batch.score_pairs = batch.logit_tokens = 0.0;
    plan.lora_rank = 64;
    double attention = (1024.0 + 384.0) + (384.0 + 1536.0) + (1024.0 + 288.0) + (256.0 + 2048.0) +
                       (1024.0 + 1024.0);
    double adapters = 64.0 * (12.0 * attention + 4.0 * 3.0 * (1024.0 + 4096.0) +
                              8.0 * 5.0 * 3.0 * (1024.0 + 512.0));
    struct training_cost cost = update(&plan, batch, false);
    double expected = 2.0 * 500.0 * (2.0 * expert_matrices() + 3.0 * adapters);
    assert_relative(cost.flops, expected, 1e-12);
    assert_relative(cost.compute_s, expected / 5e13, 1e-12);
}
END_TEST

/* ZeRO-3 without compute gathers every parameter once in a forward, whatever the kinds. */
START_TEST(kinds_are_gathered_each_with_its_own_size) {
    struct hardware_cluster cluster = only_network(1);
    struct training_plan plan = plain_plan(&cluster, &expert_model);
    struct llm_batch batch = whole_batch(1.0, 1.0);
    plan.dp = 8;
    plan.zero_stage = 3;
    double parameters = (double)llm_parameters(&expert_model, LLM_HEAD_VOCABULARY);
    assert_relative(forward(&plan, batch).total_s, 2.0 * parameters * 7.0 / 8.0 / 1e11, 1e-9);
    struct training_segment segments[TRAINING_SEGMENTS];
    ck_assert_int_eq(training_segments(&plan, segments), 4);
    double sum = 0.0;
    for (int i = 0; i < 4; i++)
        sum += (double)segments[i].blocks * training_segment_parameters(&plan, &segments[i]);
    ck_assert_double_eq(sum, parameters);
}
END_TEST

/* A narrow embedding of 512: every token goes in and out of it, the head has 512 inputs. */
START_TEST(narrow_embeddings_are_projected) {
    struct hardware_cluster cluster = only_compute(1);
    struct llm_architecture narrow = llama2_7b;
    struct training_plan plan = plain_plan(&cluster, &narrow);
    struct llm_batch batch = whole_batch(1.0, 100.0);
    double wide_s = update(&plan, batch, false).compute_s;
    narrow.embedding_width = 512;
    double flops = 2.0 * 100.0 * (2.0 * 512.0 * 4096.0 + 32000.0 * (512.0 - 4096.0));
    assert_relative(update(&plan, batch, false).compute_s, wide_s + 3.0 * flops / 5e13, 1e-12);
}
END_TEST

/* ---- tensor parallelism -------------------------------------------------------------------- */

START_TEST(tensor_parallelism_divides_compute) {
    struct hardware_cluster cluster = only_compute(1);
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    struct llm_batch batch = whole_batch(2.0, 1024.0);
    struct training_cost one = update(&plan, batch, true);
    for (plan.tp = 2; plan.tp <= 8; plan.tp *= 2) {
        struct training_cost many = update(&plan, batch, true);
        assert_relative(many.compute_s, one.compute_s / plan.tp, 1e-12);
        ck_assert_double_eq(many.flops, one.flops);
    }
}
END_TEST

/* Each of the 32 blocks has two pairs of reduce-scatter and all-gather a direction, embedding and
 * head one pair; a collective over tp = 4 sends 3/4 of tokens x 4096 x 2 bytes at 1e11 bytes/s. */
START_TEST(tensor_collectives_are_exposed) {
    struct hardware_cluster cluster = only_network(1);
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    plan.tp = 4;
    double collective_bytes = 0.75 * 3000.0 * 4096.0 * 2.0;
    struct llm_batch batch = whole_batch(3.0, 1000.0);
    struct training_cost one_way = forward(&plan, batch);
    assert_relative(one_way.exposed_communication_s, 130.0 * collective_bytes / 1e11, 1e-9);
    assert_relative(one_way.bytes, 130.0 * collective_bytes, 1e-12);
    struct training_cost both = update(&plan, batch, true);
    assert_relative(both.exposed_communication_s, 260.0 * collective_bytes / 1e11, 1e-9);
    plan.recompute = TRAINING_RECOMPUTE_FULL;
    struct training_cost again = update(&plan, batch, true);
    assert_relative(again.bytes - both.bytes, 128.0 * collective_bytes, 1e-12);
    assert_relative(again.total_s - both.total_s, 128.0 * collective_bytes / 1e11, 1e-9);
}
END_TEST

/* ---- data parallelism ---------------------------------------------------------------------- */

START_TEST(infinite_links_make_zero3_free) {
    struct hardware_cluster cluster = only_compute(8);
    struct training_plan plan = plain_plan(&cluster, &llama31_8b);
    struct llm_batch batch = whole_batch(1.0, 4096.0);
    struct training_cost alone = update(&plan, batch, true);
    plan.dp = 64;
    plan.zero_stage = 3;
    struct training_cost sharded = update(&plan, batch, true);
    assert_relative(sharded.total_s, alone.total_s, 1e-12);
    assert_relative(sharded.compute_s, sharded.total_s, 1e-12);
}
END_TEST

/* Bytes that each GPU sends in an optimizer step of M = 5 micro-batches, in units of the ring's
 * share (dp - 1)/dp of P = 2 bytes x parameters: 2, 2, M + 1, 3 M. */
START_TEST(traffic_of_a_step_by_stage) {
    struct hardware_cluster cluster = round_cluster(128);
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    const double expected[] = {2.0, 2.0, 6.0, 15.0};
    plan.dp = 1024;
    for (plan.zero_stage = 0; plan.zero_stage <= 3; plan.zero_stage++) {
        double bytes = optimizer(&plan).bytes;
        for (int i = 0; i < 5; i++)
            bytes += update(&plan, whole_batch(1.0, 512.0), training_reduces(&plan, i == 4)).bytes;
        double unit = 2.0 * 6738415616.0 * 1023.0 / 1024.0;
        assert_relative(bytes, expected[plan.zero_stage] * unit, 1e-12);
    }
}
END_TEST

/* Links alone, one node of 8 at 1e11 bytes/s, 7/8 of P each time: ZeRO-3 gathers once forward, and
 * once more backward with its reduction on the same links; nothing hides anything. ZeRO-0's
 * all-reduce is two of them. */
START_TEST(without_compute_traffic_is_time) {
    struct hardware_cluster cluster = only_network(1);
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    double once_s = 2.0 * 6738415616.0 * (7.0 / 8.0) / 1e11;
    struct llm_batch batch = whole_batch(1.0, 256.0);
    plan.dp = 8;
    assert_relative(update(&plan, batch, true).total_s, 2.0 * once_s, 1e-9);
    ck_assert_double_lt(update(&plan, batch, false).total_s, 1e-9);
    plan.zero_stage = 2;
    assert_relative(update(&plan, batch, true).total_s, once_s, 1e-9);
    plan.zero_stage = 3;
    assert_relative(forward(&plan, batch).total_s, once_s, 1e-9);
    assert_relative(update(&plan, batch, true).total_s, 3.0 * once_s, 1e-9);
}
END_TEST

/* A LoRA under ZeRO-3 gathers all weights and reduces those of the adapters only. */
START_TEST(lora_gathers_the_base_and_reduces_adapters) {
    struct hardware_cluster cluster = round_cluster(1);
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    double adapters = 32.0 * 8.0 * (8.0 * 4096.0 + 3.0 * (4096.0 + 11008.0));
    plan.lora_rank = 8;
    plan.dp = 8;
    plan.zero_stage = 3;
    double expected = 2.0 * 7.0 / 8.0 * (2.0 * (6738415616.0 + adapters) + adapters);
    assert_relative(update(&plan, whole_batch(1.0, 128.0), true).bytes, expected, 1e-12);
    plan.zero_stage = 1;
    ck_assert_double_eq(update(&plan, whole_batch(1.0, 128.0), false).bytes, 0.0);
    assert_relative(optimizer(&plan).bytes, 2.0 * 7.0 / 8.0 * adapters, 1e-12);
}
END_TEST

/* With long micro-batches reductions hide behind the backward but for the last two: of the last
 * block, 202,383,360 parameters with its norms, behind which only the embedding's backward runs (3
 * x 4096 x 2 bytes a token at 1e12 bytes/s), and of the embedding, 32000 x 4096. An all-reduce
 * sends 2 x 7/8 of 2 bytes a parameter at 1e11 bytes/s. */
START_TEST(only_the_last_reductions_are_exposed) {
    struct hardware_cluster cluster = round_cluster(1);
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    plan.dp = 8;
    struct training_cost cost = update(&plan, whole_batch(8.0, 4096.0), true);
    double reduced_s = (202383360.0 + 32000.0 * 4096.0) * 3.5 / 1e11;
    double hidden_s = 3.0 * 4096.0 * 2.0 * 32768.0 / 1e12;
    assert_relative(cost.exposed_communication_s, reduced_s - hidden_s, 1e-9);
    assert_relative(cost.total_s, cost.compute_s + cost.exposed_communication_s, 1e-12);
}
END_TEST

START_TEST(stages_2_and_3_reduce_every_microbatch) {
    struct training_plan plan = {0};
    const bool expected[] = {false, false, true, true};
    for (plan.zero_stage = 0; plan.zero_stage <= 3; plan.zero_stage++) {
        ck_assert(training_reduces(&plan, false) == expected[plan.zero_stage]);
        ck_assert(training_reduces(&plan, true));
    }
}
END_TEST

/* ---- optimizer and offload ----------------------------------------------------------------- */

/* 30 bytes of HBM a parameter at 1e12 bytes/s, over those that share the state. */
START_TEST(adam_is_memory_traffic) {
    struct hardware_cluster cluster = round_cluster(1);
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    plan.dp = 4;
    plan.tp = 2;
    plan.software.optimizer_host_s = 0.01;
    assert_relative(optimizer(&plan).total_s, 0.01 + 30.0 * 6738415616.0 / 2.0 / 1e12, 1e-12);
    plan.zero_stage = 1;
    struct training_cost cost = optimizer(&plan);
    assert_relative(cost.compute_s, 0.01 + 30.0 * 6738415616.0 / 8.0 / 1e12, 1e-12);
    assert_relative(cost.exposed_communication_s, 6738415616.0 * 0.75 / 1e11, 1e-12);
    plan.zero_stage = 3;
    ck_assert_double_eq(optimizer(&plan).exposed_communication_s, 0.0);
}
END_TEST

/* Bytes of a parameter, the gradient read twice: Adam in fp32 2 x 4 + 16 of moments and 8 of the
 * weight; moments of 1 byte each 2 x 2 + 4 + 8 + 2; SGD without them 14; all in bf16 and no master,
 * 2 x 2 + 8 + 4. */
START_TEST(optimizers_move_what_they_keep) {
    static const struct {
        enum hardware_precision precision;
        double master, moments, expected;
    } cases[] = {{HARDWARE_BF16, 4.0, 8.0, 30.0}, {HARDWARE_FP32, 4.0, 8.0, 32.0},
                 {HARDWARE_BF16, 4.0, 2.0, 18.0}, {HARDWARE_BF16, 4.0, 0.0, 14.0},
                 {HARDWARE_BF16, 0.0, 4.0, 16.0}, {HARDWARE_FP32, 4.0, 0.0, 16.0}};
    struct hardware_cluster cluster = round_cluster(1);
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        plan.precision = cases[i].precision;
        plan.memory.master_bytes = cases[i].master;
        plan.memory.moment_bytes = cases[i].moments;
        assert_relative(optimizer(&plan).total_s, cases[i].expected * 6738415616.0 / 1e12, 1e-12);
    }
}
END_TEST

/* Gradients down and weights up, 2 bytes each at 2e10 bytes/s, and 2 ns on the CPU: for 1e9
 * parameters a GPU 0.2 + 2 s. */
START_TEST(offloaded_adam_pays_pcie_and_cpu) {
    struct hardware_cluster cluster = round_cluster(1);
    struct training_plan plan = plain_plan(&cluster, &llama31_8b);
    plan.dp = 8;
    plan.zero_stage = 3;
    plan.offload = TRAINING_OFFLOAD_OPTIMIZER;
    double own = 8030261248.0 / 8.0;
    struct training_cost cost = optimizer(&plan);
    assert_relative(cost.total_s, own * (2.0e-9 + 4.0 / 2e10), 1e-12);
    assert_relative(cost.exposed_communication_s, own * 4.0 / 2e10, 1e-12);
    ck_assert_double_eq(training_parameter_transfer_s(&plan), 0.0);
    plan.offload = TRAINING_OFFLOAD_OPTIMIZER_PARAMETERS;
    assert_relative(training_parameter_transfer_s(&plan), own * 2.0 / 2e10, 1e-12);
    plan.zero_stage = 2;
    assert_relative(training_parameter_transfer_s(&plan), 8.0 * own * 2.0 / 2e10, 1e-12);
}
END_TEST

START_TEST(names) {
    ck_assert_str_eq(training_recompute_name(TRAINING_RECOMPUTE_SELECTIVE), "selective");
    ck_assert_str_eq(training_recompute_name(TRAINING_RECOMPUTE_NONE), "none");
    ck_assert_str_eq(training_recompute_name(TRAINING_RECOMPUTE_FULL), "full");
    ck_assert_str_eq(training_offload_name(TRAINING_OFFLOAD_NONE), "none");
    ck_assert_str_eq(training_offload_name(TRAINING_OFFLOAD_OPTIMIZER), "optimizer");
    ck_assert_str_eq(training_offload_name(TRAINING_OFFLOAD_PARAMETERS), "parameters");
    ck_assert_str_eq(training_offload_name(TRAINING_OFFLOAD_OPTIMIZER_PARAMETERS),
                     "optimizer+parameters");
}
END_TEST

START_TEST(a_frozen_model_has_no_backward) {
    struct hardware_cluster cluster = round_cluster(1);
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    plan.trained = false;
    update(&plan, whole_batch(1.0, 16.0), false);
}
END_TEST

static TCase *kinds_case(void) {
    TCase *kinds = tcase_create("kinds of layers");
    tcase_add_test(kinds, experts_cost_what_a_token_meets);
    tcase_add_test(kinds, experts_move_the_weights_of_those_that_have_tokens);
    tcase_add_test(kinds, adapters_of_experts);
    tcase_add_test(kinds, kinds_are_gathered_each_with_its_own_size);
    tcase_add_test(kinds, narrow_embeddings_are_projected);
    return kinds;
}

static Suite *suite(void) {
    Suite *suite = suite_create("training pass");
    TCase *compute = tcase_create("compute");
    tcase_add_test(compute, forward_is_flops_over_rates);
    tcase_add_test(compute, backward_is_twice_the_products);
    tcase_add_test(compute, a_scalar_head_is_one_column);
    tcase_add_test(compute, recomputation_adds_what_it_makes_again);
    tcase_add_test(compute, full_recomputation_is_exactly_a_forward_of_the_blocks);
    tcase_add_test(compute, lora_makes_no_weight_gradients_of_frozen_matrices);
    tcase_add_test(compute, fp8_speeds_up_the_products_of_the_blocks_only);
    tcase_add_test(compute, software_share_divides_products_and_attention);
    tcase_add_test(compute, host_time_once_a_pass);
    tcase_add_test(compute, traffic_is_bytes_over_bandwidth);
    tcase_add_test(compute, head_norms_move_queries_and_keys);
    tcase_add_test(compute, lora_traffic);
    tcase_add_test(compute, fp8_traffic);
    tcase_add_test(compute, more_tokens_take_longer);
    suite_add_tcase(suite, compute);
    suite_add_tcase(suite, kinds_case());
    TCase *parallel = tcase_create("parallel");
    tcase_add_test(parallel, tensor_parallelism_divides_compute);
    tcase_add_test(parallel, tensor_collectives_are_exposed);
    tcase_add_test(parallel, infinite_links_make_zero3_free);
    tcase_add_test(parallel, traffic_of_a_step_by_stage);
    tcase_add_test(parallel, without_compute_traffic_is_time);
    tcase_add_test(parallel, lora_gathers_the_base_and_reduces_adapters);
    tcase_add_test(parallel, only_the_last_reductions_are_exposed);
    tcase_add_test(parallel, stages_2_and_3_reduce_every_microbatch);
    suite_add_tcase(suite, parallel);
    TCase *step = tcase_create("optimizer");
    tcase_add_test(step, adam_is_memory_traffic);
    tcase_add_test(step, optimizers_move_what_they_keep);
    tcase_add_test(step, offloaded_adam_pays_pcie_and_cpu);
    tcase_add_test(step, names);
    tcase_add_test_raise_signal(step, a_frozen_model_has_no_backward, SIGABRT);
    suite_add_tcase(suite, step);
    return suite;
}

TESTING_MAIN(suite)
