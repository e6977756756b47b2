/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Kernels of a block on one tensor-parallel rank, t tokens, e bytes an element (2).
 *
 * Matrix products. Forward [t x k][k x n]; column-parallel layers have n/tp, row-parallel ones
 * k/tp. Backward: the input gradient [t x n][n x k], and the weight gradient [k x t][t x n] where
 * the weight is trained. LoRA: [t x k][k x r][r x n] beside each frozen product, in bf16, both of
 * its gradients in the backward; fused products (query, key and value; gate and up) carry one
 * adapter for each of their projections. With fp8, products of the blocks run in fp8; attention,
 * adapters and head stay in bf16.
 *
 * Element-wise work, elements a token that are read or written, for kernels fused as a compiler
 * does it (residual add with the norm behind it; one kernel for rotary; one for the activation).
 * h, q = heads x head_dim, v = kv_heads x head_dim, f = ffn; all divided by tp (norms by sequence
 * parallelism, the others by their columns):
 *
 *                                   forward                       backward
 *     add + norm, twice a block     2 x (2 read + 2 written) h    2 x (3 read + 1 written) h
 *     rotary on q and k             (1 + 1)(q + v)                (1 + 1)(q + v)
 *     norm of q and k, if any       (1 + 1)(q + v)                (2 + 1)(q + v)
 *     gate x up / plain activation  (2 + 1) f  /  (1 + 1) f       (3 + 2) f  /  (2 + 1) f
 *     attention kernel              2q + 2v                       4q + 4v
 *     norms behind both, if any     2 x (1 + 1) h                 2 x (2 + 1) h
 *     norms of latents, if any      (1 + 1)(q_lora + kv_lora)     (2 + 1)(q_lora + kv_lora)
 *     experts: out and back, k each (1 + k + k + 1) h             (1 + k + k + 1) h
 *
 * Experts are one grouped product a projection; each token goes through k of E, and t tokens find
 * E (1 - (1 - k / E)^t) of them, whose weights are read and whose gradients are written. f is then
 * the width of all that a token goes through, shared experts included. Latent attention (MLA) makes
 * keys and values in full, and v is a head's value beside q, its query.
 *
 * fp8 casts: each product's input is read in 2 bytes and written in 1, once more transposed where a
 * weight gradient will want it; each output gradient likewise in the backward. LoRA adds: a read of
 * both summands and a write, per adapter output and per input gradient.
 *
 * Head: the final add + norm, the product with the vocabulary (or one column), and logits that are
 * written in bf16 by the product, widened to fp32 (2 + 4 bytes) and reduced to log-probabilities (4
 * more): 10 bytes a logit. Backward: probabilities again from the fp32 logits and their gradient in
 * fp32 (4 + 4), narrowed to bf16 (4 + 2): 14 bytes. Fused cross-entropy kernels move less.
 *
 * Left out: accumulation of gradients over micro-batches where the product does not fuse it,
 * dropout, shapes that tile badly, the reduction of log-sum-exps over vocabulary shards (8 bytes a
 * token).
 */

#include "models/training/block.h"

#include "models/hardware/kernel.h"
#include "sim/contract.h"

#define LOGIT_FORWARD_BYTES 10.0
#define LOGIT_BACKWARD_BYTES 14.0

/* Assumed: of experts, besides their products and activation: choice of experts, sorting of tokens,
 * sending them out, adding up what comes back. */
#define EXPERT_KERNELS 4.0

/* A gradient is made for every weight that is trained, and passed on through those that are not. */
static bool trains_all(const struct training_plan *plan) {
    return plan->trained && plan->lora_rank == 0;
}

static double product_s(const struct training_plan *plan, enum hardware_precision precision,
                        double m, double n, double k) {
    return hardware_gemm_s(&plan->cluster->gpu, precision, m, n, k) / plan->software.matmul_share;
}

/* What runs beside the blocks' products when those are in fp8. */
static enum hardware_precision outer_precision(const struct training_plan *plan) {
    return plan->precision == HARDWARE_FP8 ? HARDWARE_BF16 : plan->precision;
}

/* A linear layer as one rank sees it. */
struct linear {
    double n, k;
    double adapters;           /* LoRA pairs it carries: one for each projection fused in it */
    double experts, per_token; /* the tokens go to per_token each; 1 and 1 without experts */
};

static struct linear local_linear(const struct training_plan *plan, const struct llm_gemm *gemm) {
    double tp = (double)(gemm->experts > 0 ? training_expert_tp(plan) : plan->tp);
    struct linear linear = {(double)gemm->n, (double)gemm->k, (double)gemm->projections, 1.0, 1.0};
    if (gemm->experts > 0) {
        linear.experts = (double)gemm->experts;
        linear.per_token = (double)gemm->per_token;
    }
    if (gemm->whole)
        return linear;
    if (gemm->split_columns)
        linear.n /= tp;
    else
        linear.k /= tp;
    return linear;
}

/* A product [m x k][k x n] for every expert of this rank that has tokens. `tokens` are those of a
 * tensor-parallel group before they are sent to per_token experts each; the ep x expert_tp ranks
 * that share the experts hold ep x expert_tp / tp times as many. */
struct product {
    double groups, tokens;
};

static struct product product_of(const struct training_plan *plan, struct linear linear,
                                 double tokens) {
    if (linear.experts <= 1.0)
        return (struct product){1.0, tokens};
    double sharing = (double)(plan->ep * training_expert_tp(plan)) / (double)plan->tp;
    double all = tokens * sharing;
    double touched = llm_experts_touched((int64_t)linear.experts, (int64_t)linear.per_token, all);
    return (struct product){touched / (double)plan->ep, all * linear.per_token / touched};
}

static double grouped_s(const struct training_plan *plan, enum hardware_precision precision,
                        double groups, double m, double n, double k) {
    return hardware_grouped_gemm_s(&plan->cluster->gpu, precision, groups, m, n, k) /
           plan->software.matmul_share;
}

static double linear_forward_s(const struct training_plan *plan, struct linear linear,
                               double tokens) {
    struct product each = product_of(plan, linear, tokens);
    double rank = (double)plan->lora_rank;
    double seconds = grouped_s(plan, plan->precision, each.groups, each.tokens, linear.n, linear.k);
    if (plan->lora_rank > 0 && linear.adapters > 0.0) {
        enum hardware_precision precision = outer_precision(plan);
        seconds +=
            grouped_s(plan, precision, each.groups, each.tokens, linear.adapters * rank, linear.k);
        seconds += grouped_s(plan, precision, each.groups, each.tokens, linear.n, rank);
    }
    return seconds;
}

/* Input gradient and weight gradient of one product [m x k][k x n]. */
static double gradients_s(const struct training_plan *plan, enum hardware_precision precision,
                          struct product each, double n, double k) {
    return grouped_s(plan, precision, each.groups, each.tokens, k, n) +
           grouped_s(plan, precision, each.groups, k, n, each.tokens);
}

static double linear_backward_s(const struct training_plan *plan, struct linear linear,
                                double tokens) {
    struct product each = product_of(plan, linear, tokens);
    double rank = (double)plan->lora_rank;
    if (trains_all(plan))
        return gradients_s(plan, plan->precision, each, linear.n, linear.k);
    double inputs = grouped_s(plan, plan->precision, each.groups, each.tokens, linear.k, linear.n);
    if (linear.adapters == 0.0)
        return inputs;
    enum hardware_precision precision = outer_precision(plan);
    return inputs + gradients_s(plan, precision, each, linear.adapters * rank, linear.k) +
           gradients_s(plan, precision, each, linear.n, rank);
}

/* Bytes a token of casts and of adapter sums around one linear layer. */
static double linear_forward_bytes(const struct training_plan *plan, struct linear linear) {
    double bytes = 0.0;
    if (plan->precision == HARDWARE_FP8)
        bytes += (trains_all(plan) ? 4.0 : 3.0) * linear.k;
    if (plan->lora_rank > 0 && linear.adapters > 0.0)
        bytes += 3.0 * training_element_bytes(plan) * linear.n;
    return bytes * linear.per_token;
}

static double linear_backward_bytes(const struct training_plan *plan, struct linear linear) {
    double bytes = 0.0;
    if (plan->precision == HARDWARE_FP8)
        bytes += (trains_all(plan) ? 4.0 : 3.0) * linear.n;
    if (plan->lora_rank > 0)
        bytes += 3.0 * training_element_bytes(plan) * linear.adapters * linear.k;
    return bytes * linear.per_token;
}

/* Bytes a token of the element-wise work of a block, after the tables on top. */
static double elementwise_bytes(const struct training_plan *plan, const struct llm_layer_kind *kind,
                                bool backward) {
    const struct llm_architecture *architecture = plan->architecture;
    double hidden = (double)architecture->hidden;
    double ffn = (double)llm_ffn_columns(architecture, kind);
    double rotated = (double)(llm_query_columns(architecture) + llm_key_columns(architecture));
    double elements = 8.0 * hidden + 2.0 * rotated;
    if (architecture->qk_norm)
        elements += (backward ? 3.0 : 2.0) * rotated;
    if (architecture->gated_ffn)
        elements += (backward ? 5.0 : 3.0) * ffn;
    else
        elements += (backward ? 3.0 : 2.0) * ffn;
    if (architecture->block_norms == LLM_BLOCK_NORMS_FOUR)
        elements += (backward ? 6.0 : 4.0) * hidden;
    if (llm_is_latent(architecture))
        elements += (backward ? 3.0 : 2.0) *
                    (double)(architecture->q_lora_rank + architecture->kv_lora_rank);
    if (kind->moe)
        elements += (2.0 + 2.0 * (double)architecture->experts_per_token) * hidden;
    return elements * training_element_bytes(plan) / (double)plan->tp;
}

static double elementwise_kernels(const struct training_plan *plan,
                                  const struct llm_layer_kind *kind) {
    const struct llm_architecture *architecture = plan->architecture;
    double kernels = architecture->qk_norm ? 5.0 : 4.0;
    if (architecture->block_norms == LLM_BLOCK_NORMS_FOUR)
        kernels += 2.0;
    if (llm_is_latent(architecture))
        kernels += architecture->q_lora_rank > 0 ? 2.0 : 1.0;
    return kernels + (kind->moe ? EXPERT_KERNELS : 0.0);
}

/* One layer's attention on a rank. */
static struct hardware_attention attention_of(const struct training_plan *plan,
                                              const struct llm_batch *batch) {
    const struct llm_architecture *a = plan->architecture;
    double tp = (double)plan->tp, heads = (double)a->heads;
    return (struct hardware_attention){
        .score_pairs = batch->score_pairs,
        .tokens = batch->tokens,
        .sequences = batch->sequences,
        .context_tokens = batch->tokens,
        .heads = heads / tp,
        .kv_heads = (llm_is_latent(a) ? heads : (double)a->kv_heads) / tp,
        .score_dim = (double)llm_query_columns(a) / heads,
        .value_dim = (double)llm_value_columns(a) / heads,
        .element_bytes = training_element_bytes(plan),
        .kv_token_bytes = (double)(llm_key_columns(a) + llm_expanded_value_columns(a)) *
                          training_element_bytes(plan) / tp,
    };
}

static double attention_forward_s(const struct training_plan *plan, const struct llm_batch *batch) {
    struct hardware_attention attention = attention_of(plan, batch);
    return hardware_attention_prefill_s(&plan->cluster->gpu, &attention) /
           plan->software.attention_share;
}

static double attention_backward_s(const struct training_plan *plan,
                                   const struct llm_batch *batch) {
    struct hardware_attention attention = attention_of(plan, batch);
    return hardware_attention_backward_s(&plan->cluster->gpu, &attention) /
           plan->software.attention_share;
}

static double recompute_s(const struct training_plan *plan, double all_s,
                          double without_products_s) {
    switch (plan->recompute) {
    case TRAINING_RECOMPUTE_NONE:
        return 0.0;
    case TRAINING_RECOMPUTE_SELECTIVE:
        return without_products_s;
    case TRAINING_RECOMPUTE_FULL:
        return all_s;
    }
    CONTRACT(false, "unknown recomputation");
    return 0.0;
}

/* Which collective a product stands beside, TRAINING_PRODUCTS for none. */
static int product_place(const struct training_plan *plan, const struct llm_gemm *gemm, bool seen) {
    if (gemm->whole || (gemm->experts > 0 && training_expert_tp(plan) < plan->tp))
        return TRAINING_PRODUCTS;
    int first = seen ? TRAINING_PRODUCT_FFN_IN : TRAINING_PRODUCT_ATTENTION_IN;
    return first + (gemm->split_columns ? 0 : 1);
}

/* The matrix products of a layer, and the bytes a token that go with them. */
struct products {
    double forward_s, backward_s;
    double bytes, gradient_bytes;
};

static struct products products_of(const struct training_plan *plan, double tokens,
                                   const struct llm_layer_kind *kind,
                                   struct training_block *block) {
    struct llm_gemm gemms[LLM_LAYER_GEMMS];
    struct products sum = {0};
    bool after_attention = false;
    int count = llm_layer_gemms(plan->architecture, kind, gemms);
    for (int i = 0; i < count; i++) {
        struct linear linear = local_linear(plan, &gemms[i]);
        int place = product_place(plan, &gemms[i], after_attention);
        double forward_s = linear_forward_s(plan, linear, tokens);
        double backward_s = plan->trained ? linear_backward_s(plan, linear, tokens) : 0.0;
        sum.forward_s += forward_s;
        sum.backward_s += backward_s;
        sum.bytes += linear_forward_bytes(plan, linear);
        sum.gradient_bytes += plan->trained ? linear_backward_bytes(plan, linear) : 0.0;
        if (place < TRAINING_PRODUCTS) {
            block->product_forward_s[place] += forward_s;
            block->product_backward_s[place] += backward_s;
        }
        after_attention = after_attention || place == TRAINING_PRODUCT_ATTENTION_OUT;
    }
    return sum;
}

static void layer(const struct training_plan *plan, const struct llm_batch *batch,
                  const struct llm_layer_kind *kind, struct training_block *block) {
    const struct hardware_gpu *gpu = &plan->cluster->gpu;
    struct products products = products_of(plan, batch->tokens, kind, block);
    double kernels = elementwise_kernels(plan, kind);
    double bytes = products.bytes + elementwise_bytes(plan, kind, false);
    block->attention_forward_s = attention_forward_s(plan, batch);
    double rest_s =
        block->attention_forward_s + hardware_memory_s(gpu, bytes * batch->tokens, kernels);
    block->forward_s = products.forward_s + rest_s;
    if (!plan->trained)
        return;
    double gradient_bytes = products.gradient_bytes + elementwise_bytes(plan, kind, true);
    block->attention_backward_s = attention_backward_s(plan, batch);
    block->backward_s = products.backward_s + block->attention_backward_s +
                        hardware_memory_s(gpu, gradient_bytes * batch->tokens, kernels);
    block->recompute_s = recompute_s(plan, block->forward_s, rest_s);
}

/* Rows are looked up and written; backward, the gradient is read and rows are read and written. */
static void embedding(const struct training_plan *plan, const struct llm_batch *batch,
                      struct training_block *block) {
    double row_bytes = (double)plan->architecture->hidden * training_element_bytes(plan) *
                       batch->tokens / (double)plan->tp;
    const struct hardware_gpu *gpu = &plan->cluster->gpu;
    double hidden = (double)plan->architecture->hidden;
    double width = (double)plan->architecture->embedding_width;
    enum hardware_precision precision = outer_precision(plan);
    *block = (struct training_block){.forward_s = hardware_memory_s(gpu, 2.0 * row_bytes, 1.0)};
    block->forward_s += product_s(plan, precision, batch->tokens, hidden, width);
    if (trains_all(plan))
        block->backward_s =
            hardware_memory_s(gpu, 3.0 * row_bytes, 1.0) +
            gradients_s(plan, precision, (struct product){1.0, batch->tokens}, hidden, width);
}

/* From hidden to the width of a narrow embedding. */
static void add_narrowing(const struct training_plan *plan, double tokens,
                          struct training_block *block) {
    enum hardware_precision precision = outer_precision(plan);
    double width = (double)plan->architecture->embedding_width;
    double hidden = (double)plan->architecture->hidden;
    block->forward_s += product_s(plan, precision, tokens, width, hidden);
    if (!plan->trained)
        return;
    block->backward_s += product_s(plan, precision, tokens, hidden, width);
    if (trains_all(plan))
        block->backward_s += product_s(plan, precision, hidden, width, tokens);
}

static void head(const struct training_plan *plan, const struct llm_batch *batch,
                 struct training_block *block) {
    const struct hardware_gpu *gpu = &plan->cluster->gpu;
    enum hardware_precision precision = outer_precision(plan);
    double hidden = (double)plan->architecture->hidden, rows = batch->logit_tokens;
    double width = (double)llm_embedding_width(plan->architecture);
    double columns =
        plan->head == LLM_HEAD_SCALAR ? 1.0 : (double)plan->architecture->vocab / (double)plan->tp;
    double norm_bytes =
        4.0 * hidden * training_element_bytes(plan) * batch->tokens / (double)plan->tp;
    *block = (struct training_block){
        .forward_s = product_s(plan, precision, rows, columns, width) +
                     hardware_memory_s(gpu, norm_bytes, 1.0) +
                     hardware_memory_s(gpu, LOGIT_FORWARD_BYTES * rows * columns, 2.0)};
    if (plan->trained)
        block->backward_s = product_s(plan, precision, rows, width, columns) +
                            hardware_memory_s(gpu, norm_bytes, 1.0) +
                            hardware_memory_s(gpu, LOGIT_BACKWARD_BYTES * rows * columns, 2.0);
    if (trains_all(plan))
        block->backward_s += product_s(plan, precision, width, columns, rows);
    add_narrowing(plan, batch->tokens, block);
}

/* What one of the context-parallel ranks holds. */
static struct llm_batch local_batch(const struct training_plan *plan,
                                    const struct llm_batch *batch) {
    double cp = (double)plan->cp;
    return (struct llm_batch){.sequences = batch->sequences,
                              .tokens = batch->tokens / cp,
                              .score_pairs = batch->score_pairs / cp,
                              .logit_tokens = batch->logit_tokens / cp};
}

void training_block_compute(const struct training_plan *plan, const struct llm_batch *batch,
                            const struct training_segment *segment, struct training_block *block) {
    CONTRACT(plan->software.matmul_share > 0.0 && plan->software.attention_share > 0.0,
             "software reaches some share of the rate");
    struct llm_batch local = local_batch(plan, batch);
    *block = (struct training_block){0};
    if (segment->part == TRAINING_EMBEDDING)
        embedding(plan, &local, block);
    else if (segment->part == TRAINING_LAYER)
        layer(plan, &local, &segment->kind, block);
    else
        head(plan, &local, block);
}
