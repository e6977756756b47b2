/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * The roofline with sustained shares of the peaks (Williams, Waterman and Patterson, "Roofline: an
 * insightful visual performance model for multicore architectures", CACM 52(4), 2009).
 *
 * What it leaves of measured bf16 products (aiconfigurator @095f58a51, NVIDIA's kernel timings, all
 * m, n, k of its grid; the shares are the best sustained product of ml-engineering @744d01e18b79
 * and Azure's BabelStream triad @3371c0c; the launch 3 us on H100, 5 us on A100), as
 * |forecast / measured - 1|, median and 90th percentile:
 *
 *     H100   m <= 64  4 / 15 %   m <= 1024   7 / 21 %   above  5 / 11 %
 *     A100   m <= 64 11 / 18 %   m <= 1024  19 / 33 %   above  7 / 17 %
 *
 * Too fast where a product of middling m fills neither the tensor cores nor the memory bus: the
 * fill of the inner loop over k and quantisation to tiles are not in the law.
 */

#include "models/hardware/kernel.h"

#include "sim/contract.h"

#include <math.h>

/* The backward kernel makes five matrix products where the forward one makes two, since it makes
 * the scores again (Dao, FlashAttention-2, 2023, counts the same in its benchmark). */
#define ATTENTION_BACKWARD_WORK 2.5

/* Elements of a product's output are stored in 2 bytes whatever its inputs are. */
#define OUTPUT_ELEMENT_BYTES 2.0

static double memory_s(const struct hardware_gpu *gpu, double bytes) {
    return bytes / (gpu->memory_bandwidth_bytes_per_s * gpu->memory_efficiency);
}

static double roofline_s(const struct hardware_gpu *gpu, double flops, double flops_per_s,
                         double bytes) {
    CONTRACT(flops >= 0.0 && bytes >= 0.0, "negative work");
    if (flops == 0.0 && bytes == 0.0)
        return 0.0;
    return fmax(flops / flops_per_s, memory_s(gpu, bytes)) + gpu->kernel_launch_s;
}

double hardware_grouped_gemm_s(const struct hardware_gpu *gpu, enum hardware_precision precision,
                               double groups, double m, double n, double k) {
    CONTRACT(groups >= 0.0 && m >= 0.0 && n >= 0.0 && k >= 0.0, "a negative dimension");
    double peak = gpu->peak_flops_per_s[precision];
    CONTRACT(peak > 0.0, "the GPU does not support this precision");
    if (groups == 0.0 || m == 0.0 || n == 0.0 || k == 0.0)
        return 0.0;
    double bytes =
        hardware_precision_bytes(precision) * (m * k + k * n) + OUTPUT_ELEMENT_BYTES * m * n;
    return roofline_s(gpu, groups * (2.0 * m * n * k), peak * gpu->matmul_efficiency,
                      groups * bytes);
}

double hardware_gemm_s(const struct hardware_gpu *gpu, enum hardware_precision precision, double m,
                       double n, double k) {
    return hardware_grouped_gemm_s(gpu, precision, 1.0, m, n, k);
}

/* The peak that attention refers to: GPUs before bf16 (V100) have fp16 at the same place. */
static double attention_peak(const struct hardware_gpu *gpu) {
    double bf16 = gpu->peak_flops_per_s[HARDWARE_BF16];
    return bf16 > 0.0 ? bf16 : gpu->peak_flops_per_s[HARDWARE_FP16];
}

double hardware_attention_s(const struct hardware_gpu *gpu, double score_pairs, double heads,
                            double head_dim, double bytes) {
    double flops = 4.0 * score_pairs * heads * head_dim;
    return roofline_s(gpu, flops, attention_peak(gpu) * gpu->attention_efficiency, bytes);
}

double hardware_attention_backward_s(const struct hardware_gpu *gpu, double score_pairs,
                                     double heads, double head_dim, double bytes) {
    double flops = ATTENTION_BACKWARD_WORK * 4.0 * score_pairs * heads * head_dim;
    return roofline_s(gpu, flops, attention_peak(gpu) * gpu->attention_backward_efficiency, bytes);
}

double hardware_memory_s(const struct hardware_gpu *gpu, double bytes, double kernels) {
    CONTRACT(bytes >= 0.0 && kernels >= 0.0, "negative work");
    return memory_s(gpu, bytes) + kernels * gpu->kernel_launch_s;
}
