/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_FORECAST_DURATIONS_H
#define MODELS_FORECAST_DURATIONS_H

/*
 * Whether a run can end before its clock does (292 years, sim/time.h). What a plan takes for sure
 * is a lower bound of the run's length: what every step pays besides passes, its reward rule, one
 * token through every model and through the engine, and all checkpoints. Whoever writes a store of
 * a byte a second or an efficiency of 1e-300 is told here, with the key or row that decides; what a
 * bound cannot see ends the run itself (forecast_too_long).
 */

#include "models/forecast/plan.h"

#include <rlhfsim/diagnostics.h>

/* RLHFSIM_OK, or RLHFSIM_INVALID with an error that names what takes longest. */
enum rlhfsim_status forecast_durations_check(const struct forecast_plan *plan,
                                             struct rlhfsim_diagnostics *diagnostics);

/* Adds the error of a run that met the end of the clock in `phase` of `step` (0: before the first),
 * after `steps_s` seconds of the steps before it; returns RLHFSIM_INVALID. */
enum rlhfsim_status forecast_too_long(const struct forecast_plan *plan, int64_t step,
                                      enum algorithm_phase phase, double steps_s,
                                      struct rlhfsim_diagnostics *diagnostics);

/* The pace of `steps` steps that took `seconds` would lead far past the end of the clock. */
bool forecast_pace_too_slow(const struct forecast_plan *plan, int64_t steps, double seconds);

#endif
