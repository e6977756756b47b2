/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * What software holds beside the trainer's steps: the engine's share of a GPU, its weights while it
 * sleeps, its cache while it wakes, whole models on the host while they are loaded. Defaults are
 * rows of memory.csv for the framework and the engine; a scenario may say otherwise. What would
 * change nothing is refused.
 */

#include "models/scenario/draft.h"

static double value_for(const struct scenario_draft *draft, const char *software, const char *tags,
                        enum training_memory_coefficient which) {
    size_t count;
    const struct training_memory_row *rows = catalog_memory(draft->catalog, &count);
    struct training_scope scope = {.gpu = draft->scenario->cluster.gpu.name,
                                   .family = software,
                                   .tags = tags,
                                   .attention = draft->scenario->training.attention,
                                   .fusion = draft->scenario->training.fusion,
                                   .precision = draft->scenario->training.precision};
    return training_memory_value(rows, count, which, &scope);
}

static double framework_value(const struct scenario_draft *draft,
                              enum training_memory_coefficient which) {
    const struct catalog_framework *framework = &draft->scenario->framework;
    return value_for(draft, framework->name, framework->family, which);
}

/* ---- loading --------------------------------------------------------------------------------- */

static void resolve_load(struct scenario_draft *draft) {
    struct rlhfsim_scenario *scenario = draft->scenario;
    double first = framework_value(draft, TRAINING_LOAD_FIRST_BYTES);
    double every = framework_value(draft, TRAINING_LOAD_EVERY_BYTES);
    scenario->training.load_bytes = every > 0.0 ? every : first;
    if (scenario_given(draft, KEY_TRAINING_LOAD))
        return;
    scenario->training.load = every > 0.0   ? SCENARIO_RANK_LOAD_EVERY
                              : first > 0.0 ? SCENARIO_RANK_LOAD_FIRST
                                            : SCENARIO_RANK_LOAD_SHARDED;
}

/* ---- the engine ------------------------------------------------------------------------------ */

/* Adapters alone are sent anew: what they belong to must stay. */
static bool sends_adapters(const struct rlhfsim_scenario *scenario) {
    return scenario->framework.weight_sync != NULL && scenario->framework.weight_sync->adapters &&
           scenario->models[ALGORITHM_ROLE_ACTOR].lora_rank > 0;
}

static void resolve_sleep(struct scenario_draft *draft) {
    struct rlhfsim_scenario *scenario = draft->scenario;
    bool host = framework_value(draft, TRAINING_SLEEPING_WEIGHTS) >= 0.5;
    if (!scenario_given(draft, KEY_ROLLOUT_SLEEPING_WEIGHTS))
        scenario->rollout.sleeping_weights =
            host || sends_adapters(scenario) ? SCENARIO_SLEEPING_HOST : SCENARIO_SLEEPING_DISCARDED;
    else if (scenario->rollout.sleeping_weights == SCENARIO_SLEEPING_DISCARDED &&
             sends_adapters(scenario) && scenario->placement.mode == SCENARIO_COLOCATED)
        scenario_blame(draft, KEY_ROLLOUT_SLEEPING_WEIGHTS,
                       "rollout.sleeping_weights is discarded, but a weight sync (%s) sends "
                       "adapters only: the weights would be lost; expected host",
                       scenario->framework.weight_sync->name);
}

static void resolve_wake(struct scenario_draft *draft) {
    bool whole = framework_value(draft, TRAINING_WOKEN_CACHE) >= 0.5;
    if (!scenario_given(draft, KEY_ROLLOUT_WAKE))
        draft->scenario->rollout.wake = whole ? SCENARIO_WAKE_WHOLE : SCENARIO_WAKE_STAGED;
}

static void resolve_share(struct scenario_draft *draft) {
    struct rlhfsim_scenario *scenario = draft->scenario;
    if (scenario_given(draft, KEY_ROLLOUT_MEMORY_FRACTION_OF) || !draft->engine_known)
        return;
    bool is_free = value_for(draft, scenario->rollout.engine.name, "", TRAINING_FREE_SHARE) >= 0.5;
    scenario->rollout.memory_fraction_of = is_free ? SCENARIO_SHARE_FREE : SCENARIO_SHARE_TOTAL;
}

/* On GPUs of its own an engine never sleeps. */
static void check_awake(struct scenario_draft *draft, enum scenario_key key) {
    if (draft->placement_known && draft->scenario->placement.mode != SCENARIO_COLOCATED &&
        scenario_written(draft, key))
        scenario_blame_key(draft, key,
                           "%s is not used: the engine has GPUs of its own (placement.mode) and "
                           "never sleeps; leave it out",
                           scenario_schema_at(key)->path);
}

void scenario_resolve_holding(struct scenario_draft *draft) {
    if (!draft->cluster_known)
        return;
    resolve_load(draft);
    resolve_sleep(draft);
    resolve_wake(draft);
    resolve_share(draft);
    check_awake(draft, KEY_ROLLOUT_SLEEPING_WEIGHTS);
    check_awake(draft, KEY_ROLLOUT_WAKE);
}
