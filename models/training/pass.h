/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_TRAINING_PASS_H
#define MODELS_TRAINING_PASS_H

/*
 * Seconds of one micro-batch through a model on one data-parallel rank, and of an optimizer step.
 *
 * Layers are equal, so a pass is a chain of L equal blocks on the compute stream. ZeRO-3 gathers
 * the weights of block i+1 on the communication stream while block i computes (prefetch of one):
 *
 *     t = gather + (L-1) x max(block, gather) + block            [+ reduce-scatters, backward]
 *
 * which is the closed form of two streams with equal links; tests/oracle/ has the task graph it is
 * held against. Tensor parallelism adds two all-reduces (as reduce-scatter + all-gather) a block
 * and direction, not overlapped. Backward costs twice the matrix products (LoRA: once, plus the
 * adapters), recomputation adds a forward.
 */

#include "models/training/training.h"

struct training_cost {
    double total_s;
    double compute_s;               /* on the compute stream, host time included */
    double exposed_communication_s; /* total - compute */
    double flops;                   /* model FLOPs of the whole rank group (all tp ranks) */
    double hardware_flops;          /* with recomputation */
    double bytes;                   /* communicated per GPU */
};

/* A forward pass without gradients (log-probs, values, rewards): forward compute, ZeRO-3 gathers.
 */
void training_forward(const struct training_plan *plan, const struct llm_batch *batch,
                      struct training_cost *cost);

/* Forward and backward of one micro-batch. `reduce` says that gradients are reduced with it: ZeRO-2
 * and 3 in every micro-batch, ZeRO-0 and 1 in the last one of an optimizer step (overlapped with
 * its backward, layer by layer). */
void training_forward_backward(const struct training_plan *plan, const struct llm_batch *batch,
                               bool reduce, struct training_cost *cost);
/* Whether a micro-batch must reduce, by ZeRO stage. */
bool training_reduces(const struct training_plan *plan, bool last_microbatch);

/* One optimizer step (Adam, fp32 master weights): traffic through HBM, or over PCIe and host memory
 * when offloaded; ZeRO-1 and 2 gather the new weights. */
void training_optimizer(const struct training_plan *plan, struct training_cost *cost);

/* Bringing offloaded parameters to the GPU (or back) over PCIe, each GPU its own shard. */
double training_parameter_transfer_s(const struct training_plan *plan);

#endif
