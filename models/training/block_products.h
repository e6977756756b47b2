/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_TRAINING_BLOCK_PRODUCTS_H
#define MODELS_TRAINING_BLOCK_PRODUCTS_H

/*
 * The linear layers of a block on one GPU: their matrix products, and what stands around them and
 * belongs to them (casts to fp8, adapters of a LoRA, frozen weights stored in fewer bits).
 * block_products.c has the shapes and the counts.
 */

#include "models/training/block.h"

/* Seconds of all linear layers of a block. */
struct training_linears {
    double forward_s, backward_s; /* backward: 0 for a plan that is not trained */
    double alternate_s;           /* of the forward: every second linear layer of the model */
};

/* Of a block of this kind, for `tokens` tokens of the tensor-parallel group. What stands beside a
 * tensor-parallel collective is also added to the products of `block`. */
struct training_linears training_linears_compute(const struct training_plan *plan, double tokens,
                                                 const struct llm_layer_kind *kind,
                                                 struct training_block *block);

/* Weights that a token is multiplied with in every second linear layer, over all layers of the
 * model. */
double training_alternate_parameters(const struct llm_architecture *architecture);

/* One product [m x k][k x n] outside the layers (embedding, head), in the precision that these are
 * left in; so many of them in one kernel; and its gradients: the input's, and the weight's where
 * weights are trained. Seconds. */
double training_outer_product_s(const struct training_plan *plan, double m, double n, double k);
double training_outer_grouped_s(const struct training_plan *plan, double groups, double m, double n,
                                double k);
double training_outer_gradients_s(const struct training_plan *plan, double m, double n, double k);

/* Whether the weights themselves get gradients: trained, and not by adapters. */
bool training_trains_weights(const struct training_plan *plan);

/* What the rank with most has of `columns` that come in `parts` equal parts which are not cut:
 * columns / parts x ceil(parts / ranks), one part at least. */
double training_divided(double columns, double parts, double ranks);

#endif
