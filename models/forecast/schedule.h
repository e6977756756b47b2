/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_FORECAST_SCHEDULE_H
#define MODELS_FORECAST_SCHEDULE_H

/*
 * The loop over steps and phases: see schedule.c. Private to forecast/.
 */

#include "models/forecast/runner.h"

/* Begins the loop; ends a lane's phase (the subject). */
void runner_begin(struct forecast_runner *runner);
void runner_phase_done(struct sim *sim, void *subject, uint64_t argument);

/* Begins and starts all that can, after the chain of phases `chain_s`. */
void runner_proceed(struct forecast_runner *runner, const double *chain_s);

#endif
