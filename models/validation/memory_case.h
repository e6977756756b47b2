/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_VALIDATION_MEMORY_CASE_H
#define MODELS_VALIDATION_MEMORY_CASE_H

/*
 * One measured case of memory with its forecast, from whatever table. A peak that was measured is a
 * run that fitted; one that its authors estimated is not. Within 5 % of the limit no yes or no is
 * forecast but a probability: of the metric `fits` a forecast of 0 or 1 is a verdict, wrong where
 * it is not what was measured, and one in between is marginal.
 */

#include "models/validation/memory_rows.h"

struct memory_case {
    const char *source, *name; /* in the arena of the validation */
    const char *provenance;
    struct memory_measured measured;
    double peak_bytes; /* forecast */
    bool counted;      /* it is known what the source measured: `counts` */
    enum training_counts counts;
    double fits;                       /* 1 or 0, or near the limit a probability */
    const char *peak_reason;           /* why the peak alone is skipped; NULL: it is not */
    char reason[TRAINING_REASON_SIZE]; /* why it is skipped; "" where it is not */
};

/* One comparison for the peak, one for the outcome. */
enum rlhfsim_status memory_case_add(struct validation_run *run, const struct memory_case *found);

#endif
