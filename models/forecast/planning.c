/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/forecast/planning.h"

#include "models/forecast/footprint.h"
#include "models/forecast/plan_storage.h"

void forecast_plan_make(const struct rlhfsim_scenario *scenario, struct forecast_plan *plan) {
    forecast_plan_arrange(scenario, plan);
    forecast_plan_storage(plan);
    forecast_plan_memory(plan);
}
