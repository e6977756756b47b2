/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_HARDWARE_ROOFLINE_H
#define MODELS_HARDWARE_ROOFLINE_H

/* What the laws of kernels are built from. */

#include "models/hardware/cluster.h"

/* (a^sharpness + b^sharpness)^(1/sharpness) of two times, both at least 0: their maximum where the
 * sharpness is infinite, their sum where it is 1. It grows with both. */
double hardware_smooth_max(double a, double b, double sharpness);

/* Of the datasheet's bandwidth at this share. */
double hardware_traffic_s(const struct hardware_gpu *gpu, double bytes, double efficiency);

/* The peak that attention refers to: GPUs before bf16 (V100) have fp16 at the same place. */
double hardware_attention_peak(const struct hardware_gpu *gpu);

#endif
