/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_FORECAST_PASS_CACHE_H
#define MODELS_FORECAST_PASS_CACHE_H

/*
 * Costs of micro-batches, of one simulation. Of every model and kind of pass the last one is kept:
 * padded micro-batches are equal from step to step, packed ones hardly ever, and those find at
 * least the frame of their plan ready. Starts zeroed and owns nothing.
 */

#include "models/algorithms/algorithm.h"
#include "models/training/pass.h"

enum forecast_cost {
    FORECAST_COST_FORWARD,
    FORECAST_COST_UPDATE,
    FORECAST_COST_UPDATE_REDUCING, /* gradients are reduced behind its backward */
    FORECAST_COST_COUNT
};

struct forecast_pass_entry {
    bool known;
    struct llm_batch batch;
    struct training_cost cost;
};

struct forecast_pass_cache {
    struct training_frame frames[ALGORITHM_ROLE_COUNT]; /* plan NULL: not made yet */
    struct forecast_pass_entry last[ALGORITHM_ROLE_COUNT][FORECAST_COST_COUNT];
};

/* What training_forward or training_forward_backward give for the role's plan, which is the same in
 * all calls and outlives the cache; only of trained plans there are updates. Valid until the next
 * call. */
const struct training_cost *forecast_pass_cost(struct forecast_pass_cache *cache,
                                               const struct training_plan *plan,
                                               enum algorithm_role role, enum forecast_cost pass,
                                               const struct llm_batch *batch);

#endif
