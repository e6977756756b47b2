/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_GENERATION_LENGTH_DRIFT_H
#define MODELS_GENERATION_LENGTH_DRIFT_H

/*
 * The mean length of answers over the steps of a run, from mean m at the start to m1:
 *
 *     linear     m + (m1 - m) min(1, (s - 1)/(steps - 1))             m1 from step `steps` on
 *     logistic   m + (m1 - m)/(1 + e^(-r (s - midpoint))),  r = 2 ln 9 / steps
 *                                                 a tenth to nine tenths in `steps` steps
 *     table      linear between the rows of a table, and its first and last mean outside of it
 *
 * s counts from 1. What the mean does to the law: generation_lengths_stretch.
 */

#include <stddef.h>
#include <stdint.h>

enum generation_length_drift_kind {
    GENERATION_LENGTH_DRIFT_NONE,
    GENERATION_LENGTH_DRIFT_LINEAR,
    GENERATION_LENGTH_DRIFT_LOGISTIC,
    GENERATION_LENGTH_DRIFT_TABLE
};

struct generation_length_drift {
    enum generation_length_drift_kind kind;
    double mean;     /* m1 */
    double steps;    /* see above; at least 1 */
    double midpoint; /* of the logistic curve */
    size_t count;    /* rows of the table, by rising step */
    double *table_step, *table_mean;
};

double generation_length_drift_mean(const struct generation_length_drift *drift, double start,
                                    int64_t step);

#endif
