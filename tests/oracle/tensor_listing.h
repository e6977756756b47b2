/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TESTS_ORACLE_TENSOR_LISTING_H
#define TESTS_ORACLE_TENSOR_LISTING_H

/*
 * The state dictionary of a model, one tensor after another as the library would list it: layer by
 * layer, projection by projection, expert by expert. Slow and plain; what models/llm/architecture.c
 * adds up in closed form is held against it.
 */

#include "models/llm/architecture.h"

struct tensor_listing {
    int64_t tensors, elements;
    int64_t active_matrix_elements; /* of linear layers, that one token is multiplied with */
    int64_t lora_elements, lora_tensors;
    int64_t scales; /* of linear layers in fp8, one for each block of 128 x 128 */
};

/* One layer; with experts if `moe`. */
void list_layer(const struct llm_architecture *architecture, bool moe, int64_t lora_rank,
                struct tensor_listing *listing);

/* The whole model, its layers in any order. */
void list_model(const struct llm_architecture *architecture, enum llm_head head, int64_t lora_rank,
                struct tensor_listing *listing);

/* A layer for multi-token prediction as DeepSeek-V3 has it: a layer with experts behind a
 * projection of two hidden states that are normed each, and a last norm; `own_ends` adds its own
 * embedding and head. */
void list_prediction_layer(const struct llm_architecture *architecture, bool own_ends,
                           struct tensor_listing *listing);

#endif
