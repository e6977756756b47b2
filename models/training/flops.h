/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_TRAINING_FLOPS_H
#define MODELS_TRAINING_FLOPS_H

/*
 * FLOPs of the whole model for one micro-batch, over all GPUs that it is divided over. Model FLOPs
 * are three times the forward's, 6 N D and attention; of a LoRA, those it needs: no weight
 * gradients of the frozen matrices. Recomputation is not model FLOPs.
 */

#include "models/training/training.h"

double training_forward_flops(const struct training_plan *plan, const struct llm_batch *batch);
double training_backward_flops(const struct training_plan *plan, const struct llm_batch *batch);
double training_recompute_flops(const struct training_plan *plan, const struct llm_batch *batch);

#endif
