/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * GPT-2 and what followed its blocks: layer norms, a plain feed-forward of 4 x hidden, mostly
 * biases; learned positions (GPT-2, OPT), rotary ones (GPT-NeoX, Falcon) or none to learn (BLOOM,
 * MPT).
 */

#include "models/llm/config.h"

#include <string.h>

#define LAYER_NORMS .norm = LLM_NORM_LAYER
#define BIASES .qkv_bias = true, .output_bias = true, .ffn_bias = true

static void one_key_head_a_head(struct llm_architecture *a) {
    a->kv_heads = a->heads;
}

/* hidden / heads, where the file has no key for it. */
static void split_hidden(struct config_reader *reader) {
    struct llm_architecture *a = reader->architecture;
    if (a->hidden == 0 || a->heads == 0)
        return; /* already an error */
    a->head_dim = a->hidden / a->heads;
    if (a->hidden % a->heads != 0)
        config_fail(reader, "the hidden size %lld is not a multiple of the %lld heads",
                    (long long)a->hidden, (long long)a->heads);
}

/* ---- GPT-2 ----------------------------------------------------------------------------------- */

static const struct config_key gpt2_keys[] = {
    CONFIG_ALIAS_KEY("n_layer", "num_hidden_layers", layers, LLM_LAYERS_LIMIT, CONFIG_REQUIRED),
    CONFIG_ALIAS_KEY("n_embd", "hidden_size", hidden, LLM_HIDDEN_LIMIT, CONFIG_REQUIRED),
    CONFIG_ALIAS_KEY("n_head", "num_attention_heads", heads, LLM_HEADS_LIMIT, CONFIG_REQUIRED),
    CONFIG_SIZE_KEY("n_inner", ffn, LLM_FFN_LIMIT, CONFIG_FOUR_HIDDEN),
    CONFIG_SIZE_KEY("vocab_size", vocab, LLM_VOCAB_LIMIT, CONFIG_REQUIRED),
    CONFIG_ALIAS_KEY("n_positions", "n_ctx", positions, LLM_POSITION_LIMIT, 1024),
    CONFIG_KEYS_END};

static void gpt2_finish(struct config_reader *reader) {
    one_key_head_a_head(reader->architecture);
    split_hidden(reader);
    reader->architecture->max_position = reader->architecture->positions;
}

/* ---- OPT ------------------------------------------------------------------------------------- */

static const struct config_key opt_keys[] = {
    CONFIG_SIZE_KEY("num_hidden_layers", layers, LLM_LAYERS_LIMIT, CONFIG_REQUIRED),
    CONFIG_SIZE_KEY("hidden_size", hidden, LLM_HIDDEN_LIMIT, CONFIG_REQUIRED),
    CONFIG_SIZE_KEY("num_attention_heads", heads, LLM_HEADS_LIMIT, CONFIG_REQUIRED),
    CONFIG_SIZE_KEY("ffn_dim", ffn, LLM_FFN_LIMIT, CONFIG_REQUIRED),
    CONFIG_SIZE_KEY("vocab_size", vocab, LLM_VOCAB_LIMIT, CONFIG_REQUIRED),
    CONFIG_SIZE_KEY("max_position_embeddings", max_position, LLM_POSITION_LIMIT - 2, 2048),
    CONFIG_COUNT_KEY("word_embed_proj_dim", embedding_width, LLM_HIDDEN_LIMIT, 0),
    CONFIG_FLAGS_KEY("enable_bias", qkv_bias, output_bias, true),
    CONFIG_FLAG_KEY("enable_bias", ffn_bias, true),
    CONFIG_ALWAYS_KEY("layer_norm_elementwise_affine", true),
    CONFIG_KEYS_END};

/* Positions start at 2. Norms behind the blocks (the 350M) leave out the last one. */
static void opt_finish(struct config_reader *reader) {
    struct llm_architecture *a = reader->architecture;
    bool before = config_flag(reader, "do_layer_norm_before", true);
    bool removed = config_flag(reader, "_remove_final_layer_norm", false);
    one_key_head_a_head(a);
    split_hidden(reader);
    a->positions = a->max_position + 2;
    a->no_final_norm = !before || removed;
    if (a->embedding_width == a->hidden)
        a->embedding_width = 0;
}

/* ---- GPT-NeoX, BLOOM --------------------------------------------------------------------------
 */

static const struct config_key neox_keys[] = {
    CONFIG_SIZE_KEY("max_position_embeddings", max_position, LLM_POSITION_LIMIT, 2048),
    CONFIG_FLAGS_KEY("attention_bias", qkv_bias, output_bias, true), CONFIG_KEYS_END};

static void neox_finish(struct config_reader *reader) {
    one_key_head_a_head(reader->architecture);
    split_hidden(reader);
}

static const struct config_key bloom_keys[] = {
    CONFIG_ALIAS_KEY("n_layer", "num_hidden_layers", layers, LLM_LAYERS_LIMIT, CONFIG_REQUIRED),
    CONFIG_ALIAS_KEY("hidden_size", "n_embed", hidden, LLM_HIDDEN_LIMIT, CONFIG_REQUIRED),
    CONFIG_ALIAS_KEY("n_head", "num_attention_heads", heads, LLM_HEADS_LIMIT, CONFIG_REQUIRED),
    CONFIG_SIZE_KEY("vocab_size", vocab, LLM_VOCAB_LIMIT, CONFIG_REQUIRED),
    CONFIG_SIZE_KEY("seq_length", max_position, LLM_POSITION_LIMIT, 2048),
    CONFIG_KEYS_END};

static void bloom_finish(struct config_reader *reader) {
    neox_finish(reader);
    reader->architecture->ffn = 4 * reader->architecture->hidden;
}

/* ---- MPT ------------------------------------------------------------------------------------- */

static const struct config_key mpt_keys[] = {
    CONFIG_SIZE_KEY("n_layers", layers, LLM_LAYERS_LIMIT, CONFIG_REQUIRED),
    CONFIG_SIZE_KEY("d_model", hidden, LLM_HIDDEN_LIMIT, CONFIG_REQUIRED),
    CONFIG_SIZE_KEY("n_heads", heads, LLM_HEADS_LIMIT, CONFIG_REQUIRED),
    CONFIG_SIZE_KEY("vocab_size", vocab, LLM_VOCAB_LIMIT, CONFIG_REQUIRED),
    CONFIG_SIZE_KEY("expansion_ratio", ffn, 64, 4),
    CONFIG_SIZE_KEY("max_seq_len", max_position, LLM_POSITION_LIMIT, 2048),
    CONFIG_ALWAYS_KEY("no_bias", true),
    CONFIG_KEYS_END};

/* Only what the published models have: full heads, ALiBi, no norm of queries and keys. */
static void mpt_attention(struct config_reader *reader) {
    const json_t *config = config_value(reader, "attn_config"), *type, *alibi, *norm;
    char text[CONFIG_TEXT];
    type = json_object_get(config, "attn_type");
    alibi = json_object_get(config, "alibi");
    norm = json_object_get(config, "qk_ln");
    const char *name = json_string_value(type);
    bool plain = type == NULL || (name != NULL && strcmp(name, "multihead_attention") == 0);
    if (config != NULL && plain && json_is_true(alibi) && !json_is_true(norm))
        return;
    config_value_text(config, text);
    config_fail(reader,
                "attn_config is %s, which is not modelled: expected attn_type "
                "multihead_attention, alibi true and qk_ln false",
                config == NULL ? "missing" : text);
}

static void mpt_finish(struct config_reader *reader) {
    neox_finish(reader);
    mpt_attention(reader);
    reader->architecture->ffn *= reader->architecture->hidden; /* so far the ratio */
}

/* ---- Falcon ---------------------------------------------------------------------------------- */

static const struct config_key falcon_keys[] = {
    CONFIG_ALIAS_KEY("num_hidden_layers", "n_layer", layers, LLM_LAYERS_LIMIT, CONFIG_REQUIRED),
    CONFIG_SIZE_KEY("hidden_size", hidden, LLM_HIDDEN_LIMIT, CONFIG_REQUIRED),
    CONFIG_ALIAS_KEY("num_attention_heads", "n_head", heads, LLM_HEADS_LIMIT, CONFIG_REQUIRED),
    CONFIG_ALIAS_KEY("num_kv_heads", "n_head_kv", kv_heads, LLM_HEADS_LIMIT, CONFIG_HEADS),
    CONFIG_SIZE_KEY("ffn_hidden_size", ffn, LLM_FFN_LIMIT, CONFIG_FOUR_HIDDEN),
    CONFIG_SIZE_KEY("vocab_size", vocab, LLM_VOCAB_LIMIT, CONFIG_REQUIRED),
    CONFIG_SIZE_KEY("max_position_embeddings", max_position, LLM_POSITION_LIMIT, 2048),
    CONFIG_FLAGS_KEY("bias", qkv_bias, output_bias, false),
    CONFIG_FLAG_KEY("bias", ffn_bias, false),
    CONFIG_KEYS_END};

static const char *const auto_map[] = {"auto_map", NULL};

/* The newer blocks have a norm for each of the two branches unless the file says one; the older
 * ones share it where the branches are parallel. */
static void falcon_finish(struct config_reader *reader) {
    struct llm_architecture *a = reader->architecture;
    bool newer = config_flag(reader, "new_decoder_architecture", false);
    bool single = config_flag(reader, "multi_query", true);
    bool parallel = config_flag(reader, "parallel_attn", true);
    int64_t norms = config_number(reader, "num_ln_in_parallel_attn", 1, 2, newer ? 2 : 1);
    split_hidden(reader);
    if (!newer)
        a->kv_heads = single ? 1 : a->heads;
    if (newer ? norms == 1 : parallel)
        a->block_norms = LLM_BLOCK_NORMS_ONE;
}

const struct config_family config_gpt_families[] = {
    {"gpt2",
     "GPT2",
     {LAYER_NORMS, BIASES, .fused_qkv = true},
     {gpt2_keys, config_tied},
     NULL,
     gpt2_finish},
    {"opt", "OPT", {LAYER_NORMS}, {opt_keys, config_tied}, NULL, opt_finish},
    {"gpt_neox",
     "GPTNeoX",
     {LAYER_NORMS, .ffn_bias = true, .fused_qkv = true},
     {config_sizes, neox_keys, config_untied},
     NULL,
     neox_finish},
    {"bloom",
     "Bloom",
     {LAYER_NORMS, BIASES, .fused_qkv = true, .embedding_norm = true},
     {bloom_keys, config_tied},
     NULL,
     bloom_finish},
    /* layer norms without a shift count as scales alone */
    {"mpt", "MPT", {.fused_qkv = true}, {mpt_keys, config_tied}, auto_map, mpt_finish},
    {"falcon",
     "Falcon",
     {LAYER_NORMS, .fused_qkv = true},
     {falcon_keys, config_tied},
     auto_map,
     falcon_finish},
    {0}};
