/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_FORECAST_LAYOUT_H
#define MODELS_FORECAST_LAYOUT_H

/* What a plan says before anything runs: who works on what, what fits at once, what is moved. */

#include "models/forecast/plan.h"

#include <rlhfsim/facts.h>

void forecast_layout_make(const struct forecast_plan *plan, struct rlhfsim_layout *layout);

/* Bytes on a GPU by phase and category, and on a node's host; a phase that comes twice (an engine
 * falls asleep and wakes) at its fullest. */
struct forecast_phase {
    struct rlhfsim_phase_memory memory;
    double categories[FORECAST_CATEGORY_COUNT];
};

struct forecast_phases {
    struct forecast_phase at[FORECAST_INSTANT_LIMIT];
    size_t count;
};

void forecast_phases_make(const struct forecast_plan *plan, struct forecast_phases *phases);

#endif
