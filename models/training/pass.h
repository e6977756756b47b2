/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_TRAINING_PASS_H
#define MODELS_TRAINING_PASS_H

/*
 * Seconds of one micro-batch through a model on one data-parallel rank, and of an optimizer step.
 *
 * A pass is the embedding, the layers and the head on the compute stream. Layers of one kind are
 * equal and follow one another; where kinds alternate in the model, the order is simplified to one
 * kind after the other. ZeRO-3 gathers the weights of the next block on the communication stream
 * while a block computes (prefetch of one). For the blocks alone this is
 *
 *     t = gather + (L-1) x max(block, gather) + block            [+ reduce-scatters, backward]
 *
 * see training/overlap.h; tests/oracle/two_streams.c has the task graph it is held against. Tensor
 * parallelism adds two all-reduces (as reduce-scatter + all-gather) a block and direction, and one
 * around embedding and head, not overlapped. Backward costs twice the matrix products (LoRA: once,
 * plus the adapters), recomputation makes a block again before its backward.
 *
 * Experts are on every rank as other weights are (expert parallelism of 1): divided by tp, gathered
 * by ZeRO-3, all of them.
 *
 * Left out: pipeline, context and expert parallelism; experts that are chosen unevenly; overlap of
 * tensor-parallel collectives with products; contention between collectives of different groups on
 * one link.
 */

#include "models/training/training.h"

struct training_cost {
    double total_s;
    double compute_s;               /* on the compute stream, host time included */
    double exposed_communication_s; /* total - compute */
    double flops;                   /* model FLOPs of the whole rank group (all tp ranks) */
    double hardware_flops;          /* with recomputation */
    double bytes;                   /* sent through the network by each GPU */
};

/* A forward pass without gradients (log-probs, values, rewards): forward compute, ZeRO-3 gathers.
 */
void training_forward(const struct training_plan *plan, const struct llm_batch *batch,
                      struct training_cost *cost);

/* Forward and backward of one micro-batch of a trained model. `reduce` says that gradients are
 * reduced with it: ZeRO-2 and 3 in every micro-batch, ZeRO-0 and 1 in the last one of an optimizer
 * step (overlapped with its backward, block by block). Model FLOPs are three times the forward's;
 * of a LoRA, those it needs: no weight gradients of the frozen matrices. */
void training_forward_backward(const struct training_plan *plan, const struct llm_batch *batch,
                               bool reduce, struct training_cost *cost);
/* Whether a micro-batch must reduce, by ZeRO stage. */
bool training_reduces(const struct training_plan *plan, bool last_microbatch);

/* One optimizer step of a trained model (Adam, fp32 master weights): traffic through HBM, or over
 * PCIe and host memory when offloaded (the CPU's time is counted in compute_s, PCIe as
 * communication that is not in `bytes`); ZeRO-1 and 2 gather the new weights. */
void training_optimizer(const struct training_plan *plan, struct training_cost *cost);

/* Bringing offloaded parameters to the GPU (or back) over PCIe, each GPU its own shard. 0 for a
 * plan that does not offload them. */
double training_parameter_transfer_s(const struct training_plan *plan);

#endif
