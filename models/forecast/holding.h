/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_FORECAST_HOLDING_H
#define MODELS_FORECAST_HOLDING_H

/*
 * What GPUs and hosts hold while a plan is played; nothing where no files are written. Private to
 * forecast/.
 */

#include "models/forecast/runner.h"

/* A lane's phase begins (or a save): what its GPUs and their hosts hold from now on. */
void runner_enter_memory(struct forecast_runner *runner, const struct forecast_lane *lane);

/* The save of a lane is over: what was staged has gone. */
void runner_leave_saving(struct forecast_runner *runner, const struct forecast_lane *lane);

/* Before the first step: models are loaded; they are there. */
void runner_enter_loading(struct forecast_runner *runner);
void runner_leave_loading(struct forecast_runner *runner);

/* An asynchronous run begins: its rollouts are no phase. */
void runner_enter_rollouts(struct forecast_runner *runner);

#endif
