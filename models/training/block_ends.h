/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_TRAINING_BLOCK_ENDS_H
#define MODELS_TRAINING_BLOCK_ENDS_H

/*
 * What stands before the layers and behind them: the embedding, and the head with its loss.
 * block_ends.c has the counts. `batch` is what one context-parallel rank holds.
 */

#include "models/training/block.h"

void training_embedding_compute(const struct training_plan *plan, const struct llm_batch *batch,
                                struct training_block *block);

/* The final norm and a projection on the vocabulary with log-probabilities and their gradient, or
 * on one number (values, rewards), which has neither. */
void training_head_compute(const struct training_plan *plan, const struct llm_batch *batch,
                           struct training_block *block);

#endif
