/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Products of a format that the GPU computes in are the measured law of hardware/kernel.h; what an
 * engine reaches of them is in generation/software.h, and so is the rate that it sustains: a kernel
 * that is measured for a moment runs at higher clocks than one that runs for minutes. Weights of 4
 * bits have no law: they are a roofline, weights in their own format and activations in 2 bytes
 * through HBM, or FLOPs at the rate of the format that the product is made in. Launches are counted
 * here, as a CUDA graph makes them.
 *
 * Experts. Each token goes to k of E, so n tokens find E (1 - (1 - k / E)^n) of them; their
 * products are one grouped kernel a projection, which reads the weights of those that were found,
 * and whose FLOPs run at a share of the rate of large products, since their rows are few and many
 * have none. Either every expert is cut tp ways, or the experts are spread whole over ep GPUs; then
 * a GPU has 1 / ep of those found and of their rows (chosen evenly).
 */

#include "models/generation/products.h"

#include "models/hardware/kernel.h"
#include "sim/contract.h"

#include <math.h>

#define ACTIVATION_BYTES 2.0

struct product {
    double rows, n, k; /* [rows x k] [k x n] */
    double copies;     /* of the matrix: experts that are read */
    bool experts;
    enum generation_format format; /* of the weights */
};

static double launch_s(const struct generation_plan *plan) {
    return plan->cluster->gpu.kernel_launch_s * plan->software.launch_factor;
}

/* Sustained rate of products with weights of a format. */
static double product_rate(const struct generation_plan *plan, enum generation_format format) {
    const struct hardware_gpu *gpu = &plan->cluster->gpu;
    double peak = gpu->peak_flops_per_s[generation_format_products(format)];
    if (format == GENERATION_FP4 && plan->fp4_flops_per_s > 0.0)
        peak = plan->fp4_flops_per_s * plan->software.fp4_efficiency;
    CONTRACT(peak > 0.0, "the GPU does not compute in this format");
    return peak * gpu->matmul_efficiency * plan->software.compute_efficiency;
}

static double compute_s(const struct generation_plan *plan, const struct product *product) {
    double rate = product_rate(plan, product->format);
    double flops = 2.0 * product->rows * product->n * product->k;
    return flops / (product->experts ? rate * plan->software.expert_efficiency : rate);
}

/* The measured law without its launch. */
static double law_s(const struct generation_plan *plan, const struct product *product) {
    const struct hardware_gpu *gpu = &plan->cluster->gpu;
    enum hardware_precision precision = generation_format_products(product->format);
    const struct hardware_gemm_law *law = &gpu->kernels.gemm[precision];
    double start_s = law->efficiency > 0.0 ? law->launch_s : gpu->kernel_launch_s;
    double rows = product->rows / product->copies;
    return hardware_grouped_gemm_s(gpu, precision, product->copies, rows, product->n, product->k) -
           start_s;
}

static double roofline_s(const struct generation_plan *plan, const struct product *product) {
    const struct hardware_gpu *gpu = &plan->cluster->gpu;
    double weights =
        product->copies * product->n * product->k * generation_format_bytes(product->format);
    double values = ACTIVATION_BYTES * product->rows * (product->n + product->k);
    return fmax(hardware_memory_s(gpu, weights + values, 0.0), compute_s(plan, product));
}

static double product_s(const struct generation_plan *plan, const struct product *product) {
    if (product->rows <= 0.0)
        return 0.0;
    bool narrow = product->format == GENERATION_INT4 || product->format == GENERATION_FP4;
    double kernel_s = narrow ? roofline_s(plan, product) : law_s(plan, product);
    return fmax(kernel_s / plan->software.product_efficiency, compute_s(plan, product)) +
           launch_s(plan);
}

/* The vocabulary is not quantised (as the published checkpoints have it). */
static enum generation_format head_format(const struct generation_plan *plan) {
    bool wide = plan->format == GENERATION_FP32 || plan->format == GENERATION_FP16;
    return wide ? plan->format : GENERATION_BF16;
}

static struct product dense_product(const struct generation_plan *plan, const struct llm_gemm *gemm,
                                    double tokens) {
    double tp = gemm->whole ? 1.0 : plan->tp;
    return (struct product){
        .rows = tokens,
        .n = (double)gemm->n / (gemm->split_columns ? tp : 1.0),
        .k = (double)gemm->k / (gemm->split_columns ? 1.0 : tp),
        .copies = 1.0,
        .format = plan->format,
    };
}

/* Experts that a GPU reads, and the part of each that it has. */
static double local_experts(const struct generation_plan *plan, const struct llm_gemm *gemm,
                            double all_tokens) {
    return llm_experts_touched(gemm->experts, gemm->per_token, all_tokens) / plan->ep;
}

static double expert_cut(const struct generation_plan *plan) {
    return plan->ep > 1 ? 1.0 : plan->tp;
}

static struct product expert_product(const struct generation_plan *plan,
                                     const struct llm_gemm *gemm, double all_tokens) {
    double cut = expert_cut(plan);
    return (struct product){
        .rows = all_tokens * (double)gemm->per_token / plan->ep,
        .n = (double)gemm->n / (gemm->split_columns ? cut : 1.0),
        .k = (double)gemm->k / (gemm->split_columns ? 1.0 : cut),
        .copies = local_experts(plan, gemm, all_tokens),
        .experts = true,
        .format = plan->format,
    };
}

double generation_linear_s(const struct generation_plan *plan, const struct llm_layer_kind *kind,
                           double tokens, double all_tokens) {
    struct llm_gemm gemms[LLM_LAYER_GEMMS];
    int count = llm_layer_gemms(plan->architecture, kind, gemms);
    double seconds = 0.0;
    for (int i = 0; i < count; i++) {
        struct product product = gemms[i].experts > 0 ? expert_product(plan, &gemms[i], all_tokens)
                                                      : dense_product(plan, &gemms[i], tokens);
        seconds += product_s(plan, &product);
    }
    return seconds;
}

static double head_product_s(const struct generation_plan *plan, double rows, double n, double k) {
    struct product product = {
        .rows = rows, .n = n, .k = k, .copies = 1.0, .format = head_format(plan)};
    return n > 0.0 ? product_s(plan, &product) : 0.0;
}

double generation_head_s(const struct generation_plan *plan, double logits) {
    return head_product_s(plan, logits, (double)plan->architecture->vocab / plan->tp,
                          (double)llm_embedding_width(plan->architecture));
}

double generation_width_s(const struct generation_plan *plan, double tokens, double logits) {
    double width = (double)plan->architecture->embedding_width;
    double hidden = (double)plan->architecture->hidden;
    if (width == 0.0)
        return 0.0;
    return head_product_s(plan, tokens, hidden, width) +
           head_product_s(plan, logits, width, hidden);
}

/* Elements of a layer's matrices that a GPU has: those that every token goes through, or one copy
 * of the experts'. */
static double local_matrix(const struct generation_plan *plan, const struct llm_gemm *gemm) {
    double matrix = (double)gemm->n * (double)gemm->k;
    if (gemm->experts > 0)
        return matrix / expert_cut(plan);
    return gemm->whole ? matrix : matrix / plan->tp;
}

double generation_shared_matrix_bytes(const struct generation_plan *plan,
                                      const struct llm_layer_kind *kind) {
    struct llm_gemm gemms[LLM_LAYER_GEMMS];
    int count = llm_layer_gemms(plan->architecture, kind, gemms);
    double sum = 0.0;
    for (int i = 0; i < count; i++)
        if (gemms[i].experts == 0)
            sum += local_matrix(plan, &gemms[i]);
    return sum * generation_format_bytes(plan->format);
}

double generation_expert_matrix_bytes(const struct generation_plan *plan,
                                      const struct llm_layer_kind *kind, double all_tokens) {
    struct llm_gemm gemms[LLM_LAYER_GEMMS];
    int count = llm_layer_gemms(plan->architecture, kind, gemms);
    double sum = 0.0;
    for (int i = 0; i < count; i++)
        if (gemms[i].experts > 0)
            sum += local_experts(plan, &gemms[i], all_tokens) * local_matrix(plan, &gemms[i]);
    return sum * generation_format_bytes(plan->format);
}
