/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_TRAINING_FOOTPRINT_H
#define MODELS_TRAINING_FOOTPRINT_H

/*
 * Bytes that a model under training (or frozen) holds on one GPU and on the host, per category.
 * Mixed precision with Adam: weights 2 + gradients 2 + fp32 master weights 4 + moments 8 bytes a
 * trained parameter (Rajbhandari et al., ZeRO, 2020), each divided by what the ZeRO stage shards;
 * all divided by tp. Frozen: weights only. LoRA: the base frozen, adapters trained.
 *
 * Left out: what the allocator holds beyond what was asked (fragmentation), contexts of the driver
 * and of the communicators, buffers of fixed size.
 */

#include "models/training/training.h"

struct training_footprint {
    /* On every GPU of the plan. */
    double weights, gradients, master_weights, optimizer;
    /* On the host, per GPU of the plan, in place of the above: master weights and moments under
     * `host_optimizer`. While a phase needs them, `host_weights` are on the GPU as well. */
    double host_weights, host_optimizer;
};
void training_footprint(const struct training_plan *plan, struct training_footprint *footprint);

/* What a pass adds while it runs, for its largest micro-batch, at the instant when the three
 * together are most: inside a block (its activations whole, no logits), or at the head (logits,
 * only the kept activations). */
struct training_working_set {
    /* Weights in full of two neighbouring blocks under ZeRO-3 (one computes, one is fetched), and
     * in an update, from ZeRO-2 on, gradients in full of two (one is made, one is reduced). */
    double gathered;
    double activations; /* kept for the backward, by recomputation; inference: one block */
    double logits;      /* tokens x vocabulary x bytes of all copies */
};
void training_forward_working_set(const struct training_plan *plan, const struct llm_batch *batch,
                                  struct training_working_set *set);
void training_update_working_set(const struct training_plan *plan, const struct llm_batch *batch,
                                 struct training_working_set *set);

/* Bytes of one block that stay on a GPU from its forward to its backward. */
double training_kept_bytes(const struct training_plan *plan, const struct llm_batch *batch,
                           const struct llm_layer_kind *kind);

/* Bytes of a checkpoint of the whole model: weights in precision, master weights and moments (with
 * LoRA: of the adapters only; of a frozen model: the weights). */
double training_checkpoint_bytes(const struct training_plan *plan);

#endif
