/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of the scenario that stand for one row each: algorithm, framework. */
#include "models/base/text.h"
#include "models/scenario/draft.h"

#include <stdio.h>

/* ---- algorithm ------------------------------------------------------------------------------- */

static void unknown_algorithm(struct scenario_draft *draft) {
    char quoted[BASE_QUOTE_SIZE], known[256] = "";
    struct base_nearest nearest;
    const struct algorithm_type *type;
    size_t used = 0;
    const char *name = draft->values.at[KEY_ALGORITHM_NAME].text;
    base_nearest_start(&nearest, name);
    for (size_t i = 0; (type = algorithm_at(i)) != NULL && used < sizeof known; i++) {
        int length =
            snprintf(known + used, sizeof known - used, "%s%s", i == 0 ? "" : ", ", type->name);
        used += length > 0 ? (size_t)length : 0;
        base_nearest_offer(&nearest, type->name);
    }
    const char *near = base_nearest_name(&nearest);
    scenario_blame(draft, KEY_ALGORITHM_NAME, "algorithm.name is %s, expected one of %s%s%s%s",
                   base_quote(name, quoted), known, near == NULL ? "" : "; did you mean '",
                   near == NULL ? "" : near, near == NULL ? "" : "'?");
}

static bool has_reward(const struct algorithm_type *type) {
    for (size_t i = 0; i < type->step_count; i++)
        if (type->steps[i].work == ALGORITHM_WORK_SCORE)
            return true;
    return false;
}

static bool has_condition(const struct algorithm_type *type, enum algorithm_condition condition) {
    for (size_t i = 0; i < type->step_count; i++)
        if (type->steps[i].condition == condition)
            return true;
    return false;
}

/* Why the algorithm has no use for a key; NULL when it has. */
static const char *no_use(const struct scenario_draft *draft, enum scenario_use use) {
    const struct algorithm_type *type = draft->scenario->algorithm.type;
    /* One that is misspelt has its error already. */
    bool reward_model = scenario_written(draft, KEY_MODELS_REWARD_MODEL);
    switch (use) {
    case SCENARIO_USE_ALWAYS:
        return NULL;
    case SCENARIO_USE_ROLLOUT:
        return type->has_rollout ? NULL : "which learns from a data set and has no rollout";
    case SCENARIO_USE_OFFLINE:
        return type->has_rollout ? "which generates its samples" : NULL;
    case SCENARIO_USE_RULE_REWARD:
        if (!has_reward(type))
            return "which has no rewards";
        return reward_model ? "whose rewards models.reward gives" : NULL;
    case SCENARIO_USE_PRECOMPUTED:
        if (type->has_rollout)
            return "which generates its samples";
        return has_condition(type, ALGORITHM_IF_REFERENCE_EVERY_STEP)
                   ? NULL
                   : "whose reference, if any, cannot score the data before";
    case SCENARIO_USE_OLD_LOGPROBS:
        return has_condition(type, ALGORITHM_IF_OLD_LOGPROBS) ? NULL : "which has no such pass";
    case SCENARIO_USE_CRITIC:
        return type->needs[ALGORITHM_ROLE_CRITIC] == ALGORITHM_REQUIRED ? NULL
                                                                        : "which has no critic";
    case SCENARIO_USE_BEST:
        return type->selection == ALGORITHM_SELECT_BEST && type->selected_per_prompt == 0
                   ? NULL
                   : "which does not choose how many answers of a prompt it trains on";
    case SCENARIO_USE_MIXED:
        return type->selection == ALGORITHM_SELECT_MIXED ? NULL : "which trains on every prompt";
    }
    return NULL;
}

/* A key that would change nothing is a mistake of whoever wrote it. */
static void check_uses(struct scenario_draft *draft) {
    for (size_t index = 0; index < KEY_COUNT; index++) {
        enum scenario_key key = (enum scenario_key)index;
        const struct scenario_schema_entry *entry = scenario_schema_at(index);
        const char *reason = no_use(draft, entry->use);
        if (scenario_given(draft, key) && draft->values.at[key].known && reason != NULL)
            scenario_blame_key(draft, key, "%s is not used by %s, %s; leave it out", entry->path,
                               draft->scenario->algorithm.type->name, reason);
    }
}

void scenario_resolve_algorithm(struct scenario_draft *draft) {
    if (!scenario_known(draft, KEY_ALGORITHM_NAME))
        return;
    draft->scenario->algorithm.type = algorithm_find(draft->values.at[KEY_ALGORITHM_NAME].text);
    draft->algorithm_known = draft->scenario->algorithm.type != NULL;
    if (draft->algorithm_known)
        check_uses(draft);
    else
        unknown_algorithm(draft);
}

/* ---- framework ------------------------------------------------------------------------------- */

/* What the scenario says replaces the framework's. */
static void resolve_weight_sync(struct scenario_draft *draft) {
    const char *name = draft->values.at[KEY_ROLLOUT_WEIGHT_SYNC].text;
    if (!scenario_given(draft, KEY_ROLLOUT_WEIGHT_SYNC) ||
        !scenario_known(draft, KEY_ROLLOUT_WEIGHT_SYNC))
        return;
    const struct catalog_weight_sync *row = catalog_weight_sync(draft->catalog, name);
    if (row == NULL) {
        scenario_blame_name(draft, KEY_ROLLOUT_WEIGHT_SYNC, CATALOG_WEIGHT_SYNCS);
        return;
    }
    draft->scenario->framework.weight_sync = row->type;
    draft->scenario->framework.weight_sync_cost = row->cost;
}

void scenario_resolve_framework(struct scenario_draft *draft) {
    const char *name = draft->values.at[KEY_FRAMEWORK].text;
    if (!scenario_known(draft, KEY_FRAMEWORK))
        return;
    const struct catalog_framework *framework = catalog_framework(draft->catalog, name);
    if (framework == NULL) {
        scenario_blame_name(draft, KEY_FRAMEWORK, CATALOG_FRAMEWORKS);
        return;
    }
    draft->scenario->framework = *framework;
    draft->scenario->framework_provenance =
        catalog_provenance(draft->catalog, CATALOG_FRAMEWORKS, name);
    resolve_weight_sync(draft);
}
