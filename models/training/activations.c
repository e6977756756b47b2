/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Activations of one block, elements a token that stay until its backward (flash attention, norms
 * and activations that keep their input, as compiled frameworks do; h, q, v, f as in block.c):
 *
 *     both norms: input and output          4h
 *     query, key, value, attention output   2q + 2v
 *     norm of queries and keys, if any      q + v
 *     gate, up and their product            3f        (plain activation: input and output, 2f)
 *
 *     norms behind both, if any             2h
 *     latents and their norms, if any       2 (q_lora + kv_lora) + rope
 *     experts: inputs and outputs, k each   2k h  (f is the width of all that a token goes through)
 *
 * What is h wide is divided by tp only with sequence parallelism, the rest always. That is
 * Korthikanti et al. ("Reducing activation recomputation in large transformer models", 2022)
 * without dropout (2h bytes of masks: mask_bytes of memory.csv). Unfused attention keeps its
 * probabilities, of all s^2 and head: 2 bytes each, with dropout 5 (softmax, mask, output of the
 * dropout: score_bytes); recomputation of attention alone drops them.
 *
 * Selective recomputation otherwise keeps the outputs of the matrix products, 2h + q + 2v + 2f (f)
 * elements; full keeps the input, h. In the backward the block is whole again, and beside it are
 * gradients in flight: at the widest point the feed-forward's product is gone, its gradient and
 * those of gate and up are there, 2f more (plain: 1f more), with the gradient of the residual
 * stream, h. Column-parallel products want their input on every rank: h once, undivided, when
 * tp > 1.
 *
 * Software that runs kernels one by one (fusion eager; Transformers' modules do) keeps more: an RMS
 * norm widens its input to fp32 (4 bytes in place of 2) and keeps the result before the weight (2
 * more), and a gated feed-forward the output of its activation, which the product with up reads (f
 * more):
 *
 *     RMS norms, an element of the input   4 bytes more        (in fp32: the same, no copy but
 *     gated feed-forward                   f elements more      the result of 4)
 *
 * For Llama-3.2-3B (f = 8h/3, q = h, v = h/3) that is 42.7 h bytes a token and layer eager and
 * 29.3 h compiled; torchtune @bd2a0fc7c measured 42 and 29. Norms lie on the stream: without
 * sequence parallelism tensor parallelism divides none of it. What else software keeps is in
 * block_factor of memory.csv, what it copies of tokens on their way to experts and back (weighted
 * in fp32, gradients in both formats) in routed_copies.
 *
 * For Llama-3.1-8B with full recomputation the sum is 458,752 bytes a token; ml-engineering
 * @744d01e measured 475,000 (peak memory of 131,072 and 262,144 tokens, 66.5 and 124.5 GiB).
 */

#include "models/training/activations.h"

#include "sim/contract.h"

#include <math.h>

/* Elements a token of one block, by what tensor parallelism does with them. */
struct elements {
    double streams; /* as wide as the model: divided with sequence parallelism only */
    double inner;   /* inside attention and feed-forward: divided */
};

struct widths {
    double hidden, queries, key_values, ffn; /* elements a token; key_values: the mean of both */
    double head_normed;                      /* inputs of the norms of queries and keys */
    double products, ffn_kept;               /* ffn-wide: before the activation; kept in all */
    double norms_behind;                     /* inputs of norms behind attention and feed-forward */
    double latents, latent_norms;            /* outputs of the products down, and of their norms */
    double sent;                             /* tokens sent to experts: hidden each */
};

static struct widths widths_of(const struct llm_architecture *a,
                               const struct llm_layer_kind *kind) {
    double queries = (double)llm_query_columns(a), keys = (double)llm_key_columns(a);
    double ranks = (double)(a->q_lora_rank + a->kv_lora_rank);
    return (struct widths){
        .hidden = (double)a->hidden,
        .queries = (queries + (double)llm_value_columns(a)) / 2.0,
        .key_values = (keys + (double)llm_expanded_value_columns(a)) / 2.0,
        .head_normed = a->qk_norm ? queries + keys : 0.0,
        .ffn = (double)llm_ffn_columns(a, kind),
        .products = a->gated_ffn ? 2.0 : 1.0,
        .ffn_kept = a->gated_ffn ? 3.0 : 2.0,
        .norms_behind = a->block_norms == LLM_BLOCK_NORMS_FOUR ? 2.0 * (double)a->hidden : 0.0,
        .latents = ranks + (double)a->rope_head_dim,
        .latent_norms = ranks,
        .sent = kind->moe ? (double)(a->experts_per_token * a->hidden) : 0.0,
    };
}

/* Elements that an eager norm keeps more of each of its inputs'. */
static double norm_copies(const struct training_plan *plan) {
    bool copies = plan->memory.eager && plan->architecture->norm != LLM_NORM_LAYER;
    return copies ? 4.0 / training_element_bytes(plan) : 0.0;
}

static double ffn_kept(const struct training_plan *plan, const struct widths *w) {
    bool gated = w->products > 1.0;
    return w->ffn_kept + (gated && plan->memory.eager ? 1.0 : 0.0);
}

/* A block without recomputation; tokens on their way to experts are counted apart. */
static struct elements block_elements(const struct training_plan *plan, const struct widths *w) {
    double copies = norm_copies(plan);
    return (struct elements){
        .streams = (4.0 + 2.0 * copies) * w->hidden + (1.0 + copies) * w->norms_behind,
        .inner = 2.0 * w->queries + 2.0 * w->key_values + (1.0 + copies) * w->head_normed +
                 ffn_kept(plan, w) * w->ffn + w->latents + (1.0 + copies) * w->latent_norms};
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static double tokens_of(const struct training_plan *plan, const struct llm_batch *batch) {
    return batch->tokens / (double)plan->cp;
}

static double stream_ranks(const struct training_plan *plan) {
    return plan->sequence_parallel ? (double)plan->tp : 1.0;
}

static double bytes_of(const struct training_plan *plan, const struct llm_batch *batch,
                       struct elements elements) {
    double own = elements.streams / stream_ranks(plan) + elements.inner / (double)plan->tp;
    return own * tokens_of(plan, batch) * training_element_bytes(plan);
}

static bool keeps_scores(const struct training_plan *plan) {
    return plan->attention == TRAINING_ATTENTION_UNFUSED;
}

/* Of all heads and the whole square, of which causal attention has the pairs. */
static double scores_of(const struct training_plan *plan, const struct llm_batch *batch) {
    double square = fmax(2.0 * batch->score_pairs - batch->tokens, batch->score_pairs);
    return keeps_scores(plan)
               ? (double)plan->architecture->heads / (double)plan->tp * square / (double)plan->cp
               : 0.0;
}

/* Probabilities in training's format; eager software has them in fp32 besides. */
static double score_bytes(const struct training_plan *plan, const struct llm_batch *batch) {
    double eager = plan->memory.eager ? 4.0 : 0.0;
    double bytes = plan->memory.score_bytes > 0.0 ? plan->memory.score_bytes
                                                  : training_element_bytes(plan) + eager;
    return bytes * scores_of(plan, batch);
}

static double mask_bytes(const struct training_plan *plan, const struct llm_batch *batch) {
    double hidden = (double)plan->architecture->hidden / stream_ranks(plan);
    return plan->memory.mask_bytes * hidden * tokens_of(plan, batch);
}

double training_stream_bytes(const struct training_plan *plan, const struct llm_batch *batch) {
    return bytes_of(plan, batch, (struct elements){(double)plan->architecture->hidden, 0.0});
}

double training_gathered_input_bytes(const struct training_plan *plan,
                                     const struct llm_batch *batch) {
    double input = (double)plan->architecture->hidden * tokens_of(plan, batch);
    return plan->tp > 1 ? plan->memory.gathered_inputs * input * training_element_bytes(plan) : 0.0;
}

bool training_packs_weights(const struct training_plan *plan) {
    return plan->base_bytes > 0.0 && plan->base_bytes < training_element_bytes(plan);
}

static double block_factor(const struct training_plan *plan) {
    return plan->memory.block_factor *
           (training_packs_weights(plan) ? plan->memory.packed_factor : 1.0);
}

/* ---- a block --------------------------------------------------------------------------------- */

/* All that a block makes and its backward reads. */
static double whole_bytes(const struct training_plan *plan, const struct llm_batch *batch,
                          const struct widths *w) {
    double block = bytes_of(plan, batch, block_elements(plan, w));
    double sent = bytes_of(plan, batch, (struct elements){2.0 * w->sent, 0.0});
    return block_factor(plan) * block + sent + mask_bytes(plan, batch) + score_bytes(plan, batch);
}

static double kept_bytes(const struct training_plan *plan, const struct llm_batch *batch,
                         const struct widths *w) {
    struct elements products = {.streams = 2.0 * w->hidden + w->sent,
                                .inner = w->queries + 2.0 * w->key_values + w->products * w->ffn +
                                         w->latents};
    struct elements operators = {.streams = 2.0 * w->hidden + w->sent,
                                 .inner = 2.0 * w->queries + w->key_values + w->ffn + w->latents};
    switch (plan->recompute) {
    case TRAINING_RECOMPUTE_NONE:
        return whole_bytes(plan, batch, w);
    case TRAINING_RECOMPUTE_SELECTIVE:
        return keeps_scores(plan) ? whole_bytes(plan, batch, w) - score_bytes(plan, batch)
                                  : bytes_of(plan, batch, products);
    case TRAINING_RECOMPUTE_ATTENTION:
        return whole_bytes(plan, batch, w) - score_bytes(plan, batch);
    case TRAINING_RECOMPUTE_OPERATORS: /* key, attention's output product and up are made again */
        return bytes_of(plan, batch, operators);
    case TRAINING_RECOMPUTE_FULL:
        return training_stream_bytes(plan, batch);
    }
    CONTRACT(false, "unknown recomputation");
    return 0.0;
}

void training_block_activations(const struct training_plan *plan, const struct llm_batch *batch,
                                const struct llm_layer_kind *kind,
                                struct training_block_activations *activations) {
    struct widths w = widths_of(plan->architecture, kind);
    double kept = kept_bytes(plan, batch, &w);
    struct elements stream = {w.hidden, 0.0}, products = {0.0, w.products * w.ffn};
    struct elements routed = {plan->memory.routed_copies * w.sent, 0.0};
    double attention = 2.0 * w.queries + 2.0 * w.key_values;
    struct elements widest = {w.ffn_kept * w.ffn + 2.0 * w.sent > attention ? 2.0 * w.sent : 0.0,
                              fmax(attention, w.ffn_kept * w.ffn)};
    activations->kept = kept;
    double scores = training_element_bytes(plan) * scores_of(plan, batch);
    activations->again = fmax(0.0, whole_bytes(plan, batch, &w) - kept) +
                         block_factor(plan) * (bytes_of(plan, batch, stream) +
                                               fmax(bytes_of(plan, batch, products), scores)) +
                         bytes_of(plan, batch, routed);
    activations->forward = block_factor(plan) * bytes_of(plan, batch, widest) +
                           bytes_of(plan, batch, routed) + 2.0 * scores;
}

double training_kept_bytes(const struct training_plan *plan, const struct llm_batch *batch,
                           const struct llm_layer_kind *kind) {
    struct widths w = widths_of(plan->architecture, kind);
    return kept_bytes(plan, batch, &w);
}
