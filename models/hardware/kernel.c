/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Matrix products. With e bytes an input element, the rates' shares E and Em, and the fills k0, n0:
 *
 *     compute  Tc = 2 m (n + n0) (k + k0) / (peak x E)
 *     memory   Tm = (e (m k + n k) + 2 m n) / (bandwidth x Em) + k x tau
 *     time     T  = (Tc^p + Tm^p)^(1/p) + launch
 *
 * a roofline (Williams, Waterman and Patterson, CACM 52(4), 2009) whose corner is round, whose
 * inner loop has to be filled (k0) and which cannot pass through k faster than tau an element, as
 * few columns do not keep the memory busy. It grows with m, n and k by construction. Groups
 * multiply the work, not the latency along k, which they go through at the same time.
 *
 * Fitted to the products that vLLM's engines ran (aiconfigurator @095f58a51; kernels.csv of the
 * catalog has each GPU), |law / measured - 1| of weights n x k that were left out of the fit,
 * median and 90th percentile: bf16 4.9 / 13.3 %, fp8 6.4 / 19.2 %. The plain roofline with
 * sustained shares has, on H100 and A100, 4 to 19 % and 11 to 33 % by size. Largest of what is
 * left: A100 at 65 to 1,024 rows (the library's choice of kernels), B200 in fp8 at few rows and
 * long k (fallbacks, up to six times slower).
 *
 * What was tried and bought nothing on measured products of A100, H100, H200 and B200: quantisation
 * to waves of tiles, a fill along m, a rate that falls with the duration of the kernel.
 */

#include "models/hardware/kernel.h"

#include "models/hardware/roofline.h"
#include "sim/contract.h"

#include <math.h>

/* Elements of a product's output are stored in 2 bytes whatever its inputs are. */
#define OUTPUT_ELEMENT_BYTES 2.0
/* What a cast to 1 byte moves: 2 read, 1 written. */
#define QUANTISE_ELEMENT_BYTES 3.0

/* The law, or the plain roofline where none is known. */
static struct hardware_gemm_law gemm_law(const struct hardware_gpu *gpu,
                                         enum hardware_precision precision) {
    struct hardware_gemm_law law = gpu->kernels.gemm[precision];
    if (law.efficiency > 0.0) {
        law.efficiency *= gpu->kernels.sustained_share;
        return law;
    }
    return (struct hardware_gemm_law){
        .efficiency = gpu->matmul_efficiency,
        .memory_efficiency = gpu->memory_efficiency,
        .launch_s = gpu->kernel_launch_s,
        .sharpness = (double)INFINITY,
    };
}

double hardware_grouped_gemm_s(const struct hardware_gpu *gpu, enum hardware_precision precision,
                               double groups, double m, double n, double k) {
    CONTRACT(groups >= 0.0 && m >= 0.0 && n >= 0.0 && k >= 0.0, "a negative dimension");
    double peak = gpu->peak_flops_per_s[precision];
    CONTRACT(peak > 0.0, "the GPU does not support this precision");
    if (groups == 0.0 || m == 0.0 || n == 0.0 || k == 0.0)
        return 0.0;
    struct hardware_gemm_law law = gemm_law(gpu, precision);
    double element = hardware_precision_bytes(precision);
    double flops = groups * (2.0 * m * (n + law.fill_n) * (k + law.fill_k));
    double bytes = groups * (element * (m * k + k * n) + OUTPUT_ELEMENT_BYTES * m * n);
    double memory_s = hardware_traffic_s(gpu, bytes, law.memory_efficiency) + k * law.serial_s;
    return hardware_smooth_max(flops / (peak * law.efficiency), memory_s, law.sharpness) +
           law.launch_s;
}

double hardware_gemm_s(const struct hardware_gpu *gpu, enum hardware_precision precision, double m,
                       double n, double k) {
    return hardware_grouped_gemm_s(gpu, precision, 1.0, m, n, k);
}

double hardware_quantise_s(const struct hardware_gpu *gpu, enum hardware_precision precision,
                           double elements) {
    CONTRACT(elements >= 0.0, "negative work");
    if (hardware_precision_bytes(precision) >= OUTPUT_ELEMENT_BYTES)
        return 0.0;
    double efficiency = gpu->kernels.gemm[precision].quantise_efficiency;
    return hardware_traffic_s(gpu, QUANTISE_ELEMENT_BYTES * elements,
                              efficiency > 0.0 ? efficiency : gpu->memory_efficiency);
}
