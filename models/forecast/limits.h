/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_FORECAST_LIMITS_H
#define MODELS_FORECAST_LIMITS_H

/*
 * What limits a run: the resource whose 10 % speed-up saves most. Each resource is made 10 % faster
 * in a copy of the scenario, and the same few steps are simulated again with the same random
 * numbers, so that the difference is the resource's and not chance's.
 */

#include "models/forecast/simulation.h"

struct forecast_limit {
    const char *resource; /* "GPU compute", "HBM bandwidth", ...; static */
    double gain_fraction; /* of the run's time that a 10 % speed-up saves */
};

/* Steps that tell how long one takes. */
int64_t forecast_short_steps(const struct rlhfsim_scenario *scenario);

/* `measures` is the whole run that the gain refers to; `how` has a progress function that can stop
 * the search. A status of forecast_run on failure. */
enum rlhfsim_status forecast_limit_find(const struct forecast_plan *plan,
                                        const struct forecast_measures *measures,
                                        const struct rlhfsim_forecast_options *how,
                                        struct rlhfsim_diagnostics *diagnostics,
                                        struct forecast_limit *limit);

#endif
