/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * The laws of kernel times (models/hardware/) fitted to measured kernels, each law of each GPU on
 * its own: least soft-L1 of ln(law / measured) with a scale of 0.1. The searches begin at what the
 * coefficients mean: shares of the peaks near 0.8, launches of some microseconds, fills of a tile
 * or two. Held-out errors: a fifth of the shapes (of the weights n x k, of batches and heads, of
 * row widths, with all their lengths) is left out of the fit, five times.
 *
 * Coefficients are written with few digits, and everything is judged as it is written.
 */

#include "models/calibration/kernel_fit.h"

#include "models/calibration/fit.h"

#include <math.h>
#include <stdlib.h>

#define SCALE 0.1
#define ROUNDS 8
#define PRIOR 0.02
#define LEAST_PROMPT 16.0
#define ENDLESS (double)INFINITY

/* As they are written (microseconds, ...); `step` is the last digit that is. */
struct search {
    struct fit_coefficient range;
    double step;
};

/* One table for all laws: a coefficient means much the same in each. */
static const struct search searches[HARDWARE_COEFFICIENT_COUNT] = {
    [HARDWARE_EFFICIENCY] = {{0.75, 0.0, 1.0}, 1e-4},
    [HARDWARE_MEMORY_EFFICIENCY] = {{0.85, 0.0, 1.0}, 1e-4},
    [HARDWARE_LAUNCH] = {{4.0, 0.0, ENDLESS}, 1e-3},
    [HARDWARE_FILL] = {{200.0, 0.0, ENDLESS}, 0.1},
    [HARDWARE_FILL_N] = {{50.0, 0.0, ENDLESS}, 0.1},
    [HARDWARE_SERIAL] = {{0.2, 0.0, ENDLESS}, 1e-4},
    [HARDWARE_SHARPNESS] = {{3.0, 1.0, 9.0}, 1e-3},
    [HARDWARE_UNIT] = {{30.0, 0.0, ENDLESS}, 1e-2},
    [HARDWARE_CACHE_WRITE] = {{1.0, 0.0, ENDLESS}, 1e-3},
    [HARDWARE_QUANTISE_EFFICIENCY] = {{0.3, 0.0, 1.0}, 1e-4},
    [HARDWARE_ROW] = {{100.0, 0.0, ENDLESS}, 1e-2},
    [HARDWARE_RAMP] = {{8.0, 0.0, ENDLESS}, 1e-3},
    [HARDWARE_CACHE] = {{50.0, 10.0, 250.0}, 1e-2},
    [HARDWARE_WARM] = {{1.2, 0.2, 5.0}, 1e-3},
};

/* But for a prompt: a tile of 128 keys takes a microsecond or more, and its fill and launch are
 * those of several kernels; the launch of an operator is half of a product's. */
static struct fit_coefficient range_of(enum hardware_kernel kernel,
                                       enum hardware_coefficient coefficient) {
    struct fit_coefficient range = searches[coefficient].range;
    bool attention = kernel == HARDWARE_KERNEL_PREFILL || kernel == HARDWARE_KERNEL_DECODE;
    if (kernel == HARDWARE_KERNEL_PREFILL && coefficient == HARDWARE_SERIAL)
        range.start = 10.0;
    if (kernel == HARDWARE_KERNEL_DECODE && coefficient == HARDWARE_SERIAL)
        range.start = 40.0;
    if (kernel == HARDWARE_KERNEL_PREFILL && coefficient == HARDWARE_FILL)
        range.start = 1000.0;
    if (coefficient == HARDWARE_LAUNCH)
        range.start = attention ? 12.0 : kernel >= HARDWARE_KERNEL_NORM ? 2.0 : 4.0;
    return range;
}

/* Prompts of a few tokens are done by the decode kernel of some engines. */
static bool is_fitted(const struct kernel_sample *sample) {
    const struct hardware_attention *attention = &sample->shape.attention;
    return sample->shape.kind != KERNEL_PREFILL ||
           attention->tokens / attention->sequences > LEAST_PROMPT;
}

struct fitting {
    struct kernel_law_fit *law;
    const struct kernel_set *set;
    size_t *chosen; /* samples that are fitted to */
};

static void law_start(struct kernel_law_fit *law, const struct kernel_set *set) {
    *law = (struct kernel_law_fit){.gpu = *set->gpu, .kernel = set->kernel};
    law->gpu.kernels = (struct hardware_kernel_laws){.sustained_share = 1.0};
    for (int i = 0; i < HARDWARE_COEFFICIENT_COUNT; i++) {
        enum hardware_coefficient coefficient = (enum hardware_coefficient)i;
        if (hardware_kernel_coefficient(&law->gpu.kernels, set->kernel, coefficient) == NULL)
            continue;
        law->values[law->coefficients] = range_of(set->kernel, coefficient).start;
        law->order[law->coefficients++] = coefficient;
    }
}

static void law_set(struct kernel_law_fit *law, const double *values) {
    for (size_t i = 0; i < law->coefficients; i++)
        *hardware_kernel_coefficient(&law->gpu.kernels, law->kernel, law->order[i]) =
            values[i] * hardware_coefficient_si(law->order[i]);
    law->gpu.kernels.gemm[HARDWARE_FP16] = law->gpu.kernels.gemm[HARDWARE_BF16];
}

static void set_values(void *context, const double *values) {
    struct fitting *fitting = context;
    law_set(fitting->law, values);
}

static double log_error(const struct hardware_gpu *gpu, const struct kernel_sample *sample) {
    return log(kernel_shape_s(gpu, &sample->shape) / sample->measured_s);
}

double kernel_law_error(const struct hardware_gpu *gpu, const struct kernel_sample *sample) {
    return fabs(expm1(log_error(gpu, sample)));
}

static double residual(void *context, size_t point) {
    const struct fitting *fitting = context;
    return log_error(&fitting->law->gpu, &fitting->set->samples[fitting->chosen[point]]);
}

static bool search(struct fitting *fitting, unsigned fold) {
    struct kernel_law_fit *law = fitting->law;
    struct fit_coefficient coefficient[HARDWARE_COEFFICIENT_COUNT];
    struct fit_problem problem = {.coefficients = law->coefficients,
                                  .coefficient = coefficient,
                                  .scale = SCALE,
                                  .prior = PRIOR,
                                  .set = set_values,
                                  .residual = residual,
                                  .context = fitting};
    for (size_t i = 0; i < law->coefficients; i++)
        coefficient[i] = range_of(law->kernel, law->order[i]);
    for (size_t i = 0; i < fitting->set->count; i++)
        if (fitting->set->samples[i].fold != fold && is_fitted(&fitting->set->samples[i]))
            fitting->chosen[problem.points++] = i;
    return problem.points < problem.coefficients || fit_solve(&problem, ROUNDS, law->values);
}

bool kernel_law_fit(const struct kernel_set *set, unsigned fold, struct kernel_law_fit *law) {
    struct fitting fitting = {law, set, calloc(set->count + 1, sizeof *fitting.chosen)};
    law_start(law, set);
    bool good = fitting.chosen != NULL && search(&fitting, fold);
    law_set(law, law->values);
    free(fitting.chosen);
    return good;
}

/* Shares and exponents stay in their ranges. */
static double rounded(enum hardware_coefficient coefficient, double value) {
    double step = searches[coefficient].step;
    double low = searches[coefficient].range.low, high = searches[coefficient].range.high;
    double result = nearbyint(value / step) * step;
    if (isinf(high))
        return result;
    return fmin(high, fmax(result, low > 0.0 ? low : step));
}

void kernel_law_round(struct kernel_law_fit *law) {
    for (size_t i = 0; i < law->coefficients; i++)
        law->values[i] = rounded(law->order[i], law->values[i]);
    law_set(law, law->values);
}
