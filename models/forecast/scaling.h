/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_FORECAST_SCALING_H
#define MODELS_FORECAST_SCALING_H

/*
 * What twice the GPUs would buy: the first steps are simulated once more with twice the nodes,
 * every pool twice as large, with the same random numbers. The layout of a rank and of a replica
 * stays; there are twice as many. Why it is not twice as fast: the phase that then takes the
 * largest share of the critical path, and how much shorter it got.
 */

#include "models/forecast/simulation.h"

struct forecast_scaling {
    /* False where the samples do not divide over twice the ranks, or a topology is written. */
    bool known;
    double time_fraction; /* of the time per step that is saved */
    double cost_fraction; /* that a step of rented GPUs costs more; below 0: less */
    enum algorithm_phase phase;
    double phase_share;    /* of the time per step, with twice the GPUs */
    double phase_fraction; /* of its own time that the phase lost */
};

/* The first steps of a scenario (forecast_short_steps), without what its store takes. */
enum rlhfsim_status forecast_short_run(const struct rlhfsim_scenario *scenario,
                                       const struct rlhfsim_forecast_options *how,
                                       struct rlhfsim_diagnostics *diagnostics,
                                       struct forecast_measures *measures);

/* A status of forecast_run on failure. */
enum rlhfsim_status forecast_scaling_find(const struct forecast_plan *plan,
                                          const struct rlhfsim_forecast_options *how,
                                          struct rlhfsim_diagnostics *diagnostics,
                                          struct forecast_scaling *scaling);

#endif
