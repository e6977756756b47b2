/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_CALIBRATION_LOG_FIT_H
#define MODELS_CALIBRATION_LOG_FIT_H

/*
 * Factors of the parts of a forecast from measured timers.
 *
 * A point is a timer that is measured and forecast; its residual is ln(forecast / measured), and
 * its weight the root of its share of the step, so that the squares count seconds. The step itself
 * is a point of weight 1. A part is fitted where more than half of some timer is its own; the
 * others keep 1. Where phases overlap the rollout has no timer of its own: it is fitted to a step
 * that waits for it. Where the step is all that is measured, all parts have one factor.
 *
 * The forecast is linear in the factors (log_forecast.h); where phases overlap it is simulated
 * again with those found, until they stand still.
 */

#include "models/calibration/log_measure.h"

struct log_fit {
    double factors[SCENARIO_PARTS]; /* 1 where not fitted */
    bool fitted[SCENARIO_PARTS];
    bool common;                           /* one factor for all */
    bool main[SCENARIO_PARTS][LOG_TIMERS]; /* timers that are mostly of the part */
    struct log_forecast before, after;     /* with factors 1 and with those found */
};

/* Whether what is left of a step is mostly the host's, and not a phase that was not timed. */
bool log_fit_knows_host(const struct log_forecast *forecast);

/* Whether a timer says something of the factors. */
bool log_fit_uses(const struct log_measure *measure, const struct log_forecast *forecast,
                  enum log_timer timer);

/* Forecasts with factors 1 into `before`, finds factors and forecasts with them into `after`.
 * Without `fits` both are the forecast with the scenario's own factors. RLHFSIM_OK, or the status
 * of a forecast. */
enum rlhfsim_status log_fit_make(const struct rlhfsim_scenario *scenario,
                                 const struct log_measure *measure, bool fits,
                                 struct rlhfsim_diagnostics *diagnostics, struct log_fit *fit);

#endif
