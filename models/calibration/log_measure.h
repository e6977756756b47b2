/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_CALIBRATION_LOG_MEASURE_H
#define MODELS_CALIBRATION_LOG_MEASURE_H

/*
 * One reading of each timer from many steps: the median, which a warm-up step or one that waited
 * for another job does not move. Of a step counts what is left without checkpoints and validations;
 * `host` is what is left of it beside everything that is timed.
 */

#include "models/calibration/log_forecast.h"

struct log_measure {
    double seconds[LOG_TIMERS]; /* NAN: not measured */
    size_t steps[LOG_TIMERS];   /* that have it */
    bool inside[LOG_TIMERS];    /* of those timed apart, whose sum with `host` is the step */
    double prompt_tokens, response_tokens; /* NAN: not known */
    size_t usable;                         /* steps with any timer */
};

/* `waits` says that the log's generation is what the trainer waits for (asynchronous runs). False
 * without memory. */
bool log_measure_make(const struct log_steps *steps, bool waits, struct log_measure *measure);

/* Makes the forecast's `host` what the measured one is: the step without what is timed apart. */
void log_measure_rest(const struct log_measure *measure, struct log_forecast *forecast);

#endif
