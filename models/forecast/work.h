/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_FORECAST_WORK_H
#define MODELS_FORECAST_WORK_H

/*
 * What each kind of phase unfolds into: see work.c. Private to forecast/.
 */

#include "models/forecast/runner.h"

/* Starts the work of a lane's phase; every path ends, at once or later, in phase_done. */
enum sim_status runner_work_start(struct forecast_lane *lane);

#endif
