/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_CALIBRATION_KERNEL_FIT_H
#define MODELS_CALIBRATION_KERNEL_FIT_H

/* One law fitted to one set of measured kernels. */

#include "models/calibration/kernel_sets.h"

struct kernel_law_fit {
    struct hardware_gpu gpu; /* with the law of the kernel alone, and no sustained share */
    enum hardware_kernel kernel;
    enum hardware_coefficient order[HARDWARE_COEFFICIENT_COUNT]; /* those that the law has */
    size_t coefficients;
    double values[HARDWARE_COEFFICIENT_COUNT]; /* in that order, as they are written */
};

/* Fits to the samples that are not of a fold; KERNEL_FOLDS leaves none out. Where there are fewer
 * samples than coefficients the values are where the search would have begun. False without
 * memory. */
bool kernel_law_fit(const struct kernel_set *set, unsigned fold, struct kernel_law_fit *law);

/* |law / measured - 1| of a sample. */
double kernel_law_error(const struct hardware_gpu *gpu, const struct kernel_sample *sample);

/* Rounds the values to the digits that are written, and the law with them. */
void kernel_law_round(struct kernel_law_fit *law);

#endif
