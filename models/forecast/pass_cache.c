/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/forecast/pass_cache.h"

#include <string.h>

static const struct training_frame *frame_of(struct forecast_pass_cache *cache,
                                             const struct training_plan *plan,
                                             enum algorithm_role role) {
    struct training_frame *frame = &cache->frames[role];
    if (frame->plan == NULL)
        training_frame_make(plan, plan->trained, frame);
    return frame;
}

const struct training_cost *forecast_pass_cost(struct forecast_pass_cache *cache,
                                               const struct training_plan *plan,
                                               enum algorithm_role role, enum forecast_cost pass,
                                               const struct llm_batch *batch) {
    struct forecast_pass_entry *entry = &cache->last[role][pass];
    if (entry->known && memcmp(batch, &entry->batch, sizeof *batch) == 0)
        return &entry->cost;
    const struct training_frame *frame = frame_of(cache, plan, role);
    if (pass == FORECAST_COST_FORWARD)
        training_frame_forward(frame, batch, &entry->cost);
    else
        training_frame_update(frame, batch, pass == FORECAST_COST_UPDATE_REDUCING, &entry->cost);
    entry->batch = *batch;
    entry->known = true;
    return &entry->cost;
}
