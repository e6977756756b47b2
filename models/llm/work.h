/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_LLM_WORK_H
#define MODELS_LLM_WORK_H

/*
 * FLOPs and bytes of what a language model does, before any hardware: pure arithmetic on the
 * architecture. One multiply-add is 2 FLOPs; causal attention counts the pairs it computes,
 * half of the square.
 */

#include "models/llm/architecture.h"

#include <stddef.h>

/* One linear layer: every token is multiplied with an [k x n] matrix. */
struct llm_gemm {
    const char *name; /* "qkv", "attention_output", "ffn_up", "ffn_down" */
    int64_t n, k;
    bool split_columns; /* tensor parallelism divides n (column-parallel), else k (row-parallel) */
};

#define LLM_LAYER_GEMMS 4

/* The linear layers of one block, unsplit; gate and up are one product of 2 x ffn columns. */
void llm_layer_gemms(const struct llm_architecture *architecture,
                     struct llm_gemm gemms[LLM_LAYER_GEMMS]);

/* A batch that goes through the model at once. */
struct llm_batch {
    double sequences;
    double tokens;       /* new tokens of all sequences */
    double score_pairs;  /* query-key pairs of all sequences, see llm_causal_pairs */
    double logit_tokens; /* tokens for which the head is computed */
};

/* Pairs of a causal sequence: `tokens` new ones after `context` older ones; each new token sees the
 * context, the new ones before it, and itself. */
double llm_causal_pairs(double tokens, double context);

/* Model FLOPs of a forward pass: 2 x matrices x tokens + 4 x pairs x heads x head_dim x layers +
 * 2 x head x logit tokens. Backward is twice that; recomputation is not model FLOPs. */
double llm_forward_flops(const struct llm_architecture *architecture, enum llm_head head,
                         const struct llm_batch *batch);

#endif
