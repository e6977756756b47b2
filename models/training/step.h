/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_TRAINING_STEP_H
#define MODELS_TRAINING_STEP_H

/*
 * Seconds of an optimizer step, or of an inference pass, of one data-parallel rank: its
 * micro-batches through the stages of its pipeline, the reduction of gradients behind the last
 * ones, the optimizer. All ranks of a plan with equal micro-batches take equally long and are
 * worked out once; with unequal ones the caller asks for each and takes the slowest.
 *
 *     pp = 1: micro-batch after micro-batch on one stage      (pass.h, in closed form)
 *     pp > 1: 1F1B, interleaved with vpp > 1, as events       (pipeline.h)
 *
 * Without communication and with equal stages the idle share of a step is (pp-1)/(M+pp-1), with
 * vpp chunks (pp-1)/(vpp M+pp-1), over the time that work alone would take plus the idle time.
 */

#include "models/training/optimizer.h"
#include "sim/sim.h"

struct training_work {
    const struct llm_batch *batches; /* `count` of them, or one when they are all `equal` */
    size_t count;                    /* micro-batches of the rank, at least 1 */
    bool equal;
};

struct training_step {
    double total_s;

    /* Where the time of the busiest stage goes; all of these add up to total_s. */
    double compute_s;   /* kernels */
    double host_s;      /* host time that the GPU waits for */
    double tensor_s;    /* tensor-parallel collectives that no product hides */
    double context_s;   /* context-parallel exchange that attention does not hide */
    double expert_s;    /* expert-parallel all-to-alls */
    double gather_s;    /* gathers and reductions of ZeRO inside passes that nothing hides */
    double offload_s;   /* activations over PCIe that nothing hides */
    double bubble_s;    /* idle: filling and draining, slower stages, transfers between stages */
    double reduction_s; /* gradients still being reduced when the last backward is over */
    double optimizer_s; /* with the gather of new weights that nothing hides */

    double flops;          /* model FLOPs of the rank: of its tp x cp x pp GPUs together */
    double hardware_flops; /* with recomputation */
    double bytes;          /* sent through the network by each GPU, mean over the stages */
    double data_bytes;     /* of these, weights and gradients between data-parallel ranks */
    double zone_bytes;     /* of all, from zone to zone */
};

/* One optimizer step of a trained plan. SIM_OK or SIM_NO_MEMORY. Interleaved, micro-batches are
 * filled up to a multiple of pp with empty ones. */
enum sim_status training_step(const struct training_plan *plan, const struct training_work *work,
                              struct training_step *step);

/* The same without optimizer: what a data-parallel rank does before it meets the others. */
enum sim_status training_step_passes(const struct training_plan *plan,
                                     const struct training_work *work, struct training_step *step);

/* Forward passes without gradients (log-probs, values, rewards) of all micro-batches. */
enum sim_status training_step_forward(const struct training_plan *plan,
                                      const struct training_work *work, struct training_step *step);

#endif
