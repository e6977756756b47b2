/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The pools of a split: those that are written, the trainer's or the rollout's as what is left, and
 * whether all of them are all GPUs and none straddles nodes.
 */
#include "models/base/text.h"
#include "models/scenario/draft.h"
#include "models/scenario/placement.h"
#include "models/scenario/steps.h"

static enum scenario_key pool_key(enum scenario_pool pool) {
    static const enum scenario_key keys[SCENARIO_POOLS] = {
        KEY_PLACEMENT_TRAIN_GPUS, KEY_PLACEMENT_ROLLOUT_GPUS, KEY_PLACEMENT_CRITIC_GPUS,
        KEY_PLACEMENT_REWARD_GPUS};
    return keys[pool];
}

/* Keys that a mode has no use for. */
static void blame_unused(struct scenario_draft *draft) {
    for (int pool = 0; pool < SCENARIO_POOLS; pool++) {
        enum scenario_key key = pool_key((enum scenario_pool)pool);
        if (scenario_written(draft, key))
            scenario_blame_key(draft, key,
                               "%s is not used by placement.mode colocated, which has one pool; "
                               "leave it out, or split them",
                               scenario_schema_at(key)->path);
    }
}

/* Keys of asynchronous runs. */
static void check_async(struct scenario_draft *draft) {
    static const enum scenario_key keys[] = {
        KEY_PLACEMENT_STALENESS_VERSIONS, KEY_PLACEMENT_SYNC_EVERY_STEPS,
        KEY_PLACEMENT_PARTIAL_ROLLOUT, KEY_PLACEMENT_BEYOND_BOUND};
    bool async = draft->scenario->placement.mode == SCENARIO_ASYNC;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (!async && scenario_written(draft, keys[i]))
            scenario_blame_key(draft, keys[i],
                               "%s is used by placement.mode async only; leave it out",
                               scenario_schema_at(keys[i])->path);
    if (async && !scenario_given(draft, KEY_PLACEMENT_STALENESS_VERSIONS))
        scenario_blame_key(draft, KEY_PLACEMENT_MODE,
                           "placement.staleness_versions is required by placement.mode async, such "
                           "as 0.5 or 1");
    draft->scenario->placement.drops = draft->values.at[KEY_PLACEMENT_BEYOND_BOUND].integer == 1;
}

/* A short step, which asynchronous runs do not have. */
static bool has_async_steps(struct scenario_draft *draft) {
    const struct rlhfsim_scenario *scenario = draft->scenario;
    if (scenario->placement.mode != SCENARIO_ASYNC || !draft->samples_known ||
        scenario->steps == 0 || scenario_short_prompts(scenario) == 0)
        return true;
    scenario_blame(draft, KEY_DATASET_DROP_LAST,
                   "dataset.drop_last is false and leaves a short step, which placement.mode "
                   "async is not simulated with; expected true, or steps");
    return false;
}

/* One step off, rounds of rollouts wait for rewards, which a busy trainer cannot give. */
static bool has_judge(struct scenario_draft *draft) {
    if (draft->scenario->placement.mode != SCENARIO_ONE_STEP_OFF ||
        draft->scenario->algorithm.type->selection != ALGORITHM_SELECT_MIXED ||
        scenario_written(draft, KEY_PLACEMENT_REWARD_GPUS) ||
        !scenario_given(draft, scenario_model_key(ALGORITHM_ROLE_REWARD, SCENARIO_MODEL_MODEL)))
        return true;
    scenario_blame_key(draft, KEY_PLACEMENT_MODE,
                       "placement.reward_gpus is required by %s with placement.mode one_step_off: "
                       "its rounds wait for models.reward while the trainer is at work",
                       draft->scenario->algorithm.type->name);
    return false;
}

/* A pool for a model that the run has not. */
static bool check_role(struct scenario_draft *draft, enum scenario_pool pool,
                       enum algorithm_role role) {
    enum scenario_key key = pool_key(pool);
    if (!scenario_written(draft, key) ||
        scenario_given(draft, scenario_model_key(role, SCENARIO_MODEL_MODEL)))
        return true;
    scenario_blame_key(draft, key, "%s is not used: there is no models.%s; leave it out",
                       scenario_schema_at(key)->path, algorithm_role_name(role));
    return false;
}

static int sum(const struct scenario_draft *draft) {
    int gpus = 0;
    for (int pool = 0; pool < SCENARIO_POOLS; pool++)
        gpus += draft->scenario->placement.gpus[pool];
    return gpus;
}

/* What the pools that are written leave is the other's. */
static bool fill_rest(struct scenario_draft *draft, int gpus) {
    bool train = scenario_given(draft, KEY_PLACEMENT_TRAIN_GPUS);
    bool rollout = scenario_given(draft, KEY_PLACEMENT_ROLLOUT_GPUS);
    int rest = gpus - sum(draft);
    if (train && rollout && rest == 0)
        return true;
    if (!train && !rollout) {
        scenario_blame_key(draft, KEY_PLACEMENT_MODE,
                           "placement.train_gpus or placement.rollout_gpus is required by "
                           "placement.mode %s, the other is what is left of the %d GPUs",
                           draft->values.at[KEY_PLACEMENT_MODE].text, gpus);
        return false;
    }
    enum scenario_key written = train ? KEY_PLACEMENT_TRAIN_GPUS : KEY_PLACEMENT_ROLLOUT_GPUS;
    if (train == rollout || rest < 1) {
        scenario_blame(draft, written,
                       "the pools of placement have %d GPUs%s, expected the %d of the cluster",
                       sum(draft), train == rollout ? "" : " and leave none", gpus);
        return false;
    }
    draft->scenario->placement.gpus[train ? SCENARIO_POOL_ROLLOUT : SCENARIO_POOL_TRAIN] = rest;
    return true;
}

/* Inside one node, or whole nodes. */
static bool check_nodes(struct scenario_draft *draft, enum scenario_pool pool) {
    int node = draft->scenario->cluster.gpus_per_node;
    int gpus = scenario_pool_gpus(draft->scenario, pool);
    int first = scenario_pool_first(draft->scenario, pool);
    enum scenario_key key = pool_key(pool);
    bool inside = gpus == 0 || first / node == (first + gpus - 1) / node;
    if (inside || (gpus % node == 0 && first % node == 0))
        return true;
    scenario_blame(draft, key,
                   "the %s pool has GPUs %d to %d, expected a part of one node of %d GPUs or whole "
                   "nodes; pools lie in the order train, critic, reward, rollout",
                   scenario_pool_name(pool), first, first + gpus - 1, node);
    return false;
}

static bool check_pools(struct scenario_draft *draft) {
    for (int pool = 0; pool < SCENARIO_POOLS; pool++)
        if (scenario_given(draft, pool_key((enum scenario_pool)pool)) &&
            !scenario_known(draft, pool_key((enum scenario_pool)pool)))
            return false;
    if (!check_role(draft, SCENARIO_POOL_CRITIC, ALGORITHM_ROLE_CRITIC) ||
        !check_role(draft, SCENARIO_POOL_REWARD, ALGORITHM_ROLE_REWARD) ||
        !fill_rest(draft, hardware_cluster_gpus(&draft->scenario->cluster)))
        return false;
    for (int pool = 0; pool < SCENARIO_POOLS; pool++)
        if (!check_nodes(draft, (enum scenario_pool)pool))
            return false;
    return true;
}

/* The mechanism that is named; in a split without one, what the framework has between pools. */
static void resolve_weight_sync(struct scenario_draft *draft) {
    struct catalog_framework *framework = &draft->scenario->framework;
    bool written = scenario_written(draft, KEY_PLACEMENT_WEIGHT_SYNC);
    bool split = draft->scenario->placement.mode != SCENARIO_COLOCATED;
    const char *name = draft->values.at[KEY_PLACEMENT_WEIGHT_SYNC].text;
    if (framework->name[0] == '\0' || (!written && !split) ||
        (written && !scenario_known(draft, KEY_PLACEMENT_WEIGHT_SYNC)))
        return;
    if (!written && framework->split_weight_sync[0] == '\0') {
        scenario_blame_key(
            draft, KEY_PLACEMENT_MODE,
            "placement.weight_sync is required: how %s moves weights between pools "
            "is in no row of frameworks.csv; expected a row of weight_sync.csv, such "
            "as checkpoint-engine-broadcast",
            framework->name);
        return;
    }
    const struct catalog_weight_sync *row =
        catalog_weight_sync(draft->catalog, written ? name : framework->split_weight_sync);
    if (row == NULL) {
        char quoted[BASE_QUOTE_SIZE];
        scenario_blame(draft, written ? KEY_PLACEMENT_WEIGHT_SYNC : KEY_FRAMEWORK,
                       "%s is %s, which weight_sync.csv does not have",
                       written ? "placement.weight_sync" : "split_weight_sync of the framework",
                       base_quote(written ? name : framework->split_weight_sync, quoted));
        return;
    }
    framework->weight_sync = row->type;
    framework->weight_sync_cost = row->cost;
}

void scenario_resolve_placement(struct scenario_draft *draft) {
    if (!scenario_known(draft, KEY_PLACEMENT_MODE))
        return;
    if (!draft->algorithm_known || draft->scenario->algorithm.type->has_rollout)
        resolve_weight_sync(draft);
    else if (scenario_written(draft, KEY_PLACEMENT_WEIGHT_SYNC))
        scenario_blame_key(
            draft, KEY_PLACEMENT_WEIGHT_SYNC,
            "placement.weight_sync is not used by %s, which has no rollout; leave it "
            "out",
            draft->scenario->algorithm.type->name);
    check_async(draft);
    if (draft->scenario->placement.mode == SCENARIO_COLOCATED) {
        blame_unused(draft);
        draft->placement_known = true;
        return;
    }
    if (!draft->algorithm_known || !draft->cluster_known)
        return;
    if (!draft->scenario->algorithm.type->has_rollout)
        scenario_blame(draft, KEY_PLACEMENT_MODE,
                       "placement.mode is %s, but %s has no rollout to split off; expected "
                       "colocated",
                       draft->values.at[KEY_PLACEMENT_MODE].text,
                       draft->scenario->algorithm.type->name);
    else if (has_async_steps(draft) && has_judge(draft))
        draft->placement_known = check_pools(draft);
}
