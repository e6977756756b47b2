/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/hardware/roofline.h"

#include "sim/contract.h"

#include <math.h>

double hardware_smooth_max(double a, double b, double sharpness) {
    CONTRACT(a >= 0.0 && b >= 0.0 && sharpness >= 1.0, "not two times and an exponent");
    double most = fmax(a, b), least = fmin(a, b);
    /* Relative to the larger one, so that no power leaves the range of numbers. */
    if (isinf(sharpness) || least == 0.0)
        return most;
    return most * pow(1.0 + pow(least / most, sharpness), 1.0 / sharpness);
}

double hardware_traffic_s(const struct hardware_gpu *gpu, double bytes, double efficiency) {
    CONTRACT(bytes >= 0.0, "negative traffic");
    return bytes / (gpu->memory_bandwidth_bytes_per_s * efficiency);
}

double hardware_attention_peak(const struct hardware_gpu *gpu) {
    double bf16 = gpu->peak_flops_per_s[HARDWARE_BF16];
    return bf16 > 0.0 ? bf16 : gpu->peak_flops_per_s[HARDWARE_FP16];
}
