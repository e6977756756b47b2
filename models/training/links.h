/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_TRAINING_LINKS_H
#define MODELS_TRAINING_LINKS_H

/*
 * Who talks with whom in a plan, and for how long when nothing is in the way. GPUs are numbered as
 * training.h says, so that the members of a group are this far apart:
 *
 *     tensor      tp ranks, neighbours
 *     context     cp, tp apart
 *     data        dp x cp, tp apart (HSDP: shard_ranks of these share a copy, the groups of equal
 *                 shards are tp x shard_ranks apart)
 *     experts     ep, expert_tp apart; their copies ep x expert_tp apart
 *     pipeline    a stage to the next, tp x cp x dp apart
 *
 * `batch` is the micro-batch of a data-parallel rank, whole. Seconds of the slowest member.
 */

#include "models/network/collective.h"
#include "models/training/training.h"

/* ---- activations ----------------------------------------------------------------------------- */

/* One all-gather or reduce-scatter of the activations between tensor-parallel ranks (sequence
 * parallelism), or one all-reduce (without). */
double training_tensor_s(const struct training_plan *plan, const struct llm_batch *batch);
double training_tensor_bytes(const struct training_plan *plan, const struct llm_batch *batch);

/* Context parallelism in one layer and direction: keys and values once round the ring (backward:
 * with their gradients, twice the bytes), or the two all-to-alls of Ulysses, queries, keys and
 * values out and outputs back. */
double training_context_s(const struct training_plan *plan, const struct llm_batch *batch,
                          bool backward);
double training_context_bytes(const struct training_plan *plan, const struct llm_batch *batch,
                              bool backward);

/* Experts: tokens out and back in one layer and direction. A token that goes to several experts of
 * one rank is sent there once. */
double training_expert_s(const struct training_plan *plan, const struct llm_batch *batch);
double training_expert_bytes(const struct training_plan *plan, const struct llm_batch *batch);

/* Tokens that tensor-parallel ranks gather before the products of their experts, in those of the
 * micro-batch: where experts are on other ranks as well, each token once for every rank it went to.
 */
double training_expert_copies(const struct training_plan *plan);

/* From a stage to the next (from the last to the first, interleaved): each rank its part of the
 * activations. */
double training_send_s(const struct training_plan *plan, const struct llm_batch *batch, int stage);
double training_send_bytes(const struct training_plan *plan, const struct llm_batch *batch);

/* Bytes of it that cross zones, a GPU of the plan in the mean. */
double training_send_zone_bytes(const struct training_plan *plan, const struct llm_batch *batch,
                                int stage);

/* ---- weights and gradients ------------------------------------------------------------------- */

/* Of one block of a segment: gathering its weights over those that share a copy; reducing its
 * gradients over all that have one (scattered where the plan shards them or the optimizer, and then
 * added up over the copies). 0 where there is nobody to share with. */
double training_gather_s(const struct training_plan *plan, const struct training_segment *segment);
double training_reduce_s(const struct training_plan *plan, const struct training_segment *segment);
/* Bytes that each GPU sends for these. */
double training_gather_bytes(const struct training_plan *plan,
                             const struct training_segment *segment);
double training_reduce_bytes(const struct training_plan *plan,
                             const struct training_segment *segment);

/* Do new weights have to be gathered after an optimizer step (ZeRO-1 and 2)? All those of a stage,
 * or of one block of a segment when blocks are gathered one by one behind the next forward. */
bool training_renews(const struct training_plan *plan);
double training_renew_s(const struct training_plan *plan, int stage);
double training_renew_bytes(const struct training_plan *plan, int stage);
double training_renew_block_s(const struct training_plan *plan,
                              const struct training_segment *segment);

/* Bytes of these that cross zones, a GPU in the mean; 0 in one zone. Activations of tensor,
 * context and expert parallel groups stay within a zone (scenario_check_zones). */
double training_gather_zone_bytes(const struct training_plan *plan,
                                  const struct training_segment *segment);
double training_reduce_zone_bytes(const struct training_plan *plan,
                                  const struct training_segment *segment);
double training_renew_zone_bytes(const struct training_plan *plan, int stage);

#endif
