/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Accesses (reads + writes) of an element, forward and backward. h, q = heads x head_dim, v =
 * kv_heads x head_dim, f = the feed-forward's width (over all experts that a token goes through).
 *
 * Fused, as a compiler or a library of fused kernels does it:
 *
 *                                      of        forward            backward
 *     residual add with the norm       h each    2 read 2 written   3 read 1 written
 *     norm alone                       h         1 + 1              2 + 1
 *     rotary                           q + v     1 + 1              1 + 1
 *     gate x up / plain activation     f         2 + 1 / 1 + 1      3 + 2 / 2 + 1
 *
 * Eager, a kernel an operation, as PyTorch runs the model code of Hugging Face transformers; e is
 * an access of an element in the plan's precision, w one of its fp32 copy:
 *
 *     residual add      3e                                            3e (gradients add up)
 *     RMS norm          cast e + w; square 2w; mean w; scale 2w;      weight 2e, its gradient 3e +
 * e; cast w + e; weight 2e: 4e + 7w                cast e + w; scale 2w, the scale's gradient 3w +
 * w; square 6w; sum 3w; cast w + e: 8e + 17w layer norm        2e (one kernel) 3e + 2e (input;
 * weight) rotary            x cos 2e; halves turned e + 2e; x sin 2e;     x cos, x sin 4e; halves
 *                       sum 3e: 10e                                   turned back 5e; sums 5e: 14e
 *     gate x up         silu 2e; product 3e                           product 6e; silu 3e
 *     plain activation  2e                                            3e
 *
 * A block has two norms with the residual add before them; norms behind attention and feed-forward
 * besides (Gemma 2); or one, behind a sum of three (parallel branches: 3 read 2 written, 3 read 1
 * written). Norms of queries and keys are of q + v. Latent attention norms its latents (q_lora +
 * kv_lora). Models with learned positions have no rotary. Experts: a token is read once and sent k
 * times, k read and one written on the way back, (1 + k) h each, backward the same; eager software
 * weights them in a kernel of its own (2k h).
 *
 * Divided by tp: what stands between a product's columns and another's rows (rotary, activation);
 * residual stream and norms only with sequence parallelism. Experts' tokens are divided where
 * experts are whole (expert_tp 1).
 *
 * A block of Llama-2-7B moves 16 h + 8 h + 6 f = 164 kB a token forward fused, 618 kB eager: at
 * 1.7 TB/s 6 and 24 % of the time of its products at 271 TFLOP/s.
 *
 * Left out: dropout, biases (fused in the products), copies that change the layout, experts that
 * eager code goes through one by one, gradients of norms' weights (fused kernels keep partial
 * sums).
 */

#include "models/training/block_elementwise.h"

#include "models/hardware/kernel.h"
#include "sim/contract.h"

#define WIDE_BYTES 4.0

/* Assumed, from what has to be done: choice of experts, sorting of tokens (two kernels), sending
 * them out, adding up what comes back; eager, also weighting them. */
#define EXPERT_KERNELS 4.0
#define EAGER_EXPERT_KERNELS 5.0

/* ---- the table ------------------------------------------------------------------------------- */

enum operation { ADD, RMS_NORM, LAYER_NORM, ROTARY, GATE, ACTIVATION, OPERATIONS };

struct accesses {
    double narrow, wide, kernels;
};

static const struct accesses fused[OPERATIONS][2] = {
    /* An add is fused with the norm behind it: what it adds to that norm. */
    [ADD] = {{2.0, 0.0, 0.0}, {1.0, 0.0, 0.0}},
    [RMS_NORM] = {{2.0, 0.0, 1.0}, {3.0, 0.0, 1.0}},
    [LAYER_NORM] = {{2.0, 0.0, 1.0}, {3.0, 0.0, 1.0}},
    [ROTARY] = {{2.0, 0.0, 1.0}, {2.0, 0.0, 1.0}},
    [GATE] = {{3.0, 0.0, 1.0}, {5.0, 0.0, 1.0}},
    [ACTIVATION] = {{2.0, 0.0, 1.0}, {3.0, 0.0, 1.0}},
};

static const struct accesses eager[OPERATIONS][2] = {
    [ADD] = {{3.0, 0.0, 1.0}, {3.0, 0.0, 1.0}},
    [RMS_NORM] = {{4.0, 7.0, 8.0}, {8.0, 17.0, 15.0}},
    [LAYER_NORM] = {{2.0, 0.0, 1.0}, {5.0, 0.0, 2.0}},
    [ROTARY] = {{10.0, 0.0, 10.0}, {14.0, 0.0, 18.0}},
    [GATE] = {{5.0, 0.0, 2.0}, {9.0, 0.0, 3.0}},
    [ACTIVATION] = {{2.0, 0.0, 1.0}, {3.0, 0.0, 1.0}},
};

/* ---- counting -------------------------------------------------------------------------------- */

struct count {
    const struct training_plan *plan;
    bool backward;
    struct training_traffic traffic;
};

static bool is_eager(const struct training_plan *plan) {
    return plan->fusion == TRAINING_FUSION_EAGER;
}

static void add(struct count *count, enum operation operation, double elements) {
    const struct accesses *a =
        &(is_eager(count->plan) ? eager : fused)[operation][count->backward ? 1 : 0];
    double narrow = training_element_bytes(count->plan);
    if (elements == 0.0)
        return;
    count->traffic.bytes += elements * (a->narrow * narrow + a->wide * WIDE_BYTES);
    count->traffic.kernels += a->kernels;
}

static void add_norm(struct count *count, double elements) {
    bool layer = count->plan->architecture->norm == LLM_NORM_LAYER;
    add(count, layer ? LAYER_NORM : RMS_NORM, elements);
}

/* ---- parts of a block ------------------------------------------------------------------------ */

/* Elements of the residual stream that a rank works on. */
static double stream(const struct training_plan *plan, double tokens) {
    double ranks = plan->sequence_parallel ? (double)plan->tp : 1.0;
    return tokens * (double)plan->architecture->hidden / ranks;
}

static void add_norms(struct count *count, double tokens) {
    const struct llm_architecture *a = count->plan->architecture;
    double elements = stream(count->plan, tokens);
    double before = a->block_norms == LLM_BLOCK_NORMS_ONE ? 1.0 : 2.0;
    double behind = a->block_norms == LLM_BLOCK_NORMS_FOUR ? 2.0 : 0.0;
    for (double i = 0.0; i < before + behind; i += 1.0)
        add_norm(count, elements);
    for (double i = 0.0; i < before; i += 1.0)
        add(count, ADD, elements);
    /* The sum of three reads one more, forward; each branch has the same gradient. */
    if (a->block_norms == LLM_BLOCK_NORMS_ONE && !count->backward)
        count->traffic.bytes += elements * training_element_bytes(count->plan);
}

static void add_attention(struct count *count, double tokens) {
    const struct llm_architecture *a = count->plan->architecture;
    double rotated =
        tokens * (double)(llm_query_columns(a) + llm_key_columns(a)) / (double)count->plan->tp;
    if (a->positions == 0)
        add(count, ROTARY, rotated);
    if (a->qk_norm)
        add_norm(count, rotated);
    if (!llm_is_latent(a))
        return;
    add_norm(count, tokens * (double)a->q_lora_rank);
    add_norm(count, tokens * (double)a->kv_lora_rank);
}

static void add_experts(struct count *count, double tokens) {
    const struct training_plan *plan = count->plan;
    double k = (double)plan->architecture->experts_per_token;
    double share = (double)training_expert_tp(plan) / (double)plan->tp;
    double accesses = 2.0 + 2.0 * k + (is_eager(plan) ? 2.0 * k : 0.0);
    count->traffic.bytes += accesses * share * tokens * (double)plan->architecture->hidden *
                            training_element_bytes(plan);
    count->traffic.kernels += is_eager(plan) ? EAGER_EXPERT_KERNELS : EXPERT_KERNELS;
}

struct training_traffic training_layer_traffic(const struct training_plan *plan, double tokens,
                                               const struct llm_layer_kind *kind, bool backward) {
    const struct llm_architecture *a = plan->architecture;
    struct count count = {.plan = plan, .backward = backward};
    add_norms(&count, tokens);
    add_attention(&count, tokens);
    add(&count, a->gated_ffn ? GATE : ACTIVATION,
        tokens * (double)llm_ffn_columns(a, kind) / (double)plan->tp);
    if (kind->moe)
        add_experts(&count, tokens);
    return count.traffic;
}

/* ---- around the blocks ----------------------------------------------------------------------- */

struct training_traffic training_embedding_norm_traffic(const struct training_plan *plan,
                                                        double tokens, bool backward) {
    struct count count = {.plan = plan, .backward = backward};
    if (plan->architecture->embedding_norm)
        add_norm(&count, stream(plan, tokens));
    return count.traffic;
}

struct training_traffic training_final_norm_traffic(const struct training_plan *plan, double tokens,
                                                    bool backward) {
    struct count count = {.plan = plan, .backward = backward};
    double elements = stream(plan, tokens);
    add(&count, ADD, elements);
    if (!plan->architecture->no_final_norm)
        add_norm(&count, elements);
    return count.traffic;
}

double training_traffic_s(const struct training_plan *plan, struct training_traffic traffic) {
    CONTRACT(plan->software.elementwise_factor >= 0.0, "a factor of bytes");
    return hardware_memory_s(&plan->cluster->gpu, traffic.bytes * plan->software.elementwise_factor,
                             traffic.kernels);
}
