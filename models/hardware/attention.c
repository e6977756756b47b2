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
 * One new token a sequence reads the cache, B = context x bytes of a token, with a ramp r that is
 * whole once B is larger than the L2 (C bytes):
 *
 *     memory    Tm = B / (bandwidth x Em) + r B / (B + C)
 *
 * and where few bytes carry many heads (a latent cache) compute may take longer:
 *
 *     split     Ts = lambda x (context of a sequence)^(1/2)
 *     time      T  = launch + (Ts^(3/2) + (Tu^2 + max(Tm, Tc)^2)^(3/4))^(2/3)
 *
 * The root is what remains of a context that is split: n parts take s/n t + n c, least where n is
 * (s t / c)^(1/2), and then 2 (s t c)^(1/2).
 *
 * The backward has five matrix products where the forward has two, since it makes the scores again
 * (Dao counts the same), at an efficiency of its own. No backward kernel was measured: its shape
 * (s0, launch) is that of the forward, and its efficiency is one of long runs already.
 *
 * Held out, beyond 1,024 tokens (aiconfigurator @095f58a51, head_dim 128): prompts 3.0 / 8.8 %,
 * decode 2.9 / 9.2 %, median and 90th percentile. Short prompts in large batches are off by more
 * (25 to 28 % at the 90th percentile of all lengths on A100 and B200).
 *
 * Left out: windows (the pairs and context given are what is worked on), sequences of unlike
 * length, of which the longest may end alone.
 *
 * A benchmark that repeats one decode kernel finds in the L2 what fits there: below C the measured
 * rates exceed the HBM's, and at C they fall within a factor of 1.5 in size. Between two attention
 * kernels of a run all weights of a layer pass through the L2, so that its caches are cold; `warm`
 * is there to hold the law against such benchmarks: Tm is then B / (bandwidth x W) below C, with a
 * weight (C / B)^8 between the two.
 */

#include "models/hardware/kernel.h"

#include "models/hardware/roofline.h"
#include "sim/contract.h"

#include <math.h>

#define BACKWARD_WORK 2.5
#define BACKWARD_TRAFFIC 2.0
#define PREFILL_CORNER 3.0
#define DECODE_CORNER 2.0
#define SPLIT_CORNER 1.5
#define WARM_STEP 8.0

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
    double rate = hardware_attention_peak(gpu) * efficiency;
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
    return efficiency > 0.0
               ? law_s(gpu, attention, 1.0, efficiency * gpu->kernels.sustained_share, 1.0)
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

static double cache_read_s(const struct hardware_gpu *gpu, const struct hardware_attention *a) {
    const struct hardware_decode_law *law = &gpu->kernels.decode;
    double bytes = a->context_tokens * a->kv_token_bytes;
    double cold_s = hardware_traffic_s(gpu, bytes, law->memory_efficiency);
    if (bytes == 0.0 || law->cache_bytes == 0.0)
        return cold_s;
    cold_s += law->ramp_s * bytes / (bytes + law->cache_bytes);
    if (!a->warm)
        return cold_s;
    double cold = 1.0 / (1.0 + pow(law->cache_bytes / bytes, WARM_STEP));
    double warm_s = fmin(cold_s, hardware_traffic_s(gpu, bytes, law->warm_rate));
    return cold * cold_s + (1.0 - cold) * warm_s;
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
    double read_s = cache_read_s(gpu, attention);
    double unit_s = law->unit_s * attention->sequences * attention->kv_heads;
    double split_s = law->serial_s * sqrt(attention->context_tokens / attention->sequences);
    double shared_s = hardware_smooth_max(unit_s, fmax(read_s, compute_s), DECODE_CORNER);
    return law->launch_s + hardware_smooth_max(split_s, shared_s, SPLIT_CORNER);
}
