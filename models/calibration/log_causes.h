/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_CALIBRATION_LOG_CAUSES_H
#define MODELS_CALIBRATION_LOG_CAUSES_H

/* What a large gap between a measured timer and its forecast most likely comes from. */

#include "models/calibration/log_forecast.h"

struct log_gap {
    enum log_timer timer;
    double measured_s, forecast_s, step_s; /* step_s: measured, or of what is known of it */
    bool lengths_known;                    /* the forecast has the log's mean lengths */
};

/* NULL where the gap is small (below 15 % of the timer, or 2 % of the step) or nothing is known.
 * Static text. */
const char *log_cause(const struct rlhfsim_scenario *scenario, const struct log_gap *gap);

#endif
