/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_CALIBRATION_LOG_FORECAST_H
#define MODELS_CALIBRATION_LOG_FORECAST_H

/*
 * What the timers of a log would read in a forecast, and how much of each belongs to which part of
 * a calibration. Where phases follow one another a timer is linear in the factors,
 *
 *     seconds(timer) = fixed + sum over parts of factor x seconds of the part at factor 1,
 *
 * and where they overlap (one step off, asynchronous) the step is the sum over the chain of phases
 * that ends the run, as long as the chain stays the same.
 *
 * Checkpoints, validations and what is loaded first are left out: a log times them apart, and they
 * come in some steps only.
 */

#include "models/calibration/log_steps.h"
#include "models/scenario/scenario.h"

/* The seconds of a timer by part; the last one is what no factor changes. */
enum { LOG_FIXED = SCENARIO_PARTS, LOG_SHARES };

struct log_forecast {
    double seconds[LOG_TIMERS][LOG_SHARES];
    bool
        overlaps; /* phases run at once: timers of the trainer's wait and of the step alone count */
    bool fits;    /* in memory */
};

/* The sum over the parts; 0 where the forecast has no such phase. */
double log_forecast_s(const struct log_forecast *forecast, enum log_timer timer);

/* Simulates some steps with `factors` (by part) in place of the scenario's own. `synced` says that
 * the log times the weight sync apart from the generation. RLHFSIM_OK, or the status of the run
 * with its error added. */
enum rlhfsim_status log_forecast_make(const struct rlhfsim_scenario *scenario,
                                      const double *factors, bool synced,
                                      struct rlhfsim_diagnostics *diagnostics,
                                      struct log_forecast *forecast);

#endif
