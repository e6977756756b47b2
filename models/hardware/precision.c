/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/hardware/precision.h"

#include "sim/contract.h"

#include <stdbool.h>

static const struct {
    const char *name;
    double bytes;
} formats[HARDWARE_PRECISION_COUNT] = {
    [HARDWARE_FP32] = {"fp32", 4.0},
    [HARDWARE_BF16] = {"bf16", 2.0},
    [HARDWARE_FP16] = {"fp16", 2.0},
    [HARDWARE_FP8] = {"fp8", 1.0},
};

static bool is_precision(enum hardware_precision precision) {
    return (unsigned)precision < HARDWARE_PRECISION_COUNT;
}

double hardware_precision_bytes(enum hardware_precision precision) {
    CONTRACT(is_precision(precision), "not a precision");
    return formats[precision].bytes;
}

const char *hardware_precision_name(enum hardware_precision precision) {
    CONTRACT(is_precision(precision), "not a precision");
    return formats[precision].name;
}
