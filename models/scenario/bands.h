/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_SCENARIO_BANDS_H
#define MODELS_SCENARIO_BANDS_H

/*
 * How far measured times may lie from their forecasts: quantiles of measured / forecast of the
 * published runs with the same kind of placement, from bands.csv. They tell runs whose lengths and
 * GPU are known, with coefficients that were fitted without the run's source. A pool one step ahead
 * counts as async.
 */

#include <stdbool.h>
#include <stddef.h>

enum scenario_band_metric {
    SCENARIO_BAND_STEP,
    SCENARIO_BAND_ROLLOUT,
    SCENARIO_BAND_UPDATE,  /* of actor or critic */
    SCENARIO_BAND_LOGPROB, /* passes of actor, reference or critic without an update */
    SCENARIO_BANDS
};

struct scenario_band {
    double p10, p50, p90; /* of measured / forecast; 0: no runs to tell */
    int figures, sources;
};

/* "step", "rollout", "update", "logprob". */
const char *scenario_band_name(enum scenario_band_metric metric);
/* SCENARIO_BANDS where there is none of that name. */
enum scenario_band_metric scenario_band_find(const char *name);

/* The placement of the table's rows: of a mode of scenario.h, and whether a name is one. */
const char *scenario_band_placement(size_t mode);
bool scenario_is_band_placement(const char *name);

#endif
