/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_FORECAST_WORK_ROLLOUT_H
#define MODELS_FORECAST_WORK_ROLLOUT_H

/*
 * The work of the engine: see work_rollout.c. Private to forecast/.
 */

#include "models/forecast/runner.h"

/* Start the work of the lane's phase; every path ends, at once or later, in phase_done. */
enum sim_status runner_work_generate(struct forecast_lane *lane); /* and of a greedy rollout */
enum sim_status runner_work_validate(struct forecast_lane *lane);

#endif
