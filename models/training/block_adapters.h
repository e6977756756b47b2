/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_TRAINING_BLOCK_ADAPTERS_H
#define MODELS_TRAINING_BLOCK_ADAPTERS_H

/*
 * Adapters of a LoRA beside one frozen linear layer on one GPU. block_adapters.c has the law.
 */

#include "models/training/training.h"

/* A matrix product [m x k][k x n], the same for each of `groups` experts; 1 group without. */
struct training_shape {
    double groups, m, n, k;
};

/* Seconds of `adapters` pairs of the plan's rank beside the product of that shape, which they
 * share: each has all of its inputs and an equal part of its outputs. None take no time. */
double training_adapters_forward_s(const struct training_plan *plan, struct training_shape shape,
                                   double adapters);
double training_adapters_backward_s(const struct training_plan *plan, struct training_shape shape,
                                    double adapters);

#endif
