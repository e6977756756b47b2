/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_TRAINING_BLOCK_H
#define MODELS_TRAINING_BLOCK_H

/*
 * What one GPU computes in one block of a model for one micro-batch: matrix products, flash
 * attention, and element-wise work that only moves bytes. No communication, no host time. block.c
 * has the count of bytes, operation by operation.
 *
 * `batch` is the micro-batch of the GPU's data-parallel rank, whole: the block divides it by the
 * plan's cp (tokens, pairs and logits alike: sequences are cut so that causal work is even) and its
 * widths by tp. Experts are those of one expert-parallel rank, experts / ep of them, each divided
 * by expert_tp, with the tokens that all ranks of the group send.
 */

#include "models/training/training.h"

/* The products beside a tensor-parallel collective: one gathers the tokens before the first of
 * attention and of the feed-forward, one reduces (and scatters) behind the last. */
enum training_product {
    TRAINING_PRODUCT_ATTENTION_IN,
    TRAINING_PRODUCT_ATTENTION_OUT,
    TRAINING_PRODUCT_FFN_IN,
    TRAINING_PRODUCT_FFN_OUT,
    TRAINING_PRODUCTS
};

struct training_block {
    double forward_s;
    double backward_s;  /* without recomputation; 0 for a plan that is not trained */
    double recompute_s; /* what the backward makes again first */

    /* Parts of the above: what communication can hide behind. Attention is the kernel alone; the
     * products are those of layers divided by tensor parallelism (of experts only where expert_tp
     * is), 0 in embedding and head. Products made again in recomputation are as in the forward. */
    double attention_forward_s, attention_backward_s;
    double product_forward_s[TRAINING_PRODUCTS], product_backward_s[TRAINING_PRODUCTS];
};

void training_block_compute(const struct training_plan *plan, const struct llm_batch *batch,
                            const struct training_segment *segment, struct training_block *block);

#endif
