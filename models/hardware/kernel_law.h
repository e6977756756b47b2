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

#include <stdbool.h>

/* Matrix products, for each format of the inputs. */
struct hardware_gemm_law {
    double efficiency;        /* share of the peak that a product without edges reaches */
    double memory_efficiency; /* share of the datasheet's bandwidth */
    double launch_s;
    double fill_k;    /* elements of k that filling the inner loop costs */
    double fill_n;    /* columns that padding to tiles costs */
    double serial_s;  /* an element of k takes at least this: few columns do not fill HBM */
    double sharpness; /* exponent of the smooth maximum of compute and memory */
    double quantise_efficiency; /* share of the bandwidth that a cast of inputs reaches; fp8 only */
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
    double serial_s;    /* of the square root of a sequence's context: splitting and combining */
    double ramp_s;      /* of filling the memory pipes, once the cache is larger than the L2 */
    double cache_bytes; /* what the L2 keeps between two readings */
    double warm_rate;   /* rate of the L2 in datasheet bandwidths; for benchmarks only */
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

/* ---- coefficients by name -------------------------------------------------------------------- */

/* What has a law of its own. Products of fp16 have that of bf16. */
enum hardware_kernel {
    HARDWARE_KERNEL_GEMM_BF16,
    HARDWARE_KERNEL_GEMM_FP8,
    HARDWARE_KERNEL_PREFILL,
    HARDWARE_KERNEL_DECODE,
    HARDWARE_KERNEL_NORM, /* operators in the order of their enum */
    HARDWARE_KERNEL_ADD,
    HARDWARE_KERNEL_ACTIVATION,
    HARDWARE_KERNEL_ROTARY,
    HARDWARE_KERNEL_EMBEDDING,
    HARDWARE_KERNEL_COUNT
};

enum hardware_coefficient {
    HARDWARE_EFFICIENCY,
    HARDWARE_MEMORY_EFFICIENCY,
    HARDWARE_LAUNCH,
    HARDWARE_FILL, /* along k of a product; keys of a prompt */
    HARDWARE_FILL_N,
    HARDWARE_SERIAL,
    HARDWARE_SHARPNESS,
    HARDWARE_UNIT,
    HARDWARE_CACHE_WRITE,
    HARDWARE_QUANTISE_EFFICIENCY,
    HARDWARE_ROW,
    HARDWARE_RAMP,
    HARDWARE_CACHE,
    HARDWARE_WARM,
    HARDWARE_COEFFICIENT_COUNT
};

/* "gemm_bf16", "gemm_fp8", "prefill", "decode", "norm", ... */
const char *hardware_kernel_name(enum hardware_kernel kernel);

/* How a coefficient is written: "launch_us", and one of it in SI (1e-6). */
const char *hardware_coefficient_name(enum hardware_coefficient coefficient);
double hardware_coefficient_si(enum hardware_coefficient coefficient);

/* The coefficient of a kernel's law; NULL where the law has none of that name. */
double *hardware_kernel_coefficient(struct hardware_kernel_laws *laws, enum hardware_kernel kernel,
                                    enum hardware_coefficient coefficient);

/* Is the law known? */
bool hardware_kernel_is_known(const struct hardware_kernel_laws *laws, enum hardware_kernel kernel);

#endif
