/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_FORECAST_WORK_STORAGE_H
#define MODELS_FORECAST_WORK_STORAGE_H

/*
 * The work of a checkpoint, and of what is loaded before the first step. Private to forecast/.
 */

#include "models/forecast/runner.h"

/* Start the work of the lane's phase; every path ends, at once or later, in phase_done. */
enum sim_status runner_work_checkpoint(struct forecast_lane *lane);
enum sim_status runner_work_load(struct forecast_lane *lane);

#endif
