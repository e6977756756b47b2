/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Flash attention on one rank: heads / tp (at least one key-value head), the causal pairs as they
 * are given, forward by the law that was fitted to the GPU's own kernel, backward 2.5 times the
 * FLOPs at the backward kernel's rate.
 *
 * Another generation of kernels than the one measured takes 1 / share of the time, shares of the
 * measured forward rate for forward and backward (scenarios/catalog/attention.csv). Three times lie
 * between FlashAttention-2 and -3 or -4 on GPUs later than A100, so that the kernel is an input.
 *
 * Context parallelism over cp ranks:
 *     ring     each rank keeps t / cp queries and sees the keys and values of all, one rank's at a
 *              time: cp kernels of pairs / cp^2 (sequences are cut in 2 cp pieces and dealt so that
 *              causal work is even), after all but the first of which the output so far is
 *              corrected (two read, one written)
 *     Ulysses  all tokens, heads / (tp cp), at least one key-value head
 *
 * Unfused attention works on the full square of s^2 scores (the mask is applied afterwards). For
 * every head, forward, one product writes scores and one reads them; backward, one writes and three
 * read (batched [s x head_dim][head_dim x s] and [s x s][s x head_dim], by the law of products,
 * with their own traffic). Between them element-wise kernels move, elements of e bytes (fp32 where
 * f stands) a score:
 *
 *               forward                               backward
 *     fused     softmax with scale and mask: 2e       softmax: 3e
 *     eager     scale 2e, mask 2e, cast e + f,        cast e + f, softmax 3f, cast f + e,
 *               softmax 2f, cast f + e                scale 2e
 *
 * With the products' own accesses a fused softmax moves 22 bytes a score in 2-byte elements; 19 a
 * score fitted Megatron's steps of 2022 on A100. With s_i tokens in sequence i, sum s_i^2 = 2 pairs
 * - tokens, for s_i (s_i + 1) / 2 causal pairs each. On H100 (8192 tokens, head_dim 128) the
 * forward comes out at 187 TFLOP/s where PyTorch's reached 139 (FlashAttention-3's paper) and 145
 * (Azure).
 *
 * Left out: dropout, attention in fp8. A layer with a window has the pairs within it.
 */

#include "models/training/block_attention.h"

#include "models/hardware/kernel.h"
#include "models/training/block_products.h"
#include "sim/contract.h"

#include <math.h>

#define WIDE_BYTES 4.0

/* ---- one rank's part ------------------------------------------------------------------------- */

static double heads_on_rank(double heads, double ranks) {
    return training_divided(heads, heads, ranks);
}

/* Tokens and heads of one kernel, of which there are `kernels` in a row. */
struct part {
    struct hardware_attention work;
    double kernels;
};

static struct part part_of(const struct training_plan *plan, const struct llm_batch *batch) {
    const struct llm_architecture *a = plan->architecture;
    double cp = (double)plan->cp, heads = (double)a->heads;
    bool ring = plan->context == TRAINING_CONTEXT_RING;
    double kv_heads = llm_is_latent(a) ? heads : (double)a->kv_heads;
    double ranks = (double)plan->tp * (ring ? 1.0 : cp), pieces = ring ? cp : 1.0;
    double element = training_element_bytes(plan);
    double kv_columns = (double)(llm_key_columns(a) + llm_expanded_value_columns(a));
    double local_kv_heads = heads_on_rank(kv_heads, ranks);
    return (struct part){
        .work = {.score_pairs = batch->score_pairs / (pieces * pieces),
                 .tokens = batch->tokens / pieces,
                 .sequences = batch->sequences,
                 .context_tokens = batch->tokens / pieces,
                 .heads = heads_on_rank(heads, ranks),
                 .kv_heads = local_kv_heads,
                 .score_dim = (double)llm_query_columns(a) / heads,
                 .value_dim = (double)llm_value_columns(a) / heads,
                 .element_bytes = element,
                 .kv_token_bytes = kv_columns / kv_heads * local_kv_heads * element},
        .kernels = pieces};
}

/* The output so far and the new part of it are read, their sum is written. */
static double correction_s(const struct training_plan *plan, const struct part *part) {
    const struct hardware_attention *w = &part->work;
    double bytes = 3.0 * w->tokens * w->heads * w->value_dim * w->element_bytes;
    double times = part->kernels - 1.0;
    return hardware_memory_s(&plan->cluster->gpu, times * bytes, times);
}

/* ---- fused kernels --------------------------------------------------------------------------- */

static double measured_efficiency(const struct hardware_gpu *gpu) {
    double law = gpu->kernels.prefill.efficiency;
    return law > 0.0 ? law : gpu->attention_efficiency;
}

static double flash_forward_s(const struct training_plan *plan, const struct part *part) {
    double rate = plan->attention_rates.forward_share;
    double share = rate > 0.0 ? rate : 1.0;
    return part->kernels * hardware_attention_prefill_s(&plan->cluster->gpu, &part->work) / share +
           correction_s(plan, part);
}

/* The law for the backward has the GPU's own backward efficiency; the rate is of the forward's. */
static double flash_backward_s(const struct training_plan *plan, const struct part *part) {
    const struct hardware_gpu *gpu = &plan->cluster->gpu;
    double rate = plan->attention_rates.backward_share * measured_efficiency(gpu);
    double share = rate > 0.0 ? rate / gpu->attention_backward_efficiency : 1.0;
    return part->kernels * hardware_attention_backward_s(gpu, &part->work) / share +
           correction_s(plan, part);
}

/* ---- score matrices in memory ---------------------------------------------------------------- */

struct unfused {
    double writing, reading;                 /* products that make scores, and that take them */
    double accesses, wide_accesses, kernels; /* of the element-wise work between */
};

static const struct unfused unfused_forward[] = {
    [TRAINING_FUSION_COMPILED] = {1.0, 1.0, 2.0, 0.0, 1.0},
    [TRAINING_FUSION_EAGER] = {1.0, 1.0, 6.0, 4.0, 5.0},
};
static const struct unfused unfused_backward[] = {
    [TRAINING_FUSION_COMPILED] = {1.0, 3.0, 3.0, 0.0, 1.0},
    [TRAINING_FUSION_EAGER] = {1.0, 3.0, 4.0, 5.0, 4.0},
};

static double unfused_s(const struct training_plan *plan, const struct part *part,
                        const struct unfused *law) {
    const struct hardware_attention *w = &part->work;
    double scores = fmax(2.0 * w->score_pairs - w->tokens, w->score_pairs);
    double bytes = law->accesses * w->element_bytes + law->wide_accesses * WIDE_BYTES;
    double matrices = w->heads * w->sequences, rows = w->tokens / w->sequences;
    double width = scores / w->tokens;
    double products_s =
        law->writing * training_outer_grouped_s(plan, matrices, rows, width, w->score_dim) +
        law->reading * training_outer_grouped_s(plan, matrices, rows, w->value_dim, width);
    return part->kernels *
           (products_s +
            hardware_memory_s(&plan->cluster->gpu, bytes * w->heads * scores, law->kernels));
}

/* ---- attention ------------------------------------------------------------------------------- */

static bool is_unfused(const struct training_plan *plan) {
    return plan->attention == TRAINING_ATTENTION_UNFUSED;
}

double training_attention_forward_s(const struct training_plan *plan,
                                    const struct llm_batch *batch) {
    struct part part = part_of(plan, batch);
    if (part.work.tokens == 0.0)
        return 0.0;
    return is_unfused(plan) ? unfused_s(plan, &part, &unfused_forward[plan->fusion])
                            : flash_forward_s(plan, &part) / plan->software.attention_share;
}

double training_attention_backward_s(const struct training_plan *plan,
                                     const struct llm_batch *batch) {
    struct part part = part_of(plan, batch);
    if (part.work.tokens == 0.0)
        return 0.0;
    return is_unfused(plan) ? unfused_s(plan, &part, &unfused_backward[plan->fusion])
                            : flash_backward_s(plan, &part) / plan->software.attention_share;
}
