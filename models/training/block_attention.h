/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_TRAINING_BLOCK_ATTENTION_H
#define MODELS_TRAINING_BLOCK_ATTENTION_H

/*
 * Attention of one layer on one GPU, between the product that makes queries, keys and values and
 * the one that takes the output. block_attention.c has the laws. Communication of context
 * parallelism is not in it.
 */

#include "models/training/training.h"

/* Seconds; `batch` is the micro-batch whole, before context parallelism divides it. */
double training_attention_forward_s(const struct training_plan *plan,
                                    const struct llm_batch *batch);
double training_attention_backward_s(const struct training_plan *plan,
                                     const struct llm_batch *batch);

#endif
