/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Flash attention (Dao 2023; Shah and others 2024 for Hopper) of a batch given by its sums.
 *
 * Many new tokens. With s0 keys a query lost in tiles that the mask cuts, and c reads' worth of
 * traffic for a token put into the cache:
 *
 *     compute   Tc = 2 (pairs + tokens x s0 / 2) heads (score_dim + value_dim) / (peak x E)
 *     serial    Ts = context of a sequence x lambda (a tile of queries passes its keys in order)
 *     cache     Tk = (context + c x cached tokens) x bytes of a token / bandwidth
 *     units     Tu = sequences x kv_heads x u
 *     time      T  = launch + ((smooth max(Tc, Ts) + Tk)^3 + Tu^3)^(1/3)
 *
 * A whole causal sequence of s tokens has s^2 / 2 pairs, for which Tc is 2 s (s + s0) heads dim.
 *
 * One new token a sequence reads the cache: Tm = context x bytes of a token / (bandwidth x Em),
 * and where few bytes carry many heads (a latent cache) compute may take longer:
 *
 *     time      T  = launch + (Tu^2 + max(Tm, Tc)^2)^(1/2)
 *
 * The backward has five matrix products where the forward has two, since it makes the scores again
 * (Dao counts the same), at an efficiency of its own. No backward kernel was measured: its shape
 * (s0, launch) is that of the forward.
 *
 * Left out: windows (the pairs and context given are what is worked on), sequences of unlike
 * length, of which the longest may end alone; caches in the L2, which a real engine finds cold.
 */

#include "models/hardware/kernel.h"

#include "models/hardware/roofline.h"
#include "sim/contract.h"

#include <math.h>

#define BACKWARD_WORK 2.5
#define BACKWARD_TRAFFIC 2.0
#define PREFILL_CORNER 3.0
#define DECODE_CORNER 2.0

static void check(const struct hardware_attention *a) {
    CONTRACT(a->score_pairs >= 0.0 && a->tokens >= 0.0 && a->sequences >= 0.0 &&
                 a->context_tokens >= 0.0 && a->cached_tokens >= 0.0 && a->heads >= 0.0 &&
                 a->kv_heads >= 0.0 && a->kv_token_bytes >= 0.0,
             "negative work");
    CONTRACT(a->tokens == 0.0 || a->sequences > 0.0, "tokens belong to sequences");
}

static double pair_flops(const struct hardware_attention *a) {
    return 2.0 * a->heads * (a->score_dim + a->value_dim);
}

/* Queries in, output out. */
static double query_bytes(const struct hardware_attention *a) {
    return a->tokens * a->heads * (a->score_dim + a->value_dim) * a->element_bytes;
}

/* Without a law: all that is read and written, or the FLOPs at the kernel's sustained share. */
static double roofline_s(const struct hardware_gpu *gpu, double flops, double efficiency,
                         double bytes) {
    return fmax(flops / (hardware_attention_peak(gpu) * efficiency),
                hardware_traffic_s(gpu, bytes, gpu->memory_efficiency)) +
           gpu->kernel_launch_s;
}

static double plain_s(const struct hardware_gpu *gpu, const struct hardware_attention *a,
                      double work, double efficiency, double traffic) {
    double bytes = query_bytes(a) + a->context_tokens * a->kv_token_bytes;
    return roofline_s(gpu, work * a->score_pairs * pair_flops(a), efficiency, traffic * bytes);
}

/* The law for `work` times the FLOPs of the forward and `traffic` times its bytes. */
static double law_s(const struct hardware_gpu *gpu, const struct hardware_attention *a, double work,
                    double efficiency, double traffic) {
    const struct hardware_prefill_law *law = &gpu->kernels.prefill;
    double rate = hardware_attention_peak(gpu) * efficiency * gpu->kernels.sustained_share;
    double pairs = a->score_pairs + a->tokens * law->fill_tokens / 2.0;
    double compute_s = work * pairs * pair_flops(a) / rate;
    double serial_s = work * law->serial_s * a->context_tokens / a->sequences;
    double tokens = a->context_tokens + law->cache_write * a->cached_tokens;
    double cache_s = hardware_traffic_s(gpu, traffic * tokens * a->kv_token_bytes, 1.0);
    double unit_s = law->unit_s * a->sequences * a->kv_heads;
    double work_s = hardware_smooth_max(compute_s, serial_s, law->sharpness) + cache_s;
    return law->launch_s + hardware_smooth_max(work_s, unit_s, PREFILL_CORNER);
}

double hardware_attention_prefill_s(const struct hardware_gpu *gpu,
                                    const struct hardware_attention *attention) {
    double efficiency = gpu->kernels.prefill.efficiency;
    check(attention);
    if (attention->tokens == 0.0)
        return 0.0;
    return efficiency > 0.0 ? law_s(gpu, attention, 1.0, efficiency, 1.0)
                            : plain_s(gpu, attention, 1.0, gpu->attention_efficiency, 1.0);
}

double hardware_attention_backward_s(const struct hardware_gpu *gpu,
                                     const struct hardware_attention *attention) {
    double efficiency = gpu->attention_backward_efficiency;
    check(attention);
    if (attention->tokens == 0.0)
        return 0.0;
    return gpu->kernels.prefill.efficiency > 0.0
               ? law_s(gpu, attention, BACKWARD_WORK, efficiency, BACKWARD_TRAFFIC)
               : plain_s(gpu, attention, BACKWARD_WORK, efficiency, BACKWARD_TRAFFIC);
}

double hardware_attention_decode_s(const struct hardware_gpu *gpu,
                                   const struct hardware_attention *attention) {
    const struct hardware_decode_law *law = &gpu->kernels.decode;
    check(attention);
    if (attention->tokens == 0.0)
        return 0.0;
    if (law->memory_efficiency == 0.0)
        return plain_s(gpu, attention, 1.0, gpu->attention_efficiency, 1.0);
    double efficiency = gpu->kernels.prefill.efficiency > 0.0
                            ? gpu->kernels.prefill.efficiency * gpu->kernels.sustained_share
                            : gpu->attention_efficiency;
    double compute_s = attention->score_pairs * pair_flops(attention) /
                       (hardware_attention_peak(gpu) * efficiency);
    double bytes = attention->context_tokens * attention->kv_token_bytes;
    double read_s = hardware_traffic_s(gpu, bytes, law->memory_efficiency);
    double unit_s = law->unit_s * attention->sequences * attention->kv_heads;
    return law->launch_s + hardware_smooth_max(unit_s, fmax(read_s, compute_s), DECODE_CORNER);
}
