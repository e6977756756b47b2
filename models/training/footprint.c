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

typedef double part_count(const struct training_plan *plan, enum training_part part);

/* Bytes in full, on one tensor-parallel rank, of a block and its larger neighbour. */
static double pair_inside_bytes(const struct training_plan *plan, part_count *count) {
    double layer = count(plan, TRAINING_LAYER);
    double ends = fmax(count(plan, TRAINING_EMBEDDING), count(plan, TRAINING_HEAD));
    return training_element_bytes(plan) * (layer + fmax(layer, ends)) / (double)plan->tp;
}

/* The same while the head computes. */
static double pair_head_bytes(const struct training_plan *plan, part_count *count) {
    return training_element_bytes(plan) *
           (count(plan, TRAINING_LAYER) + count(plan, TRAINING_HEAD)) / (double)plan->tp;
}

static bool sharded(const struct training_plan *plan, enum training_sharded from) {
    return plan->dp > 1 && plan->zero_stage >= (int)from;
}

/* ---- activations --------------------------------------------------------------------------- */

struct widths {
    double hidden, queries, key_values, ffn; /* elements a token */
    double head_normed;                      /* inputs of the norms of queries and keys */
    double products, ffn_kept;               /* ffn-wide: before the activation; kept in all */
};

static struct widths widths_of(const struct llm_architecture *architecture) {
    double queries = (double)(architecture->heads * architecture->head_dim);
    double key_values = (double)(architecture->kv_heads * architecture->head_dim);
    return (struct widths){
        .hidden = (double)architecture->hidden,
        .queries = queries,
        .key_values = key_values,
        .head_normed = architecture->qk_norm ? queries + key_values : 0.0,
        .ffn = (double)architecture->ffn,
        .products = architecture->gated_ffn ? 2.0 : 1.0,
        .ffn_kept = architecture->gated_ffn ? 3.0 : 2.0,
    };
}

/* A block without recomputation. */
static double block_elements(const struct widths *w) {
    return 4.0 * w->hidden + 2.0 * w->queries + 2.0 * w->key_values + w->head_normed +
           w->ffn_kept * w->ffn;
}

static double kept_elements(const struct training_plan *plan, const struct widths *w) {
    switch (plan->recompute) {
    case TRAINING_RECOMPUTE_NONE:
        return block_elements(w);
    case TRAINING_RECOMPUTE_SELECTIVE:
        return 2.0 * w->hidden + w->queries + 2.0 * w->key_values + w->products * w->ffn;
    case TRAINING_RECOMPUTE_FULL:
        return w->hidden;
    }
    CONTRACT(false, "unknown recomputation");
    return 0.0;
}

/* The input of a column-parallel product, gathered from all ranks. */
static double gathered_input(const struct training_plan *plan, const struct widths *w) {
    return plan->tp > 1 ? w->hidden : 0.0;
}

static double activation_bytes(const struct training_plan *plan, const struct llm_batch *batch,
                               double divided, double undivided) {
    double elements = divided / (double)plan->tp + undivided;
    return elements * batch->tokens * training_element_bytes(plan);
}

static double logit_bytes(const struct training_plan *plan, const struct llm_batch *batch,
                          double bytes) {
    double columns =
        plan->head == LLM_HEAD_SCALAR ? 1.0 : (double)plan->architecture->vocab / (double)plan->tp;
    return bytes * columns * batch->logit_tokens;
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
    struct widths w = widths_of(plan->architecture);
    double attention = 2.0 * w.queries + 2.0 * w.key_values;
    double widest = fmax(attention, w.ffn_kept * w.ffn);
    double whole_input = gathered_input(plan, &w);
    struct training_working_set inside = {
        .activations = activation_bytes(plan, batch, 2.0 * w.hidden + widest, whole_input)};
    struct training_working_set at_head = {
        .activations = activation_bytes(plan, batch, 2.0 * w.hidden, whole_input),
        .logits = logit_bytes(plan, batch, LOGIT_FORWARD_BYTES)};
    if (sharded(plan, TRAINING_SHARDED_WEIGHTS)) {
        inside.gathered = pair_inside_bytes(plan, training_part_parameters);
        at_head.gathered = pair_head_bytes(plan, training_part_parameters);
    }
    *set = larger(inside, at_head);
}

void training_update_working_set(const struct training_plan *plan, const struct llm_batch *batch,
                                 struct training_working_set *set) {
    CONTRACT(plan->trained, "a frozen model is not updated");
    struct widths w = widths_of(plan->architecture);
    double kept = kept_elements(plan, &w), all_kept = kept * (double)plan->architecture->layers;
    double again = block_elements(&w) - kept;
    double in_flight = w.hidden + w.products * w.ffn;
    double whole_input = gathered_input(plan, &w);
    struct training_working_set inside = {
        .activations = activation_bytes(plan, batch, all_kept + again + in_flight, whole_input)};
    struct training_working_set at_head = {
        .activations = activation_bytes(plan, batch, all_kept + 2.0 * w.hidden, whole_input),
        .logits = logit_bytes(plan, batch, LOGIT_UPDATE_BYTES)};
    if (sharded(plan, TRAINING_SHARDED_WEIGHTS)) {
        inside.gathered += pair_inside_bytes(plan, training_part_parameters);
        at_head.gathered += pair_head_bytes(plan, training_part_parameters);
    }
    if (sharded(plan, TRAINING_SHARDED_GRADIENTS)) {
        inside.gathered += pair_inside_bytes(plan, training_part_trained_parameters);
        at_head.gathered += training_element_bytes(plan) *
                            training_part_trained_parameters(plan, TRAINING_HEAD) /
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
