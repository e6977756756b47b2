/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TESTS_ORACLE_PIPELINE_TWIN_H
#define TESTS_ORACLE_PIPELINE_TWIN_H

/*
 * A pipeline by brute force: who does what is listed by loops and by counting what is in flight,
 * and times are raised until none has to be raised any more. No engine, no formula for places.
 */

#include <stdbool.h>

struct pipeline_twin {
    int stages, chunks_per_stage, microbatches;
    bool backward;
    /* [microbatch x chunks + chunk], as in models/training/pipeline.h */
    const double *forward_s, *backward_s, *send_s;
};

/* When each stage is through with its last pass. */
void pipeline_twin_ends(const struct pipeline_twin *twin, double *ends_s);

#endif
