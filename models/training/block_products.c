/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Matrix products of the linear layers on one tensor-parallel rank, t tokens.
 *
 * Shapes. Forward [t x k][k x n]; backward the input gradient [t x n][n x k], and where the weight
 * is trained its gradient [k x t][t x n]. Column-parallel layers have n / tp, row-parallel ones k /
 * tp; heads are not cut, and keys and values have one head a rank at least, so that ranks beyond
 * the key-value heads hold copies. What does not divide leaves the first ranks with more, and the
 * slowest rank counts.
 *
 * Experts are one grouped product a projection. The ep x expert_tp ranks that share the experts
 * hold t x ep x expert_tp / tp tokens between them; each goes through k of E, so that E (1 - (1 - k
 * / E)^tokens) experts have any, a rank its ep-th part of these. Tokens are spread evenly.
 *
 * fp8. The linear layers of the blocks run in fp8, forward and both gradients; router, shared gate,
 * adapters, attention, embedding and head do not. Each input is cast once and each output gradient
 * once: 2 bytes read, 1 written, and where a weight gradient will want it 1 written transposed;
 * eager software reads it once more for the amax (2), others know a scale or find it on the way.
 * Weights that ZeRO-3 gathers are cast after every gather; resident ones once an optimizer step,
 * which is left out. The casts go at the rate of memory: kernels that engines use before a product
 * reach a third of it on H100 (hardware_quantise_s), with which Llama-3.1-8B in fp8 came out 12 %
 * slower than published (NeMo, dgxc-benchmarking @v25.02.02: 0.95 s), so 2 %.
 *
 * LoRA: no weight gradient of frozen matrices; the adapters are in block_adapters.c. Merged ones
 * cost nothing where nothing is trained.
 *
 * Frozen weights in fewer bits (QLoRA) are made into 2 bytes before each use, forward and input
 * gradient: base_bytes read and 2 written a weight, at the share of the bandwidth that the kernel
 * reaches.
 *
 * Left out: uneven experts, gradients that are added to fp32 sums where the
 * product does not do it.
 */

#include "models/training/block_products.h"

#include "models/hardware/kernel.h"
#include "models/training/block_adapters.h"
#include "sim/contract.h"

#include <math.h>

/* Bytes of an element that is cast: read, written; written transposed; read for the amax. */
#define CAST_BYTES 3.0
#define TRANSPOSED_BYTES 1.0
#define AMAX_BYTES 2.0

bool training_trains_weights(const struct training_plan *plan) {
    return plan->trained && plan->lora_rank == 0;
}

/* ---- single products ----------------------------------------------------------------------- */

static enum hardware_precision outer_precision(const struct training_plan *plan) {
    return plan->precision == HARDWARE_FP8 ? HARDWARE_BF16 : plan->precision;
}

static double product_s(const struct training_plan *plan, enum hardware_precision precision,
                        struct training_shape s) {
    return hardware_grouped_gemm_s(&plan->cluster->gpu, precision, s.groups, s.m, s.n, s.k) /
           plan->software.matmul_share;
}

static double input_gradient_s(const struct training_plan *plan, enum hardware_precision precision,
                               struct training_shape s) {
    return product_s(plan, precision, (struct training_shape){s.groups, s.m, s.k, s.n});
}

static double weight_gradient_s(const struct training_plan *plan, enum hardware_precision precision,
                                struct training_shape s) {
    return product_s(plan, precision, (struct training_shape){s.groups, s.k, s.n, s.m});
}

double training_outer_grouped_s(const struct training_plan *plan, double groups, double m, double n,
                                double k) {
    return product_s(plan, outer_precision(plan), (struct training_shape){groups, m, n, k});
}

double training_outer_product_s(const struct training_plan *plan, double m, double n, double k) {
    return training_outer_grouped_s(plan, 1.0, m, n, k);
}

double training_outer_gradients_s(const struct training_plan *plan, double m, double n, double k) {
    struct training_shape shape = {1.0, m, n, k};
    double seconds = input_gradient_s(plan, outer_precision(plan), shape);
    if (training_trains_weights(plan))
        seconds += weight_gradient_s(plan, outer_precision(plan), shape);
    return seconds;
}

/* ---- what one rank has --------------------------------------------------------------------- */

double training_divided(double columns, double parts, double ranks) {
    return parts > 0.0 ? columns / parts * ceil(parts / ranks) : 0.0;
}

/* A linear layer as one rank sees it. */
struct linear {
    struct training_shape shape;
    enum hardware_precision precision;
    double adapters; /* LoRA pairs: one for each projection fused in the product */
};

static double local_columns(const struct llm_gemm *gemm, double tp) {
    double free = (double)(gemm->n - gemm->kv_columns);
    double parts = gemm->heads > 0 ? (double)gemm->heads : free;
    return training_divided(free, parts, tp) +
           training_divided((double)gemm->kv_columns, (double)gemm->kv_heads, tp);
}

static double local_rows(const struct llm_gemm *gemm, double tp) {
    double parts = gemm->heads > 0 ? (double)gemm->heads : (double)gemm->k;
    return training_divided((double)gemm->k, parts, tp);
}

static void share_experts(const struct training_plan *plan, const struct llm_gemm *gemm,
                          double tokens, struct training_shape *shape) {
    double sharing = (double)(plan->ep * training_expert_tp(plan)) / (double)plan->tp;
    double all = tokens * sharing;
    double touched = llm_experts_touched(gemm->experts, gemm->per_token, all);
    shape->groups = touched / (double)plan->ep;
    shape->m = touched > 0.0 ? all * (double)gemm->per_token / touched : 0.0;
}

static double adapters_of(const struct training_plan *plan, const struct llm_gemm *gemm) {
    bool merged = plan->lora_merged && !plan->trained;
    if (plan->lora_rank == 0 || merged)
        return 0.0;
    if (plan->lora_targets == TRAINING_LORA_QKV)
        return gemm->projections == 3 ? 1.0 : 0.0;
    return (double)gemm->projections;
}

static struct linear local_linear(const struct training_plan *plan, const struct llm_gemm *gemm,
                                  double tokens) {
    double tp = (double)(gemm->experts > 0 ? training_expert_tp(plan) : plan->tp);
    struct linear linear = {.shape = {1.0, tokens, (double)gemm->n, (double)gemm->k},
                            .precision =
                                gemm->projections > 0 ? plan->precision : outer_precision(plan),
                            .adapters = adapters_of(plan, gemm)};
    if (gemm->experts > 0)
        share_experts(plan, gemm, tokens, &linear.shape);
    if (gemm->whole)
        return linear;
    if (gemm->split_columns)
        linear.shape.n = local_columns(gemm, tp);
    else
        linear.shape.k = local_rows(gemm, tp);
    return linear;
}

/* ---- around the products ------------------------------------------------------------------- */

static double quantise_s(const struct training_plan *plan, const struct linear *linear,
                         double elements, bool transposed) {
    if (linear->precision != HARDWARE_FP8)
        return 0.0;
    double bytes = CAST_BYTES + (transposed ? TRANSPOSED_BYTES : 0.0) +
                   (plan->fusion == TRAINING_FUSION_EAGER ? AMAX_BYTES : 0.0);
    return hardware_memory_s(&plan->cluster->gpu, bytes * elements, 1.0);
}

/* An input or an output gradient, in both layouts where a weight gradient wants them. */
static double cast_s(const struct training_plan *plan, const struct linear *linear,
                     double elements) {
    return quantise_s(plan, linear, elements, training_trains_weights(plan));
}

/* Weights that ZeRO-3 brings are cast anew; both layouts at once where they stay for the backward.
 */
static double weight_cast_s(const struct training_plan *plan, const struct linear *linear,
                            bool backward) {
    const struct training_shape *s = &linear->shape;
    bool again = plan->reshard_after_forward;
    if (plan->zero_stage < TRAINING_SHARDED_WEIGHTS || (backward && !again))
        return 0.0;
    return quantise_s(plan, linear, s->groups * s->n * s->k, plan->trained && !again);
}

static bool is_packed(const struct training_plan *plan) {
    return plan->base_bytes > 0.0 && plan->base_bytes < training_element_bytes(plan);
}

static double unpack_s(const struct training_plan *plan, const struct linear *linear) {
    if (!is_packed(plan) || linear->precision != plan->precision)
        return 0.0;
    const struct training_shape *s = &linear->shape;
    double bytes = s->groups * s->n * s->k * (plan->base_bytes + training_element_bytes(plan));
    CONTRACT(plan->software.unpack_share > 0.0, "unpacking reaches some share of the bandwidth");
    return hardware_memory_s(&plan->cluster->gpu, bytes / plan->software.unpack_share, 1.0);
}

/* ---- linear layers ------------------------------------------------------------------------- */

static double linear_forward_s(const struct training_plan *plan, const struct linear *linear) {
    const struct training_shape *s = &linear->shape;
    return product_s(plan, linear->precision, *s) + cast_s(plan, linear, s->groups * s->m * s->k) +
           weight_cast_s(plan, linear, false) + unpack_s(plan, linear) +
           training_adapters_forward_s(plan, *s, linear->adapters);
}

static double linear_backward_s(const struct training_plan *plan, const struct linear *linear) {
    const struct training_shape *s = &linear->shape;
    double seconds = input_gradient_s(plan, linear->precision, *s) +
                     cast_s(plan, linear, s->groups * s->m * s->n) +
                     weight_cast_s(plan, linear, true) + unpack_s(plan, linear) +
                     training_adapters_backward_s(plan, *s, linear->adapters);
    if (training_trains_weights(plan))
        seconds += weight_gradient_s(plan, linear->precision, *s);
    return seconds;
}

/* ---- a block ------------------------------------------------------------------------------- */

/* Which collective a linear stands beside, TRAINING_PRODUCTS for none. */
static int place_of(const struct training_plan *plan, const struct llm_gemm *gemm,
                    bool after_attention) {
    if (gemm->whole || (gemm->experts > 0 && training_expert_tp(plan) < plan->tp))
        return TRAINING_PRODUCTS;
    int first = after_attention ? TRAINING_PRODUCT_FFN_IN : TRAINING_PRODUCT_ATTENTION_IN;
    return first + (gemm->split_columns ? 0 : 1);
}

/* Share of a product that belongs to layers of even number, `before` layers being before it. Of
 * query, key and value it is the key, or the other two. */
static double even_share(const struct llm_gemm *gemm, int before) {
    bool starts_even = before % 2 == 1;
    if (gemm->projections == 2)
        return 0.5;
    if (gemm->projections != 3)
        return starts_even ? 1.0 : 0.0;
    double key = (double)gemm->kv_columns / 2.0 / (double)gemm->n;
    return starts_even ? 1.0 - key : key;
}

static int layers_in(const struct llm_gemm *gemm) {
    return gemm->projections > 0 ? gemm->projections : 1;
}

struct training_linears training_linears_compute(const struct training_plan *plan, double tokens,
                                                 const struct llm_layer_kind *kind,
                                                 struct training_block *block) {
    struct llm_gemm gemms[LLM_LAYER_GEMMS];
    struct training_linears sum = {0};
    bool after_attention = false;
    int layers = 0, count = llm_layer_gemms(plan->architecture, kind, gemms);
    for (int i = 0; i < count; i++) {
        struct linear linear = local_linear(plan, &gemms[i], tokens);
        int place = place_of(plan, &gemms[i], after_attention);
        double forward_s = linear_forward_s(plan, &linear);
        double backward_s = plan->trained ? linear_backward_s(plan, &linear) : 0.0;
        sum.forward_s += forward_s;
        sum.backward_s += backward_s;
        sum.alternate_s += even_share(&gemms[i], layers) * forward_s;
        layers += layers_in(&gemms[i]);
        if (place < TRAINING_PRODUCTS) {
            block->product_forward_s[place] += forward_s;
            block->product_backward_s[place] += backward_s;
        }
        after_attention = after_attention || place == TRAINING_PRODUCT_ATTENTION_OUT;
    }
    return sum;
}

static double alternate_parameters(const struct llm_architecture *architecture,
                                   const struct llm_layer_kind *kind) {
    struct llm_gemm gemms[LLM_LAYER_GEMMS];
    double sum = 0.0;
    int layers = 0, count = llm_layer_gemms(architecture, kind, gemms);
    for (int i = 0; i < count; i++) {
        double times = gemms[i].experts > 0 ? (double)gemms[i].per_token : 1.0;
        sum += even_share(&gemms[i], layers) * times * (double)gemms[i].n * (double)gemms[i].k;
        layers += layers_in(&gemms[i]);
    }
    return sum;
}

double training_alternate_parameters(const struct llm_architecture *architecture) {
    struct llm_layer_kind kinds[LLM_LAYER_KINDS];
    double sum = 0.0;
    int count = llm_layer_kinds(architecture, kinds);
    for (int i = 0; i < count; i++)
        sum += (double)kinds[i].count * alternate_parameters(architecture, &kinds[i]);
    return sum;
}
