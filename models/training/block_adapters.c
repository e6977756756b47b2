/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Each projection fused in a product, p of them, has a pair of its own, [m x k][k x r] and [m x
 * r][r x n / p], in 2-byte precision; both gradients of both in the backward.
 *
 * Products with one side as short as a rank are bound by memory or by launches, and outside of what
 * the law of products was fitted to (n and k of 1024 and more; its fill of columns would make them
 * twice as slow as they are). They take the slower of their traffic and of their FLOPs at the
 * sustained rate of large products, the short side filled up to a tile, and a launch:
 *
 *     t = max(2 m n k / rate, bytes / bandwidth) + launch        with r -> 64 ceil(r / 64)
 *
 * so that a rank of 16 costs what 64 costs, and 256 is four times as much work where work binds.
 *
 * Sums. Eager software scales an output (one read, one written) and adds it to the frozen product's
 * (two read, one written); input gradients are added to the frozen product's one by one, three
 * accesses each. Fused software leaves both to the kernel that follows anyway (rotary, activation,
 * residual sum, and their backwards), which reads an output more, or p input gradients more.
 *
 * torchtune's ladder (README @bd2a0fc7c: Llama-3.2-3B, A100, 2 x 4096 tokens, compiled, full
 * recomputation, rank 64) has 1.136 s without and 0.998 s with LoRA. NeMo's recipes for speed adapt
 * query, key and value alone, by one pair (8B on H100, dgxc-benchmarking @v25.02.02: 0.70 of the
 * time of full training in bf16); see tests/models/training/test_lora.c for what comes out here.
 *
 * Left out: dropout, casts of fp32 adapters.
 */

#include "models/training/block_adapters.h"

#include "models/hardware/kernel.h"
#include "sim/contract.h"

#include <math.h>

/* Assumed: the narrowest tile of a tensor-core product with many rows. */
#define TILE 64.0

/* ---- products -------------------------------------------------------------------------------- */

static enum hardware_precision adapter_precision(const struct training_plan *plan) {
    return plan->precision == HARDWARE_FP8 ? HARDWARE_BF16 : plan->precision;
}

/* A product of which one side is the rank; `filled` is the product with that side in whole tiles.
 */
static double narrow_s(const struct training_plan *plan, struct training_shape s,
                       struct training_shape filled) {
    const struct hardware_gpu *gpu = &plan->cluster->gpu;
    double rate = gpu->peak_flops_per_s[adapter_precision(plan)] * gpu->matmul_efficiency *
                  plan->software.matmul_share;
    double flops = 2.0 * filled.groups * filled.m * filled.n * filled.k;
    double elements = s.groups * (s.m * s.k + s.k * s.n + s.m * s.n);
    double traffic_s = hardware_memory_s(gpu, elements * training_element_bytes(plan), 0.0);
    return fmax(flops / rate, traffic_s) + hardware_memory_s(gpu, 0.0, 1.0);
}

/* [m x columns][columns x r], or the same with its sides exchanged: the three products that a
 * factor of a pair takes part in are all of m, columns and r. */
static double factor_s(const struct training_plan *plan, struct training_shape s, double columns) {
    double rank = (double)plan->lora_rank, filled = TILE * ceil(rank / TILE);
    return narrow_s(plan, (struct training_shape){s.groups, s.m, rank, columns},
                    (struct training_shape){s.groups, s.m, filled, columns});
}

/* ---- pairs ----------------------------------------------------------------------------------- */

static bool is_eager(const struct training_plan *plan) {
    return plan->fusion == TRAINING_FUSION_EAGER;
}

static double sum_s(const struct training_plan *plan, double elements, double accesses,
                    double kernels) {
    return hardware_memory_s(&plan->cluster->gpu,
                             accesses * elements * training_element_bytes(plan), kernels);
}

double training_adapters_forward_s(const struct training_plan *plan, struct training_shape shape,
                                   double adapters) {
    if (adapters == 0.0 || shape.m == 0.0)
        return 0.0;
    double outputs = shape.groups * shape.m * shape.n;
    double pair_s = factor_s(plan, shape, shape.k) + factor_s(plan, shape, shape.n / adapters);
    double accesses = is_eager(plan) ? 5.0 : 1.0;
    double kernels = is_eager(plan) ? 2.0 * adapters : 0.0;
    return adapters * pair_s + sum_s(plan, outputs, accesses, kernels);
}

double training_adapters_backward_s(const struct training_plan *plan, struct training_shape shape,
                                    double adapters) {
    if (adapters == 0.0 || shape.m == 0.0)
        return 0.0;
    double inputs = shape.groups * shape.m * shape.k;
    double pair_s = factor_s(plan, shape, shape.k) + factor_s(plan, shape, shape.n / adapters);
    double accesses = is_eager(plan) ? 3.0 * adapters : adapters;
    double kernels = is_eager(plan) ? adapters : 0.0;
    return 2.0 * adapters * pair_s + sum_s(plan, inputs, accesses, kernels);
}
