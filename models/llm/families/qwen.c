/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Qwen2 (biases on queries, keys and values), Qwen3 (norms on queries and keys instead), their
 * expert models, and the language parts of their vision models, which have the same blocks.
 */

#include "models/llm/config.h"

#define QWEN2 .gated_ffn = true, .qkv_bias = true
#define QWEN3 .gated_ffn = true, .qk_norm = true

static const struct config_key qwen2_keys[] = {
    CONFIG_SIZE_KEY("max_position_embeddings", max_position, LLM_POSITION_LIMIT, 32768),
    CONFIG_SIZE_KEY("num_key_value_heads", kv_heads, LLM_HEADS_LIMIT, 32),
    CONFIG_SIZE_KEY("head_dim", head_dim, LLM_HEAD_DIM_LIMIT, CONFIG_HIDDEN_PER_HEAD),
    CONFIG_ALWAYS_KEY("attention_bias", true),
    CONFIG_ALWAYS_KEY("qkv_bias", true),
    CONFIG_ALWAYS_KEY("mlp_bias", false),
    CONFIG_KEYS_END};

static const struct config_key qwen2_vl_keys[] = {
    CONFIG_SIZE_KEY("max_position_embeddings", max_position, LLM_POSITION_LIMIT, 32768),
    CONFIG_SIZE_KEY("num_key_value_heads", kv_heads, LLM_HEADS_LIMIT, 8),
    CONFIG_SIZE_KEY("head_dim", head_dim, LLM_HEAD_DIM_LIMIT, CONFIG_HIDDEN_PER_HEAD),
    CONFIG_ALWAYS_KEY("attention_bias", true),
    CONFIG_ALWAYS_KEY("mlp_bias", false),
    CONFIG_KEYS_END};

static const struct config_key qwen3_keys[] = {
    CONFIG_SIZE_KEY("max_position_embeddings", max_position, LLM_POSITION_LIMIT, 32768),
    CONFIG_SIZE_KEY("num_key_value_heads", kv_heads, LLM_HEADS_LIMIT, 32),
    CONFIG_SIZE_KEY("head_dim", head_dim, LLM_HEAD_DIM_LIMIT, 128),
    CONFIG_FLAGS_KEY("attention_bias", qkv_bias, output_bias, false),
    CONFIG_ALWAYS_KEY("mlp_bias", false),
    CONFIG_KEYS_END};

/* Windows only where they are asked for: in the layers from max_window_layers on. */
static void qwen_finish(struct config_reader *reader) {
    struct llm_architecture *a = reader->architecture;
    int64_t first = config_count(reader, "max_window_layers", LLM_LAYERS_LIMIT, 28);
    int64_t window = config_count(reader, "sliding_window", LLM_POSITION_LIMIT, 4096);
    if (!config_flag(reader, "use_sliding_window", false) || window == 0)
        return;
    a->window = window;
    if (!config_layer_types(reader))
        config_windows_from(reader, first);
}

/* ---- experts --------------------------------------------------------------------------------- */

static const struct config_key qwen2_moe_keys[] = {
    CONFIG_SIZE_KEY("max_position_embeddings", max_position, LLM_POSITION_LIMIT, 32768),
    CONFIG_SIZE_KEY("num_key_value_heads", kv_heads, LLM_HEADS_LIMIT, 16),
    CONFIG_SIZE_KEY("head_dim", head_dim, LLM_HEAD_DIM_LIMIT, CONFIG_HIDDEN_PER_HEAD),
    CONFIG_FLAG_KEY("qkv_bias", qkv_bias, true),
    CONFIG_ALWAYS_KEY("mlp_bias", false),
    CONFIG_SIZE_KEY("num_experts", experts, LLM_EXPERTS_LIMIT, 60),
    CONFIG_SIZE_KEY("num_experts_per_tok", experts_per_token, LLM_EXPERTS_LIMIT, 4),
    CONFIG_SIZE_KEY("moe_intermediate_size", moe_ffn, LLM_FFN_LIMIT, 1408),
    CONFIG_SIZE_KEY("shared_expert_intermediate_size", shared_ffn, LLM_FFN_LIMIT, 5632),
    CONFIG_KEYS_END};

static const struct config_key qwen3_moe_keys[] = {
    CONFIG_SIZE_KEY("max_position_embeddings", max_position, LLM_POSITION_LIMIT, 32768),
    CONFIG_SIZE_KEY("num_key_value_heads", kv_heads, LLM_HEADS_LIMIT, 4),
    CONFIG_SIZE_KEY("head_dim", head_dim, LLM_HEAD_DIM_LIMIT, CONFIG_HIDDEN_PER_HEAD),
    CONFIG_FLAGS_KEY("attention_bias", qkv_bias, output_bias, false),
    CONFIG_ALWAYS_KEY("mlp_bias", false),
    CONFIG_ALIAS_KEY("num_experts", "num_local_experts", experts, LLM_EXPERTS_LIMIT, 128),
    CONFIG_SIZE_KEY("num_experts_per_tok", experts_per_token, LLM_EXPERTS_LIMIT, 8),
    CONFIG_SIZE_KEY("moe_intermediate_size", moe_ffn, LLM_FFN_LIMIT, 768),
    CONFIG_KEYS_END};

static const char *const moe_understood[] = {"num_experts",
                                             "num_local_experts",
                                             "num_experts_per_tok",
                                             "moe_intermediate_size",
                                             "shared_expert_intermediate_size",
                                             NULL};

/* Experts in every decoder_sparse_step-th layer, but for those of mlp_only_layers. */
static void qwen_moe_finish(struct config_reader *reader) {
    int64_t step = config_number(reader, "decoder_sparse_step", 1, LLM_LAYERS_LIMIT, 1);
    config_experts_from(reader, 0, step, true);
    (void)config_expert_list(reader, "mlp_only_layers", true);
    qwen_finish(reader);
}

const struct config_family config_qwen_families[] = {
    {"qwen2", "Qwen2", {QWEN2}, {config_sizes, qwen2_keys, config_untied}, NULL, qwen_finish},
    {"qwen3", "Qwen3", {QWEN3}, {config_sizes, qwen3_keys, config_untied}, NULL, qwen_finish},
    {"qwen2_moe",
     "Qwen2Moe",
     {.gated_ffn = true, .shared_gate = true},
     {config_sizes, qwen2_moe_keys, config_untied},
     moe_understood,
     qwen_moe_finish},
    {"qwen3_moe",
     "Qwen3Moe",
     {QWEN3},
     {config_sizes, qwen3_moe_keys, config_untied},
     moe_understood,
     qwen_moe_finish},
    {"qwen2_vl_text",
     "Qwen2VL",
     {QWEN2},
     {config_sizes, qwen2_vl_keys, config_untied},
     NULL,
     qwen_finish},
    {"qwen2_5_vl_text",
     "Qwen2_5_VL",
     {QWEN2},
     {config_sizes, qwen2_vl_keys, config_untied},
     NULL,
     qwen_finish},
    {"qwen3_vl_text",
     "Qwen3VL",
     {QWEN3},
     {config_sizes, qwen3_keys, config_untied},
     NULL,
     qwen_finish},
    {"qwen3_vl_moe_text",
     "Qwen3VLMoe",
     {QWEN3, .packed_experts = true, .fused_up = true},
     {config_sizes, qwen3_moe_keys, config_untied},
     moe_understood,
     qwen_moe_finish},
    {0}};
