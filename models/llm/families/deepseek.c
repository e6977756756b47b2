/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * DeepSeek and what was built after it (Kimi-K2, GLM-5): latent attention, and fine-grained experts
 * with shared ones behind a few dense layers. V3.2 and GLM-5 add an indexer per layer: queries from
 * the compressed ones, one key a token with a layer norm, a weight a head.
 *
 * Left out: the layers for multi-token prediction that the checkpoints carry
 * (num_nextn_predict_layers) and the block scales of those published in fp8; tests/models/llm/
 * has both, to the digit.
 */

#include "models/llm/config.h"

#define ROUTED .gated_ffn = true

static const struct config_key expert_keys[] = {
    CONFIG_SIZE_KEY("n_routed_experts", experts, LLM_EXPERTS_LIMIT, CONFIG_REQUIRED),
    CONFIG_SIZE_KEY("num_experts_per_tok", experts_per_token, LLM_EXPERTS_LIMIT, CONFIG_REQUIRED),
    CONFIG_SIZE_KEY("moe_intermediate_size", moe_ffn, LLM_FFN_LIMIT, CONFIG_REQUIRED),
    CONFIG_COUNT_KEY("n_shared_experts", shared_ffn, LLM_EXPERTS_LIMIT, CONFIG_REQUIRED),
    CONFIG_KEYS_END};

/* head_dim is the unrotated part here; latent_finish adds the rotated one. */
static const struct config_key latent_keys[] = {
    CONFIG_SIZE_KEY("kv_lora_rank", kv_lora_rank, LLM_HIDDEN_LIMIT, 512),
    CONFIG_COUNT_KEY("q_lora_rank", q_lora_rank, LLM_HIDDEN_LIMIT, 1536),
    CONFIG_SIZE_KEY("qk_nope_head_dim", head_dim, LLM_HEAD_DIM_LIMIT / 2, 128),
    CONFIG_SIZE_KEY("qk_rope_head_dim", rope_head_dim, LLM_HEAD_DIM_LIMIT / 2, 64),
    CONFIG_SIZE_KEY("v_head_dim", v_head_dim, LLM_HEAD_DIM_LIMIT, 128),
    CONFIG_SIZE_KEY("max_position_embeddings", max_position, LLM_POSITION_LIMIT, 4096),
    CONFIG_ALWAYS_KEY("attention_bias", false),
    CONFIG_ALWAYS_KEY("mlp_bias", false),
    CONFIG_KEYS_END};

static const struct config_key indexer_keys[] = {
    CONFIG_SIZE_KEY("index_n_heads", index_heads, LLM_HEADS_LIMIT, CONFIG_REQUIRED),
    CONFIG_SIZE_KEY("index_head_dim", index_head_dim, LLM_HEAD_DIM_LIMIT, CONFIG_REQUIRED),
    CONFIG_SIZE_KEY("index_topk", index_topk, LLM_POSITION_LIMIT, CONFIG_REQUIRED),
    CONFIG_KEYS_END};

static const char *const understood[] = {"n_routed_experts",
                                         "num_experts_per_tok",
                                         "moe_intermediate_size",
                                         "n_shared_experts",
                                         "moe_layer_freq",
                                         "kv_lora_rank",
                                         "q_lora_rank",
                                         "num_nextn_predict_layers",
                                         "quantization_config",
                                         "auto_map",
                                         NULL};

static void expert_finish(struct config_reader *reader) {
    struct llm_architecture *a = reader->architecture;
    int64_t dense = config_count(reader, "first_k_dense_replace", LLM_LAYERS_LIMIT, 0);
    int64_t step = config_number(reader, "moe_layer_freq", 1, LLM_LAYERS_LIMIT, 1);
    a->shared_ffn *= a->moe_ffn; /* so far the number of shared experts */
    config_experts_from(reader, dense, step, false);
}

/* The first DeepSeekMoE has Llama's attention. */
static void grouped_finish(struct config_reader *reader) {
    expert_finish(reader);
}

static void latent_finish(struct config_reader *reader) {
    struct llm_architecture *a = reader->architecture;
    a->head_dim += a->rope_head_dim;
    a->kv_heads = 1;
    expert_finish(reader);
}

static const struct config_key deepseek_positions[] = {
    CONFIG_SIZE_KEY("max_position_embeddings", max_position, LLM_POSITION_LIMIT, 2048),
    CONFIG_ALWAYS_KEY("attention_bias", false), CONFIG_ALWAYS_KEY("mlp_bias", false),
    CONFIG_KEYS_END};

#define V2 \
    { config_sizes, latent_keys, expert_keys, config_untied }
#define V32 \
    { config_sizes, latent_keys, expert_keys, indexer_keys, config_untied }

const struct config_family config_deepseek_families[] = {
    {"deepseek",
     "Deepseek",
     {ROUTED},
     {config_sizes, deepseek_positions, config_heads, expert_keys, config_untied},
     understood,
     grouped_finish},
    {"deepseek_v2", "DeepseekV2", {ROUTED}, V2, understood, latent_finish},
    {"deepseek_v3", "DeepseekV3", {ROUTED, .router_bias = true}, V2, understood, latent_finish},
    {"kimi_k2", "DeepseekV3", {ROUTED, .router_bias = true}, V2, understood, latent_finish},
    {"deepseek_v32", "DeepseekV32", {ROUTED, .router_bias = true}, V32, understood, latent_finish},
    {"glm_moe_dsa", "GlmMoeDsa", {ROUTED, .router_bias = true}, V32, understood, latent_finish},
    {0}};
