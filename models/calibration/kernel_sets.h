/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_CALIBRATION_KERNEL_SETS_H
#define MODELS_CALIBRATION_KERNEL_SETS_H

/* Measured kernels by what they can be fitted to: a set for every law of every GPU. */

#include "models/calibration/kind.h"
#include "models/validation/kernel_rows.h"

struct kernel_sample {
    struct kernel_shape shape;
    double measured_s;
    unsigned fold; /* 0 to KERNEL_FOLDS - 1; the same for all samples of a weight (n, k), of a batch
                      and heads, of a row width: lengths of a shape are left out together */
};

#define KERNEL_FOLDS 5u
#define KERNEL_ORIGIN_SIZE 512

struct kernel_set {
    struct kernel_set *next;
    const struct hardware_gpu *gpu;
    enum hardware_kernel kernel;
    struct kernel_sample *samples;
    size_t count, room;
    char sources[KERNEL_ORIGIN_SIZE], frameworks[KERNEL_ORIGIN_SIZE]; /* different ones; "; " */
};

/* Reads all files of the run. *sets in the order of their first rows, to be freed also after an
 * error. Rows that belong to no set are counted in the calibration. */
enum rlhfsim_status kernel_sets_read(struct calibration_run *run, struct kernel_set **sets);
void kernel_sets_free(struct kernel_set *sets);

#endif
