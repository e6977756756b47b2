/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_GENERATION_PRODUCTS_H
#define MODELS_GENERATION_PRODUCTS_H

/* Matrix products of an engine on one GPU of its replica. Seconds, pure. */

#include "models/generation/plan.h"

/* The linear layers of one block of a kind for `tokens` of a dp group (`all_tokens` of the groups
 * together, which is what the experts see). */
double generation_linear_s(const struct generation_plan *plan, const struct llm_layer_kind *kind,
                           double tokens, double all_tokens);

/* The vocabulary, and the way between a narrow embedding and hidden. */
double generation_head_s(const struct generation_plan *plan, double logits);
double generation_width_s(const struct generation_plan *plan, double tokens, double logits);

/* Weights that a GPU reads in an iteration of one block: those that every token goes through; those
 * of the experts that `all_tokens` find. */
double generation_shared_matrix_bytes(const struct generation_plan *plan,
                                      const struct llm_layer_kind *kind);
double generation_expert_matrix_bytes(const struct generation_plan *plan,
                                      const struct llm_layer_kind *kind, double all_tokens);

#endif
