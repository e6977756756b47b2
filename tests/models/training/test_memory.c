/* SPDX-License-Identifier: GPL-3.0-or-later */

/* Memory of pipelines and of software against closed forms and published totals. */

#include "models/training/chunk.h"
#include "models/training/footprint.h"
#include "models/training/memory.h"

#include "tests/models/training/fixtures.h"
#include "tests/testing.h"

#define GIB 1073741824.0

/* ---- pipelines ------------------------------------------------------------------------------- */

/* 1F1B: stage s of p keeps p - s micro-batches; interleaved, the first keeps p (1 + (p-1)/(p v))
 * (Korthikanti et al., 2022, section 4.2.3); never more than there are. */
START_TEST(micro_batches_in_flight) {
    struct hardware_cluster cluster = round_cluster(8);
    struct training_plan plan = plain_plan(&cluster, &llama2_70b);
    plan.pp = 8;
    for (int stage = 0; stage < plan.pp; stage++)
        ck_assert_double_eq(training_in_flight(&plan, stage, 64.0), 8.0 - stage);
    ck_assert_double_eq(training_in_flight(&plan, 0, 3.0), 3.0);
    plan.vpp = 5;
    assert_relative(training_in_flight(&plan, 0, 64.0), 8.0 * (1.0 + 7.0 / 40.0), 1e-12);
}
END_TEST

/* Bytes of all stages together are those of the model: nothing is lost between stages. */
START_TEST(stages_add_up) {
    struct hardware_cluster cluster = round_cluster(8);
    struct training_plan whole = plain_plan(&cluster, &llama2_70b);
    struct training_footprint all, stage;
    training_footprint(&whole, 0, &all);
    double weights = 0.0, optimizer = 0.0;
    struct training_plan plan = whole;
    plan.pp = 8;
    for (int s = 0; s < plan.pp; s++) {
        training_footprint(&plan, s, &stage);
        weights += stage.weights;
        optimizer += stage.optimizer + stage.master_weights + stage.gradients;
    }
    assert_relative(weights, all.weights, 1e-12);
    assert_relative(optimizer, all.optimizer + all.master_weights + all.gradients, 1e-12);
}
END_TEST

/* A tied embedding that a pipeline parts is on the first and on the last stage. */
START_TEST(tied_embeddings_are_copied) {
    struct hardware_cluster cluster = round_cluster(8);
    struct llm_architecture tied = llama2_70b;
    tied.tied_embeddings = true;
    struct training_plan plan = plain_plan(&cluster, &tied);
    struct training_footprint first, middle, last;
    plan.pp = 4;
    training_footprint(&plan, 0, &first);
    training_footprint(&plan, 1, &middle);
    training_footprint(&plan, 3, &last);
    double embedding = 2.0 * 32000.0 * 8192.0;
    assert_relative(first.weights - middle.weights, embedding, 1e-12);
    assert_relative(last.weights - middle.weights, embedding + 2.0 * 8192.0, 1e-9);
}
END_TEST

/* Logits are on the last stage alone; the first keeps most activations. */
START_TEST(first_and_last_stage) {
    struct hardware_cluster cluster = round_cluster(8);
    struct training_plan plan = plain_plan(&cluster, &llama2_70b);
    struct llm_batch batch = whole_batch(1.0, 4096.0);
    struct training_working_set first, last;
    plan.pp = 8;
    plan.recompute = TRAINING_RECOMPUTE_FULL;
    training_update_working_set(&plan, 0, &batch, 32.0, &first);
    training_update_working_set(&plan, 7, &batch, 32.0, &last);
    ck_assert_double_eq(first.logits, 0.0);
    ck_assert_double_gt(first.activations, last.activations);
    /* 10 layers keep their input of each of 8 micro-batches in flight; one is made again. */
    double kept = 8.0 * 10.0 * 4096.0 * 8192.0 * 2.0;
    double block = 4.0 * 8192.0 + 2.0 * 8192.0 + 2.0 * 1024.0 + 3.0 * 28672.0;
    double again = (block - 8192.0 + 8192.0 + 2.0 * 28672.0) * 4096.0 * 2.0;
    assert_relative(first.activations, kept + again, 1e-12);
}
END_TEST

/* ---- gradients ------------------------------------------------------------------------------- */

/* Reduced once, with the last micro-batch: whole until then, whatever is sharded else. */
START_TEST(gradients_stay_whole_until_reduced) {
    struct hardware_cluster cluster = round_cluster(1);
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    struct training_footprint sharded, whole;
    plan.dp = 8;
    plan.zero_stage = 3;
    training_footprint(&plan, 0, &sharded);
    plan.reduction = TRAINING_REDUCE_ONCE;
    training_footprint(&plan, 0, &whole);
    assert_relative(whole.gradients, 8.0 * sharded.gradients, 1e-12);
    ck_assert_double_eq(whole.weights, sharded.weights);
}
END_TEST

/* Updates inside the backward leave the largest block's gradient: the embedding of Llama-2-7b has
 * 32000 x 4096 parameters, a layer 202,383,360. */
START_TEST(updates_in_backward) {
    struct hardware_cluster cluster = round_cluster(1);
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    struct training_footprint held;
    plan.memory.updates_in_backward = true;
    training_footprint(&plan, 0, &held);
    double layer = 4.0 * 4096.0 * 4096.0 + 3.0 * 4096.0 * 11008.0 + 2.0 * 4096.0;
    assert_relative(held.gradients, 2.0 * layer, 1e-12);
}
END_TEST

/* ---- activations ----------------------------------------------------------------------------- */

/* Llama-3.2-3B (h 3072, q 3072, v 1024, f 8192), bytes a token and layer that stay without
 * recomputation. Fused: 2 (4 h + 2 q + 2 v + 3 f) = 90,112. One by one each of both norms keeps its
 * input in fp32 (2 more an element) and the result before its weight (2 more), and the feed-forward
 * the output of its activation: 2 (8 h + 2 q + 2 v + 4 f) = 131,072. torchtune @bd2a0fc7c: "+
 * Packed Dataset" 60.0 GiB, "+ Compile" 51.0 with 2 x 4,096 tokens: 42,100 a layer more. */
START_TEST(kernels_one_by_one) {
    struct hardware_cluster cluster = round_cluster(1);
    struct llm_architecture small = llama31_8b;
    struct training_block_activations block[2];
    small.layers = 28;
    small.hidden = 3072;
    small.heads = 24;
    small.tied_embeddings = true;
    small.ffn = 8192;
    struct training_plan plan = plain_plan(&cluster, &small);
    struct llm_batch batch = whole_batch(2.0, 4096.0);
    struct llm_layer_kind kind = {.count = 28};
    for (int eager = 0; eager < 2; eager++) {
        plan.memory.eager = eager == 1;
        training_block_activations(&plan, &batch, &kind, &block[eager]);
        assert_relative(block[eager].kept, 8192.0 * (eager == 1 ? 131072.0 : 90112.0), 1e-12);
    }
    assert_relative(28.0 * (block[1].kept - block[0].kept) / GIB, 60.0 - 51.0, 0.05);
    small.norm = LLM_NORM_LAYER; /* keeps no copy: its kernel widens in registers */
    training_block_activations(&plan, &batch, &kind, &block[1]);
    assert_relative(block[1].kept - block[0].kept, 8192.0 * 2.0 * 8192.0, 1e-12);
}
END_TEST

/* In fp32 there is nothing to widen: the result before the weight alone, an element more. Tensor
 * parallelism divides the copies of norms only with sequence parallelism. */
START_TEST(copies_of_norms) {
    struct hardware_cluster cluster = round_cluster(1);
    struct training_plan plan = plain_plan(&cluster, &llama31_8b);
    struct llm_batch batch = whole_batch(1.0, 1000.0);
    struct llm_layer_kind kind = {.count = 32};
    struct training_block_activations fused, eager;
    double gate = 14336.0, streams = 2.0 * 4096.0;
    for (int i = 0; i < 3; i++) {
        plan.precision = i == 0 ? HARDWARE_FP32 : HARDWARE_BF16;
        plan.tp = i == 0 ? 1 : 8;
        plan.sequence_parallel = i == 2;
        plan.memory.eager = false;
        training_block_activations(&plan, &batch, &kind, &fused);
        plan.memory.eager = true;
        training_block_activations(&plan, &batch, &kind, &eager);
        const double more[] = {4.0 * (streams + gate), 4.0 * streams + 2.0 * gate / 8.0,
                               (4.0 * streams + 2.0 * gate) / 8.0};
        assert_relative(eager.kept - fused.kept, 1000.0 * more[i], 1e-9);
    }
}
END_TEST

/* Offloaded, all kept activations but those of one block are on the host. */
START_TEST(activations_on_the_host) {
    struct hardware_cluster cluster = round_cluster(1);
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    struct llm_batch batch = whole_batch(1.0, 4096.0);
    struct training_working_set here, away;
    batch.logit_tokens = 0.0;
    plan.recompute = TRAINING_RECOMPUTE_FULL;
    training_update_working_set(&plan, 0, &batch, 1.0, &here);
    plan.offload_activations = true;
    training_update_working_set(&plan, 0, &batch, 1.0, &away);
    assert_relative(away.host_activations, 31.0 * 4096.0 * 4096.0 * 2.0, 1e-12);
    assert_relative(away.activations + away.host_activations, here.activations, 1e-12);
}
END_TEST

/* A loss over slices holds 1,024 tokens' logits, a fused one none. */
START_TEST(logits_by_loss) {
    struct hardware_cluster cluster = round_cluster(1);
    struct training_plan plan = plain_plan(&cluster, &llama31_8b);
    struct llm_batch batch = whole_batch(1.0, 8192.0);
    struct training_working_set set;
    plan.recompute = TRAINING_RECOMPUTE_FULL;
    plan.memory.logit_update_bytes = 16.0;
    training_update_working_set(&plan, 0, &batch, 1.0, &set);
    assert_relative(set.logits, 8192.0 * 128256.0 * 16.0, 1e-12);
    double inside = 8192.0 * 2.0 * 8.0 * 4096.0;
    plan.logits = TRAINING_LOGITS_CHUNKED;
    training_update_working_set(&plan, 0, &batch, 1.0, &set);
    ck_assert(set.logits == 0.0 || set.logits == 1024.0 * 128256.0 * 10.0);
    ck_assert_double_gt(set.activations, inside);
    plan.logits = TRAINING_LOGITS_FUSED;
    training_update_working_set(&plan, 0, &batch, 1.0, &set);
    ck_assert_double_eq(set.logits, 0.0);
}
END_TEST

/* Korthikanti et al. (2022) figure 1, numbers of the authors: parameters and optimizer, and
 * activations without recomputation and with sequence parallelism and selective recomputation, GiB
 * a GPU (the estimates count no first-stage embedding and no logits: 3 %). 18 bytes a parameter:
 * gradients are accumulated in fp32. */
START_TEST(figure_1_of_korthikanti) {
    static const struct {
        int64_t layers, hidden, heads;
        int pp, vpp;
        double batch, static_gib, none_gib, selective_gib;
    } models[] = {{48, 6144, 64, 1, 1, 4.0, 45.5625, 59.25, 9.5625},
                  {96, 12288, 96, 8, 3, 1.0, 45.5625, 66.8438, 12.3516},
                  {105, 20480, 128, 35, 3, 1.0, 31.6406, 114.0234, 23.0762},
                  {128, 25600, 160, 64, 1, 1.0, 32.9590, 131.25, 26.5625}};
    struct hardware_cluster cluster = round_cluster(64);
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct llm_architecture gpt = {.layers = models[i].layers,
                                       .hidden = models[i].hidden,
                                       .heads = models[i].heads,
                                       .kv_heads = models[i].heads,
                                       .head_dim = models[i].hidden / models[i].heads,
                                       .ffn = 4 * models[i].hidden,
                                       .vocab = 51200,
                                       .max_position = 2048,
                                       .tied_embeddings = true};
        struct training_plan plan = plain_plan(&cluster, &gpt);
        struct llm_batch batch = {models[i].batch, models[i].batch * 2048.0,
                                  models[i].batch * llm_causal_pairs(2048.0, 0.0), 0.0, 0.0};
        struct training_footprint held;
        struct training_block_activations block;
        struct llm_layer_kind kind = {.count = models[i].layers};
        plan.tp = 8;
        plan.pp = models[i].pp;
        plan.vpp = models[i].vpp;
        plan.attention = TRAINING_ATTENTION_UNFUSED;
        plan.memory.score_bytes = 5.0;
        plan.memory.mask_bytes = 2.0;
        plan.memory.gradient_bytes = 4.0;
        plan.sequence_parallel = false;
        training_footprint(&plan, plan.pp / 2, &held);
        double held_gib = held.weights + held.gradients + held.master_weights + held.optimizer;
        assert_relative(held_gib / GIB, models[i].static_gib, plan.pp == 1 ? 0.03 : 0.04);
        double layers =
            (double)models[i].layers / plan.pp * training_in_flight(&plan, 0, 1e6) / GIB;
        training_block_activations(&plan, &batch, &kind, &block);
        assert_relative(block.kept * layers, models[i].none_gib, 0.01);
        plan.sequence_parallel = true;
        plan.recompute = TRAINING_RECOMPUTE_ATTENTION;
        training_block_activations(&plan, &batch, &kind, &block);
        assert_relative(block.kept * layers, models[i].selective_gib, 0.01);
    }
}
END_TEST

/* ---- coefficients ---------------------------------------------------------------------------- */

/* The product of the rows that fit; the neutral value without any; base and share of what a tool
 * counts. */
START_TEST(rows_by_scope) {
    const struct training_memory_row rows[] = {{TRAINING_BLOCK_FACTOR, "eager", 1.5, 1.5, false},
                                               {TRAINING_BLOCK_FACTOR, "fast", 2.0, 2.0, false},
                                               {TRAINING_RESERVED_SHARE, "all", 0.1, 0.1, false},
                                               {TRAINING_RESERVED_BASE, "all", 0.5, 0.5, false},
                                               {TRAINING_DEVICE_BASE, "all", 2.0, 2.0, false}};
    struct training_scope scope = {
        .gpu = "H100-SXM5-80GB", .family = "fast", .fusion = TRAINING_FUSION_EAGER};
    ck_assert_double_eq(training_memory_value(rows, 5, TRAINING_BLOCK_FACTOR, &scope), 3.0);
    scope.family = "other";
    ck_assert_double_eq(training_memory_value(rows, 5, TRAINING_BLOCK_FACTOR, &scope), 1.5);
    scope.fusion = TRAINING_FUSION_COMPILED;
    ck_assert_double_eq(training_memory_value(rows, 5, TRAINING_BLOCK_FACTOR, &scope), 1.0);
    ck_assert_double_eq(training_counted_bytes(rows, 5, &scope, TRAINING_ALLOCATED, 10e9), 10e9);
    assert_relative(training_counted_bytes(rows, 5, &scope, TRAINING_RESERVED, 10e9), 11.5e9,
                    1e-12);
    assert_relative(training_counted_bytes(rows, 5, &scope, TRAINING_DEVICE, 10e9), 13.5e9, 1e-12);
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("training memory");
    TCase *tests = tcase_create("memory");
    tcase_add_test(tests, micro_batches_in_flight);
    tcase_add_test(tests, stages_add_up);
    tcase_add_test(tests, tied_embeddings_are_copied);
    tcase_add_test(tests, first_and_last_stage);
    tcase_add_test(tests, gradients_stay_whole_until_reduced);
    tcase_add_test(tests, updates_in_backward);
    tcase_add_test(tests, kernels_one_by_one);
    tcase_add_test(tests, copies_of_norms);
    tcase_add_test(tests, activations_on_the_host);
    tcase_add_test(tests, logits_by_loss);
    tcase_add_test(tests, figure_1_of_korthikanti);
    tcase_add_test(tests, rows_by_scope);
    suite_add_tcase(suite, tests);
    return suite;
}

TESTING_MAIN(suite)
