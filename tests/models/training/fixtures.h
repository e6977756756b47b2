/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TESTS_MODELS_TRAINING_FIXTURES_H
#define TESTS_MODELS_TRAINING_FIXTURES_H

/* Models and machines that the tests of training share. */

#include "models/training/training.h"

/* Shapes as in the models' config.json on Hugging Face. */
static const struct llm_architecture llama2_7b = {.name = "Llama-2-7b",
                                                  .family = "llama",
                                                  .layers = 32,
                                                  .hidden = 4096,
                                                  .heads = 32,
                                                  .kv_heads = 32,
                                                  .head_dim = 128,
                                                  .ffn = 11008,
                                                  .vocab = 32000,
                                                  .max_position = 4096,
                                                  .gated_ffn = true};

static const struct llm_architecture llama31_8b = {.name = "Llama-3.1-8B",
                                                   .family = "llama",
                                                   .layers = 32,
                                                   .hidden = 4096,
                                                   .heads = 32,
                                                   .kv_heads = 8,
                                                   .head_dim = 128,
                                                   .ffn = 14336,
                                                   .vocab = 128256,
                                                   .max_position = 131072,
                                                   .gated_ffn = true};

static const struct llm_architecture llama2_70b = {.name = "Llama-2-70b",
                                                   .family = "llama",
                                                   .layers = 80,
                                                   .hidden = 8192,
                                                   .heads = 64,
                                                   .kv_heads = 8,
                                                   .head_dim = 128,
                                                   .ffn = 28672,
                                                   .vocab = 32000,
                                                   .max_position = 4096,
                                                   .gated_ffn = true};

/* Latent attention, four dense layers, eight with experts and a shared one. */
static const struct llm_architecture expert_model = {.name = "experts",
                                                     .layers = 12,
                                                     .hidden = 1024,
                                                     .heads = 16,
                                                     .kv_heads = 1,
                                                     .head_dim = 96,
                                                     .ffn = 4096,
                                                     .vocab = 32000,
                                                     .gated_ffn = true,
                                                     .kv_lora_rank = 256,
                                                     .q_lora_rank = 384,
                                                     .rope_head_dim = 32,
                                                     .v_head_dim = 64,
                                                     .experts = 32,
                                                     .experts_per_token = 4,
                                                     .moe_ffn = 512,
                                                     .shared_ffn = 512,
                                                     .moe_layers = 8};

/* `sequences` causal sequences of `tokens` each, logits for every token. */
static inline struct llm_batch whole_batch(double sequences, double tokens) {
    return (struct llm_batch){.sequences = sequences,
                              .tokens = sequences * tokens,
                              .score_pairs = sequences * llm_causal_pairs(tokens, 0.0),
                              .logit_tokens = sequences * tokens};
}

/* A round machine: 100 TFLOP/s, half of it reached by products, a quarter by attention, a fifth by
 * its backward; 1 TB/s of HBM, 100 GB/s links in the node, 10 GB/s a GPU between nodes, 20 GB/s
 * PCIe. No latencies. A rate of 1e30 stands for infinite. */
static inline struct hardware_cluster round_cluster(int nodes) {
    return (struct hardware_cluster){.gpu = {.peak_flops_per_s = {5e13, 1e14, 1e14, 2e14},
                                             .matmul_efficiency = 0.5,
                                             .attention_efficiency = 0.25,
                                             .attention_backward_efficiency = 0.2,
                                             .memory_bytes = 80e9,
                                             .memory_bandwidth_bytes_per_s = 1e12,
                                             .memory_efficiency = 1.0,
                                             .scaleup_bandwidth_bytes_per_s = 1e11,
                                             .host_bandwidth_bytes_per_s = 2e10},
                                     .node = {.gpus = 8,
                                              .host_memory_bytes = 1e12,
                                              .network_bandwidth_bytes_per_s = 8e10,
                                              .scaleup_efficiency = 1.0,
                                              .network_efficiency = 1.0},
                                     .nodes = nodes,
                                     .gpus_per_node = 8};
}

static inline struct training_plan plain_plan(const struct hardware_cluster *cluster,
                                              const struct llm_architecture *architecture) {
    struct training_plan plan;
    training_plan_default(&plan);
    plan.cluster = cluster;
    plan.architecture = architecture;
    return plan;
}

#endif
