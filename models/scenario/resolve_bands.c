/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/scenario/draft.h"

#include <math.h>

/* No published run learns from a data set. */
void scenario_resolve_bands(struct scenario_draft *draft) {
    struct rlhfsim_scenario *scenario = draft->scenario;
    if (!draft->algorithm_known || !scenario->algorithm.type->has_rollout)
        return;
    for (int metric = 0; metric < SCENARIO_BANDS; metric++) {
        const struct catalog_band *row =
            catalog_band(draft->catalog, scenario_band_placement(scenario->placement.mode),
                         scenario_band_name((enum scenario_band_metric)metric), "");
        if (row != NULL && !isnan(row->p10))
            scenario->bands[metric] =
                (struct scenario_band){row->p10, row->p50, row->p90, row->figures, row->sources};
    }
}
