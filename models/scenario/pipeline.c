/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Pipelines of scenarios (include/rlhfsim/pipeline.h has their form). Only the chain is read here;
 * each scenario is loaded by itself, with settings, so that all its checks hold.
 */
#include <rlhfsim/pipeline.h>

#include "models/base/file.h"
#include "models/base/locale.h"
#include "models/base/text.h"
#include "models/scenario/tree.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_STAGES 64
#define MOST_SETS 64
#define MOST_REPEATS 1000000
#define NAME_BYTES 64

struct stage {
    struct tree_place place;
    char name[NAME_BYTES];
    const char *path;
    const char *sets[MOST_SETS];
    size_t set_count;
    int64_t times;
};

struct rlhfsim_pipeline {
    struct base_arena arena;
    char name[NAME_BYTES];
    struct stage stages[MOST_STAGES];
    size_t count;
};

struct reading {
    struct rlhfsim_pipeline *pipeline;
    struct rlhfsim_diagnostics *diagnostics;
    const char *path;
    bool out_of_memory;
};

/* ---- small parts ----------------------------------------------------------------------------- */

static void blame(struct reading *reading, struct tree_place place, const char *what) {
    (void)tree_error(reading->diagnostics, place, "%s", what);
}

/* Keys that nobody knows. */
static void check_keys(struct reading *reading, const struct tree_node *mapping,
                       const char *const *known) {
    for (const struct tree_entry *entry = mapping->first; entry != NULL; entry = entry->next) {
        struct base_nearest nearest;
        size_t i = 0;
        base_nearest_start(&nearest, entry->key);
        for (; known[i] != NULL && strcmp(known[i], entry->key) != 0; i++)
            base_nearest_offer(&nearest, known[i]);
        if (known[i] != NULL)
            continue;
        const char *near = base_nearest_name(&nearest);
        (void)tree_error(reading->diagnostics, entry->place, "unknown key '%s' of a pipeline%s%s%s",
                         entry->key, near == NULL ? "" : "; did you mean '",
                         near == NULL ? "" : near, near == NULL ? "" : "'?");
    }
}

/* The text of a key, NULL after an error. */
static const char *text_of(struct reading *reading, const struct tree_node *mapping,
                           const char *key) {
    const struct tree_entry *entry = tree_find(mapping, key);
    if (entry == NULL) {
        (void)tree_error(reading->diagnostics, mapping->place, "'%s' is required", key);
        return NULL;
    }
    if (entry->value->kind == TREE_TEXT && !tree_is_empty(entry->value))
        return entry->value->text;
    (void)tree_error(reading->diagnostics, entry->value->place, "%s is empty, expected a text",
                     key);
    return NULL;
}

#define NAME_SIGNS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

/* A stage's name becomes a folder's, beside summary.json. */
static bool is_name(const char *text, bool dots) {
    size_t length = strlen(text);
    return length < NAME_BYTES && strspn(text, dots ? NAME_SIGNS "." : NAME_SIGNS) == length;
}

static void take_name(struct reading *reading, const struct tree_node *mapping, const char *key,
                      bool dots, char name[NAME_BYTES]) {
    const char *text = text_of(reading, mapping, key);
    if (text == NULL)
        return;
    if (is_name(text, dots))
        base_text_copy(name, NAME_BYTES, text);
    else
        (void)tree_error(reading->diagnostics, tree_find(mapping, key)->value->place,
                         "%s is '%s', expected at most %d letters, digits, '_'%s and '-'", key,
                         text, NAME_BYTES - 1, dots ? ", '.'" : "");
}

static int64_t repeats_of(struct reading *reading, const struct tree_entry *entry) {
    const char *text = entry->value->kind == TREE_TEXT ? entry->value->text : "";
    char *end;
    long long number = strtoll(text, &end, 10);
    if (*text >= '0' && *text <= '9' && *end == '\0' && number >= 1 && number <= MOST_REPEATS)
        return number;
    (void)tree_error(reading->diagnostics, entry->value->place,
                     "repeat is '%s', expected a whole number from 1 to %d", text, MOST_REPEATS);
    return 1;
}

/* ---- settings -------------------------------------------------------------------------------- */

static const char *joined(struct reading *reading, const char *a, const char *b, const char *c) {
    size_t size = strlen(a) + strlen(b) + strlen(c) + 1;
    char *text = base_arena_allocate(&reading->pipeline->arena, size);
    if (text == NULL)
        reading->out_of_memory = true;
    else
        (void)snprintf(text, size, "%s%s%s", a, b, c);
    return text;
}

static void add_set(struct reading *reading, struct stage *stage, struct tree_place place,
                    const char *key, const char *value) {
    if (stage->set_count == MOST_SETS) {
        blame(reading, place, "a stage sets at most 62 keys");
        return;
    }
    const char *set = joined(reading, key, "=", value);
    if (set != NULL)
        stage->sets[stage->set_count++] = set;
}

static void read_sets(struct reading *reading, const struct tree_node *mapping,
                      struct stage *stage) {
    const struct tree_entry *set = tree_find(mapping, "set");
    if (set == NULL)
        return;
    if (set->value->kind != TREE_MAPPING) {
        blame(reading, set->value->place,
              "set is no mapping, expected keys of the scenario and their values, such as {steps: "
              "100}");
        return;
    }
    for (const struct tree_entry *entry = set->value->first; entry != NULL; entry = entry->next) {
        if (entry->value->kind == TREE_TEXT)
            add_set(reading, stage, entry->place, entry->key, entry->value->text);
        else
            (void)tree_error(reading->diagnostics, entry->value->place,
                             "%s is no single value; write its parts as keys of their own, such as "
                             "%s.part",
                             entry->key, entry->key);
    }
}

/* Whether the scenario, or a setting, says checkpoint.KEY. */
static bool says(const struct tree_node *scenario, const struct stage *stage, const char *key) {
    const struct tree_entry *section = scenario == NULL ? NULL : tree_find(scenario, "checkpoint");
    char start[64];
    (void)snprintf(start, sizeof start, "checkpoint.%s=", key);
    for (size_t i = 0; i < stage->set_count; i++)
        if (strncmp(stage->sets[i], start, strlen(start)) == 0)
            return true;
    return section != NULL && tree_find(section->value, key) != NULL;
}

/* A stage loads and saves. What is wrong with its file is said when it is loaded. */
static void add_defaults(struct reading *reading, struct stage *stage) {
    struct rlhfsim_diagnostics *unseen = rlhfsim_diagnostics_new();
    struct base_file file;
    struct tree_node *root = NULL;
    if (unseen == NULL) {
        reading->out_of_memory = true;
        return;
    }
    if (base_file_read(stage->path, unseen, &file) == RLHFSIM_OK) {
        struct tree_source text = {stage->path, file.text, file.length, 1};
        (void)tree_read(&reading->pipeline->arena, &text, unseen, &root);
        base_file_release(&file);
    }
    rlhfsim_diagnostics_free(unseen);
    if (!says(root, stage, "load"))
        add_set(reading, stage, stage->place, "checkpoint.load", "weights");
    if (!says(root, stage, "every_steps"))
        add_set(reading, stage, stage->place, "checkpoint.every_steps", "1000000000");
}

/* ---- stages ---------------------------------------------------------------------------------- */

static const char *beside(struct reading *reading, const char *path) {
    const char *slash = strrchr(reading->path, '/');
    if (*path == '/' || slash == NULL)
        return joined(reading, path, "", "");
    size_t length = (size_t)(slash - reading->path) + 1;
    char *folder = strndup(reading->path, length);
    if (folder == NULL) {
        reading->out_of_memory = true;
        return NULL;
    }
    const char *result = joined(reading, folder, path, "");
    free(folder);
    return result;
}

static void check_twice(struct reading *reading, const struct stage *stage) {
    for (size_t i = 0; i + 1 < reading->pipeline->count; i++)
        if (strcmp(reading->pipeline->stages[i].name, stage->name) == 0 && *stage->name != '\0')
            (void)tree_error(reading->diagnostics, stage->place,
                             "stage '%s' is written twice, first on line %d", stage->name,
                             reading->pipeline->stages[i].place.line);
}

static void read_stage(struct reading *reading, const struct tree_node *mapping, int64_t times) {
    static const char *const known[] = {"stage", "scenario", "set", NULL};
    struct rlhfsim_pipeline *pipeline = reading->pipeline;
    if (pipeline->count == MOST_STAGES) {
        blame(reading, mapping->place, "a pipeline has at most 64 stages");
        return;
    }
    struct stage *stage = &pipeline->stages[pipeline->count++];
    *stage = (struct stage){.place = mapping->place, .times = times};
    check_keys(reading, mapping, known);
    take_name(reading, mapping, "stage", false, stage->name);
    check_twice(reading, stage);
    const char *path = text_of(reading, mapping, "scenario");
    stage->path = path == NULL ? NULL : beside(reading, path);
    read_sets(reading, mapping, stage);
    if (stage->path != NULL)
        add_defaults(reading, stage);
}

static void read_list(struct reading *reading, const struct tree_node *list, int64_t times);

static void read_item(struct reading *reading, const struct tree_node *item, int64_t times) {
    static const char *const known[] = {"repeat", "stages", NULL};
    if (item->kind != TREE_MAPPING) {
        blame(
            reading, item->place,
            "expected a stage, such as {stage: sft, scenario: sft.yaml}, or a repeat with stages");
        return;
    }
    const struct tree_entry *repeat = tree_find(item, "repeat"),
                            *stages = tree_find(item, "stages");
    if (repeat == NULL && stages == NULL) {
        read_stage(reading, item, times);
        return;
    }
    check_keys(reading, item, known);
    if (repeat == NULL || stages == NULL || times > 1)
        blame(reading, item->place,
              "expected a repeat and the stages that are repeated, and no repeat in them");
    else
        read_list(reading, stages->value, repeats_of(reading, repeat));
}

static void read_list(struct reading *reading, const struct tree_node *list, int64_t times) {
    if (list->kind != TREE_LIST || list->first == NULL) {
        blame(reading, list->place, "expected a list of stages");
        return;
    }
    for (const struct tree_entry *entry = list->first; entry != NULL; entry = entry->next)
        read_item(reading, entry->value, times);
}

/* ---- all ------------------------------------------------------------------------------------- */

static enum rlhfsim_status read_pipeline(struct reading *reading, const struct tree_node *root) {
    static const char *const known[] = {"name", "pipeline", NULL};
    size_t errors_before = rlhfsim_diagnostics_count(reading->diagnostics);
    check_keys(reading, root, known);
    take_name(reading, root, "name", true, reading->pipeline->name);
    read_list(reading, tree_find(root, "pipeline")->value, 1);
    if (reading->out_of_memory)
        return RLHFSIM_NO_MEMORY;
    return rlhfsim_diagnostics_count(reading->diagnostics) > errors_before ? RLHFSIM_INVALID
                                                                           : RLHFSIM_OK;
}

/* The tree of the file, NULL where it is not a pipeline. */
static const struct tree_node *read_root(struct reading *reading) {
    struct rlhfsim_diagnostics *unseen = rlhfsim_diagnostics_new();
    struct base_file file;
    struct tree_node *root = NULL;
    if (unseen == NULL) {
        reading->out_of_memory = true;
        return NULL;
    }
    enum rlhfsim_status status = base_file_read(reading->path, unseen, &file);
    if (status == RLHFSIM_OK) {
        struct tree_source text = {reading->path, file.text, file.length, 1};
        status = tree_read(&reading->pipeline->arena, &text, unseen, &root);
        base_file_release(&file);
    }
    rlhfsim_diagnostics_free(unseen);
    return status == RLHFSIM_OK && tree_find(root, "pipeline") != NULL ? root : NULL;
}

enum rlhfsim_status rlhfsim_pipeline_read(const char *path, struct rlhfsim_diagnostics *diagnostics,
                                          struct rlhfsim_pipeline **result) {
    struct base_locale locale;
    struct rlhfsim_pipeline *pipeline = calloc(1, sizeof *pipeline);
    struct reading reading = {.pipeline = pipeline, .diagnostics = diagnostics, .path = path};
    *result = NULL;
    if (pipeline == NULL || !base_locale_enter(&locale)) {
        free(pipeline);
        return RLHFSIM_NO_MEMORY;
    }
    const struct tree_node *root = read_root(&reading);
    enum rlhfsim_status status = reading.out_of_memory ? RLHFSIM_NO_MEMORY : RLHFSIM_OK;
    if (root != NULL)
        status = read_pipeline(&reading, root);
    base_locale_leave(&locale);
    if (root != NULL && status == RLHFSIM_OK)
        *result = pipeline;
    else
        rlhfsim_pipeline_free(pipeline);
    return status;
}

void rlhfsim_pipeline_free(struct rlhfsim_pipeline *pipeline) {
    if (pipeline == NULL)
        return;
    base_arena_release(&pipeline->arena);
    free(pipeline);
}

const char *rlhfsim_pipeline_name(const struct rlhfsim_pipeline *pipeline) {
    return pipeline->name;
}

bool rlhfsim_pipeline_stage(const struct rlhfsim_pipeline *pipeline, size_t index,
                            struct rlhfsim_stage *stage) {
    if (index >= pipeline->count)
        return false;
    const struct stage *from = &pipeline->stages[index];
    *stage =
        (struct rlhfsim_stage){from->name, from->path, from->sets, from->set_count, from->times};
    return true;
}

enum rlhfsim_status rlhfsim_pipeline_blame(const struct rlhfsim_pipeline *pipeline, size_t index,
                                           struct rlhfsim_diagnostics *diagnostics) {
    const struct stage *stage = &pipeline->stages[index];
    return tree_error(diagnostics, stage->place, "stage '%s' is not legal, see above", stage->name);
}
