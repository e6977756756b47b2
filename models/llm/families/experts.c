/* SPDX-License-Identifier: GPL-3.0-or-later */

/* Expert models with grouped queries: GLM-4.5 (and INTELLECT-3, which was trained from it) and
 * gpt-oss. */

#include "models/llm/config.h"

/* Biases on queries, keys and values alone; a layer for multi-token prediction is left out. */
static const struct config_key glm4_moe_keys[] = {
    CONFIG_SIZE_KEY("max_position_embeddings", max_position, LLM_POSITION_LIMIT, 131072),
    CONFIG_SIZE_KEY("num_key_value_heads", kv_heads, LLM_HEADS_LIMIT, 8),
    CONFIG_SIZE_KEY("head_dim", head_dim, LLM_HEAD_DIM_LIMIT, CONFIG_HIDDEN_PER_HEAD),
    CONFIG_FLAG_KEY("attention_bias", qkv_bias, false),
    CONFIG_FLAG_KEY("use_qk_norm", qk_norm, false),
    CONFIG_SIZE_KEY("n_routed_experts", experts, LLM_EXPERTS_LIMIT, 128),
    CONFIG_SIZE_KEY("num_experts_per_tok", experts_per_token, LLM_EXPERTS_LIMIT, 8),
    CONFIG_SIZE_KEY("moe_intermediate_size", moe_ffn, LLM_FFN_LIMIT, 1408),
    CONFIG_COUNT_KEY("n_shared_experts", shared_ffn, LLM_EXPERTS_LIMIT, 1),
    CONFIG_KEYS_END};

static const char *const glm_understood[] = {"n_routed_experts",         "num_experts_per_tok",
                                             "moe_intermediate_size",    "n_shared_experts",
                                             "num_nextn_predict_layers", NULL};

static void glm_finish(struct config_reader *reader) {
    struct llm_architecture *a = reader->architecture;
    int64_t dense = config_count(reader, "first_k_dense_replace", LLM_LAYERS_LIMIT, 1);
    a->shared_ffn *= a->moe_ffn; /* so far the number of shared experts */
    config_experts_from(reader, dense, 1, false);
}

/* Published in MXFP4: the blocks and scales are the same weights. */
static const struct config_key gpt_oss_keys[] = {
    CONFIG_SIZE_KEY("max_position_embeddings", max_position, LLM_POSITION_LIMIT, 131072),
    CONFIG_SIZE_KEY("num_key_value_heads", kv_heads, LLM_HEADS_LIMIT, 8),
    CONFIG_SIZE_KEY("head_dim", head_dim, LLM_HEAD_DIM_LIMIT, 64),
    CONFIG_FLAGS_KEY("attention_bias", qkv_bias, output_bias, true),
    CONFIG_ALIAS_KEY("num_local_experts", "num_experts", experts, LLM_EXPERTS_LIMIT, 128),
    CONFIG_ALIAS_KEY("num_experts_per_tok", "experts_per_token", experts_per_token,
                     LLM_EXPERTS_LIMIT, 4),
    CONFIG_COUNT_KEY("sliding_window", window, LLM_POSITION_LIMIT, 128),
    CONFIG_KEYS_END};

static const char *const gpt_oss_understood[] = {"num_local_experts",   "num_experts",
                                                 "num_experts_per_tok", "experts_per_token",
                                                 "quantization_config", NULL};

static void gpt_oss_finish(struct config_reader *reader) {
    reader->architecture->moe_ffn = reader->architecture->ffn;
    config_experts_from(reader, 0, 1, false);
    if (reader->architecture->window > 0 && !config_layer_types(reader))
        config_windows_but_every(reader, 2);
}

#define GPT_OSS                                                                                   \
    .gated_ffn = true, .sinks = true, .router_bias = true, .expert_bias = true, .fused_up = true, \
    .packed_experts = true

const struct config_family config_expert_families[] = {
    {"glm4_moe",
     "Glm4Moe",
     {.gated_ffn = true, .router_bias = true},
     {config_sizes, glm4_moe_keys, config_untied},
     glm_understood,
     glm_finish},
    {"gpt_oss",
     "GptOss",
     {GPT_OSS},
     {config_sizes, gpt_oss_keys, config_untied},
     gpt_oss_understood,
     gpt_oss_finish},
    {0}};
