/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/hardware/kernel_law.h"

#include "sim/contract.h"

#include <stddef.h>

static const char *const kernel_names[HARDWARE_KERNEL_COUNT] = {
    [HARDWARE_KERNEL_GEMM_BF16] = "gemm_bf16",
    [HARDWARE_KERNEL_GEMM_FP8] = "gemm_fp8",
    [HARDWARE_KERNEL_PREFILL] = "prefill",
    [HARDWARE_KERNEL_DECODE] = "decode",
    [HARDWARE_KERNEL_NORM] = "norm",
    [HARDWARE_KERNEL_ADD] = "add",
    [HARDWARE_KERNEL_ACTIVATION] = "activation",
    [HARDWARE_KERNEL_ROTARY] = "rotary",
    [HARDWARE_KERNEL_EMBEDDING] = "embedding",
};

static const struct {
    const char *name;
    double si;
} coefficients[HARDWARE_COEFFICIENT_COUNT] = {
    [HARDWARE_EFFICIENCY] = {"efficiency", 1.0},
    [HARDWARE_MEMORY_EFFICIENCY] = {"memory_efficiency", 1.0},
    [HARDWARE_LAUNCH] = {"launch_us", 1e-6},
    [HARDWARE_FILL] = {"fill", 1.0},
    [HARDWARE_FILL_N] = {"fill_n", 1.0},
    [HARDWARE_SERIAL] = {"serial_ns", 1e-9},
    [HARDWARE_SHARPNESS] = {"sharpness", 1.0},
    [HARDWARE_UNIT] = {"unit_ns", 1e-9},
    [HARDWARE_CACHE_WRITE] = {"cache_write", 1.0},
    [HARDWARE_QUANTISE_EFFICIENCY] = {"quantise_efficiency", 1.0},
    [HARDWARE_ROW] = {"row_ns_per_kb", 1e-12},
    [HARDWARE_RAMP] = {"ramp_us", 1e-6},
    [HARDWARE_CACHE] = {"cache_mb", 1e6},
    [HARDWARE_WARM] = {"warm_rate", 1.0},
};

#define GEMM(index, field) offsetof(struct hardware_kernel_laws, gemm[index].field)
#define GEMM_LAW(index)                                                               \
    [HARDWARE_EFFICIENCY] = GEMM(index, efficiency),                                  \
    [HARDWARE_MEMORY_EFFICIENCY] = GEMM(index, memory_efficiency),                    \
    [HARDWARE_LAUNCH] = GEMM(index, launch_s), [HARDWARE_FILL] = GEMM(index, fill_k), \
    [HARDWARE_SERIAL] = GEMM(index, serial_s), [HARDWARE_SHARPNESS] = GEMM(index, sharpness)
#define PREFILL(field) offsetof(struct hardware_kernel_laws, prefill.field)
#define DECODE(field) offsetof(struct hardware_kernel_laws, decode.field)
#define OPERATOR(index, field) offsetof(struct hardware_kernel_laws, operators[index].field)
#define OPERATOR_LAW(index)                                                \
    {                                                                      \
        [HARDWARE_MEMORY_EFFICIENCY] = OPERATOR(index, memory_efficiency), \
        [HARDWARE_LAUNCH] = OPERATOR(index, launch_s),                     \
        [HARDWARE_ROW] = OPERATOR(index, row_s_per_byte),                  \
    }

/* Where a law has its coefficients, from the start of the laws; 0 is the first coefficient of a
 * product's law of fp32, which none of these kernels has, and stands for none. A fill along n and a
 * cast of the inputs both go with m k: fp8, which has the cast, has no fill. */
static const size_t offsets[HARDWARE_KERNEL_COUNT][HARDWARE_COEFFICIENT_COUNT] = {
    [HARDWARE_KERNEL_GEMM_BF16] = {GEMM_LAW(HARDWARE_BF16), [HARDWARE_FILL_N] =
                                                                GEMM(HARDWARE_BF16, fill_n)},
    [HARDWARE_KERNEL_GEMM_FP8] = {GEMM_LAW(HARDWARE_FP8), [HARDWARE_QUANTISE_EFFICIENCY] = GEMM(
                                                              HARDWARE_FP8, quantise_efficiency)},
    [HARDWARE_KERNEL_PREFILL] = {[HARDWARE_EFFICIENCY] = PREFILL(efficiency),
                                 [HARDWARE_LAUNCH] = PREFILL(launch_s),
                                 [HARDWARE_FILL] = PREFILL(fill_tokens),
                                 [HARDWARE_SERIAL] = PREFILL(serial_s),
                                 [HARDWARE_CACHE_WRITE] = PREFILL(cache_write),
                                 [HARDWARE_SHARPNESS] = PREFILL(sharpness),
                                 [HARDWARE_UNIT] = PREFILL(unit_s)},
    [HARDWARE_KERNEL_DECODE] = {[HARDWARE_MEMORY_EFFICIENCY] = DECODE(memory_efficiency),
                                [HARDWARE_LAUNCH] = DECODE(launch_s),
                                [HARDWARE_SERIAL] = DECODE(serial_s),
                                [HARDWARE_UNIT] = DECODE(unit_s),
                                [HARDWARE_RAMP] = DECODE(ramp_s),
                                [HARDWARE_CACHE] = DECODE(cache_bytes),
                                [HARDWARE_WARM] = DECODE(warm_rate)},
    [HARDWARE_KERNEL_NORM] = OPERATOR_LAW(HARDWARE_NORM),
    [HARDWARE_KERNEL_ADD] = OPERATOR_LAW(HARDWARE_ADD),
    [HARDWARE_KERNEL_ACTIVATION] = OPERATOR_LAW(HARDWARE_ACTIVATION),
    [HARDWARE_KERNEL_ROTARY] = OPERATOR_LAW(HARDWARE_ROTARY),
    [HARDWARE_KERNEL_EMBEDDING] = OPERATOR_LAW(HARDWARE_EMBEDDING),
};

const char *hardware_kernel_name(enum hardware_kernel kernel) {
    CONTRACT((unsigned)kernel < HARDWARE_KERNEL_COUNT, "not a kernel");
    return kernel_names[kernel];
}

const char *hardware_coefficient_name(enum hardware_coefficient coefficient) {
    CONTRACT((unsigned)coefficient < HARDWARE_COEFFICIENT_COUNT, "not a coefficient");
    return coefficients[coefficient].name;
}

double hardware_coefficient_si(enum hardware_coefficient coefficient) {
    CONTRACT((unsigned)coefficient < HARDWARE_COEFFICIENT_COUNT, "not a coefficient");
    return coefficients[coefficient].si;
}

double *hardware_kernel_coefficient(struct hardware_kernel_laws *laws, enum hardware_kernel kernel,
                                    enum hardware_coefficient coefficient) {
    CONTRACT((unsigned)kernel < HARDWARE_KERNEL_COUNT, "not a kernel");
    CONTRACT((unsigned)coefficient < HARDWARE_COEFFICIENT_COUNT, "not a coefficient");
    size_t offset = offsets[kernel][coefficient];
    return offset == 0 ? NULL : (double *)(void *)((char *)laws + offset);
}

/* Every law has a share of one of the two rates. */
bool hardware_kernel_is_known(const struct hardware_kernel_laws *laws,
                              enum hardware_kernel kernel) {
    size_t offset = offsets[kernel][HARDWARE_EFFICIENCY];
    if (offset == 0)
        offset = offsets[kernel][HARDWARE_MEMORY_EFFICIENCY];
    return *(const double *)(const void *)((const char *)laws + offset) > 0.0;
}
