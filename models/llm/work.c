/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * FLOPs of a forward pass: 2 for each weight that a token is multiplied with, and 4 x heads x
 * head_dim for each query-key pair (a dot product and a weighted sum). With as many logit tokens as
 * tokens and no pairs, three passes (one forward, two for backward) are the 6 N D of Kaplan et al.
 * (2020), N without the embedding's rows and the norms; of experts, N has those that a token goes
 * through. Norms, rotary embedding, softmax and activation are left out: they are linear in hidden
 * where the products are quadratic, and published utilisations (MFU) leave them out as well.
 *
 * Latent attention has the same FLOPs a token and matrix whether keys and values are made from the
 * cache (training, prefill) or the matrices are applied to queries and outputs instead (decode).
 */

#include "models/llm/work.h"

#include <math.h>

/* ---- linear layers of a block ---------------------------------------------------------------- */

struct gemm_list {
    struct llm_gemm *gemms;
    int count;
};

static void add(struct gemm_list *list, struct llm_gemm gemm) {
    list->gemms[list->count++] = gemm;
}

static void add_latent(struct gemm_list *list, const struct llm_architecture *a) {
    int64_t query = llm_query_columns(a), value = llm_value_columns(a), rank = a->q_lora_rank;
    int64_t expanded = query - a->heads * a->rope_head_dim + value;
    if (rank > 0)
        add(list, (struct llm_gemm){"q_down", rank, a->hidden, .whole = true, .projections = 1});
    add(list, (struct llm_gemm){rank > 0 ? "q_up" : "q", query, rank > 0 ? rank : a->hidden,
                                .split_columns = true, .projections = 1, .heads = a->heads});
    add(list, (struct llm_gemm){"kv_down", a->kv_lora_rank + a->rope_head_dim, a->hidden,
                                .whole = true, .projections = 1});
    add(list, (struct llm_gemm){"kv_up", expanded, a->kv_lora_rank, .split_columns = true,
                                .projections = 1, .heads = a->heads});
    if (a->index_heads == 0)
        return;
    int64_t index = a->index_heads * a->index_head_dim;
    add(list, (struct llm_gemm){"index_q", index, rank, .whole = true, .projections = 1});
    add(list, (struct llm_gemm){"index_k", a->index_head_dim + a->index_heads, a->hidden,
                                .whole = true, .projections = 2});
}

static void add_attention(struct gemm_list *list, const struct llm_architecture *a) {
    if (llm_is_latent(a))
        add_latent(list, a);
    else
        add(list, (struct llm_gemm){"qkv", llm_query_columns(a) + 2 * llm_key_columns(a), a->hidden,
                                    .split_columns = true, .projections = 3, .heads = a->heads,
                                    .kv_columns = 2 * llm_key_columns(a), .kv_heads = a->kv_heads});
    add(list, (struct llm_gemm){"attention_output", a->hidden, llm_value_columns(a),
                                .projections = 1, .heads = a->heads});
}

/* A feed-forward, or experts of it. */
static void add_ffn(struct gemm_list *list, const struct llm_architecture *a, const char *up,
                    const char *down, int64_t width, int64_t experts) {
    int inputs = a->gated_ffn ? 2 : 1;
    int64_t per_token = experts > 0 ? a->experts_per_token : 0;
    add(list, (struct llm_gemm){up, inputs * width, a->hidden, .split_columns = true,
                                .projections = inputs, .experts = experts, .per_token = per_token});
    add(list, (struct llm_gemm){down, a->hidden, width, .projections = 1, .experts = experts,
                                .per_token = per_token});
}

int llm_layer_gemms(const struct llm_architecture *a, const struct llm_layer_kind *kind,
                    struct llm_gemm gemms[LLM_LAYER_GEMMS]) {
    struct gemm_list list = {gemms, 0};
    add_attention(&list, a);
    if (!kind->moe) {
        add_ffn(&list, a, "ffn_up", "ffn_down", a->ffn, 0);
        return list.count;
    }
    add(&list, (struct llm_gemm){"router", a->experts, a->hidden, .whole = true});
    add_ffn(&list, a, "experts_up", "experts_down", a->moe_ffn, a->experts);
    if (a->shared_ffn > 0)
        add_ffn(&list, a, "shared_up", "shared_down", a->shared_ffn, 0);
    if (a->shared_gate)
        add(&list, (struct llm_gemm){"shared_gate", 1, a->hidden, .whole = true});
    return list.count;
}

double llm_experts_touched(int64_t experts, int64_t per_token, double tokens) {
    double share = (double)per_token / (double)experts;
    if (share >= 1.0)
        return (double)experts;
    return -(double)experts * expm1(tokens * log1p(-share));
}

int64_t llm_ffn_columns(const struct llm_architecture *a, const struct llm_layer_kind *kind) {
    return kind->moe ? a->experts_per_token * a->moe_ffn + a->shared_ffn : a->ffn;
}

/* ---- attention ------------------------------------------------------------------------------- */

double llm_score_width(const struct llm_architecture *a) {
    return llm_is_latent(a) ? (double)(a->head_dim + a->v_head_dim) / 2.0 : (double)a->head_dim;
}

int64_t llm_attention_limit(const struct llm_architecture *a) {
    return a->index_heads > 0 ? a->index_topk : INT64_MAX;
}

double llm_causal_pairs(double tokens, double context) {
    return tokens * context + tokens * (tokens + 1.0) / 2.0;
}

double llm_window_pairs(double tokens, double context, double window) {
    double growing = fmin(tokens, fmax(0.0, window - context)); /* see all before them */
    return llm_causal_pairs(growing, context) + (tokens - growing) * window;
}

int64_t llm_window(const struct llm_architecture *a) {
    return a->window_layers > 0 ? a->window : 0;
}

void llm_batch_add(struct llm_batch *batch, double tokens, double window) {
    batch->sequences += 1.0;
    batch->tokens += tokens;
    batch->score_pairs += llm_causal_pairs(tokens, 0.0);
    batch->logit_tokens += tokens;
    batch->window_pairs += window > 0.0 ? llm_window_pairs(tokens, 0.0, window) : 0.0;
}

struct llm_batch llm_batch_of(const struct llm_architecture *a, double sequences, double tokens) {
    double window = (double)llm_window(a);
    return (struct llm_batch){
        .sequences = sequences,
        .tokens = sequences * tokens,
        .score_pairs = sequences * llm_causal_pairs(tokens, 0.0),
        .logit_tokens = sequences * tokens,
        .window_pairs = window > 0.0 ? sequences * llm_window_pairs(tokens, 0.0, window) : 0.0};
}

double llm_attention_flops(const struct llm_architecture *a, const struct llm_batch *batch) {
    double columns = (double)a->heads * llm_score_width(a), near = (double)a->window_layers;
    return 4.0 * columns *
           (batch->score_pairs * ((double)a->layers - near) + batch->window_pairs * near);
}

/* ---- the whole model ------------------------------------------------------------------------- */

double llm_forward_flops(const struct llm_architecture *a, enum llm_head head,
                         const struct llm_batch *batch) {
    double matrices = (double)llm_matrix_parameters(a);
    double projections = 2.0 * (double)(a->embedding_width * a->hidden); /* in and out */
    return 2.0 * matrices * batch->tokens + llm_attention_flops(a, batch) +
           2.0 * (double)llm_head_parameters(a, head) * batch->logit_tokens +
           2.0 * projections * batch->tokens;
}
