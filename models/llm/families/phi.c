/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Phi-3 and 4 are Llama with fused projections; Phi-3.5-MoE has experts and layer norms; Phi-1 and
 * 2 have attention and feed-forward side by side behind one layer norm, and biases everywhere.
 */

#include "models/llm/config.h"

static const struct config_key phi3_keys[] = {
    CONFIG_SIZE_KEY("max_position_embeddings", max_position, LLM_POSITION_LIMIT, 4096),
    CONFIG_COUNT_KEY("sliding_window", window, LLM_POSITION_LIMIT, 0),
    CONFIG_ALWAYS_KEY("attention_bias", false),
    CONFIG_ALWAYS_KEY("mlp_bias", false),
    CONFIG_ALWAYS_KEY("lm_head_bias", false),
    CONFIG_KEYS_END};

static const char *const auto_map[] = {"auto_map", NULL};

static void phi3_finish(struct config_reader *reader) {
    if (reader->architecture->window > 0)
        config_windows_from(reader, 0);
}

static const struct config_key phimoe_keys[] = {
    CONFIG_SIZE_KEY("max_position_embeddings", max_position, LLM_POSITION_LIMIT, 131072),
    CONFIG_SIZE_KEY("num_key_value_heads", kv_heads, LLM_HEADS_LIMIT, 8),
    CONFIG_SIZE_KEY("head_dim", head_dim, LLM_HEAD_DIM_LIMIT, CONFIG_HIDDEN_PER_HEAD),
    CONFIG_FLAGS_KEY("attention_bias", qkv_bias, output_bias, false),
    CONFIG_FLAG_KEY("lm_head_bias", head_bias, false),
    CONFIG_COUNT_KEY("sliding_window", window, LLM_POSITION_LIMIT, 0),
    CONFIG_SIZE_KEY("num_local_experts", experts, LLM_EXPERTS_LIMIT, 16),
    CONFIG_SIZE_KEY("num_experts_per_tok", experts_per_token, LLM_EXPERTS_LIMIT, 2),
    CONFIG_KEYS_END};

static const char *const phimoe_understood[] = {"num_local_experts", "num_experts_per_tok",
                                                "auto_map", NULL};

static void phimoe_finish(struct config_reader *reader) {
    reader->architecture->moe_ffn = reader->architecture->ffn;
    config_experts_from(reader, 0, 1, true);
    phi3_finish(reader);
}

static const struct config_key phi_keys[] = {
    CONFIG_SIZE_KEY("max_position_embeddings", max_position, LLM_POSITION_LIMIT, 2048),
    CONFIG_ALWAYS_KEY("qk_layernorm", false), CONFIG_KEYS_END};

#define BIASES .qkv_bias = true, .output_bias = true, .ffn_bias = true, .head_bias = true

const struct config_family config_phi_families[] = {
    {"phi3",
     "Phi3",
     {.gated_ffn = true, .fused_qkv = true, .fused_up = true},
     {config_sizes, config_heads, phi3_keys, config_untied},
     auto_map,
     phi3_finish},
    {"phimoe",
     "PhiMoE",
     {.gated_ffn = true, .norm = LLM_NORM_LAYER},
     {config_sizes, phimoe_keys, config_untied},
     phimoe_understood,
     phimoe_finish},
    {"phi",
     "Phi",
     {BIASES, .norm = LLM_NORM_LAYER, .block_norms = LLM_BLOCK_NORMS_ONE},
     {config_sizes, config_heads, phi_keys, config_untied},
     auto_map,
     NULL},
    {0}};
