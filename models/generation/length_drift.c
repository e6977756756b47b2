/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/generation/length_drift.h"

#include "sim/contract.h"

#include <math.h>

static double linear(const struct generation_length_drift *drift, double start, double step) {
    double share = step >= drift->steps ? 1.0 : (step - 1.0) / (drift->steps - 1.0);
    return start + (drift->mean - start) * share;
}

static double logistic(const struct generation_length_drift *drift, double start, double step) {
    double rate = 2.0 * log(9.0) / drift->steps;
    return start + (drift->mean - start) / (1.0 + exp(-rate * (step - drift->midpoint)));
}

static double table(const struct generation_length_drift *drift, double step) {
    const double *steps = drift->table_step, *means = drift->table_mean;
    size_t low = 0, high = drift->count - 1;
    if (step <= steps[low])
        return means[low];
    if (step >= steps[high])
        return means[high];
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (steps[middle] <= step)
            low = middle;
        else
            high = middle;
    }
    double share = (step - steps[low]) / (steps[high] - steps[low]);
    return means[low] + (means[high] - means[low]) * share;
}

double generation_length_drift_mean(const struct generation_length_drift *drift, double start,
                                    int64_t step) {
    switch (drift->kind) {
    case GENERATION_LENGTH_DRIFT_LINEAR:
        return linear(drift, start, (double)step);
    case GENERATION_LENGTH_DRIFT_LOGISTIC:
        return logistic(drift, start, (double)step);
    case GENERATION_LENGTH_DRIFT_TABLE:
        CONTRACT(drift->count > 0, "a table has a row");
        return table(drift, (double)step);
    case GENERATION_LENGTH_DRIFT_NONE:
        break;
    }
    return start;
}
