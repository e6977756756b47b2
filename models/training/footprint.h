/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_TRAINING_FOOTPRINT_H
#define MODELS_TRAINING_FOOTPRINT_H

/*
 * Bytes that a model under training (or frozen) holds on one GPU of a pipeline's stage and on the
 * host, per category. Mixed precision with Adam: weights 2 + gradients 2 + fp32 master weights 4 +
 * moments 8 bytes a trained parameter (Rajbhandari et al., ZeRO, 2020), each divided by what the
 * ZeRO stage shards; all divided by tp. Frozen: weights only. LoRA: the base frozen, adapters
 * trained. What software does otherwise is in the plan's struct training_memory.
 *
 * Left out: what the allocator holds beyond what was asked (fragmentation), contexts of the driver
 * and of the communicators: see models/training/memory.h.
 */

#include "models/training/activations.h"

struct training_footprint {
    /* On every GPU of the stage. */
    double weights, gradients, master_weights, optimizer;
    /* On the host, per GPU of the stage, in place of the above: master weights and moments under
     * `host_optimizer`. Where they wait on disks, these have all and the host the part that is
     * being updated. */
    double host_weights, host_optimizer, disk_optimizer;
};
/* Offloaded weights that are on the GPU as well while a phase needs them: all, or none where they
 * come block by block. */
double training_fetched_bytes(const struct training_plan *plan,
                              const struct training_footprint *footprint);

void training_footprint(const struct training_plan *plan, int stage,
                        struct training_footprint *footprint);

/* What a pass adds while it runs, for its largest micro-batch, at the instant when all together
 * are most: inside a block (its activations whole, no logits), or at the head (logits, only the
 * kept activations). */
struct training_working_set {
    /* Weights in full of two neighbouring blocks under ZeRO-3 (one computes, one is fetched; all
     * of the stage where they are kept between forward and backward), and in an update, from ZeRO-2
     * on, gradients in full of two (one is made, one is reduced). */
    double gathered;
    double activations;      /* kept for the backward, by recomputation; inference: one block */
    double logits;           /* tokens x vocabulary x bytes of all copies */
    double host_activations; /* on the host, with offloaded activations */
};
void training_forward_working_set(const struct training_plan *plan, int stage,
                                  const struct llm_batch *batch, struct training_working_set *set);

/* `microbatches`: of a data-parallel rank in one optimizer step. A pipeline's stage keeps those
 * whose backward has not come back: pp - stage at most (1F1B); the first stage has most. */
void training_update_working_set(const struct training_plan *plan, int stage,
                                 const struct llm_batch *batch, double microbatches,
                                 struct training_working_set *set);

/* What the optimizer adds while it works, when the passes are over. */
double training_optimizer_bytes(const struct training_plan *plan, int stage);

/* Micro-batches whose kept activations a stage holds at once, in units of a whole stage's. */
double training_in_flight(const struct training_plan *plan, int stage, double microbatches);

/* Bytes on one GPU of a stage at the fullest instant of an update, resident and working. */
double training_update_bytes(const struct training_plan *plan, int stage,
                             const struct llm_batch *batch, double microbatches);

/* Bytes of a checkpoint of the whole model: weights in precision, master weights and moments (with
 * LoRA: of the adapters only; of a frozen model: the weights). */
double training_checkpoint_bytes(const struct training_plan *plan);

#endif
