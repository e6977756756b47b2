/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_HARDWARE_KERNEL_H
#define MODELS_HARDWARE_KERNEL_H

/*
 * What a kernel costs: the slower of compute and memory traffic, each by its shape, and its launch,
 * counted once. The laws are in kernel.c (matrix products), attention.c and operator.c (element-
 * wise work); their coefficients are fitted to measured kernels (kernel_law.h). Every time is
 * smooth, and no time falls when a count grows. All functions: seconds, pure.
 */

#include "models/hardware/cluster.h"

/* ---- matrix products ------------------------------------------------------------------------- */

/* One product [m x k] [k x n] -> [m x n], inputs in `precision`, output of 2 bytes an element.
 * Any dimension 0 gives 0. The GPU must support the precision. Inputs of fp8 are taken as they are:
 * who makes them from 2-byte elements adds hardware_quantise_s. */
double hardware_gemm_s(const struct hardware_gpu *gpu, enum hardware_precision precision, double m,
                       double n, double k);

/* So many products of that shape in one kernel, which need not be whole: experts of a layer, as
 * many as have tokens, with the tokens that each has on average. One group is hardware_gemm_s. */
double hardware_grouped_gemm_s(const struct hardware_gpu *gpu, enum hardware_precision precision,
                               double groups, double m, double n, double k);

/* Casting `elements` inputs of a product from 2 bytes to `precision` in a kernel of its own, as
 * inference engines do before an fp8 product (2 bytes read, 1 written; its launch is inside that of
 * the measured products). 0 for formats of 2 bytes and more. */
double hardware_quantise_s(const struct hardware_gpu *gpu, enum hardware_precision precision,
                           double elements);

/* ---- attention ------------------------------------------------------------------------------- */

/* What one attention kernel has to do: one layer, all sequences of the batch. Heads may be
 * fractions (a share of them on each GPU). */
struct hardware_attention {
    double score_pairs; /* query-key pairs, those that a causal mask leaves; heads share them */
    double tokens;      /* new ones: queries, of all sequences */
    double sequences;
    double context_tokens; /* tokens whose keys and values are read, new ones included */
    double cached_tokens;  /* tokens whose keys and values are put into a cache; 0 in training */
    double heads, kv_heads;
    double score_dim;      /* of a head's query and key */
    double value_dim;      /* of its value and output */
    double element_bytes;  /* of queries and output */
    bool warm;             /* decode: the same cache was just read, as a benchmark does that repeats
                              one kernel; never in a run */
    double kv_token_bytes; /* keys and values of one token, all key-value heads of this GPU: plain
                              kv_heads x (score_dim + value_dim) x element_bytes, or a latent */
};

/* Flash attention over many new tokens, forward: 2 x pairs x heads x (score_dim + value_dim) FLOPs.
 * No tokens take no time. */
double hardware_attention_prefill_s(const struct hardware_gpu *gpu,
                                    const struct hardware_attention *attention);

/* One new token a sequence: pairs are the context tokens; reading the cache is what takes time. All
 * kernels of the step are counted (cache write, split, combine): no launch is to be added. */
double hardware_attention_decode_s(const struct hardware_gpu *gpu,
                                   const struct hardware_attention *attention);

/* The backward of the prefill: 2.5 times the FLOPs (the forward product is made again inside) at
 * the backward kernel's own efficiency, and twice the traffic. */
double hardware_attention_backward_s(const struct hardware_gpu *gpu,
                                     const struct hardware_attention *attention);

/* ---- element-wise work ----------------------------------------------------------------------- */

/* One kernel over `rows` rows (tokens), each of which reads and writes `row_bytes` in all: a norm
 * and an embedding 2 elements of the row, a residual add 3, a gated activation 3 of its output,
 * rotary 2 of queries and keys. No rows take no time. */
double hardware_operator_s(const struct hardware_gpu *gpu, enum hardware_operator operator_kind,
                           double rows, double row_bytes);

/* Everything else that only moves `bytes` through HBM, in `kernels` kernels:
 * bytes / (bandwidth x efficiency) + kernels x launch. */
double hardware_memory_s(const struct hardware_gpu *gpu, double bytes, double kernels);

#endif
