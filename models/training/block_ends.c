/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Embedding: each tensor-parallel rank has its part of the vocabulary's rows, reads those of its
 * tokens and writes h elements for all (zeros for the others). Backward, where weights are trained:
 * the gradient is read, rows are read and written.
 *
 * Head: the last residual sum with the final norm, the product with the rank's vocabulary columns,
 * and per logit (2 bytes from the product, fp32 copy f = 4 bytes):
 *
 *                         forward                        backward
 *     whole, fused loss   widen 2 + f; log-sum-exp and   probabilities from fp32, gradient in fp32
 *                         the label's f: 10              2f; narrowed f + 2: 14
 *     whole, eager        widen 2 + f; log-softmax 2f;   gradient of log-softmax 3f; narrowed f +
 * 2: entropy or gather f: 18        18 chunked             as whole, a slice of the tokens at a
 * time fused product       none: the loss is made in the product's kernel, which is run again in
 * the backward: one product more, and no logit of 4 bytes
 *
 * (The product writes 2 bytes a logit in each case, inside hardware_gemm_s, though a fused kernel
 * keeps them.) One number a token has no logits.
 *
 * Left out: the reduction of log-sum-exps over vocabulary shards (8 bytes a token), padding of the
 * vocabulary.
 */

#include "models/training/block_ends.h"

#include "models/hardware/kernel.h"
#include "models/training/block_elementwise.h"
#include "models/training/block_products.h"
#include "sim/contract.h"

/* Bytes and kernels of a logit, forward and backward. */
static const struct training_traffic fused_loss[] = {{10.0, 2.0}, {14.0, 2.0}};
static const struct training_traffic eager_loss[] = {{18.0, 3.0}, {18.0, 2.0}};

/* ---- embedding ------------------------------------------------------------------------------- */

void training_embedding_compute(const struct training_plan *plan, const struct llm_batch *batch,
                                struct training_block *block) {
    const struct hardware_gpu *gpu = &plan->cluster->gpu;
    const struct llm_architecture *a = plan->architecture;
    double hidden = (double)a->hidden, width = (double)a->embedding_width;
    double written = hidden * training_element_bytes(plan) * batch->tokens;
    double rows = written / (double)plan->tp;
    struct training_traffic norm = training_embedding_norm_traffic(plan, batch->tokens, false);
    block->forward_s = hardware_memory_s(gpu, rows + written, 1.0) +
                       training_traffic_s(plan, norm) +
                       training_outer_product_s(plan, batch->tokens, hidden, width);
    if (!training_trains_weights(plan))
        return;
    norm = training_embedding_norm_traffic(plan, batch->tokens, true);
    block->backward_s = hardware_memory_s(gpu, written + 2.0 * rows, 1.0) +
                        training_traffic_s(plan, norm) +
                        training_outer_gradients_s(plan, batch->tokens, hidden, width);
}

/* ---- head ------------------------------------------------------------------------------------ */

/* Logits of the rank, one product apart. */
struct projection {
    double rows, columns, width;
};

static bool makes_logits(const struct training_plan *plan) {
    return plan->head == LLM_HEAD_VOCABULARY;
}

static struct projection projection_of(const struct training_plan *plan,
                                       const struct llm_batch *batch) {
    double vocab = (double)plan->architecture->vocab;
    return (struct projection){
        .rows = batch->logit_tokens,
        .columns = makes_logits(plan) ? training_divided(vocab, vocab, (double)plan->tp) : 1.0,
        .width = (double)llm_embedding_width(plan->architecture)};
}

static double loss_s(const struct training_plan *plan, const struct projection *p, bool backward) {
    const struct training_traffic *table =
        plan->fusion == TRAINING_FUSION_EAGER ? eager_loss : fused_loss;
    struct training_traffic traffic = table[backward ? 1 : 0];
    if (!makes_logits(plan) || plan->logits == TRAINING_LOGITS_FUSED)
        return 0.0;
    return hardware_memory_s(&plan->cluster->gpu, traffic.bytes * p->rows * p->columns,
                             traffic.kernels);
}

static double forward_s(const struct training_plan *plan, const struct projection *p) {
    return training_outer_product_s(plan, p->rows, p->columns, p->width) + loss_s(plan, p, false);
}

static double backward_s(const struct training_plan *plan, const struct projection *p) {
    double seconds = training_outer_gradients_s(plan, p->rows, p->columns, p->width);
    if (makes_logits(plan) && plan->logits == TRAINING_LOGITS_FUSED)
        seconds += training_outer_product_s(plan, p->rows, p->columns, p->width);
    return seconds + loss_s(plan, p, true);
}

void training_head_compute(const struct training_plan *plan, const struct llm_batch *batch,
                           struct training_block *block) {
    struct projection projection = projection_of(plan, batch);
    double hidden = (double)plan->architecture->hidden;
    double narrow = (double)plan->architecture->embedding_width; /* 0: there is no narrowing */
    struct training_traffic norm = training_final_norm_traffic(plan, batch->tokens, false);
    block->forward_s = forward_s(plan, &projection) + training_traffic_s(plan, norm) +
                       training_outer_product_s(plan, batch->tokens, narrow, hidden);
    if (!plan->trained)
        return;
    norm = training_final_norm_traffic(plan, batch->tokens, true);
    block->backward_s = backward_s(plan, &projection) + training_traffic_s(plan, norm) +
                        training_outer_gradients_s(plan, batch->tokens, narrow, hidden);
}
