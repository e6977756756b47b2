/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Llama and what has its blocks: RMS norms, gated feed-forward, grouped queries. Many models are
 * published as "llama" (Yi, Vicuna, deepseek-llm, the Llama distills of DeepSeek-R1).
 */

#include "models/llm/config.h"

#define GATED .gated_ffn = true

static const struct config_key llama_positions[] = {
    CONFIG_SIZE_KEY("max_position_embeddings", max_position, LLM_POSITION_LIMIT, 2048),
    CONFIG_KEYS_END};

/* An absent sliding_window is 4096, null is none: Mistral-7B-v0.1 has one, v0.2 and later none. */
static const struct config_key mistral_keys[] = {
    CONFIG_SIZE_KEY("max_position_embeddings", max_position, LLM_POSITION_LIMIT, 131072),
    CONFIG_COUNT_KEY("sliding_window", window, LLM_POSITION_LIMIT, 4096),
    CONFIG_SIZE_KEY("num_key_value_heads", kv_heads, LLM_HEADS_LIMIT, 8),
    CONFIG_SIZE_KEY("head_dim", head_dim, LLM_HEAD_DIM_LIMIT, CONFIG_HIDDEN_PER_HEAD),
    CONFIG_KEYS_END};

static void all_layers_have_the_window(struct config_reader *reader) {
    if (reader->architecture->window > 0)
        config_windows_from(reader, 0);
}

static const struct config_key mixtral_keys[] = {
    CONFIG_SIZE_KEY("max_position_embeddings", max_position, LLM_POSITION_LIMIT, 131072),
    CONFIG_COUNT_KEY("sliding_window", window, LLM_POSITION_LIMIT, 0),
    CONFIG_SIZE_KEY("num_key_value_heads", kv_heads, LLM_HEADS_LIMIT, 8),
    CONFIG_SIZE_KEY("head_dim", head_dim, LLM_HEAD_DIM_LIMIT, CONFIG_HIDDEN_PER_HEAD),
    CONFIG_SIZE_KEY("num_local_experts", experts, LLM_EXPERTS_LIMIT, 8),
    CONFIG_SIZE_KEY("num_experts_per_tok", experts_per_token, LLM_EXPERTS_LIMIT, 2),
    CONFIG_KEYS_END};

static void mixtral_finish(struct config_reader *reader) {
    reader->architecture->moe_ffn = reader->architecture->ffn;
    config_experts_from(reader, 0, 1, true);
    all_layers_have_the_window(reader);
}

/* A squared ReLU in place of the gate, layer norms. */
static const struct config_key nemotron_keys[] = {
    CONFIG_SIZE_KEY("max_position_embeddings", max_position, LLM_POSITION_LIMIT, 4096),
    CONFIG_KEYS_END};

/* Llama 4: the experts share one feed-forward of their own width; layers without experts have
 * another width. Three layers of four attend within chunks, which is a window for sequences of up
 * to one chunk. The norm of queries and keys has no weights. */
static const struct config_key llama4_keys[] = {
    CONFIG_SIZE_KEY("num_hidden_layers", layers, LLM_LAYERS_LIMIT, CONFIG_REQUIRED),
    CONFIG_SIZE_KEY("hidden_size", hidden, LLM_HIDDEN_LIMIT, CONFIG_REQUIRED),
    CONFIG_SIZE_KEY("num_attention_heads", heads, LLM_HEADS_LIMIT, CONFIG_REQUIRED),
    CONFIG_SIZE_KEY("intermediate_size", moe_ffn, LLM_FFN_LIMIT, CONFIG_REQUIRED),
    CONFIG_SIZE_KEY("intermediate_size_mlp", ffn, LLM_FFN_LIMIT, 16384),
    CONFIG_SIZE_KEY("vocab_size", vocab, LLM_VOCAB_LIMIT, CONFIG_REQUIRED),
    CONFIG_SIZE_KEY("max_position_embeddings", max_position, LLM_POSITION_LIMIT, 131072),
    CONFIG_SIZE_KEY("num_key_value_heads", kv_heads, LLM_HEADS_LIMIT, 8),
    CONFIG_SIZE_KEY("head_dim", head_dim, LLM_HEAD_DIM_LIMIT, CONFIG_HIDDEN_PER_HEAD),
    CONFIG_SIZE_KEY("num_local_experts", experts, LLM_EXPERTS_LIMIT, 16),
    CONFIG_SIZE_KEY("num_experts_per_tok", experts_per_token, LLM_EXPERTS_LIMIT, 1),
    CONFIG_COUNT_KEY("attention_chunk_size", window, LLM_POSITION_LIMIT, 8192),
    CONFIG_FLAGS_KEY("attention_bias", qkv_bias, output_bias, false),
    CONFIG_KEYS_END};

static const char *const llama4_understood[] = {"interleave_moe_layer_step", "moe_layers", NULL};

/* no_rope_layers has a 0 for each layer that attends to everything. */
static bool llama4_full_layers(struct config_reader *reader) {
    const json_t *list = config_value(reader, "no_rope_layers");
    char text[CONFIG_TEXT];
    if (list == NULL || (json_is_array(list) && json_array_size(list) == 0))
        return false;
    int64_t layers = reader->architecture->layers;
    bool good = json_is_array(list) && json_array_size(list) == (size_t)layers;
    for (int64_t i = 0; good && i < layers; i++) {
        const json_t *member = json_array_get(list, (size_t)i);
        good = json_is_integer(member);
        if (good && json_integer_value(member) != 0)
            reader->layers[i] |= CONFIG_LAYER_WINDOW;
    }
    if (good)
        return true;
    config_value_text(list, text);
    config_fail(reader,
                "no_rope_layers is %s: expected a list of num_hidden_layers %lld zeros and "
                "ones",
                text, (long long)layers);
    return true;
}

static void llama4_finish(struct config_reader *reader) {
    struct llm_architecture *a = reader->architecture;
    int64_t step = config_number(reader, "interleave_moe_layer_step", 1, LLM_LAYERS_LIMIT, 1);
    int64_t period = config_number(reader, "no_rope_layer_interval", 1, LLM_LAYERS_LIMIT, 4);
    a->shared_ffn = a->moe_ffn;
    if (!config_expert_list(reader, "moe_layers", false))
        config_experts_from(reader, 0, step, true);
    if (a->window > 0 && !config_layer_types(reader) && !llama4_full_layers(reader))
        config_windows_but_every(reader, period);
}

#define LLAMA4 .gated_ffn = true, .packed_experts = true

const struct config_family config_llama_families[] = {
    {"llama",
     "Llama",
     {GATED},
     {config_sizes, llama_positions, config_heads, config_untied, config_biases},
     NULL,
     NULL},
    {"mistral",
     "Mistral",
     {GATED},
     {config_sizes, mistral_keys, config_untied, config_unbiased},
     NULL,
     all_layers_have_the_window},
    {"mixtral",
     "Mixtral",
     {GATED},
     {config_sizes, mixtral_keys, config_untied, config_unbiased},
     (const char *const[]){"num_local_experts", "num_experts_per_tok", NULL},
     mixtral_finish},
    {"nemotron",
     "Nemotron",
     {.norm = LLM_NORM_LAYER},
     {config_sizes, nemotron_keys, config_heads, config_untied, config_biases},
     NULL,
     NULL},
    {"llama4_text",
     "Llama4",
     {LLAMA4},
     {llama4_keys, config_untied},
     llama4_understood,
     llama4_finish},
    {0}};
