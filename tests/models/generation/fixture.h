/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TESTS_MODELS_GENERATION_FIXTURE_H
#define TESTS_MODELS_GENERATION_FIXTURE_H

/*
 * What the tests of the rollout engine share: two models, two GPUs with the figures that the
 * anchors need, a plan, and a small generator for property loops.
 */

#include "models/generation/engine.h"
#include "models/generation/iteration.h"

/* The config.json of Llama-3.1-8B and Llama-2-7B (Meta). */
static const struct llm_architecture fixture_llama_3_8b = {.name = "Llama-3.1-8B",
                                                           .layers = 32,
                                                           .hidden = 4096,
                                                           .heads = 32,
                                                           .kv_heads = 8,
                                                           .head_dim = 128,
                                                           .ffn = 14336,
                                                           .vocab = 128256,
                                                           .gated_ffn = true};
static const struct llm_architecture fixture_llama_2_7b = {.name = "Llama-2-7B",
                                                           .layers = 32,
                                                           .hidden = 4096,
                                                           .heads = 32,
                                                           .kv_heads = 32,
                                                           .head_dim = 128,
                                                           .ffn = 11008,
                                                           .vocab = 32000,
                                                           .gated_ffn = true};

/* One of each: latent attention, a dense layer, two with experts, of which one is shared. */
static const struct llm_architecture fixture_experts = {.name = "experts",
                                                        .layers = 3,
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
                                                        .moe_layers = 2};

/* Every second layer sees the last 24 tokens. */
static const struct llm_architecture fixture_windows = {.name = "windows",
                                                        .layers = 4,
                                                        .hidden = 1024,
                                                        .heads = 16,
                                                        .kv_heads = 4,
                                                        .head_dim = 64,
                                                        .ffn = 4096,
                                                        .vocab = 32000,
                                                        .gated_ffn = true,
                                                        .window = 24,
                                                        .window_layers = 2};

/* Peaks: NVIDIA data sheets. Sustained products: ml-engineering @744d01e18b79. Triad: Azure
 * AI-benchmarking-guide @3371c0c. Launch: least time of a bf16 product, aiconfigurator @095f58a51.
 * Ring latency and start: NCCL timings there. */
static const struct hardware_cluster fixture_h100 = {
    .gpu = {.name = "H100-SXM5-80GB",
            .peak_flops_per_s = {67e12, 989e12, 989e12, 1979e12},
            .matmul_efficiency = 794.5 / 989.0,
            .attention_efficiency = 0.7,
            .memory_bandwidth_bytes_per_s = 3350e9,
            .memory_efficiency = 2970.0 / 3350.0,
            .scaleup_bandwidth_bytes_per_s = 450e9,
            .host_bandwidth_bytes_per_s = 51e9,
            .kernel_launch_s = 3.24e-6},
    .node = {.gpus = 8,
             .network_bandwidth_bytes_per_s = 400e9,
             .scaleup_efficiency = 0.75,
             .network_efficiency = 0.86,
             .scaleup_latency_s = 0.79e-6,
             .network_latency_s = 25e-6,
             .collective_start_s = 4.4e-6},
    .nodes = 2,
    .gpus_per_node = 8};
static const struct hardware_cluster fixture_a100 = {
    .gpu = {.name = "A100-SXM4-80GB",
            .peak_flops_per_s = {19.5e12, 312e12, 312e12, 0.0},
            .matmul_efficiency = 271.2 / 312.0,
            .attention_efficiency = 0.6,
            .memory_bandwidth_bytes_per_s = 2039e9,
            .memory_efficiency = 1700.0 / 2039.0,
            .scaleup_bandwidth_bytes_per_s = 300e9,
            .kernel_launch_s = 5.3e-6},
    .node = {.gpus = 8,
             .network_bandwidth_bytes_per_s = 50e9,
             .scaleup_efficiency = 0.7,
             .network_efficiency = 0.77,
             .scaleup_latency_s = 1.02e-6,
             .network_latency_s = 70e-6,
             .collective_start_s = 8.5e-6},
    .nodes = 1,
    .gpus_per_node = 8};

/* Llama-3.1-8B in bf16 on one H100, with room for everything. */
static inline struct generation_plan fixture_plan(void) {
    return (struct generation_plan){.cluster = &fixture_h100,
                                    .architecture = &fixture_llama_3_8b,
                                    .software = {.name = "plain",
                                                 .chunked_prefill = true,
                                                 .block_tokens = 16,
                                                 .graph_step = 1,
                                                 .graph_dense = 8192,
                                                 .graph_limit = 8192,
                                                 .iteration_host_s = 1e-3,
                                                 .sequence_host_s = 1e-5,
                                                 .launch_factor = 1.0,
                                                 .product_efficiency = 1.0,
                                                 .kv_efficiency = 1.0,
                                                 .compute_efficiency = 1.0,
                                                 .fp4_efficiency = 1.0,
                                                 .expert_efficiency = 1.0,
                                                 .activation_share = 1.0,
                                                 .exchange_factor = 1.0,
                                                 .collective_factor = 1.0},
                                    .tp = 1,
                                    .pp = 1,
                                    .dp = 1,
                                    .ep = 1,
                                    .format = GENERATION_BF16,
                                    .kv_element_bytes = 2.0,
                                    .max_sequences = 256,
                                    .max_batched_tokens = 8192,
                                    .kv_blocks = 100000};
}

/* An iteration of a model without windows. */
static inline double mixed_s(const struct generation_plan *plan, int64_t sequences,
                             double context_tokens, double prefill_tokens, double prefill_pairs,
                             int64_t prompts_finished) {
    struct generation_step step = {.sequences = sequences,
                                   .context_tokens = context_tokens,
                                   .prefill_tokens = prefill_tokens,
                                   .prefill_pairs = prefill_pairs,
                                   .prompts_finished = prompts_finished};
    return generation_iteration_s(plan, &step);
}

/* SplitMix64 (Steele, Lea, Flood, 2014): a whole number in [low, high]. */
static inline uint32_t fixture_random(uint64_t *state, uint32_t low, uint32_t high) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return low + (uint32_t)(z % ((uint64_t)high - low + 1));
}

#endif
