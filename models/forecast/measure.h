/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_FORECAST_MEASURE_H
#define MODELS_FORECAST_MEASURE_H

/*
 * The figures that the phases of a simulation add. Private to forecast/.
 */

#include "models/forecast/runner.h"

/* The answers of a round; what a step trains on; a lane's phase that ends now. */
void runner_measure_generated(struct forecast_runner *runner, const struct forecast_flight *flight);
void runner_measure_trained(struct forecast_runner *runner, const struct forecast_flight *flight);
void runner_measure_phase(struct forecast_runner *runner, const struct forecast_lane *lane);

/* What is stored until now; `saved`: one more checkpoint from now on. */
void runner_account_storage(struct forecast_runner *runner, bool saved);

/* Of a run that has ended well: its length, events and quantiles of lengths. */
void runner_measure_end(struct forecast_runner *runner);

#endif
