/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_SCENARIO_PLACEMENT_H
#define MODELS_SCENARIO_PLACEMENT_H

/*
 * Who sits where. Colocated, every GPU holds a part of everything and the phases take turns. In a
 * split each pool has GPUs of its own, in this order from the first GPU on:
 *
 *     train     actor, reference, and every model without a pool of its own
 *     critic    the critic
 *     reward    the reward model
 *     rollout   the replicas of the engine
 *
 * A pool is inside one node, or it is whole nodes; all pools together are all GPUs.
 */

#include "models/scenario/scenario.h"

/* GPUs of a pool; 0 where there is none of its own. Colocated, all GPUs are the train pool's. */
int scenario_pool_gpus(const struct rlhfsim_scenario *scenario, enum scenario_pool pool);

/* The pool's first GPU. */
int scenario_pool_first(const struct rlhfsim_scenario *scenario, enum scenario_pool pool);

/* "train", "rollout", "critic", "reward". */
const char *scenario_pool_name(enum scenario_pool pool);

#endif
