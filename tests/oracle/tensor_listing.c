/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/oracle/tensor_listing.h"

static void list_tensor(struct tensor_listing *listing, int64_t elements) {
    listing->tensors++;
    listing->elements += elements;
}

static void list_norm(struct tensor_listing *listing, const struct llm_architecture *a,
                      int64_t width) {
    list_tensor(listing, width); /* weight */
    if (a->norm == LLM_NORM_LAYER)
        list_tensor(listing, width); /* bias */
}

/* What stands beside a matrix. */
enum extra { PLAIN = 0, BIAS = 1, IDLE = 2, NO_LORA = 4, NO_SCALE = 8, FUSED = 16 };

/* nn.Linear(inputs, outputs). FUSED: its elements belong to a tensor that was listed before. */
static void list_linear(struct tensor_listing *listing, int64_t outputs, int64_t inputs,
                        unsigned extra, int64_t rank) {
    listing->tensors -= (extra & FUSED) != 0;
    list_tensor(listing, outputs * inputs);
    if ((extra & IDLE) == 0)
        listing->active_matrix_elements += outputs * inputs;
    if ((extra & NO_LORA) == 0) {
        listing->lora_elements += rank * inputs + outputs * rank;
        listing->lora_tensors += 2;
    }
    if ((extra & NO_SCALE) == 0)
        listing->scales += ((outputs + 127) / 128) * ((inputs + 127) / 128);
    if ((extra & BIAS) != 0) {
        listing->tensors -= (extra & FUSED) != 0;
        list_tensor(listing, outputs);
    }
}

/* ---- attention ------------------------------------------------------------------------------- */

static void list_latent(struct tensor_listing *listing, const struct llm_architecture *a,
                        int64_t rank) {
    int64_t nope = a->head_dim - a->rope_head_dim;
    unsigned output = a->output_bias ? BIAS : PLAIN;
    if (a->q_lora_rank > 0) {
        list_linear(listing, a->q_lora_rank, a->hidden, PLAIN, rank); /* q_a_proj */
        list_tensor(listing, a->q_lora_rank);                         /* q_a_layernorm */
        list_linear(listing, a->heads * a->head_dim, a->q_lora_rank, PLAIN, rank); /* q_b_proj */
    } else {
        list_linear(listing, a->heads * a->head_dim, a->hidden, PLAIN, rank); /* q_proj */
    }
    /* kv_a_proj_with_mqa, kv_a_layernorm, kv_b_proj, o_proj */
    list_linear(listing, a->kv_lora_rank + a->rope_head_dim, a->hidden, PLAIN, rank);
    list_tensor(listing, a->kv_lora_rank);
    list_linear(listing, a->heads * (nope + a->v_head_dim), a->kv_lora_rank, PLAIN, rank);
    list_linear(listing, a->hidden, a->heads * a->v_head_dim, output, rank);
    if (a->index_heads == 0)
        return;
    /* indexer: wq_b, wk, k_norm (weight and bias), weights_proj (not in fp8) */
    list_linear(listing, a->index_heads * a->index_head_dim, a->q_lora_rank, NO_LORA, rank);
    list_linear(listing, a->index_head_dim, a->hidden, NO_LORA, rank);
    list_tensor(listing, a->index_head_dim);
    list_tensor(listing, a->index_head_dim);
    list_linear(listing, a->index_heads, a->hidden, NO_LORA | NO_SCALE, rank);
}

static void list_grouped(struct tensor_listing *listing, const struct llm_architecture *a,
                         int64_t rank) {
    unsigned bias = a->qkv_bias ? BIAS : PLAIN, output = a->output_bias ? BIAS : PLAIN;
    unsigned next = bias | (a->fused_qkv ? FUSED : PLAIN);
    list_linear(listing, a->heads * a->head_dim, a->hidden, bias, rank);    /* q_proj */
    list_linear(listing, a->kv_heads * a->head_dim, a->hidden, next, rank); /* k_proj */
    list_linear(listing, a->kv_heads * a->head_dim, a->hidden, next, rank); /* v_proj */
    if (a->qk_norm) {
        list_tensor(listing, a->head_dim);
        list_tensor(listing, a->head_dim);
    }
    if (a->sinks)
        list_tensor(listing, a->heads);
    list_linear(listing, a->hidden, a->heads * a->head_dim, output, rank); /* o_proj */
}

/* ---- feed-forward ---------------------------------------------------------------------------- */

/* One feed-forward; `extra` says what is so about all of its projections. */
static void list_ffn(struct tensor_listing *listing, const struct llm_architecture *a,
                     int64_t width, unsigned extra, unsigned packed, int64_t rank) {
    if (a->gated_ffn)
        list_linear(listing, width, a->hidden, extra | packed, rank); /* gate_proj */
    list_linear(listing, width, a->hidden,
                extra | packed | (a->gated_ffn && a->fused_up ? FUSED : PLAIN), rank);
    list_linear(listing, a->hidden, width, extra | packed, rank); /* down_proj */
}

static void list_experts(struct tensor_listing *listing, const struct llm_architecture *a,
                         int64_t rank) {
    list_linear(listing, a->experts, a->hidden, NO_LORA | NO_SCALE, rank); /* router */
    if (a->router_bias)
        list_tensor(listing, a->experts);
    for (int64_t i = 0; i < a->experts; i++) {
        unsigned extra =
            (a->expert_bias ? BIAS : PLAIN) | (i < a->experts_per_token ? PLAIN : IDLE);
        list_ffn(listing, a, a->moe_ffn, extra, a->packed_experts && i > 0 ? FUSED : PLAIN, rank);
    }
    if (a->shared_ffn > 0)
        list_ffn(listing, a, a->shared_ffn, PLAIN, PLAIN, rank);
    if (a->shared_gate)
        list_linear(listing, 1, a->hidden, NO_LORA | NO_SCALE, rank);
}

void list_layer(const struct llm_architecture *a, bool moe, int64_t rank,
                struct tensor_listing *listing) {
    int norms = a->block_norms == LLM_BLOCK_NORMS_FOUR  ? 4
                : a->block_norms == LLM_BLOCK_NORMS_ONE ? 1
                                                        : 2;
    for (int i = 0; i < norms; i++)
        list_norm(listing, a, a->hidden);
    if (a->kv_lora_rank > 0)
        list_latent(listing, a, rank);
    else
        list_grouped(listing, a, rank);
    if (moe)
        list_experts(listing, a, rank);
    else
        list_ffn(listing, a, a->ffn, a->ffn_bias ? BIAS : PLAIN, PLAIN, rank);
}

/* ---- the whole model ------------------------------------------------------------------------- */

static void list_ends(const struct llm_architecture *a, enum llm_head head,
                      struct tensor_listing *listing) {
    int64_t width = a->embedding_width > 0 ? a->embedding_width : a->hidden;
    list_tensor(listing, a->vocab * width); /* embed_tokens */
    if (a->positions > 0)
        list_tensor(listing, a->positions * a->hidden);
    if (a->embedding_width > 0) {
        list_tensor(listing, a->hidden * width); /* project_in */
        list_tensor(listing, width * a->hidden); /* project_out */
    }
    if (a->embedding_norm)
        list_norm(listing, a, a->hidden);
    if (!a->no_final_norm)
        list_norm(listing, a, a->hidden);
    if (head == LLM_HEAD_SCALAR)
        list_tensor(listing, width);
    else if (!a->tied_embeddings)
        list_tensor(listing, a->vocab * width); /* lm_head */
    if (head == LLM_HEAD_VOCABULARY && a->head_bias)
        list_tensor(listing, a->vocab);
}

void list_model(const struct llm_architecture *a, enum llm_head head, int64_t rank,
                struct tensor_listing *listing) {
    *listing = (struct tensor_listing){0};
    list_ends(a, head, listing);
    for (int64_t i = 0; i < a->layers; i++)
        list_layer(a, i < a->moe_layers, rank, listing);
}

void list_prediction_layer(const struct llm_architecture *a, bool own_ends,
                           struct tensor_listing *listing) {
    *listing = (struct tensor_listing){0};
    list_layer(a, true, 0, listing);
    list_linear(listing, a->hidden, 2 * a->hidden, NO_LORA | NO_SCALE, 0); /* eh_proj */
    list_norm(listing, a, a->hidden);                                      /* enorm */
    list_norm(listing, a, a->hidden);                                      /* hnorm */
    list_norm(listing, a, a->hidden);                                      /* shared_head.norm */
    if (!own_ends)
        return;
    list_tensor(listing, a->vocab * a->hidden); /* embed_tokens */
    list_tensor(listing, a->vocab * a->hidden); /* shared_head.head */
}
