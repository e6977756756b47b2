/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/scenario/placement.h"

#include "sim/contract.h"

int scenario_pool_gpus(const struct rlhfsim_scenario *scenario, enum scenario_pool pool) {
    if (scenario->placement.mode == SCENARIO_COLOCATED)
        return pool == SCENARIO_POOL_TRAIN ? hardware_cluster_gpus(&scenario->cluster) : 0;
    return scenario->placement.gpus[pool];
}

int scenario_pool_first(const struct rlhfsim_scenario *scenario, enum scenario_pool pool) {
    static const enum scenario_pool order[SCENARIO_POOLS] = {
        SCENARIO_POOL_TRAIN, SCENARIO_POOL_CRITIC, SCENARIO_POOL_REWARD, SCENARIO_POOL_ROLLOUT};
    int first = 0;
    for (int i = 0; order[i] != pool; i++)
        first += scenario_pool_gpus(scenario, order[i]);
    return first;
}

const char *scenario_pool_name(enum scenario_pool pool) {
    static const char *const names[SCENARIO_POOLS] = {"train", "rollout", "critic", "reward"};
    CONTRACT((unsigned)pool < SCENARIO_POOLS, "not a pool");
    return names[pool];
}
