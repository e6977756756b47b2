/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_HARDWARE_TRANSFER_H
#define MODELS_HARDWARE_TRANSFER_H

/*
 * Laws for a GPU of which no kernel was measured: those of the GPU nearest in rates, whose shares
 * are multiplied by how the sustained shares of the two differ. Latencies (launch, serial path) and
 * fills are kept: they hang on clocks and tile sizes, which differ less than peaks.
 *
 * The square root of the ratio of the dense rates is taken for how many more processors there are:
 * assumed, between the same chip and a rate's worth more of it. Of decode attention, what they
 * share (units, the ramp) is divided by it and the L2 grows by it; the L2's rate goes with the
 * dense rate, since a cache is built to feed the products, and not with the memory's, of which
 * `warm` is a share: 5.4 TB/s came out for H100 and 5.5 for H200 (kernels.csv), whose chip is the
 * same. A cast before a product is held up by its processors, not by memory, either: 1.0 and 0.9
 * TB/s.
 */

#include "models/hardware/cluster.h"

/* |ln| of the ratio of the sustained dense rates plus that of the memory rates. Infinite where one
 * of them is not known. */
double hardware_distance(const struct hardware_gpu *a, const struct hardware_gpu *b);

/* Puts the law of one kernel from `donor` into `gpu`. Shares stay within 1. */
void hardware_transfer_law(const struct hardware_gpu *donor, enum hardware_kernel kernel,
                           struct hardware_gpu *gpu);

/* The share of the short-burst rate that long runs keep: what the best sustained product
 * (matmul_efficiency) is of what the law of dense products tends to, at most 1. */
double hardware_sustained_share(const struct hardware_gpu *gpu);

#endif
