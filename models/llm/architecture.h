/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_LLM_ARCHITECTURE_H
#define MODELS_LLM_ARCHITECTURE_H

/*
 * The shape of a decoder-only transformer, and how many parameters it has, to the digit:
 * multi-head, grouped-query and latent attention (MLA), dense and expert (MoE) layers, learned
 * positions, biases, the norms of the families in models/llm/families/. All zero but for the sizes
 * it is a uniform dense model; every further field is a difference from that.
 *
 * Layers come in up to four kinds, dense or with experts, attending to everything or to a window of
 * the last tokens; how many of each is kept, not their order. Left out: what is in a published
 * checkpoint but not in the model that is trained (layers for multi-token prediction, scales of
 * quantised weights, vision towers, buffers).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sizes that are accepted from users; llm_architecture_check keeps what they multiply to in
 * bounds. */
#define LLM_LAYERS_LIMIT 4096
#define LLM_HIDDEN_LIMIT 262144
#define LLM_HEADS_LIMIT 4096
#define LLM_HEAD_DIM_LIMIT 4096
#define LLM_FFN_LIMIT 4194304
#define LLM_VOCAB_LIMIT 67108864
#define LLM_EXPERTS_LIMIT 65536
#define LLM_POSITION_LIMIT INT32_MAX
#define LLM_PRETRAINING_LIMIT 1000000000000000 /* 1e15 tokens */

/* Root mean square norms have a scale; layer norms have a shift as well. */
enum llm_norm { LLM_NORM_RMS, LLM_NORM_LAYER };

/* Norms of a block: before attention and before the feed-forward; behind both as well (Gemma 2); or
 * one before both, which run side by side (GPT-J, Falcon-7B, Phi-2). */
enum llm_block_norms { LLM_BLOCK_NORMS_TWO, LLM_BLOCK_NORMS_FOUR, LLM_BLOCK_NORMS_ONE };

struct llm_architecture {
    char name[96];
    char family[32]; /* the config's model_type: "llama", "qwen2", ... */
    int64_t layers, hidden, heads, kv_heads, head_dim, ffn, vocab;
    int64_t max_position;
    bool tied_embeddings;
    bool gated_ffn;   /* gate, up, down (SwiGLU); otherwise up, down */
    bool qkv_bias;    /* on the query, key and value projections */
    bool output_bias; /* on the attention's output projection */
    bool ffn_bias;    /* on the feed-forward projections, not those of experts */
    bool qk_norm;     /* an RMS norm of head_dim on queries and on keys (Qwen3) */

    int64_t pretraining_tokens; /* that the published weights have seen; 0: not known */

    /* Around the blocks. */
    int64_t positions;       /* rows of learned positions; 0 without (rotary, ALiBi) */
    int64_t embedding_width; /* where it differs from hidden (OPT-350m): projected in and out */
    bool embedding_norm;     /* a norm behind the embedding (BLOOM) */
    bool no_final_norm;
    bool head_bias; /* one number a vocabulary entry */
    enum llm_norm norm;
    enum llm_block_norms block_norms;

    /* Latent attention (DeepSeek): keys and values of all heads come from one vector of
     * kv_lora_rank numbers and a rotated part of rope_head_dim that all heads share; these two are
     * what is cached. heads x head_dim are the queries (rotated part included), heads x v_head_dim
     * the values, and kv_heads is 1. */
    int64_t kv_lora_rank; /* 0: plain attention */
    int64_t q_lora_rank;  /* 0: queries straight from hidden */
    int64_t rope_head_dim, v_head_dim;
    /* An indexer that chooses the index_topk tokens that attention sees (DeepSeek-V3.2). */
    int64_t index_heads, index_head_dim, index_topk;
    bool sinks; /* one learned number a head in the softmax (gpt-oss) */

    /* Windows: window_layers of the layers see the last `window` tokens only. */
    int64_t window, window_layers;

    /* Experts: in moe_layers of the layers a token goes through experts_per_token of `experts`
     * feed-forwards of width moe_ffn, and through a shared one of width shared_ffn if there is
     * one. */
    int64_t experts, experts_per_token, moe_ffn, shared_ffn;
    int64_t moe_layers, window_moe_layers; /* with experts; with experts and a window */
    bool router_bias;                      /* one number an expert */
    bool expert_bias;                      /* on the experts' projections */
    bool shared_gate;                      /* hidden weights that scale the shared expert */

    /* What is one tensor in the checkpoint; changes no count but that of tensors. */
    bool fused_qkv, fused_up; /* query, key and value; gate and up */
    bool packed_experts;      /* the same projection of all experts */
};

/* What stands on top: the vocabulary (a language model) or one number per token (a critic or a
 * reward model: a hidden x 1 projection without bias in place of the vocabulary). */
enum llm_head { LLM_HEAD_VOCABULARY, LLM_HEAD_SCALAR };

/* ---- layers ---------------------------------------------------------------------------------- */

struct llm_layer_kind {
    int64_t count;
    bool moe;      /* experts in place of the dense feed-forward */
    bool windowed; /* attends to the last `window` tokens only */
};

#define LLM_LAYER_KINDS 4

/* The kinds that occur, dense ones first; returns how many there are. Their counts add up to
 * `layers`. */
int llm_layer_kinds(const struct llm_architecture *architecture,
                    struct llm_layer_kind kinds[LLM_LAYER_KINDS]);

/* ---- parameters ------------------------------------------------------------------------------ */

/* Width of the embedding and of the head's input: hidden, where it is not projected. */
int64_t llm_embedding_width(const struct llm_architecture *architecture);

/* Everything before the first block: token and position embeddings, their projection and norm. */
int64_t llm_embedding_parameters(const struct llm_architecture *architecture);
int64_t llm_layer_parameters(const struct llm_architecture *architecture,
                             const struct llm_layer_kind *kind);
/* Weights of the projection on top, tied or not: what a token is multiplied with there. */
int64_t llm_head_parameters(const struct llm_architecture *architecture, enum llm_head head);
/* The whole model: embedding, layers, final norm, head (a tied vocabulary head counts once). */
int64_t llm_parameters(const struct llm_architecture *architecture, enum llm_head head);
/* The same without the experts that a token does not go through. */
int64_t llm_active_parameters(const struct llm_architecture *architecture, enum llm_head head);
/* Of llm_layer_parameters: all experts of the layer, shared ones and router not counted. 0 without
 * experts. And of llm_layer_lora_parameters. */
int64_t llm_layer_expert_parameters(const struct llm_architecture *architecture,
                                    const struct llm_layer_kind *kind);
int64_t llm_layer_expert_lora_parameters(const struct llm_architecture *architecture,
                                         const struct llm_layer_kind *kind, int64_t rank);

/* FLOPs of the pre-training that made the weights, 6 x active parameters x tokens (Kaplan et al.,
 * 2020); 0 where the tokens are not known. */
double llm_pretraining_flops(const struct llm_architecture *architecture);

/* Weights of the linear layers of one block (no norms, no biases) that one token is multiplied
 * with: what 2 FLOPs a token and weight refers to. Of the experts these are experts_per_token. */
int64_t llm_layer_matrix_parameters(const struct llm_architecture *architecture,
                                    const struct llm_layer_kind *kind);
/* The same over all layers. */
int64_t llm_matrix_parameters(const struct llm_architecture *architecture);

/* LoRA of `rank` on every linear layer of the blocks, queries, keys and values apart, experts each,
 * the router not: rank x (inputs + outputs) each; and how many tensors that is (two a linear
 * layer). */
int64_t llm_layer_lora_parameters(const struct llm_architecture *architecture,
                                  const struct llm_layer_kind *kind, int64_t rank);
int64_t llm_lora_parameters(const struct llm_architecture *architecture, int64_t rank);
int64_t llm_lora_tensors(const struct llm_architecture *architecture);

/* Tensors of the checkpoint: what a weight sync walks through one by one. */
int64_t llm_tensors(const struct llm_architecture *architecture, enum llm_head head);

/* ---- attention ------------------------------------------------------------------------------- */

bool llm_is_latent(const struct llm_architecture *architecture);

/* Numbers of one token over all its heads: queries; values that a head's output is made of. */
int64_t llm_query_columns(const struct llm_architecture *architecture);
int64_t llm_value_columns(const struct llm_architecture *architecture);
/* Numbers of keys and of values as a training pass has them. Latent attention has them in full. */
int64_t llm_key_columns(const struct llm_architecture *architecture);
int64_t llm_expanded_value_columns(const struct llm_architecture *architecture);

/* Bytes that one token adds to the cache over all layers, elements of `element_bytes`: keys and
 * values, or the latent vector. Layers with a window are counted whole: they stop growing once a
 * sequence is longer than it. */
double llm_kv_bytes_per_token(const struct llm_architecture *architecture, double element_bytes);

/* ---- sense ----------------------------------------------------------------------------------- */

#define LLM_FAULT_SIZE 160

/* Whether the sizes go together and stay below 2^53 parameters. False with what is wrong in
 * `fault`, in the names of this struct. To be called before any count above. */
bool llm_architecture_check(const struct llm_architecture *architecture,
                            char fault[LLM_FAULT_SIZE]);

#endif
