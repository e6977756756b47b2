/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Element-wise kernels. A row (token) is the work of one block, so that a wide row takes time even
 * alone; many rows are bound by memory:
 *
 *     T = [(launch + c x row bytes)^3 + (rows x row bytes / (bandwidth x Em))^3]^(1/3)
 *
 * The exponent 3 is the roundness of the corner in measured kernels (A40, A100, H100).
 */

#include "models/hardware/kernel.h"

#include "models/hardware/roofline.h"
#include "sim/contract.h"

#define CORNER 3.0

static const char *const names[HARDWARE_OPERATOR_COUNT] = {
    [HARDWARE_NORM] = "norm",
    [HARDWARE_ADD] = "add",
    [HARDWARE_ACTIVATION] = "activation",
    [HARDWARE_ROTARY] = "rotary",
    [HARDWARE_EMBEDDING] = "embedding",
};

const char *hardware_operator_name(enum hardware_operator operator_kind) {
    CONTRACT((unsigned)operator_kind < HARDWARE_OPERATOR_COUNT, "not an operator");
    return names[operator_kind];
}

double hardware_operator_s(const struct hardware_gpu *gpu, enum hardware_operator operator_kind,
                           double rows, double row_bytes) {
    CONTRACT(rows >= 0.0 && row_bytes >= 0.0, "negative work");
    CONTRACT((unsigned)operator_kind < HARDWARE_OPERATOR_COUNT, "not an operator");
    const struct hardware_operator_law *law = &gpu->kernels.operators[operator_kind];
    if (rows == 0.0 || row_bytes == 0.0)
        return 0.0;
    if (law->memory_efficiency == 0.0)
        return hardware_memory_s(gpu, rows * row_bytes, 1.0);
    return hardware_smooth_max(law->launch_s + law->row_s_per_byte * row_bytes,
                               hardware_traffic_s(gpu, rows * row_bytes, law->memory_efficiency),
                               CORNER);
}

double hardware_memory_s(const struct hardware_gpu *gpu, double bytes, double kernels) {
    CONTRACT(bytes >= 0.0 && kernels >= 0.0, "negative work");
    return hardware_traffic_s(gpu, bytes, gpu->memory_efficiency) + kernels * gpu->kernel_launch_s;
}
