/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/scenario/bands.h"

#include "models/scenario/scenario.h"

#include <string.h>

static const char *const metrics[SCENARIO_BANDS] = {
    [SCENARIO_BAND_STEP] = "step",
    [SCENARIO_BAND_ROLLOUT] = "rollout",
    [SCENARIO_BAND_UPDATE] = "update",
    [SCENARIO_BAND_LOGPROB] = "logprob",
};

static const char *const placements[] = {
    [SCENARIO_COLOCATED] = "colocated",
    [SCENARIO_SPLIT] = "split",
    [SCENARIO_ONE_STEP_OFF] = "async",
    [SCENARIO_ASYNC] = "async",
};

const char *scenario_band_name(enum scenario_band_metric metric) {
    return metrics[metric];
}

enum scenario_band_metric scenario_band_find(const char *name) {
    int metric = 0;
    while (metric < SCENARIO_BANDS && strcmp(metrics[metric], name) != 0)
        metric++;
    return (enum scenario_band_metric)metric;
}

bool scenario_is_band_placement(const char *name) {
    for (size_t i = 0; i < sizeof placements / sizeof *placements; i++)
        if (strcmp(placements[i], name) == 0)
            return true;
    return false;
}

const char *scenario_band_placement(size_t mode) {
    return placements[mode];
}
