/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_LLM_ARCHITECTURE_H
#define MODELS_LLM_ARCHITECTURE_H

/*
 * The shape of a decoder-only transformer, and how many parameters it has, to the digit. Dense
 * models with multi-head or grouped-query attention: the Llama, Mistral, Qwen2 and Qwen3 families.
 * Left out: sliding windows (attention is counted as if every layer saw the whole sequence).
 */

#include <stdbool.h>
#include <stdint.h>

/* Sizes that are accepted from users; with them no count below reaches 2^60. */
#define LLM_LAYERS_LIMIT 4096
#define LLM_HIDDEN_LIMIT 262144
#define LLM_HEADS_LIMIT 4096
#define LLM_HEAD_DIM_LIMIT 4096
#define LLM_FFN_LIMIT 4194304
#define LLM_VOCAB_LIMIT 67108864

struct llm_architecture {
    char name[96];
    char family[32]; /* the config's model_type: "llama", "qwen2", ... */
    int64_t layers, hidden, heads, kv_heads, head_dim, ffn, vocab;
    int64_t max_position;
    bool tied_embeddings;
    bool gated_ffn;   /* gate, up, down (SwiGLU); otherwise up, down */
    bool qkv_bias;    /* on the query, key and value projections */
    bool output_bias; /* on the attention's output projection */
    bool ffn_bias;    /* on the feed-forward projections */
    bool qk_norm;     /* an RMS norm of head_dim on queries and on keys (Qwen3) */
};

/* What stands on top: the vocabulary (a language model) or one number per token (a critic or a
 * reward model: a hidden x 1 projection without bias in place of the vocabulary). */
enum llm_head { LLM_HEAD_VOCABULARY, LLM_HEAD_SCALAR };

int64_t llm_embedding_parameters(const struct llm_architecture *architecture);
int64_t llm_layer_parameters(const struct llm_architecture *architecture);
/* Weights of the projection on top, tied or not: what a token is multiplied with there. */
int64_t llm_head_parameters(const struct llm_architecture *architecture, enum llm_head head);
/* The whole model: embedding, layers, final norm, head (a tied vocabulary head counts once). */
int64_t llm_parameters(const struct llm_architecture *architecture, enum llm_head head);

/* Weights of the linear layers of one block (no norms, no biases): what 2 FLOPs a token and weight
 * refers to. */
int64_t llm_layer_matrix_parameters(const struct llm_architecture *architecture);

/* LoRA of `rank` on every linear layer of the blocks, queries, keys and values apart: rank x
 * (inputs
 * + outputs) each, over all layers; and how many tensors that is (two a linear layer). */
int64_t llm_lora_parameters(const struct llm_architecture *architecture, int64_t rank);
int64_t llm_lora_tensors(const struct llm_architecture *architecture);

/* Tensors of the checkpoint: what a weight sync walks through one by one. */
int64_t llm_tensors(const struct llm_architecture *architecture, enum llm_head head);

/* Bytes of keys and values of one token over all layers, elements of `element_bytes`. */
double llm_kv_bytes_per_token(const struct llm_architecture *architecture, double element_bytes);

#endif
