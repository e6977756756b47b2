/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Whole training steps as published, with the kernels' sustained rates and software that reaches
 * all of them (matmul_share 1, no host time). What is left is what software loses, so that
 * forecasts have to be short.
 */

#include "models/training/optimizer.h"

#include "tests/models/training/fixtures.h"
#include "tests/testing.h"

#include <stdio.h>

/* ---- machines ------------------------------------------------------------------------------ */

/* Peaks and best sustained products: ml-engineering @744d01e (271.2 of 312, 794.5 of 989 TFLOP/s).
 * HBM: BabelStream triad, Azure AI-benchmarking-guide @3371c0c (1700 of 2039, 2970 of 3350, 4180 of
 * 4800 GB/s). Flash attention forward: fits to kernel timings of aiconfigurator @095f58a5
 * (FlashAttention-2 on A100, -3 on H100 and H200); backward assumed at 0.57 of it. NVLink: the
 * all-gather of 512 MiB there; NICs as the sources print them. */
static struct hardware_cluster a100_nodes(int nodes) {
    return (struct hardware_cluster){.gpu = {.peak_flops_per_s = {19.5e12, 312e12, 312e12, 0.0},
                                             .matmul_efficiency = 271.2 / 312.0,
                                             .attention_efficiency = 0.579,
                                             .attention_backward_efficiency = 0.33,
                                             .memory_bytes = 85e9,
                                             .memory_bandwidth_bytes_per_s = 2039e9,
                                             .memory_efficiency = 1700.0 / 2039.0,
                                             .scaleup_bandwidth_bytes_per_s = 300e9,
                                             .host_bandwidth_bytes_per_s = 26e9,
                                             .kernel_launch_s = 5.3e-6},
                                     .node = {.gpus = 8,
                                              .network_bandwidth_bytes_per_s = 200e9,
                                              .scaleup_efficiency = 0.70,
                                              .network_efficiency = 0.82,
                                              .scaleup_latency_s = 1e-6,
                                              .network_latency_s = 14e-6,
                                              .collective_start_s = 8.5e-6},
                                     .nodes = nodes,
                                     .gpus_per_node = 8};
}

static struct hardware_cluster h100_nodes(int nodes) {
    struct hardware_cluster cluster = a100_nodes(nodes);
    cluster.gpu.peak_flops_per_s[HARDWARE_BF16] = 989e12;
    cluster.gpu.matmul_efficiency = 794.5 / 989.0;
    cluster.gpu.attention_efficiency = 0.696;
    cluster.gpu.attention_backward_efficiency = 0.397;
    cluster.gpu.memory_bandwidth_bytes_per_s = 3350e9;
    cluster.gpu.memory_efficiency = 2970.0 / 3350.0;
    cluster.gpu.scaleup_bandwidth_bytes_per_s = 450e9;
    cluster.gpu.host_bandwidth_bytes_per_s = 51e9;
    cluster.gpu.kernel_launch_s = 3.2e-6;
    cluster.node.network_bandwidth_bytes_per_s = 400e9;
    cluster.node.scaleup_efficiency = 0.75;
    cluster.node.scaleup_latency_s = 0.8e-6;
    cluster.node.collective_start_s = 4.4e-6;
    return cluster;
}

static struct hardware_cluster h200_nodes(int nodes) {
    struct hardware_cluster cluster = h100_nodes(nodes);
    cluster.gpu.memory_bandwidth_bytes_per_s = 4800e9;
    cluster.gpu.memory_efficiency = 4180.0 / 4800.0;
    cluster.gpu.host_bandwidth_bytes_per_s = 55e9;
    return cluster;
}

/* ---- models -------------------------------------------------------------------------------- */

/* llm-foundry's scripts/train/yamls/pretrain/mpt-*.yaml: n_layers, d_model, n_heads; expansion 4
 * without a gate, vocabulary 50368 tied. */
static struct llm_architecture mpt(int64_t layers, int64_t hidden, int64_t heads) {
    return (struct llm_architecture){.layers = layers,
                                     .hidden = hidden,
                                     .heads = heads,
                                     .kv_heads = heads,
                                     .head_dim = hidden / heads,
                                     .ffn = 4 * hidden,
                                     .vocab = 50368,
                                     .max_position = 65536,
                                     .tied_embeddings = true};
}

/* ---- cases --------------------------------------------------------------------------------- */

struct published {
    const char *name;
    struct hardware_cluster cluster;
    struct llm_architecture architecture;
    int dp, zero_stage;
    enum training_recompute recompute;
    enum training_offload offload;
    double sequences, tokens; /* of a micro-batch */
    int microbatches;
    double measured_s;
};

static double forecast_s(const struct published *run) {
    struct training_plan plan = plain_plan(&run->cluster, &run->architecture);
    struct llm_batch batch = whole_batch(run->sequences, run->tokens);
    double seconds = 0.0;
    plan.dp = run->dp;
    plan.zero_stage = run->zero_stage;
    plan.recompute = run->recompute;
    plan.offload = run->offload;
    for (int i = 0; i < run->microbatches; i++) {
        bool reduce = training_reduces(&plan, i == run->microbatches - 1);
        struct training_cost cost;
        training_forward_backward(&plan, &batch, reduce, &cost);
        seconds += cost.total_s;
    }
    struct training_cost step;
    training_optimizer(&plan, &step);
    return seconds + step.total_s;
}

/* Prints and returns forecast / measured - 1. */
static double error_of(const struct published *run) {
    double error = forecast_s(run) / run->measured_s - 1.0;
    printf("%-40s measured %7.3f s, error %+6.1f %%\n", run->name, run->measured_s, 100.0 * error);
    return error;
}

/* Seconds of a step from tokens a second and GPU. */
static double per_gpu(double sequences, double tokens, double microbatches, double rate) {
    return sequences * tokens * microbatches / rate;
}

/* MosaicML llm-foundry scripts/train/benchmarking/README.md @8c8dd48f7: FSDP full shard, bf16,
 * sequences of 2048, tokens a second and GPU as printed. Seen, in order: -20, -26, -12 % on A100;
 * -36, -46, -27 % on H100, whose FlashAttention-3 came later than these runs (-2 reaches half its
 * rate there). */
START_TEST(llm_foundry) {
    const struct published runs[] = {
        {"MPT-7B, 8 A100, 6 x 2", a100_nodes(1), mpt(32, 4096, 32), 8, 3, TRAINING_RECOMPUTE_NONE,
         TRAINING_OFFLOAD_NONE, 6.0, 2048.0, 2, per_gpu(6.0, 2048.0, 2.0, 4641.0)},
        {"MPT-13B, 8 A100, 2 x 3", a100_nodes(1), mpt(40, 5120, 40), 8, 3, TRAINING_RECOMPUTE_NONE,
         TRAINING_OFFLOAD_NONE, 2.0, 2048.0, 3, per_gpu(2.0, 2048.0, 3.0, 2262.0)},
        {"MPT-30B, 8 A100, 3 x 21, full", a100_nodes(1), mpt(48, 7168, 64), 8, 3,
         TRAINING_RECOMPUTE_FULL, TRAINING_OFFLOAD_NONE, 3.0, 2048.0, 21,
         per_gpu(3.0, 2048.0, 21.0, 916.0)},
        {"MPT-7B, 8 H100, 6 x 1", h100_nodes(1), mpt(32, 4096, 32), 8, 3, TRAINING_RECOMPUTE_NONE,
         TRAINING_OFFLOAD_NONE, 6.0, 2048.0, 1, per_gpu(6.0, 2048.0, 1.0, 10643.0)},
        {"MPT-13B, 64 H100, 2 x 1", h100_nodes(8), mpt(40, 5120, 40), 64, 3,
         TRAINING_RECOMPUTE_NONE, TRAINING_OFFLOAD_NONE, 2.0, 2048.0, 1,
         per_gpu(2.0, 2048.0, 1.0, 4800.0)},
        {"MPT-70B, 64 H100, 8 x 4, full", h100_nodes(8), mpt(80, 8192, 64), 64, 3,
         TRAINING_RECOMPUTE_FULL, TRAINING_OFFLOAD_NONE, 8.0, 2048.0, 4,
         per_gpu(8.0, 2048.0, 4.0, 1039.0)},
    };
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        double error = error_of(&runs[i]);
        ck_assert_double_lt(error, -0.11);
        ck_assert_double_gt(error, -0.47);
    }
}
END_TEST

/* ml-engineering @744d01e, insights/when-to-upgrade-gpus: Llama-3.1-8B on 8 H200, one sequence a
 * GPU. It prints TFLOP/s of causal model FLOPs. Seen: -25 %, -3 %, +10 %. The
 * second is two thirds CPU AdamW, whose constant comes from this table; the third is the attention
 * kernels' assumed backward share, of which FlashAttention-3 does better. */
START_TEST(ml_engineering) {
    struct llm_batch batch = whole_batch(1.0, 8192.0), long_batch = whole_batch(1.0, 65536.0);
    double flops = 3.0 * llm_forward_flops(&llama31_8b, LLM_HEAD_VOCABULARY, &batch);
    double long_flops = 3.0 * llm_forward_flops(&llama31_8b, LLM_HEAD_VOCABULARY, &long_batch);
    const struct published runs[] = {
        {"8B, 8 H200, ZeRO-2, 8k", h200_nodes(1), llama31_8b, 8, 2, TRAINING_RECOMPUTE_NONE,
         TRAINING_OFFLOAD_NONE, 1.0, 8192.0, 1, flops / 461e12},
        {"8B, 8 H200, ZeRO-3, CPU AdamW, 8k", h200_nodes(1), llama31_8b, 8, 3,
         TRAINING_RECOMPUTE_FULL, TRAINING_OFFLOAD_OPTIMIZER, 1.0, 8192.0, 1, flops / 141e12},
        {"8B, 8 H200, ZeRO-3, CPU AdamW, 64k", h200_nodes(1), llama31_8b, 8, 3,
         TRAINING_RECOMPUTE_FULL, TRAINING_OFFLOAD_OPTIMIZER, 1.0, 65536.0, 1, long_flops / 391e12},
    };
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        double error = error_of(&runs[i]);
        ck_assert_double_lt(error, 0.11);
        ck_assert_double_gt(error, -0.26);
    }
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("published training steps");
    TCase *tcase = tcase_create("published");
    tcase_add_test(tcase, llm_foundry);
    tcase_add_test(tcase, ml_engineering);
    suite_add_tcase(suite, tcase);
    return suite;
}

TESTING_MAIN(suite)
