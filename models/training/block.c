/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * A layer is its linear layers (block_products.c), attention (block_attention.c) and element-wise
 * work (block_elementwise.c), one after the other on the compute stream; embedding and head are in
 * block_ends.c. What the backward makes again first:
 *
 *     none        nothing
 *     attention   the attention kernel
 *     selective   attention and element-wise work; outputs of products are kept
 *     operators   element-wise work and every second linear layer of the model in its own order
 *                 (query, key, value, output, gate, up, down: key, output and up)
 *     full        the whole forward of the layer
 *
 * Embedding and head are not made again. A pass takes at least as long as the host needs to start
 * the kernels of a layer, and where there are experts the host's wait for the router in addition
 * (training.h).
 */

#include "models/training/block.h"

#include "models/training/block_attention.h"
#include "models/training/block_elementwise.h"
#include "models/training/block_ends.h"
#include "models/training/block_products.h"
#include "sim/contract.h"

#include <math.h>

/* Of the way to experts and back a backward makes two: for inputs and for weights. */
#define BACKWARD_PASSES 2.0

static double recompute_s(const struct training_plan *plan, const struct training_linears *linears,
                          double attention_s, double elementwise_s) {
    switch (plan->recompute) {
    case TRAINING_RECOMPUTE_NONE:
        return 0.0;
    case TRAINING_RECOMPUTE_ATTENTION:
        return attention_s;
    case TRAINING_RECOMPUTE_SELECTIVE:
        return attention_s + elementwise_s;
    case TRAINING_RECOMPUTE_OPERATORS:
        return elementwise_s + linears->alternate_s;
    case TRAINING_RECOMPUTE_FULL:
        return linears->forward_s + attention_s + elementwise_s;
    }
    CONTRACT(false, "unknown recomputation");
    return 0.0;
}

/* Passes through a layer, in each of which the host starts the kernels and, where there are
 * experts, waits for the router. */
static double hosted_s(const struct training_plan *plan, const struct llm_layer_kind *kind,
                       double passes, double seconds) {
    const struct training_software *software = &plan->software;
    return fmax(seconds, software->layer_host_s) +
           (kind->moe ? passes * software->expert_layer_s : 0.0);
}

/* The pairs that attention of the layer computes: score matrices in memory have all of them, of
 * which a window only masks some. */
static struct llm_batch seen_by(const struct training_plan *plan, const struct llm_layer_kind *kind,
                                const struct llm_batch *batch) {
    struct llm_batch seen = *batch;
    if (kind->windowed && plan->attention != TRAINING_ATTENTION_UNFUSED)
        seen.score_pairs = batch->window_pairs;
    return seen;
}

static void layer(const struct training_plan *plan, const struct llm_batch *batch, double tokens,
                  const struct llm_layer_kind *kind, struct training_block *block) {
    struct llm_batch seen = seen_by(plan, kind, batch);
    struct training_linears linears = training_linears_compute(plan, tokens, kind, block);
    double elementwise_s =
        training_traffic_s(plan, training_layer_traffic(plan, tokens, kind, false));
    block->attention_forward_s = training_attention_forward_s(plan, &seen);
    block->forward_s =
        hosted_s(plan, kind, 1.0, linears.forward_s + block->attention_forward_s + elementwise_s);
    if (!plan->trained)
        return;
    block->attention_backward_s = training_attention_backward_s(plan, &seen);
    block->backward_s =
        hosted_s(plan, kind, BACKWARD_PASSES,
                 linears.backward_s + block->attention_backward_s +
                     training_traffic_s(plan, training_layer_traffic(plan, tokens, kind, true)));
    block->recompute_s = recompute_s(plan, &linears, block->attention_forward_s, elementwise_s);
    if (plan->recompute == TRAINING_RECOMPUTE_FULL)
        block->recompute_s = hosted_s(plan, kind, 1.0, block->recompute_s);
}

/* What one of the context-parallel ranks holds. */
static struct llm_batch local_batch(const struct training_plan *plan,
                                    const struct llm_batch *batch) {
    double cp = (double)plan->cp;
    return (struct llm_batch){.sequences = batch->sequences,
                              .tokens = batch->tokens / cp,
                              .score_pairs = batch->score_pairs / cp,
                              .logit_tokens = batch->logit_tokens / cp,
                              .window_pairs = batch->window_pairs / cp};
}

void training_block_compute(const struct training_plan *plan, const struct llm_batch *batch,
                            const struct training_segment *segment, struct training_block *block) {
    CONTRACT(plan->software.matmul_share > 0.0 && plan->software.attention_share > 0.0,
             "software reaches some share of the rate");
    struct llm_batch local = local_batch(plan, batch);
    *block = (struct training_block){0};
    if (segment->part == TRAINING_EMBEDDING)
        training_embedding_compute(plan, &local, block);
    else if (segment->part == TRAINING_LAYER)
        layer(plan, batch, local.tokens, &segment->kind, block);
    else
        training_head_compute(plan, &local, block);
}
