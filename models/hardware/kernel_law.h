/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_HARDWARE_KERNEL_LAW_H
#define MODELS_HARDWARE_KERNEL_LAW_H

/*
 * Coefficients of the laws of kernel times, fitted to measured kernels of one GPU (kernels.csv of
 * the catalog has them with their sources and errors). kernel.c, attention.c and operator.c have
 * the laws. A law whose efficiency is 0 is not known: then the plain roofline with the sustained
 * shares of the GPU is used, with a hard maximum and one launch.
 */

#include "models/hardware/precision.h"

/* Matrix products, for each format of the inputs. */
struct hardware_gemm_law {
    double efficiency;        /* share of the peak that a product without edges reaches */
    double memory_efficiency; /* share of the datasheet's bandwidth */
    double launch_s;
    double fill_k;    /* elements of k that filling the inner loop costs */
    double fill_n;    /* columns that padding to tiles costs */
    double serial_s;  /* an element of k takes at least this: few columns do not fill HBM */
    double sharpness; /* exponent of the smooth maximum of compute and memory */
    double quantise_bandwidth_bytes_per_s; /* of a separate cast of inputs; fp8 only */
};

/* Attention over many new tokens (prompts, training). */
struct hardware_prefill_law {
    double efficiency;
    double launch_s;
    double fill_tokens; /* keys that the masked part of tiles costs a query */
    double serial_s;    /* a key takes at least this: a tile of queries passes its keys in order */
    double cache_write; /* traffic of a token that is put into the cache, in reads of it */
    double sharpness;   /* of compute against the serial path */
    double unit_s;      /* a sequence and key-value head, spread over the processors */
};

/* Attention of one new token a sequence over its cache. */
struct hardware_decode_law {
    double memory_efficiency;
    double launch_s;
    double unit_s;
};

/* Element-wise kernels, by what they do. */
enum hardware_operator {
    HARDWARE_NORM,
    HARDWARE_ADD,
    HARDWARE_ACTIVATION, /* gated: two inputs, one output */
    HARDWARE_ROTARY,
    HARDWARE_EMBEDDING,
    HARDWARE_OPERATOR_COUNT
};

struct hardware_operator_law {
    double memory_efficiency;
    double launch_s;
    double row_s_per_byte; /* one block works through a row: wide rows take longer */
};

struct hardware_kernel_laws {
    struct hardware_gemm_law gemm[HARDWARE_PRECISION_COUNT];
    struct hardware_prefill_law prefill;
    struct hardware_decode_law decode;
    struct hardware_operator_law operators[HARDWARE_OPERATOR_COUNT];
    /* What long runs keep of the compute rate of short measurements: clocks fall with power and
     * temperature. In (0, 1]; memory rates are not touched. Read where a law is known. */
    double sustained_share;
};

/* "norm", "add", "activation", "rotary", "embedding". */
const char *hardware_operator_name(enum hardware_operator operator_kind);

#endif
