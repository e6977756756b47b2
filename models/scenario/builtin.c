/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/scenario/builtin.h"

#include "models/algorithms/algorithm.h"
#include "models/network/topology.h"
#include "models/network/weight_sync.h"
#include "models/scenario/schema.h"

#include <stdio.h>
#include <string.h>

#define TEXT_BYTES 512

static const char *const algorithm_columns[] = {"name", "meaning", "models", "phases",
                                                "samples_per_prompt"};
static const char *const weight_sync_columns[] = {"name", "meaning", "moves"};
static const char *const topology_columns[] = {"name", "meaning", "keys"};
static const char *const key_columns[] = {"name",     "default", "required",
                                          "expected", "used_by", "meaning"};

struct builtin_kind {
    const char *const *columns;
    size_t count;
    /* One row by index, its texts in the arena; false past the last one. */
    bool (*fill)(struct base_arena *arena, size_t index, struct builtin_row *row);
};

/* Adds ", TEXT" (or TEXT first). */
static void join(char *buffer, size_t size, const char *text) {
    size_t used = strlen(buffer);
    (void)snprintf(buffer + used, size - used, "%s%s", used == 0 ? "" : ", ", text);
}

static const char *keep(struct base_arena *arena, const char *text) {
    return base_arena_text(arena, text, strlen(text));
}

/* ---- algorithms ------------------------------------------------------------------------------ */

static void list_models(const struct algorithm_type *type, char *buffer, size_t size) {
    for (int role = 0; role < ALGORITHM_ROLE_COUNT; role++) {
        char text[64];
        enum algorithm_need need = type->needs[role];
        (void)snprintf(text, sizeof text, "%s%s", algorithm_role_name((enum algorithm_role)role),
                       need == ALGORITHM_OPTIONAL ? " (optional)" : "");
        if (need != ALGORITHM_FORBIDDEN)
            join(buffer, size, text);
    }
}

static void list_phases(const struct algorithm_type *type, char *buffer, size_t size) {
    for (size_t i = 0; i < type->step_count; i++) {
        char text[64];
        (void)snprintf(text, sizeof text, "%s%s", algorithm_phase_name(type->steps[i].phase),
                       type->steps[i].condition == ALGORITHM_IF_KL ? " (with a KL term)"
                       : type->steps[i].condition == ALGORITHM_IF_REFERENCE_EVERY_STEP
                           ? " (unless precomputed)"
                       : type->steps[i].condition == ALGORITHM_IF_OLD_LOGPROBS ? " (unless skipped)"
                       : type->steps[i].condition == ALGORITHM_IF_LATER_ROUND
                           ? " (of a later round)"
                       : type->steps[i].work == ALGORITHM_WORK_GREEDY ? " (greedy)"
                                                                      : "");
        join(buffer, size, text);
    }
}

static bool fill_algorithm(struct base_arena *arena, size_t index, struct builtin_row *row) {
    const struct algorithm_type *type = algorithm_at(index);
    char models[TEXT_BYTES] = "", phases[TEXT_BYTES] = "", samples[64];
    if (type == NULL)
        return false;
    list_models(type, models, sizeof models);
    list_phases(type, phases, sizeof phases);
    if (type->has_rollout)
        (void)snprintf(samples, sizeof samples, "%d or more", type->min_samples_per_prompt);
    else
        (void)snprintf(samples, sizeof samples, "none: learns from pairs");
    row->text[0] = type->name;
    row->text[1] = type->meaning;
    row->text[2] = keep(arena, models);
    row->text[3] = keep(arena, phases);
    row->text[4] = keep(arena, samples);
    return true;
}

/* ---- weight sync ----------------------------------------------------------------------------- */

static bool fill_weight_sync(struct base_arena *arena, size_t index, struct builtin_row *row) {
    const struct network_weight_sync_type *type = network_weight_sync_at((unsigned)index);
    (void)arena;
    if (type == NULL)
        return false;
    row->text[0] = type->name;
    row->text[1] = type->meaning;
    row->text[2] = type->adapters ? "the adapters" : "the whole model";
    return true;
}

/* ---- topologies ------------------------------------------------------------------------------ */

static bool fill_topology(struct base_arena *arena, size_t index, struct builtin_row *row) {
    const struct network_topology_type *type = network_topology_at((unsigned)index);
    char keys[TEXT_BYTES] = "";
    if (type == NULL)
        return false;
    if ((type->keys & NETWORK_TOPOLOGY_BLOCK) != 0)
        join(keys, sizeof keys, "block_nodes, placement");
    if ((type->keys & NETWORK_TOPOLOGY_OVERSUBSCRIPTION) != 0)
        join(keys, sizeof keys, "oversubscription");
    if ((type->keys & NETWORK_TOPOLOGY_SHAPE) != 0)
        join(keys, sizeof keys, "shape");
    if ((type->keys & NETWORK_TOPOLOGY_GRAPH) != 0)
        join(keys, sizeof keys, "switches, links, routing, placement");
    if (type->keys != 0)
        join(keys, sizeof keys, "background");
    row->text[0] = type->name;
    row->text[1] = type->meaning;
    row->text[2] = keep(arena, keys);
    return true;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static bool fill_key(struct base_arena *arena, size_t index, struct builtin_row *row) {
    static const char *const uses[] = {
        [SCENARIO_USE_ALWAYS] = "all algorithms",
        [SCENARIO_USE_ROLLOUT] = "algorithms that generate",
        [SCENARIO_USE_OFFLINE] = "algorithms that learn from pairs",
        [SCENARIO_USE_RULE_REWARD] = "algorithms with rewards, without a reward model",
        [SCENARIO_USE_PRECOMPUTED] = "algorithms that compare pairs with a reference",
        [SCENARIO_USE_OLD_LOGPROBS] = "algorithms that compare with the log-probs before",
        [SCENARIO_USE_CRITIC] = "algorithms with a critic",
        [SCENARIO_USE_BEST] = "algorithms that keep some answers",
        [SCENARIO_USE_MIXED] = "algorithms with rounds of rollouts"};
    const struct scenario_schema_entry *entry = scenario_schema_at(index);
    char expected[TEXT_BYTES] = "";
    if (entry == NULL)
        return false;
    scenario_schema_expectation(entry, expected, sizeof expected);
    row->text[0] = entry->path;
    row->text[1] = entry->fallback == NULL ? "" : entry->fallback;
    row->text[2] = entry->required ? "yes" : "no";
    row->text[3] = keep(arena, expected);
    row->text[4] = uses[entry->use];
    row->text[5] = entry->meaning;
    return true;
}

/* ---- all ------------------------------------------------------------------------------------- */

#define COLUMNS(array) (array), sizeof(array) / sizeof(array)[0]

static const struct builtin_kind kinds[RLHFSIM_CATALOG_KINDS] = {
    [RLHFSIM_CATALOG_ALGORITHMS] = {COLUMNS(algorithm_columns), fill_algorithm},
    [RLHFSIM_CATALOG_WEIGHT_SYNC] = {COLUMNS(weight_sync_columns), fill_weight_sync},
    [RLHFSIM_CATALOG_TOPOLOGIES] = {COLUMNS(topology_columns), fill_topology},
    [RLHFSIM_CATALOG_KEYS] = {COLUMNS(key_columns), fill_key},
};

const char *builtin_column(enum rlhfsim_catalog_kind kind, size_t index) {
    return index < kinds[kind].count ? kinds[kind].columns[index] : NULL;
}

static struct builtin_row *next_row(struct base_arena *arena, const struct builtin_kind *kind,
                                    size_t index) {
    struct builtin_row row = {0};
    if (!kind->fill(arena, index, &row))
        return NULL;
    struct builtin_row *kept = base_arena_allocate(arena, sizeof *kept);
    if (kept != NULL)
        *kept = row;
    return kept;
}

struct builtin_row *builtin_rows(struct base_arena *arena, enum rlhfsim_catalog_kind kind) {
    struct builtin_row *first = NULL, **link = &first;
    for (size_t i = 0; kinds[kind].fill != NULL; i++) {
        *link = next_row(arena, &kinds[kind], i);
        if (*link == NULL)
            break;
        link = &(*link)->next;
    }
    return first;
}
