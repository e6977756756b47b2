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

#include <string.h>

#define LOGIT_FORWARD_BYTES 10.0
#define LOGIT_BACKWARD_BYTES 14.0

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
    double adapters; /* LoRA pairs it carries: one for each projection that is fused in it */
};

static struct linear local_linear(const struct training_plan *plan, const struct llm_gemm *gemm) {
    double tp = (double)plan->tp;
    struct linear linear = {(double)gemm->n, (double)gemm->k, 1.0};
    if (gemm->split_columns)
        linear.n /= tp;
    else
        linear.k /= tp;
    if (strcmp(gemm->name, "qkv") == 0)
        linear.adapters = 3.0;
    else if (strcmp(gemm->name, "ffn_up") == 0 && plan->architecture->gated_ffn)
        linear.adapters = 2.0;
    return linear;
}

static double linear_forward_s(const struct training_plan *plan, struct linear linear,
                               double tokens) {
    double seconds = product_s(plan, plan->precision, tokens, linear.n, linear.k);
    double rank = (double)plan->lora_rank;
    if (plan->lora_rank > 0) {
        enum hardware_precision precision = outer_precision(plan);
        seconds += product_s(plan, precision, tokens, linear.adapters * rank, linear.k);
        seconds += product_s(plan, precision, tokens, linear.n, rank);
    }
    return seconds;
}

/* Input gradient and weight gradient of one product [m x k][k x n]. */
static double gradients_s(const struct training_plan *plan, enum hardware_precision precision,
                          double m, double n, double k) {
    return product_s(plan, precision, m, k, n) + product_s(plan, precision, k, n, m);
}

static double linear_backward_s(const struct training_plan *plan, struct linear linear,
                                double tokens) {
    double rank = (double)plan->lora_rank;
    if (trains_all(plan))
        return gradients_s(plan, plan->precision, tokens, linear.n, linear.k);
    enum hardware_precision precision = outer_precision(plan);
    return product_s(plan, plan->precision, tokens, linear.k, linear.n) +
           gradients_s(plan, precision, tokens, linear.adapters * rank, linear.k) +
           gradients_s(plan, precision, tokens, linear.n, rank);
}

/* Bytes a token of casts and of adapter sums around one linear layer. */
static double linear_forward_bytes(const struct training_plan *plan, struct linear linear) {
    double bytes = 0.0;
    if (plan->precision == HARDWARE_FP8)
        bytes += (trains_all(plan) ? 4.0 : 3.0) * linear.k;
    if (plan->lora_rank > 0)
        bytes += 3.0 * training_element_bytes(plan) * linear.n;
    return bytes;
}

static double linear_backward_bytes(const struct training_plan *plan, struct linear linear) {
    double bytes = 0.0;
    if (plan->precision == HARDWARE_FP8)
        bytes += (trains_all(plan) ? 4.0 : 3.0) * linear.n;
    if (plan->lora_rank > 0)
        bytes += 3.0 * training_element_bytes(plan) * linear.adapters * linear.k;
    return bytes;
}

/* Bytes a token of the element-wise work of a block, after the table on top. */
static double elementwise_bytes(const struct training_plan *plan, bool backward) {
    const struct llm_architecture *architecture = plan->architecture;
    double hidden = (double)architecture->hidden, ffn = (double)architecture->ffn;
    double rotated =
        (double)((architecture->heads + architecture->kv_heads) * architecture->head_dim);
    double elements = 8.0 * hidden + 2.0 * rotated;
    if (architecture->qk_norm)
        elements += (backward ? 3.0 : 2.0) * rotated;
    if (architecture->gated_ffn)
        elements += (backward ? 5.0 : 3.0) * ffn;
    else
        elements += (backward ? 3.0 : 2.0) * ffn;
    return elements * training_element_bytes(plan) / (double)plan->tp;
}

static double elementwise_kernels(const struct training_plan *plan) {
    return plan->architecture->qk_norm ? 5.0 : 4.0;
}

static double attention_bytes(const struct training_plan *plan, double accesses, double tokens) {
    const struct llm_architecture *architecture = plan->architecture;
    double width =
        (double)((architecture->heads + architecture->kv_heads) * architecture->head_dim);
    return accesses * width * tokens * training_element_bytes(plan) / (double)plan->tp;
}

static double attention_forward_s(const struct training_plan *plan, const struct llm_batch *batch) {
    double heads = (double)plan->architecture->heads / (double)plan->tp;
    return hardware_attention_s(&plan->cluster->gpu, batch->score_pairs, heads,
                                (double)plan->architecture->head_dim,
                                attention_bytes(plan, 2.0, batch->tokens)) /
           plan->software.matmul_share;
}

static double attention_backward_s(const struct training_plan *plan,
                                   const struct llm_batch *batch) {
    double heads = (double)plan->architecture->heads / (double)plan->tp;
    return hardware_attention_backward_s(&plan->cluster->gpu, batch->score_pairs, heads,
                                         (double)plan->architecture->head_dim,
                                         attention_bytes(plan, 4.0, batch->tokens)) /
           plan->software.matmul_share;
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

static void layer(const struct training_plan *plan, const struct llm_batch *batch,
                  struct training_block *block) {
    const struct hardware_gpu *gpu = &plan->cluster->gpu;
    struct llm_gemm gemms[LLM_LAYER_GEMMS];
    double products_s = 0.0, gradient_products_s = 0.0;
    double bytes = elementwise_bytes(plan, false), gradient_bytes = elementwise_bytes(plan, true);
    llm_layer_gemms(plan->architecture, gemms);
    for (int i = 0; i < LLM_LAYER_GEMMS; i++) {
        struct linear linear = local_linear(plan, &gemms[i]);
        products_s += linear_forward_s(plan, linear, batch->tokens);
        bytes += linear_forward_bytes(plan, linear);
        if (!plan->trained)
            continue;
        gradient_products_s += linear_backward_s(plan, linear, batch->tokens);
        gradient_bytes += linear_backward_bytes(plan, linear);
    }
    double kernels = elementwise_kernels(plan);
    double rest_s =
        attention_forward_s(plan, batch) + hardware_memory_s(gpu, bytes * batch->tokens, kernels);
    *block = (struct training_block){.forward_s = products_s + rest_s};
    if (!plan->trained)
        return;
    block->backward_s = gradient_products_s + attention_backward_s(plan, batch) +
                        hardware_memory_s(gpu, gradient_bytes * batch->tokens, kernels);
    block->recompute_s = recompute_s(plan, block->forward_s, rest_s);
}

/* Rows are looked up and written; backward, the gradient is read and rows are read and written. */
static void embedding(const struct training_plan *plan, const struct llm_batch *batch,
                      struct training_block *block) {
    double row_bytes = (double)plan->architecture->hidden * training_element_bytes(plan) *
                       batch->tokens / (double)plan->tp;
    const struct hardware_gpu *gpu = &plan->cluster->gpu;
    *block = (struct training_block){.forward_s = hardware_memory_s(gpu, 2.0 * row_bytes, 1.0)};
    if (trains_all(plan))
        block->backward_s = hardware_memory_s(gpu, 3.0 * row_bytes, 1.0);
}

static void head(const struct training_plan *plan, const struct llm_batch *batch,
                 struct training_block *block) {
    const struct hardware_gpu *gpu = &plan->cluster->gpu;
    enum hardware_precision precision = outer_precision(plan);
    double hidden = (double)plan->architecture->hidden, rows = batch->logit_tokens;
    double columns =
        plan->head == LLM_HEAD_SCALAR ? 1.0 : (double)plan->architecture->vocab / (double)plan->tp;
    double norm_bytes =
        4.0 * hidden * training_element_bytes(plan) * batch->tokens / (double)plan->tp;
    *block = (struct training_block){
        .forward_s = product_s(plan, precision, rows, columns, hidden) +
                     hardware_memory_s(gpu, norm_bytes, 1.0) +
                     hardware_memory_s(gpu, LOGIT_FORWARD_BYTES * rows * columns, 2.0)};
    if (!plan->trained)
        return;
    block->backward_s = product_s(plan, precision, rows, hidden, columns) +
                        hardware_memory_s(gpu, norm_bytes, 1.0) +
                        hardware_memory_s(gpu, LOGIT_BACKWARD_BYTES * rows * columns, 2.0);
    if (trains_all(plan))
        block->backward_s += product_s(plan, precision, hidden, columns, rows);
}

void training_block_compute(const struct training_plan *plan, const struct llm_batch *batch,
                            enum training_part part, struct training_block *block) {
    CONTRACT(plan->software.matmul_share > 0.0, "software reaches some share of the rate");
    CONTRACT(part != TRAINING_PARTS, "not a part of a model");
    if (part == TRAINING_EMBEDDING)
        embedding(plan, batch, block);
    else if (part == TRAINING_LAYER)
        layer(plan, batch, block);
    else
        head(plan, batch, block);
}
