/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/forecast/offload_cost.h"

#include "models/forecast/scaling.h"

#include <stdlib.h>

static bool offloads(const struct rlhfsim_scenario *scenario) {
    bool any = scenario->training.offload_activations;
    for (int role = 0; role < ALGORITHM_ROLE_COUNT; role++)
        any = any || (scenario->models[role].present &&
                      scenario->models[role].offload != TRAINING_OFFLOAD_NONE);
    return any;
}

static void bring_back(struct rlhfsim_scenario *scenario) {
    scenario->training.offload_activations = false;
    scenario->training.offload = TRAINING_OFFLOAD_NONE;
    for (int role = 0; role < ALGORITHM_ROLE_COUNT; role++)
        scenario->models[role].offload = TRAINING_OFFLOAD_NONE;
}

enum rlhfsim_status forecast_offload_cost(const struct forecast_plan *plan,
                                          const struct rlhfsim_forecast_options *how,
                                          struct rlhfsim_diagnostics *diagnostics, bool *known,
                                          double *seconds) {
    struct forecast_measures away, here;
    *known = offloads(plan->scenario);
    *seconds = 0.0;
    if (!*known)
        return RLHFSIM_OK;
    struct rlhfsim_scenario *resident = malloc(sizeof *resident);
    if (resident == NULL)
        return RLHFSIM_NO_MEMORY;
    *resident = *plan->scenario;
    bring_back(resident);
    enum rlhfsim_status status = forecast_short_run(plan->scenario, how, diagnostics, &away);
    if (status == RLHFSIM_OK)
        status = forecast_short_run(resident, how, diagnostics, &here);
    if (status == RLHFSIM_OK)
        *seconds = (away.total_s - here.total_s) / (double)away.steps;
    free(resident);
    return status;
}
