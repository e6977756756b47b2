/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_TRAINING_BLOCK_H
#define MODELS_TRAINING_BLOCK_H

/*
 * What one GPU computes in one block of a model for one micro-batch: matrix products, flash
 * attention, and element-wise work that only moves bytes. No communication, no host time. block.c
 * has the count of bytes, operation by operation.
 */

#include "models/training/training.h"

struct training_block {
    double forward_s;
    double backward_s;  /* without recomputation; 0 for a plan that is not trained */
    double recompute_s; /* what the backward makes again first */
};

void training_block_compute(const struct training_plan *plan, const struct llm_batch *batch,
                            const struct training_segment *segment, struct training_block *block);

#endif
