/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_VALIDATION_RUN_RANGES_H
#define MODELS_VALIDATION_RUN_RANGES_H

/*
 * Between what values a measured figure is expected.
 *
 * A run whose lengths, packing, batch, plan or GPU are not stated is forecast again with each input
 * that was assumed at both ends of its prior (run_ranges.c has the table, from what other published
 * runs state), the others as assumed. The ends of one input move a figure by so many logarithms
 * down and up; inputs and the model's own error (bands.csv) are independent, so that
 *
 *     ln high = ln (forecast x p50) + sqrt(ln(p90 / p50)^2 + sum of squares of moves up)
 *
 * and likewise low. Of a run that states those inputs it is the band alone.
 */

#include "models/validation/run_variant.h"

#define RUN_RANGE_INPUTS 12

struct run_ranges {
    bool incomplete; /* lengths, packing, batch, plan or GPU are assumed */
    size_t count;    /* of inputs with a prior; 0 of a complete run */
    struct {
        const char *name; /* "plan", or the column */
        size_t ends;      /* legal ones of the prior's two */
        struct run_outcome at[2];
    } inputs[RUN_RANGE_INPUTS];
};

/* RLHFSIM_OK, RLHFSIM_NO_MEMORY or RLHFSIM_INTERNAL. */
enum rlhfsim_status run_ranges_forecast(const struct catalog *catalog, const struct run_case *run,
                                        struct rlhfsim_diagnostics *diagnostics,
                                        struct run_ranges *ranges);

struct run_range {
    double low, high;  /* in the figure's unit; NAN: no band tells */
    const char *input; /* that moves it most; NULL: none does */
};

/* With the band that runs of other sources give. False where the figure belongs to no band, or is a
 * rate beside the time of the step. */
bool run_range_of(const struct catalog *catalog, const struct run_case *run,
                  const struct run_figure *figure, double forecast, const struct run_ranges *ranges,
                  struct run_range *range);

/* The table of priors: column and the values at its ends, in words; false past the last one. */
bool run_prior_at(size_t index, const char **column, const char **why);

#endif
