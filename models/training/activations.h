/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_TRAINING_ACTIVATIONS_H
#define MODELS_TRAINING_ACTIVATIONS_H

/*
 * Bytes of activations that one GPU holds of one block of a model, for one micro-batch.
 */

#include "models/training/training.h"

struct training_block_activations {
    double kept;    /* from its forward to its backward */
    double again;   /* made again and in flight beside what is kept, while its backward runs */
    double forward; /* the widest point of a forward without gradients */
};

/* `batch` is the micro-batch of all context-parallel ranks together. Plans with experts that are
 * chosen evenly. */
void training_block_activations(const struct training_plan *plan, const struct llm_batch *batch,
                                const struct llm_layer_kind *kind,
                                struct training_block_activations *activations);

/* Whether frozen weights are kept in fewer bytes than they are computed with. */
bool training_packs_weights(const struct training_plan *plan);

/* Bytes of one tensor as wide as the model, as each rank holds it between tensor-parallel
 * products; and of the whole ones that column-parallel products want (0 when tp is 1). */
double training_stream_bytes(const struct training_plan *plan, const struct llm_batch *batch);
double training_gathered_input_bytes(const struct training_plan *plan,
                                     const struct llm_batch *batch);

/* Bytes of one block that stay on a GPU from its forward to its backward; `kept` of the above. */
double training_kept_bytes(const struct training_plan *plan, const struct llm_batch *batch,
                           const struct llm_layer_kind *kind);

#endif
