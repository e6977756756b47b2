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
 *     score matrix, if not fused            heads x s, of the whole square
 *
 * all divided by tp, the norms by sequence parallelism. That is Korthikanti et al. ("Reducing
 * activation recomputation in large transformer models", 2022) without dropout and score matrices.
 * Selective recomputation keeps the outputs of the matrix products, 2h + q + 2v + 2f (f) elements;
 * full keeps the input, h. In the backward the block is whole again, and beside it are gradients in
 * flight: at the widest point the feed-forward's product is gone, its gradient and those of gate
 * and up are there, 2f more (plain: 1f more), with the gradient of the residual stream, h. Column-
 * parallel products want their input on every rank: h once, undivided, when tp > 1.
 *
 * For Llama-3.1-8B with full recomputation the sum is 458,752 bytes a token; ml-engineering
 * @744d01e measured 475,000 (peak memory of 131,072 and 262,144 tokens, 66.5 and 124.5 GiB).
 * Frameworks that run kernels one by one (eager) keep about 1.4 times as much in a block.
 *
 * Logits: bf16 from the product, fp32 copy, and in an update the fp32 gradient: 10 bytes, 6
 * without.
 */

#include "models/training/footprint.h"

#include "sim/contract.h"

#include <math.h>

#define LOGIT_FORWARD_BYTES 6.0
#define LOGIT_UPDATE_BYTES 10.0

/* ---- resident ------------------------------------------------------------------------------ */

#define MOMENT_BYTES 8.0 /* two, in fp32 */

void training_footprint(const struct training_plan *plan, struct training_footprint *footprint) {
    double element = training_element_bytes(plan);
    double trained = training_trained_parameters(plan);
    double updated = trained / training_shards(plan, TRAINING_SHARDED_OPTIMIZER);
    double weights =
        element * training_parameters(plan) / training_shards(plan, TRAINING_SHARDED_WEIGHTS);
    *footprint = (struct training_footprint){
        .weights = weights,
        .gradients = element * trained / training_shards(plan, TRAINING_SHARDED_GRADIENTS),
        .master_weights = training_master_bytes(plan) * updated,
        .optimizer = MOMENT_BYTES * updated,
    };
    if (training_offloads_optimizer(plan)) {
        footprint->host_optimizer = footprint->master_weights + footprint->optimizer;
        footprint->master_weights = footprint->optimizer = 0.0;
    }
    if (training_offloads_parameters(plan)) {
        footprint->host_weights = weights;
        footprint->weights = 0.0;
    }
}

/* ---- whole blocks -------------------------------------------------------------------------- */

typedef double segment_count(const struct training_plan *plan,
                             const struct training_segment *segment);

/* Parameters of the largest layer, and of embedding and head. */
struct part_sizes {
    double embedding, layer, head;
};

static struct part_sizes sizes_of(const struct training_plan *plan, segment_count *count) {
    struct training_segment segments[TRAINING_SEGMENTS];
    int segment_total = training_segments(plan, segments);
    struct part_sizes sizes = {.embedding = count(plan, &segments[0]),
                               .head = count(plan, &segments[segment_total - 1])};
    for (int i = 1; i < segment_total - 1; i++)
        sizes.layer = fmax(sizes.layer, count(plan, &segments[i]));
    return sizes;
}

/* Bytes in full, on one tensor-parallel rank, of a block and its larger neighbour. */
static double pair_inside_bytes(const struct training_plan *plan, segment_count *count) {
    struct part_sizes sizes = sizes_of(plan, count);
    double ends = fmax(sizes.embedding, sizes.head);
    return training_element_bytes(plan) * (sizes.layer + fmax(sizes.layer, ends)) /
           (double)plan->tp;
}

/* The same while the head computes. */
static double pair_head_bytes(const struct training_plan *plan, segment_count *count) {
    struct part_sizes sizes = sizes_of(plan, count);
    return training_element_bytes(plan) * (sizes.layer + sizes.head) / (double)plan->tp;
}

static bool sharded(const struct training_plan *plan, enum training_sharded from) {
    return plan->dp > 1 && plan->zero_stage >= (int)from;
}

/* ---- activations --------------------------------------------------------------------------- */

struct widths {
    double hidden, queries, key_values, ffn; /* elements a token; key_values: the mean of both */
    double head_normed;                      /* inputs of the norms of queries and keys */
    double products, ffn_kept;               /* ffn-wide: before the activation; kept in all */
    double norms_behind;                     /* inputs of norms behind attention and feed-forward */
    double latents, latent_norms;            /* outputs of the products down, and of their norms */
    double sent;                             /* tokens sent to experts: hidden each */
    double scores;                           /* probabilities, where attention is not fused */
};

/* Of the whole square of scores (see block_attention.c), its probabilities; eager software keeps
 * them in fp32 besides. */
static double score_elements(const struct training_plan *plan, const struct llm_batch *batch) {
    if (plan->attention != TRAINING_ATTENTION_UNFUSED || batch->tokens == 0.0)
        return 0.0;
    double pairs = batch->score_pairs / batch->tokens;
    double copies =
        plan->fusion == TRAINING_FUSION_EAGER ? 1.0 + 4.0 / training_element_bytes(plan) : 1.0;
    return copies * (double)plan->architecture->heads * fmax(2.0 * pairs - 1.0, pairs);
}

static struct widths widths_of(const struct training_plan *plan, const struct llm_batch *batch,
                               const struct llm_layer_kind *kind) {
    const struct llm_architecture *a = plan->architecture;
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
        .scores = score_elements(plan, batch),
    };
}

/* A block without recomputation. */
static double block_elements(const struct widths *w) {
    return 4.0 * w->hidden + 2.0 * w->queries + 2.0 * w->key_values + w->head_normed +
           w->ffn_kept * w->ffn + w->norms_behind + w->latents + w->latent_norms + 2.0 * w->sent +
           w->scores;
}

static double kept_elements(const struct training_plan *plan, const struct widths *w) {
    switch (plan->recompute) {
    case TRAINING_RECOMPUTE_NONE:
        return block_elements(w);
    case TRAINING_RECOMPUTE_SELECTIVE:
        return 2.0 * w->hidden + w->queries + 2.0 * w->key_values + w->products * w->ffn +
               w->latents + w->sent;
    case TRAINING_RECOMPUTE_ATTENTION:
        return block_elements(w) - w->scores;
    case TRAINING_RECOMPUTE_OPERATORS: /* key, attention's output product and up are made again */
        return 2.0 * w->hidden + 2.0 * w->queries + w->key_values + w->ffn + w->latents + w->sent +
               w->scores;
    case TRAINING_RECOMPUTE_FULL:
        return w->hidden;
    }
    CONTRACT(false, "unknown recomputation");
    return 0.0;
}

/* ---- over the layers ------------------------------------------------------------------------- */

/* What a kind of layer makes that matters at a peak, elements a token. */
struct layer_peaks {
    double kept;    /* of all layers, until the backward */
    double again;   /* the most that a block makes again and has in flight beside it */
    double forward; /* the widest point of a forward without gradients */
};

static struct layer_peaks peaks_of(const struct training_plan *plan,
                                   const struct llm_batch *batch) {
    struct llm_layer_kind kinds[LLM_LAYER_KINDS];
    struct layer_peaks peaks = {0};
    int count = llm_layer_kinds(plan->architecture, kinds);
    for (int i = 0; i < count; i++) {
        struct widths w = widths_of(plan, batch, &kinds[i]);
        double kept = kept_elements(plan, &w);
        double again = block_elements(&w) - kept,
               in_flight = w.hidden + fmax(w.products * w.ffn, w.scores);
        double attention = 2.0 * w.queries + 2.0 * w.key_values + 2.0 * w.scores;
        double widest = fmax(attention, w.ffn_kept * w.ffn + 2.0 * w.sent);
        peaks.kept += kept * (double)kinds[i].count;
        peaks.again = fmax(peaks.again, again + in_flight);
        peaks.forward = fmax(peaks.forward, widest);
    }
    return peaks;
}

/* The input of a column-parallel product, gathered from all ranks. */
static double gathered_input(const struct training_plan *plan) {
    return plan->tp > 1 ? (double)plan->architecture->hidden : 0.0;
}

static double activation_bytes(const struct training_plan *plan, const struct llm_batch *batch,
                               double divided, double undivided) {
    double elements = divided / (double)plan->tp + undivided;
    return elements * batch->tokens / (double)plan->cp * training_element_bytes(plan);
}

double training_kept_bytes(const struct training_plan *plan, const struct llm_batch *batch,
                           const struct llm_layer_kind *kind) {
    struct widths w = widths_of(plan, batch, kind);
    return activation_bytes(plan, batch, kept_elements(plan, &w), 0.0);
}

static double logit_bytes(const struct training_plan *plan, const struct llm_batch *batch,
                          double bytes) {
    double columns =
        plan->head == LLM_HEAD_SCALAR ? 1.0 : (double)plan->architecture->vocab / (double)plan->tp;
    return bytes * columns * batch->logit_tokens / (double)plan->cp;
}

/* ---- instants ------------------------------------------------------------------------------ */

static double sum(const struct training_working_set *set) {
    return set->gathered + set->activations + set->logits;
}

static struct training_working_set larger(struct training_working_set a,
                                          struct training_working_set b) {
    return sum(&a) >= sum(&b) ? a : b;
}

/* Inside a block without gradients: the residual stream, the norm's output, and what attention or
 * feed-forward makes of it. At the head: the final norm's input and output. */
void training_forward_working_set(const struct training_plan *plan, const struct llm_batch *batch,
                                  struct training_working_set *set) {
    double hidden = (double)plan->architecture->hidden, whole_input = gathered_input(plan);
    double widest = peaks_of(plan, batch).forward;
    struct training_working_set inside = {
        .activations = activation_bytes(plan, batch, 2.0 * hidden + widest, whole_input)};
    struct training_working_set at_head = {
        .activations = activation_bytes(plan, batch, 2.0 * hidden, whole_input),
        .logits = logit_bytes(plan, batch, LOGIT_FORWARD_BYTES)};
    if (sharded(plan, TRAINING_SHARDED_WEIGHTS)) {
        inside.gathered = pair_inside_bytes(plan, training_segment_parameters);
        at_head.gathered = pair_head_bytes(plan, training_segment_parameters);
    }
    *set = larger(inside, at_head);
}

void training_update_working_set(const struct training_plan *plan, const struct llm_batch *batch,
                                 struct training_working_set *set) {
    CONTRACT(plan->trained, "a frozen model is not updated");
    struct layer_peaks peaks = peaks_of(plan, batch);
    double hidden = (double)plan->architecture->hidden, whole_input = gathered_input(plan);
    struct training_working_set inside = {
        .activations = activation_bytes(plan, batch, peaks.kept + peaks.again, whole_input)};
    struct training_working_set at_head = {
        .activations = activation_bytes(plan, batch, peaks.kept + 2.0 * hidden, whole_input),
        .logits = logit_bytes(plan, batch, LOGIT_UPDATE_BYTES)};
    if (sharded(plan, TRAINING_SHARDED_WEIGHTS)) {
        inside.gathered += pair_inside_bytes(plan, training_segment_parameters);
        at_head.gathered += pair_head_bytes(plan, training_segment_parameters);
    }
    if (sharded(plan, TRAINING_SHARDED_GRADIENTS)) {
        inside.gathered += pair_inside_bytes(plan, training_segment_trained_parameters);
        at_head.gathered += training_element_bytes(plan) *
                            sizes_of(plan, training_segment_trained_parameters).head /
                            (double)plan->tp;
    }
    *set = larger(inside, at_head);
}

/* ---- on disk ------------------------------------------------------------------------------- */

double training_checkpoint_bytes(const struct training_plan *plan) {
    double element = training_element_bytes(plan);
    if (!plan->trained)
        return element * training_parameters(plan);
    return (element + training_master_bytes(plan) + MOMENT_BYTES) *
           training_trained_parameters(plan);
}
