/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * A pass is stages in a row: embedding, layers, head; backward in reverse. Each block has its
 * seconds on the compute stream (kernels, and the collectives that these wait for) and its
 * collectives over the data-parallel ranks, which overlap by the laws of overlap.c.
 *
 * Data-parallel traffic of a GPU, in units of its bytes of weights P (dp large), M micro-batches to
 * an optimizer step: ZeRO-0 all-reduces gradients once, 2P; ZeRO-1 reduce-scatters them once and
 * gathers new weights, 2P; ZeRO-2 reduce-scatters in every micro-batch, (M+1)P; ZeRO-3 gathers
 * weights twice and reduce-scatters once in every micro-batch, 3MP (Rajbhandari et al., "ZeRO",
 * 2020, section 7, for M = 1), reducing once (2M+1)P; kept between forward and backward, 2MP and
 * (M+1)P; a pipeline that keeps them gathers once, (M+1)P and 2P. ZeRO-3 treats embedding and head
 * as blocks like any other: gathered in both directions, though a framework may keep the head
 * between them.
 *
 * Offloaded activations leave on PCIe while the pass goes on, and come back in the backward: a pass
 * takes at least as long as its bytes.
 */

#include "models/training/pass.h"

#include "models/training/flops.h"
#include "models/training/footprint.h"
#include "models/training/links.h"
#include "models/training/overlap.h"
#include "sim/contract.h"

#include <math.h>

/* ---- what a block waits for ------------------------------------------------------------------ */

/* What a product P and a collective T take beyond P. */
static double beside(const struct training_plan *plan, double product_s, double collective_s) {
    double pieces = plan->software.tensor_overlap_chunks;
    CONTRACT(pieces >= 1.0, "a product is at least one piece");
    return fmax(product_s, collective_s) + fmin(product_s, collective_s) / pieces - product_s;
}

/* How often a direction of a block has a tensor-parallel collective beside this product. */
static bool has_collective(const struct training_plan *plan, const struct training_segment *segment,
                           enum training_product product, bool backward) {
    bool ffn = product == TRAINING_PRODUCT_FFN_IN || product == TRAINING_PRODUCT_FFN_OUT;
    bool out = product == TRAINING_PRODUCT_ATTENTION_OUT || product == TRAINING_PRODUCT_FFN_OUT;
    if (ffn && segment->kind.moe && training_expert_tp(plan) < plan->tp &&
        plan->architecture->shared_ffn == 0)
        return false; /* the experts' tokens stay apart */
    return plan->sequence_parallel || out != backward;
}

/* Embedding: its output is reduced; head: its input is gathered, or its gradient all-reduced. */
static bool end_has_collective(const struct training_plan *plan, enum training_part part,
                               bool backward) {
    return plan->sequence_parallel || (part == TRAINING_HEAD) == backward;
}

struct beside {
    double seconds, bytes;
};

/* What goes between tensor-parallel ranks beside a product: the tokens of the micro-batch, or those
 * that experts got. */
static struct llm_batch gathered(const struct training_plan *plan, const struct llm_batch *batch,
                                 const struct training_segment *segment,
                                 enum training_product product) {
    bool ffn = product == TRAINING_PRODUCT_FFN_IN || product == TRAINING_PRODUCT_FFN_OUT;
    struct llm_batch sent = *batch;
    if (ffn && segment->kind.moe)
        sent.tokens *= training_expert_copies(plan);
    return sent;
}

static struct beside tensor_beside(const struct training_plan *plan,
                                   const struct training_segment *segment,
                                   const double products_s[TRAINING_PRODUCTS],
                                   const struct llm_batch *batch, bool backward) {
    struct beside sum = {0.0, 0.0};
    if (segment->part != TRAINING_LAYER) {
        if (end_has_collective(plan, segment->part, backward))
            sum =
                (struct beside){training_tensor_s(plan, batch), training_tensor_bytes(plan, batch)};
        return sum;
    }
    for (int i = 0; i < TRAINING_PRODUCTS; i++) {
        if (!has_collective(plan, segment, (enum training_product)i, backward))
            continue;
        struct llm_batch sent = gathered(plan, batch, segment, (enum training_product)i);
        sum.seconds += beside(plan, products_s[i], training_tensor_s(plan, &sent));
        sum.bytes += training_tensor_bytes(plan, &sent);
    }
    return sum;
}

/* What kernels lose to a collective of `bytes` sent that runs at the same time: processors and
 * memory work on it for as long as the bytes would take inside a node, however slowly a network
 * brings them. */
static double contention_s(const struct training_plan *plan, double bytes, double collective_s,
                           double kernels_s) {
    const struct hardware_cluster *cluster = plan->cluster;
    double rate = cluster->gpu.scaleup_bandwidth_bytes_per_s * cluster->node.scaleup_efficiency;
    return plan->software.contention_share * fmin(fmin(collective_s, bytes / rate), kernels_s);
}

/* What the exchange of keys and values takes beyond attention. */
static double context_beside(const struct training_plan *plan, const struct llm_batch *batch,
                             double attention_s, bool backward) {
    if (plan->cp == 1)
        return 0.0;
    double exchange_s = training_context_s(plan, batch, backward);
    if (plan->context == TRAINING_CONTEXT_ULYSSES)
        return exchange_s;
    double behind_s = attention_s * (double)(plan->cp - 1) / (double)plan->cp;
    return fmax(0.0, exchange_s - behind_s) +
           contention_s(plan, training_context_bytes(plan, batch, backward), exchange_s, behind_s);
}

static void add_waits(const struct training_plan *plan, const struct llm_batch *batch,
                      const struct training_segment *segment, const struct training_block *block,
                      bool backward, struct training_direction *direction) {
    double attention_s = backward ? block->attention_backward_s : block->attention_forward_s;
    const double *products_s = backward ? block->product_backward_s : block->product_forward_s;
    struct beside tensor = tensor_beside(plan, segment, products_s, batch, backward);
    direction->tensor_s += tensor.seconds;
    direction->bytes += tensor.bytes;
    if (segment->part != TRAINING_LAYER)
        return;
    direction->context_s += context_beside(plan, batch, attention_s, backward);
    direction->bytes += training_context_bytes(plan, batch, backward);
    if (!segment->kind.moe)
        return;
    direction->expert_s += training_expert_s(plan, batch);
    direction->bytes += training_expert_bytes(plan, batch);
}

/* What is made again waits again: all of a block, or attention alone. Products that are made again
 * one by one find their inputs gathered. */
static void add_waits_again(const struct training_plan *plan, const struct llm_batch *batch,
                            const struct training_segment *segment,
                            const struct training_block *block,
                            struct training_direction *backward) {
    if (segment->part != TRAINING_LAYER || plan->recompute == TRAINING_RECOMPUTE_NONE ||
        plan->recompute == TRAINING_RECOMPUTE_OPERATORS)
        return;
    if (plan->recompute == TRAINING_RECOMPUTE_FULL) {
        add_waits(plan, batch, segment, block, false, backward);
        return;
    }
    backward->context_s += context_beside(plan, batch, block->attention_forward_s, false);
    backward->bytes += training_context_bytes(plan, batch, false);
}

/* ---- block by block -------------------------------------------------------------------------- */

static double kept_transfer_s(const struct training_plan *plan, const struct llm_batch *batch,
                              const struct training_segment *segment) {
    if (!plan->offload_activations || segment->part != TRAINING_LAYER)
        return 0.0;
    return training_kept_bytes(plan, batch, &segment->kind) /
           hardware_host_link(plan->cluster, plan->cluster->gpus_per_node);
}

static void make_forward(const struct training_frame *frame, int i, const struct llm_batch *batch,
                         const struct training_block *block, struct training_direction *forward) {
    *forward =
        (struct training_direction){.compute_s = block->forward_s,
                                    .gather_s = frame->weights[i].gather_s,
                                    .gather_bytes = frame->weights[i].gather_bytes,
                                    .gather_zone_bytes = frame->weights[i].gather_zone_bytes};
    add_waits(frame->plan, batch, &frame->segments[i], block, false, forward);
}

static void make_backward(const struct training_frame *frame, int i, const struct llm_batch *batch,
                          const struct training_block *block, struct training_direction *backward) {
    const struct training_plan *plan = frame->plan;
    const struct training_weights *weights = &frame->weights[i];
    *backward = (struct training_direction){.compute_s = block->backward_s + block->recompute_s,
                                            .reduce_s = weights->reduce_s,
                                            .reduce_bytes = weights->reduce_bytes,
                                            .reduce_zone_bytes = weights->reduce_zone_bytes};
    add_waits(plan, batch, &frame->segments[i], block, true, backward);
    add_waits_again(plan, batch, &frame->segments[i], block, backward);
    if (!plan->reshard_after_forward)
        return;
    backward->gather_s = weights->gather_s;
    backward->gather_bytes = weights->gather_bytes;
    backward->gather_zone_bytes = weights->gather_zone_bytes;
}

void training_pass_in(const struct training_frame *frame, const struct llm_batch *batch,
                      bool backward, struct training_pass *pass) {
    struct training_plan kernels = *frame->plan;
    kernels.trained = backward;
    *pass = (struct training_pass){.plan = frame->plan, .count = frame->count};
    for (int i = 0; i < pass->count; i++) {
        struct training_block block;
        const struct training_segment *segment = &frame->segments[i];
        pass->segments[i] = *segment;
        training_block_compute(&kernels, batch, segment, &block);
        make_forward(frame, i, batch, &block, &pass->forward[i]);
        if (!backward)
            continue;
        make_backward(frame, i, batch, &block, &pass->backward[i]);
        pass->forward[i].transfer_s = kept_transfer_s(frame->plan, batch, segment);
        pass->backward[i].transfer_s = pass->forward[i].transfer_s;
    }
}

void training_pass_make(const struct training_plan *plan, const struct llm_batch *batch,
                        bool backward, struct training_pass *pass) {
    struct training_frame frame;
    training_frame_make(plan, backward, &frame);
    training_pass_in(&frame, batch, backward, pass);
}

/* ---- chains of blocks ------------------------------------------------------------------------ */

static double busy_s(const struct training_direction *direction) {
    return direction->compute_s + direction->tensor_s + direction->context_s + direction->expert_s;
}

struct chain {
    struct training_stage stages[TRAINING_SEGMENTS];
    int count;
    bool gathers;
    double busy_s, transfer_s;
};

static void chain_add(const struct training_plan *plan, const struct training_direction *direction,
                      int64_t blocks, bool reduce, struct chain *chain,
                      struct training_cost *cost) {
    if (blocks == 0)
        return;
    double n = (double)blocks;
    struct training_stage stage = {.blocks = blocks,
                                   .compute_s = busy_s(direction),
                                   .gather_s = direction->gather_s,
                                   .reduce_s = reduce ? direction->reduce_s : 0.0};
    chain->busy_s += n * stage.compute_s;
    chain->transfer_s += n * direction->transfer_s;
    cost->compute_s += n * direction->compute_s;
    cost->exposed.tensor_s += n * direction->tensor_s;
    cost->exposed.context_s += n * direction->context_s;
    cost->exposed.expert_s += n * direction->expert_s;
    double data = direction->gather_bytes + (reduce ? direction->reduce_bytes : 0.0);
    cost->data_bytes += n * data;
    cost->zone_bytes +=
        n * (direction->gather_zone_bytes + (reduce ? direction->reduce_zone_bytes : 0.0));
    cost->bytes += n * (direction->bytes + data);
    if (!plan->prefetch) { /* gathered when it is needed */
        stage.compute_s += stage.gather_s;
        stage.gather_s = 0.0;
    }
    if (!plan->overlap_reduction) {
        stage.compute_s += stage.reduce_s;
        stage.reduce_s = 0.0;
    }
    stage.compute_s += contention_s(plan, data, stage.gather_s + stage.reduce_s, stage.compute_s);
    chain->gathers = chain->gathers || stage.gather_s > 0.0;
    chain->stages[chain->count++] = stage;
}

/* Rounding of two sums of the same terms is no time. */
static double at_least_0(double seconds) {
    return seconds > 0.0 ? seconds : 0.0;
}

static void chain_end(const struct chain *chain, struct training_cost *cost) {
    if (chain->count == 0)
        return;
    double chain_s = chain->gathers ? training_overlap_gathered_s(chain->stages, chain->count)
                                    : training_overlap_reduced_s(chain->stages, chain->count);
    double total_s = fmax(chain_s, chain->transfer_s);
    cost->exposed.data_s += at_least_0(chain_s - chain->busy_s);
    cost->exposed.offload_s += total_s - chain_s;
    cost->total_s += total_s;
}

void training_pass_forward(const struct training_pass *pass, const int64_t *blocks,
                           struct training_cost *cost) {
    struct chain chain = {.count = 0};
    for (int i = 0; i < pass->count; i++)
        chain_add(pass->plan, &pass->forward[i], blocks[i], false, &chain, cost);
    chain_end(&chain, cost);
}

void training_pass_backward(const struct training_pass *pass, const int64_t *blocks, bool reduce,
                            struct training_cost *cost) {
    struct chain chain = {.count = 0};
    for (int i = pass->count - 1; i >= 0; i--)
        chain_add(pass->plan, &pass->backward[i], blocks[i], reduce, &chain, cost);
    chain_end(&chain, cost);
}

/* ---- pieces ---------------------------------------------------------------------------------- */

static int add_offload(struct chain chain, struct training_piece *pieces, int count) {
    if (chain.transfer_s > chain.busy_s)
        pieces[count++] = (struct training_piece){chain.transfer_s - chain.busy_s, 0.0};
    return count;
}

/* All computation, then all communication. */
static int in_one(struct training_piece *pieces, int count) {
    for (int i = 1; i < count; i++) {
        pieces[0].compute_s += pieces[i].compute_s;
        pieces[0].communication_s += pieces[i].communication_s;
    }
    return count > 0 ? 1 : 0;
}

int training_pass_renewing(const struct training_pass *pass, const int64_t *blocks,
                           struct training_piece pieces[TRAINING_PIECES]) {
    struct chain chain = {.count = 0};
    int count = 0;
    for (int i = 0; i < pass->count; i++) {
        if (blocks[i] == 0)
            continue;
        double renew_s = training_renew_block_s(pass->plan, &pass->segments[i]);
        double seconds = busy_s(&pass->forward[i]), rest = (double)(blocks[i] - 1);
        if (blocks[i] > 1)
            pieces[count++] = (struct training_piece){rest * seconds, renew_s};
        pieces[count++] = (struct training_piece){seconds, fmax(rest, 1.0) * renew_s};
        chain.busy_s += (rest + 1.0) * seconds;
        chain.transfer_s += (rest + 1.0) * pass->forward[i].transfer_s;
    }
    return add_offload(chain, pieces, count);
}

int training_pass_reducing(const struct training_pass *pass, const int64_t *blocks,
                           struct training_piece pieces[TRAINING_PIECES]) {
    struct chain chain = {.count = 0};
    int count = 0;
    for (int i = pass->count - 1; i >= 0; i--) {
        if (blocks[i] == 0)
            continue;
        double seconds = busy_s(&pass->backward[i]), reduce_s = pass->backward[i].reduce_s;
        double rest = (double)(blocks[i] - 1);
        pieces[count++] = (struct training_piece){seconds, fmax(rest, 1.0) * reduce_s};
        if (blocks[i] > 1)
            pieces[count++] = (struct training_piece){rest * seconds, reduce_s};
        chain.busy_s += (rest + 1.0) * seconds;
        chain.transfer_s += (rest + 1.0) * pass->backward[i].transfer_s;
    }
    count = add_offload(chain, pieces, count);
    return pass->plan->overlap_reduction ? count : in_one(pieces, count);
}

/* ---- the whole model on one stage ------------------------------------------------------------ */

double training_jitter(const struct training_plan *plan) {
    double doublings = log2((double)training_gpus(plan) / 8.0);
    return 1.0 + plan->software.jitter_per_doubling * fmax(0.0, doublings);
}

double training_update_factor(const struct training_plan *plan) {
    return training_jitter(plan) * (1.0 + plan->crowded);
}

static void scale(double factor, struct training_cost *cost) {
    cost->total_s *= factor;
    cost->compute_s *= factor;
    cost->exposed_communication_s *= factor;
    cost->exposed.tensor_s *= factor;
    cost->exposed.context_s *= factor;
    cost->exposed.expert_s *= factor;
    cost->exposed.data_s *= factor;
    cost->exposed.offload_s *= factor;
}

void training_cost_scale(const struct training_plan *plan, struct training_cost *cost) {
    scale(training_jitter(plan), cost);
}

static void finish(double host_s, double factor, struct training_cost *cost) {
    cost->compute_s += host_s;
    cost->total_s += host_s;
    cost->exposed_communication_s = at_least_0(cost->total_s - cost->compute_s);
    scale(factor, cost);
}

/* How often each segment is in the whole model. */
static void all_blocks(const struct training_frame *frame, int64_t blocks[TRAINING_SEGMENTS]) {
    for (int i = 0; i < frame->count; i++)
        blocks[i] = frame->segments[i].blocks;
}

void training_frame_forward(const struct training_frame *frame, const struct llm_batch *batch,
                            struct training_cost *cost) {
    const struct training_plan *plan = frame->plan;
    struct training_pass pass;
    int64_t blocks[TRAINING_SEGMENTS];
    CONTRACT(plan->pp == 1, "the whole model is on one stage");
    all_blocks(frame, blocks);
    *cost = (struct training_cost){0};
    training_pass_in(frame, batch, false, &pass);
    training_pass_forward(&pass, blocks, cost);
    cost->flops = cost->hardware_flops = training_forward_flops(plan, batch);
    finish(plan->software.microbatch_host_s, training_jitter(plan), cost);
}

void training_forward(const struct training_plan *plan, const struct llm_batch *batch,
                      struct training_cost *cost) {
    struct training_frame frame;
    training_frame_make(plan, false, &frame);
    training_frame_forward(&frame, batch, cost);
}

void training_frame_update(const struct training_frame *frame, const struct llm_batch *batch,
                           bool reduce, struct training_cost *cost) {
    const struct training_plan *plan = frame->plan;
    struct training_pass pass;
    int64_t blocks[TRAINING_SEGMENTS];
    CONTRACT(plan->trained, "a frozen model has no backward");
    CONTRACT(plan->pp == 1, "the whole model is on one stage");
    all_blocks(frame, blocks);
    *cost = (struct training_cost){0};
    training_pass_in(frame, batch, true, &pass);
    training_pass_forward(&pass, blocks, cost);
    training_pass_backward(&pass, blocks, reduce, cost);
    cost->flops = training_forward_flops(plan, batch) + training_backward_flops(plan, batch);
    cost->hardware_flops = cost->flops + training_recompute_flops(plan, batch);
    finish(2.0 * plan->software.microbatch_host_s, training_update_factor(plan), cost);
}

void training_forward_backward(const struct training_plan *plan, const struct llm_batch *batch,
                               bool reduce, struct training_cost *cost) {
    struct training_frame frame;
    training_frame_make(plan, true, &frame);
    training_frame_update(&frame, batch, reduce, cost);
}

bool training_reduces(const struct training_plan *plan, bool last_microbatch) {
    if (last_microbatch)
        return true;
    switch (plan->reduction) {
    case TRAINING_REDUCE_BY_STAGE:
        return plan->zero_stage >= TRAINING_SHARDED_GRADIENTS;
    case TRAINING_REDUCE_ONCE:
        return false;
    case TRAINING_REDUCE_EVERY_MICROBATCH:
        return true;
    }
    CONTRACT(false, "no such reduction");
    return true;
}
