/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_HARDWARE_PRECISION_H
#define MODELS_HARDWARE_PRECISION_H

/* Number formats that weights, activations and matrix products come in. */

enum hardware_precision {
    HARDWARE_FP32,
    HARDWARE_BF16,
    HARDWARE_FP16,
    HARDWARE_FP8,
    HARDWARE_PRECISION_COUNT
};

/* Bytes of one element: 4, 2, 2, 1. */
double hardware_precision_bytes(enum hardware_precision precision);

/* "fp32", "bf16", "fp16", "fp8". */
const char *hardware_precision_name(enum hardware_precision precision);

#endif
