/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_TRAINING_PASS_H
#define MODELS_TRAINING_PASS_H

/*
 * Seconds of one micro-batch through a model, or a chunk of it, on one data-parallel rank.
 *
 * A pass is the embedding, the layers and the head on the compute stream. Layers of one kind are
 * equal and follow one another; where kinds alternate in the model, the order is simplified to one
 * kind after the other. ZeRO-3 gathers the weights of the next block on the communication stream
 * while a block computes (prefetch of one). For the blocks alone this is
 *
 *     t = gather + (L-1) x max(block, gather) + block            [+ reduce-scatters, backward]
 *
 * see training/overlap.h; tests/oracle/two_streams.c has the task graph it is held against.
 * Backward costs twice the matrix products (LoRA: once, plus the adapters), recomputation makes a
 * block again before its backward.
 *
 * On the compute stream a block waits for
 *
 *     tensor    two reductions and two gathers of its tokens a direction (without sequence
 *               parallelism two all-reduces), one at embedding and head; a product P and the
 *               collective T beside it, pipelined in k pieces, take max(P, T) + min(P, T) / k
 *     context   ring: while attention works on one of cp parts of keys and values, the next comes:
 *               A / cp + max((cp-1) A / cp, ring), A the time of attention; Ulysses: all-to-alls
 *     experts   all-to-alls before and after
 *
 * Left out: experts that are chosen unevenly; contention between collectives of different groups on
 * one link; all-to-alls behind computation.
 */

#include "models/training/block.h"
#include "models/training/frame.h"

/* Seconds that the compute stream waits, by what for. */
struct training_exposed {
    double tensor_s, context_s, expert_s;
    double data_s;    /* gathers and reductions of ZeRO */
    double offload_s; /* activations on PCIe */
};

struct training_cost {
    double total_s;
    double compute_s;               /* on the compute stream, host time included */
    double exposed_communication_s; /* total - compute, at least 0 */
    struct training_exposed exposed;
    double flops;          /* model FLOPs of all GPUs that the model is divided over */
    double hardware_flops; /* with recomputation */
    double bytes;          /* sent through the network by each GPU */
    double data_bytes;     /* of these, weights and gradients */
    double zone_bytes;     /* of all, from zone to zone */
};

/* ---- the whole model on one stage (pp = 1) --------------------------------------------------- */

/* A forward pass without gradients (log-probs, values, rewards): forward compute, ZeRO-3 gathers.
 */
void training_forward(const struct training_plan *plan, const struct llm_batch *batch,
                      struct training_cost *cost);

/* Forward and backward of one micro-batch of a trained model. `reduce` says that gradients are
 * reduced with it (overlapped with its backward, block by block). Model FLOPs: see flops.h. */
void training_forward_backward(const struct training_plan *plan, const struct llm_batch *batch,
                               bool reduce, struct training_cost *cost);

/* The same two in a frame of the plan (with a backward, for the second), which many passes share.
 */
void training_frame_forward(const struct training_frame *frame, const struct llm_batch *batch,
                            struct training_cost *cost);
void training_frame_update(const struct training_frame *frame, const struct llm_batch *batch,
                           bool reduce, struct training_cost *cost);

/* Whether a micro-batch must reduce: the last one of an optimizer step, and from ZeRO-2 on all of
 * them, unless the plan says otherwise. */
bool training_reduces(const struct training_plan *plan, bool last_microbatch);

/* A step is longer by the software's share for every doubling of the GPUs beyond 8: multiplies all
 * seconds of a cost. And that factor, at least 1; the passes of an update have the plan's crowded
 * memory in it as well. */
double training_jitter(const struct training_plan *plan);
double training_update_factor(const struct training_plan *plan);
void training_cost_scale(const struct training_plan *plan, struct training_cost *cost);

/* ---- block by block -------------------------------------------------------------------------- */

/* One direction of one block on the compute stream: kernels and what they wait for. */
struct training_direction {
    double compute_s;
    double tensor_s, context_s, expert_s;
    double transfer_s; /* of its kept activations on PCIe */
    double gather_s;   /* of its weights before it (ZeRO-3), 0 where there is none */
    double reduce_s;   /* of its gradients after it */
    double bytes;      /* sent for tensor, context and expert parallelism */
    double gather_bytes, reduce_bytes;
    double gather_zone_bytes, reduce_zone_bytes; /* of these, from zone to zone */
};

struct training_pass {
    const struct training_plan *plan;
    int count; /* segments of the model */
    struct training_segment segments[TRAINING_SEGMENTS];
    struct training_direction forward[TRAINING_SEGMENTS], backward[TRAINING_SEGMENTS];
};

/* Of a micro-batch; `backward` false for an inference pass. `plan` must outlive the pass. */
void training_pass_make(const struct training_plan *plan, const struct llm_batch *batch,
                        bool backward, struct training_pass *pass);
void training_pass_in(const struct training_frame *frame, const struct llm_batch *batch,
                      bool backward, struct training_pass *pass);

/* Adds one direction of `blocks` of each segment (see chunk.h), in order and without host time:
 * seconds with their parts, and bytes. */
void training_pass_forward(const struct training_pass *pass, const int64_t *blocks,
                           struct training_cost *cost);
void training_pass_backward(const struct training_pass *pass, const int64_t *blocks, bool reduce,
                            struct training_cost *cost);

/* A stretch of a pass: communication and then computation (the first forward, when it waits for
 * new weights), or computation and then communication (the last backward, whose gradients are
 * reduced). Within a run of equal blocks only the first and the last matter, so that a run is two
 * pieces: c, then (n-1) r; (n-1) c, then r (overlap.c has why that is exact). */
struct training_piece {
    double compute_s, communication_s;
};

#define TRAINING_PIECES (2 * TRAINING_SEGMENTS + 1)

/* Both return how many pieces there are. For plans whose weights are resident (ZeRO-0 to 2). */
int training_pass_renewing(const struct training_pass *pass, const int64_t *blocks,
                           struct training_piece pieces[TRAINING_PIECES]);
int training_pass_reducing(const struct training_pass *pass, const int64_t *blocks,
                           struct training_piece pieces[TRAINING_PIECES]);

#endif
