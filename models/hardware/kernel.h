/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_HARDWARE_KERNEL_H
#define MODELS_HARDWARE_KERNEL_H

/*
 * What a kernel costs: the slower of compute and memory traffic, plus its launch,
 *
 *     t = max(flops / (peak x efficiency), bytes / (bandwidth x efficiency)) + launch
 *
 * (the roofline of Williams, Waterman and Patterson, 2009). The efficiencies are the sustained
 * shares measured for the GPU (see hardware/cluster.h), not functions of shape; small shapes are
 * slow here because their traffic and launches weigh more. All functions: seconds, pure.
 */

#include "models/hardware/cluster.h"

/* One product [m x k] [k x n] -> [m x n], inputs in `precision`, output of 2 bytes an element.
 * Any dimension 0 gives 0. The GPU must support the precision. */
double hardware_gemm_s(const struct hardware_gpu *gpu, enum hardware_precision precision, double m,
                       double n, double k);

/* So many products of that shape in one kernel, which need not be whole: experts of a layer, as
 * many as have tokens, with the tokens that each has on average. One group is hardware_gemm_s. */
double hardware_grouped_gemm_s(const struct hardware_gpu *gpu, enum hardware_precision precision,
                               double groups, double m, double n, double k);

/* Flash attention, forward, of `score_pairs` query-key pairs (all heads share them): 4 x pairs x
 * heads x head_dim FLOPs and the given traffic of queries, keys, values and output. No pairs and no
 * bytes take no time. */
double hardware_attention_s(const struct hardware_gpu *gpu, double score_pairs, double heads,
                            double head_dim, double bytes);

/* The same, backward: 2.5 times the FLOPs (the forward product is made again inside) at the
 * backward kernel's own efficiency. */
double hardware_attention_backward_s(const struct hardware_gpu *gpu, double score_pairs,
                                     double heads, double head_dim, double bytes);

/* Element-wise work and everything else that only moves `bytes` through HBM, in `kernels` kernels:
 * bytes / (bandwidth x efficiency) + kernels x launch. */
double hardware_memory_s(const struct hardware_gpu *gpu, double bytes, double kernels);

#endif
