/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Gemma: tied embeddings, heads wider than hidden / heads. Gemma 2 adds norms behind attention and
 * feed-forward and windows in every other layer; Gemma 3 norms of queries and keys, and windows in
 * five layers of six.
 */

#include "models/llm/config.h"

static const struct config_key gemma_keys[] = {
    CONFIG_SIZE_KEY("max_position_embeddings", max_position, LLM_POSITION_LIMIT, 8192),
    CONFIG_SIZE_KEY("num_key_value_heads", kv_heads, LLM_HEADS_LIMIT, 16),
    CONFIG_SIZE_KEY("head_dim", head_dim, LLM_HEAD_DIM_LIMIT, 256), CONFIG_KEYS_END};

static const struct config_key gemma2_keys[] = {
    CONFIG_SIZE_KEY("max_position_embeddings", max_position, LLM_POSITION_LIMIT, 8192),
    CONFIG_SIZE_KEY("num_key_value_heads", kv_heads, LLM_HEADS_LIMIT, 4),
    CONFIG_SIZE_KEY("head_dim", head_dim, LLM_HEAD_DIM_LIMIT, 256),
    CONFIG_COUNT_KEY("sliding_window", window, LLM_POSITION_LIMIT, 4096), CONFIG_KEYS_END};

/* The published files of the larger models leave out what is the library's default. */
static const struct config_key gemma3_keys[] = {
    CONFIG_SIZE_KEY("num_hidden_layers", layers, LLM_LAYERS_LIMIT, 26),
    CONFIG_SIZE_KEY("hidden_size", hidden, LLM_HIDDEN_LIMIT, 2304),
    CONFIG_SIZE_KEY("num_attention_heads", heads, LLM_HEADS_LIMIT, 8),
    CONFIG_SIZE_KEY("intermediate_size", ffn, LLM_FFN_LIMIT, 9216),
    CONFIG_SIZE_KEY("vocab_size", vocab, LLM_VOCAB_LIMIT, 262208),
    CONFIG_SIZE_KEY("max_position_embeddings", max_position, LLM_POSITION_LIMIT, 131072),
    CONFIG_SIZE_KEY("num_key_value_heads", kv_heads, LLM_HEADS_LIMIT, 4),
    CONFIG_SIZE_KEY("head_dim", head_dim, LLM_HEAD_DIM_LIMIT, 256),
    CONFIG_COUNT_KEY("sliding_window", window, LLM_POSITION_LIMIT, 4096),
    CONFIG_KEYS_END};

static void windows_but_every(struct config_reader *reader, int64_t period) {
    if (reader->architecture->window > 0 && !config_layer_types(reader))
        config_windows_but_every(reader, period);
}

static void gemma2_finish(struct config_reader *reader) {
    windows_but_every(reader, 2);
}

/* The key had a leading underscore for a while. */
static void gemma3_finish(struct config_reader *reader) {
    int64_t older = config_number(reader, "_sliding_window_pattern", 1, LLM_LAYERS_LIMIT, 6);
    windows_but_every(reader,
                      config_number(reader, "sliding_window_pattern", 1, LLM_LAYERS_LIMIT, older));
}

#define FOUR_NORMS .gated_ffn = true, .block_norms = LLM_BLOCK_NORMS_FOUR

const struct config_family config_gemma_families[] = {
    {"gemma",
     "Gemma",
     {.gated_ffn = true},
     {config_sizes, gemma_keys, config_tied, config_attention_bias},
     NULL,
     NULL},
    {"gemma2",
     "Gemma2",
     {FOUR_NORMS},
     {config_sizes, gemma2_keys, config_tied, config_attention_bias},
     NULL,
     gemma2_finish},
    {"gemma3_text",
     "Gemma3",
     {FOUR_NORMS, .qk_norm = true},
     {gemma3_keys, config_tied, config_attention_bias},
     NULL,
     gemma3_finish},
    {0}};
