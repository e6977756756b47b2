/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/hardware/transfer.h"

#include "models/hardware/roofline.h"

#include <math.h>
#include <stddef.h>

static double distance_of(double a, double b) {
    return a > 0.0 && b > 0.0 ? fabs(log(a / b)) : (double)INFINITY;
}

static double dense_rate(const struct hardware_gpu *gpu) {
    return hardware_attention_peak(gpu) * gpu->matmul_efficiency;
}

static double memory_rate(const struct hardware_gpu *gpu) {
    return gpu->memory_bandwidth_bytes_per_s * gpu->memory_efficiency;
}

double hardware_distance(const struct hardware_gpu *a, const struct hardware_gpu *b) {
    return distance_of(dense_rate(a), dense_rate(b)) + distance_of(memory_rate(a), memory_rate(b));
}

/* How a share changes from one GPU to another; 1 where that is not known. */
static double ratio_of(double to, double from) {
    return to > 0.0 && from > 0.0 ? to / from : 1.0;
}

static bool is_share(enum hardware_coefficient coefficient) {
    return coefficient == HARDWARE_EFFICIENCY || coefficient == HARDWARE_MEMORY_EFFICIENCY ||
           coefficient == HARDWARE_QUANTISE_EFFICIENCY;
}

/* Of decode attention; `slower` takes a share of the memory rate from one GPU to the other. */
static double decode_ratio(enum hardware_coefficient coefficient, double size, double slower) {
    if (coefficient == HARDWARE_UNIT || coefficient == HARDWARE_RAMP)
        return 1.0 / size;
    if (coefficient == HARDWARE_WARM)
        return slower * size * size;
    return coefficient == HARDWARE_CACHE ? size : 1.0;
}

/* What a coefficient is multiplied by. */
static double ratio_for(const struct hardware_gpu *donor, const struct hardware_gpu *gpu,
                        enum hardware_kernel kernel, enum hardware_coefficient coefficient) {
    bool attention = kernel == HARDWARE_KERNEL_PREFILL;
    if (coefficient == HARDWARE_EFFICIENCY)
        return attention ? ratio_of(gpu->attention_efficiency, donor->attention_efficiency)
                         : ratio_of(gpu->matmul_efficiency, donor->matmul_efficiency);
    if (coefficient == HARDWARE_MEMORY_EFFICIENCY)
        return ratio_of(gpu->memory_efficiency, donor->memory_efficiency);
    double size = sqrt(ratio_of(dense_rate(gpu), dense_rate(donor)));
    double slower =
        ratio_of(donor->memory_bandwidth_bytes_per_s, gpu->memory_bandwidth_bytes_per_s);
    if (coefficient == HARDWARE_QUANTISE_EFFICIENCY)
        return slower * size;
    return kernel == HARDWARE_KERNEL_DECODE ? decode_ratio(coefficient, size, slower) : 1.0;
}

void hardware_transfer_law(const struct hardware_gpu *donor, enum hardware_kernel kernel,
                           struct hardware_gpu *gpu) {
    struct hardware_kernel_laws from = donor->kernels;
    for (int i = 0; i < HARDWARE_COEFFICIENT_COUNT; i++) {
        enum hardware_coefficient coefficient = (enum hardware_coefficient)i;
        double *to = hardware_kernel_coefficient(&gpu->kernels, kernel, coefficient);
        if (to == NULL)
            continue;
        double value = *hardware_kernel_coefficient(&from, kernel, coefficient) *
                       ratio_for(donor, gpu, kernel, coefficient);
        *to = is_share(coefficient) ? fmin(1.0, value) : value;
    }
}

double hardware_sustained_share(const struct hardware_gpu *gpu) {
    double burst = gpu->kernels.gemm[HARDWARE_BF16].efficiency;
    return burst > 0.0 && gpu->matmul_efficiency > 0.0 ? fmin(1.0, gpu->matmul_efficiency / burst)
                                                       : 1.0;
}
