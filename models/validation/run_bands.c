/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/validation/run_bands.h"

#include <string.h>

static const struct {
    const char *name;
    enum scenario_band_metric metric;
    bool rate;
} figures[] = {
    {"step_s", SCENARIO_BAND_STEP, false},
    {"tokens_per_s", SCENARIO_BAND_STEP, true},
    {"tokens_per_s_per_gpu", SCENARIO_BAND_STEP, true},
    {"generation_s", SCENARIO_BAND_ROLLOUT, false},
    {"actor_update_s", SCENARIO_BAND_UPDATE, false},
    {"critic_update_s", SCENARIO_BAND_UPDATE, false},
    {"actor_logprob_s", SCENARIO_BAND_LOGPROB, false},
    {"reference_logprob_s", SCENARIO_BAND_LOGPROB, false},
    {"values_s", SCENARIO_BAND_LOGPROB, false},
    {"experience_s", SCENARIO_BAND_LOGPROB, false},
};

enum scenario_band_metric run_band_metric(const char *metric, bool *rate) {
    *rate = false;
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        if (strcmp(figures[i].name, metric) != 0)
            continue;
        *rate = figures[i].rate;
        return figures[i].metric;
    }
    return SCENARIO_BANDS;
}
