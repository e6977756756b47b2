/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_VALIDATION_RUN_VARIANT_H
#define MODELS_VALIDATION_RUN_VARIANT_H

/* A whole run with some of its cells replaced, through all checks, forecast like any other. */

#include "models/validation/run_outcome.h"

struct run_replacement {
    const char *column, *value;
};

struct run_variant {
    const struct run_replacement *cells;
    size_t count;
    bool only_fitting; /* what does not fit the memory is not simulated either */
    bool forecast;     /* set: it is legal, and there is an outcome */
    struct run_outcome outcome;
};

/* RLHFSIM_OK, also where there is no outcome; RLHFSIM_NO_MEMORY or RLHFSIM_INTERNAL. The run itself
 * stays as it is. */
enum rlhfsim_status run_variant_forecast(const struct catalog *catalog, const struct run_case *run,
                                         struct rlhfsim_diagnostics *diagnostics,
                                         struct run_variant *variant);

#endif
