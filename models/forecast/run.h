/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_FORECAST_RUN_H
#define MODELS_FORECAST_RUN_H

/*
 * Plays a plan on the engine, once: each phase of a step is unfolded into tasks (or rollout
 * processes) when its turn comes, with a barrier at its end. What exactly happens at any instant is
 * in the timeline; what is measured here is sums of it.
 */

#include "models/forecast/simulation.h"

/* RLHFSIM_OK, RLHFSIM_CANCELLED (the progress function said so), RLHFSIM_NO_MEMORY, RLHFSIM_INVALID
 * where it would end after the clock does, RLHFSIM_INTERNAL with a deadlock report; the error of
 * these two is added to `diagnostics`. */
enum rlhfsim_status forecast_run(const struct forecast_plan *plan,
                                 const struct forecast_run_options *options,
                                 struct rlhfsim_diagnostics *diagnostics,
                                 struct forecast_measures *measures);

#endif
