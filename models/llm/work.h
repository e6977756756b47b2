/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_LLM_WORK_H
#define MODELS_LLM_WORK_H

/*
 * FLOPs and bytes of what a language model does, before any hardware: pure arithmetic on the
 * architecture. One multiply-add is 2 FLOPs; causal attention counts the pairs it computes,
 * half of the square.
 *
 * Left out: the choice of a sparse attention, which changes nothing while sequences are not longer
 * than it (see llm_attention_limit).
 */

#include "models/llm/architecture.h"

#include <stddef.h>

/* One linear layer: every token is multiplied with an [k x n] matrix; with experts, with those of
 * `per_token` of `experts` such matrices. */
struct llm_gemm {
    const char *name; /* "qkv", "attention_output", "ffn_up", "ffn_down"; see work.c for more */
    int64_t n, k;
    bool split_columns; /* tensor parallelism divides n (column-parallel), else k (row-parallel) */
    bool whole;         /* tensor parallelism leaves it alone: every rank has it */
    int projections;    /* layers of the model that are fused in it (LoRA adapters it carries) */
    int64_t heads;      /* of the divided dimension, parts that are not cut (heads); 0: any cut */
    int64_t kv_columns, kv_heads; /* of n: keys and values, and their own parts; every rank has one
                                     of these at least */
    int64_t experts, per_token;   /* 0 without experts */
};

#define LLM_LAYER_GEMMS 12

/* The linear layers of one block of a kind, unsplit; gate and up are one product of 2 x ffn
 * columns. Returns how many there are. */
int llm_layer_gemms(const struct llm_architecture *architecture, const struct llm_layer_kind *kind,
                    struct llm_gemm gemms[LLM_LAYER_GEMMS]);

/* Experts that at least one of `tokens` goes to, each token to `per_token` of `experts` that are
 * equally likely: experts x (1 - (1 - per_token / experts)^tokens). Between per_token (one token)
 * and experts. */
double llm_experts_touched(int64_t experts, int64_t per_token, double tokens);

/* Width of the activations between the two halves of a feed-forward, over all the experts that a
 * token goes through. */
int64_t llm_ffn_columns(const struct llm_architecture *architecture,
                        const struct llm_layer_kind *kind);

/* FLOPs of a query-key pair are 4 x heads x this: the mean of what a score and what a value is
 * made of; head_dim in plain attention. */
double llm_score_width(const struct llm_architecture *architecture);

/* The longest sequence that attention is modelled for: the choice of a sparse attention, INT64_MAX
 * where every token sees all before it, or all within its window. */
int64_t llm_attention_limit(const struct llm_architecture *architecture);

/* A batch that goes through the model at once. */
struct llm_batch {
    double sequences;
    double tokens;       /* new tokens of all sequences */
    double score_pairs;  /* query-key pairs of all sequences, see llm_causal_pairs */
    double logit_tokens; /* tokens for which the head is computed */
    double window_pairs; /* of score_pairs, those within the window; not read without windows */
};

/* Pairs of a causal sequence: `tokens` new ones after `context` older ones; each new token sees the
 * context, the new ones before it, and itself. */
double llm_causal_pairs(double tokens, double context);

/* The same where each token sees at most the `window` last ones, itself included; whole tokens. */
double llm_window_pairs(double tokens, double context, double window);

/* Tokens of the window that some layers have; 0 without. */
int64_t llm_window(const struct llm_architecture *architecture);

/* Adds a causal sequence of so many new tokens, logits for all of them; `window` 0: none. */
void llm_batch_add(struct llm_batch *batch, double tokens, double window);

/* `sequences` of them, of equal length, through the model. */
struct llm_batch llm_batch_of(const struct llm_architecture *architecture, double sequences,
                              double tokens);

/* Model FLOPs of the attention of all layers, forward: 4 x pairs x heads x score width x layers;
 * in layers with a window the pairs within it. */
double llm_attention_flops(const struct llm_architecture *architecture,
                           const struct llm_batch *batch);

/* Model FLOPs of a forward pass: 2 x matrices x tokens + attention + 2 x head x logit tokens.
 * Backward is twice that; recomputation is not model FLOPs. */
double llm_forward_flops(const struct llm_architecture *architecture, enum llm_head head,
                         const struct llm_batch *batch);

#endif
