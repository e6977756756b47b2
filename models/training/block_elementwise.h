/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_TRAINING_BLOCK_ELEMENTWISE_H
#define MODELS_TRAINING_BLOCK_ELEMENTWISE_H

/*
 * Element-wise work and norms on one GPU: kernels that only move bytes. block_elementwise.c has the
 * table of accesses, operation by operation, for fused kernels and for one kernel an operation.
 */

#include "models/training/training.h"

/* Bytes through HBM and the kernels that move them. */
struct training_traffic {
    double bytes, kernels;
};

/* Of one block of a kind, for `tokens` tokens of the tensor-parallel group. */
struct training_traffic training_layer_traffic(const struct training_plan *plan, double tokens,
                                               const struct llm_layer_kind *kind, bool backward);

/* The norm behind the embedding, if any; the last residual sum with the final norm, if any. */
struct training_traffic training_embedding_norm_traffic(const struct training_plan *plan,
                                                        double tokens, bool backward);
struct training_traffic training_final_norm_traffic(const struct training_plan *plan, double tokens,
                                                    bool backward);

/* Seconds, with the plan's elementwise_factor. */
double training_traffic_s(const struct training_plan *plan, struct training_traffic traffic);

#endif
