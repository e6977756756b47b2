/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_FORECAST_PLANNING_H
#define MODELS_FORECAST_PLANNING_H

/*
 * The whole plan of a scenario.
 */

#include "models/forecast/plan.h"

/* The scenario must outlive the plan. */
void forecast_plan_make(const struct rlhfsim_scenario *scenario, struct forecast_plan *plan);

#endif
