/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A walk over the tree: each key is looked up in the schema by its full path. A key that a mistyped
 * one most likely stands for counts as written, so that one slip is not reported twice, once as an
 * unknown key and once as a missing one.
 */
#include "models/scenario/values.h"

#include "models/base/diagnostics.h"
#include "models/base/text.h"
#include "models/scenario/scenario.h"
#include "models/scenario/tags.h"
#include "models/scenario/value.h"

#include <stdio.h>
#include <string.h>

#define PATH_BYTES 256
#define SECTION_KEYS_SHOWN 8
/* Beyond this many errors nobody reads on: no more nearest names are looked for. */
#define NEAREST_LIMIT 200

struct walk {
    struct rlhfsim_diagnostics *diagnostics;
    struct scenario_values *values;
    size_t errors_before;
    bool good;
};

/* The full path of a name in a section. */
static void join(const char *section, const char *name, char path[static PATH_BYTES]) {
    (void)snprintf(path, PATH_BYTES, "%s%s%s", section, *section == '\0' ? "" : ".", name);
}

/* ---- sections -------------------------------------------------------------------------------- */

/* Whether the key is below the section; *rest is its path from there. The section "" is the top. */
static bool below(const char *section, size_t key, const char **rest) {
    const char *path = scenario_schema_at(key)->path;
    size_t length = strlen(section);
    bool top = length == 0;
    bool inside = top || (strncmp(path, section, length) == 0 && path[length] == '.');
    *rest = !inside ? NULL : top ? path : path + length + 1;
    return inside;
}

/* The next name directly below a section, in the order of the schema and each once; false past the
 * last one. `key` is the place in the table, first 0. */
static bool next_name(const char *section, size_t *key, char *name, size_t size) {
    char previous[64] = "";
    (void)snprintf(previous, sizeof previous, "%s", *key > 0 ? name : "");
    for (; *key < KEY_COUNT; ++*key) {
        const char *rest;
        if (!below(section, *key, &rest))
            continue;
        (void)snprintf(name, size, "%.*s", (int)strcspn(rest, "."), rest);
        if (strcmp(name, previous) != 0) {
            ++*key;
            return true;
        }
    }
    return false;
}

static void section_names(const char *section, char *buffer, size_t size) {
    char name[64] = "";
    size_t key = 0, used = 0;
    for (int shown = 0; next_name(section, &key, name, sizeof name) && used < size; shown++) {
        const char *lead = shown == 0 ? "" : ", ";
        bool last = shown == SECTION_KEYS_SHOWN;
        int length = snprintf(buffer + used, size - used, "%s%s", lead, last ? "..." : name);
        used += length > 0 ? (size_t)length : 0;
        if (last)
            return;
    }
}

/* Everything at or below the path counts as written, wrongly. */
static void mark_attempted(struct walk *walk, const char *path) {
    for (size_t key = 0; key < KEY_COUNT; key++) {
        const char *rest;
        struct scenario_value *value = &walk->values->at[key];
        if (value->given ||
            !(strcmp(scenario_schema_at(key)->path, path) == 0 || below(path, key, &rest)))
            continue;
        value->given = true;
        value->misspelt = true;
        value->known = false;
    }
}

static void place_section(struct walk *walk, const char *section, struct tree_place place) {
    for (size_t key = 0; key < KEY_COUNT; key++) {
        const char *rest;
        if (below(section, key, &rest)) {
            walk->values->at[key].key = place;
            walk->values->at[key].place = place;
        }
    }
}

/* ---- errors ---------------------------------------------------------------------------------- */

/* The section that has a key of this name, when just one has. */
static const char *home_of(const char *name, char *buffer, size_t size) {
    int homes = 0;
    for (size_t key = 0; key < KEY_COUNT; key++) {
        const char *path = scenario_schema_at(key)->path;
        const char *leaf = strrchr(path, '.');
        if (leaf != NULL && strcmp(leaf + 1, name) == 0 && ++homes == 1)
            (void)snprintf(buffer, size, "%.*s", (int)(leaf - path), path);
    }
    return homes == 1 ? buffer : NULL;
}

static const char *nearest_in(const char *section, const char *wanted, char *name, size_t size) {
    struct base_nearest nearest;
    char candidates[KEY_COUNT][48];
    char candidate[48] = "";
    size_t key = 0, count = 0;
    base_nearest_start(&nearest, wanted);
    while (next_name(section, &key, candidate, sizeof candidate)) {
        memcpy(candidates[count], candidate, sizeof candidate);
        base_nearest_offer(&nearest, candidates[count++]);
    }
    const char *near = base_nearest_name(&nearest);
    if (near != NULL)
        (void)snprintf(name, size, "%s", near);
    return near == NULL ? NULL : name;
}

/* The name in the section that an unknown key stands for: what is before a ':' that no space
 * follows, a path with dots, else the nearest one. NULL when there is none. */
static const char *meant_name(const char *section, const char *key, char *name, size_t size) {
    const char *colon = strchr(key, ':');
    bool dotted = strchr(key, '.') != NULL;
    char path[PATH_BYTES];
    if (colon == NULL && !dotted)
        return nearest_in(section, key, name, size);
    (void)snprintf(name, size, "%.*s", (int)strcspn(key, ":"), key);
    join(section, name, path);
    bool known = scenario_schema_find(path) != KEY_COUNT || scenario_schema_is_section(path);
    return known ? name : NULL;
}

static void unknown_key(struct walk *walk, const char *section, const struct tree_entry *entry) {
    char quoted[BASE_QUOTE_SIZE], name[64], home[64], hint[160] = "", path[PATH_BYTES];
    bool few = rlhfsim_diagnostics_count(walk->diagnostics) - walk->errors_before < NEAREST_LIMIT;
    const char *meant = few ? meant_name(section, entry->key, name, sizeof name) : NULL;
    walk->good = false;
    if (strchr(entry->key, ':') != NULL)
        (void)snprintf(hint, sizeof hint, "; a space is missing after the ':'");
    else if (meant != NULL && strchr(meant, '.') != NULL)
        (void)snprintf(hint, sizeof hint, "; in a file keys are nested, not joined by dots");
    else if (meant != NULL)
        (void)snprintf(hint, sizeof hint, "; did you mean '%s'?", meant);
    else if (few && home_of(entry->key, home, sizeof home) != NULL)
        (void)snprintf(hint, sizeof hint, "; it belongs in %s", home);
    if (meant != NULL) {
        join(section, meant, path);
        mark_attempted(walk, path);
    }
    (void)tree_error(walk->diagnostics, entry->place, "unknown key %s%s%s%s",
                     base_quote(entry->key, quoted), *section == '\0' ? "" : " in ", section, hint);
}

static void no_mapping(struct walk *walk, const char *section, const struct tree_node *node) {
    char names[256], got[BASE_QUOTE_SIZE];
    bool colon = node->kind == TREE_TEXT && strchr(node->text, ':') != NULL;
    walk->good = false;
    section_names(section, names, sizeof names);
    (void)tree_error(
        walk->diagnostics, node->place, "%s is %s, expected a mapping with the keys %s%s",
        *section == '\0' ? "the scenario" : section, scenario_value_describe(node, got, sizeof got),
        names, colon ? "; a space is missing after the ':'" : "");
    mark_attempted(walk, section);
}

/* ---- the walk -------------------------------------------------------------------------------- */

static bool read_tags(struct walk *walk, const struct tree_node *node) {
    if (node->kind == TREE_MAPPING)
        return scenario_tags_read(node, walk->diagnostics, walk->values->tags,
                                  sizeof walk->values->tags);
    if (tree_is_empty(node))
        return true;
    char got[BASE_QUOTE_SIZE];
    (void)tree_error(walk->diagnostics, node->place,
                     "tags is %s, expected a mapping of names to texts",
                     scenario_value_describe(node, got, sizeof got));
    return false;
}

static void read_leaf(struct walk *walk, enum scenario_key key, const struct tree_entry *entry) {
    const struct scenario_schema_entry *schema = scenario_schema_at(key);
    struct scenario_value *value = &walk->values->at[key];
    value->given = true;
    value->misspelt = false;
    value->key = entry->place;
    value->place = entry->value->place;
    value->known = false;
    if (schema->type == SCENARIO_TYPE_LATER)
        (void)tree_error(walk->diagnostics, entry->place, "%s is not supported by this version",
                         schema->path);
    else if (schema->type == SCENARIO_TYPE_TAGS)
        value->known = read_tags(walk, entry->value);
    else
        value->known = scenario_value_read(schema, entry->value, walk->diagnostics, value);
    walk->good = walk->good && value->known;
}

static void read_section(struct walk *walk, const char *section, const struct tree_node *node);

static void read_entry(struct walk *walk, const char *section, const struct tree_entry *entry) {
    char path[PATH_BYTES];
    join(section, entry->key, path);
    enum scenario_key key = scenario_schema_find(path);
    bool dotted = strchr(entry->key, '.') != NULL;
    if (key != KEY_COUNT && !dotted)
        read_leaf(walk, key, entry);
    else if (dotted || !scenario_schema_is_section(path))
        unknown_key(walk, section, entry);
    else {
        place_section(walk, path, entry->place);
        read_section(walk, path, entry->value);
    }
}

/* A section whose keys are all commented out is empty, which is not a mistake. */
static void read_section(struct walk *walk, const char *section, const struct tree_node *node) {
    bool top = *section == '\0';
    if (node->broken)
        mark_attempted(walk, section);
    else if (node->kind != TREE_MAPPING && (top || !tree_is_empty(node)))
        no_mapping(walk, section, node);
    for (const struct tree_entry *entry = node->kind == TREE_MAPPING ? node->first : NULL;
         entry != NULL; entry = entry->next)
        read_entry(walk, section, entry);
}

static void start_values(const struct tree_node *root, struct scenario_values *values) {
    *values = (struct scenario_values){0};
    for (size_t key = 0; key < KEY_COUNT; key++) {
        const struct scenario_schema_entry *entry = scenario_schema_at(key);
        struct scenario_value *value = &values->at[key];
        value->key = value->place = root->place;
        if (entry->fallback == NULL)
            continue;
        struct tree_node written = {.kind = TREE_TEXT, .text = entry->fallback};
        /* The defaults are legal (a test reads them all), so that there is nothing to report. */
        value->known = scenario_value_read(entry, &written, NULL, value);
    }
}

static bool is_missing(const struct walk *walk, size_t key) {
    return scenario_schema_at(key)->required && !walk->values->at[key].given;
}

static void report_one(const struct walk *walk, size_t key) {
    const struct scenario_schema_entry *entry = scenario_schema_at(key);
    char expectation[256];
    scenario_schema_expectation(entry, expectation, sizeof expectation);
    (void)tree_error(walk->diagnostics, walk->values->at[key].key,
                     "%s is required: %s; expected %s", entry->path, entry->meaning, expectation);
}

static void report_several(const struct walk *walk, size_t first) {
    char paths[768] = "";
    size_t used = 0;
    for (size_t key = first; key < KEY_COUNT && used < sizeof paths; key++) {
        if (!is_missing(walk, key))
            continue;
        int length = snprintf(paths + used, sizeof paths - used, "%s%s", used == 0 ? "" : ", ",
                              scenario_schema_at(key)->path);
        used += length > 0 ? (size_t)length : 0;
    }
    (void)tree_error(walk->diagnostics, walk->values->at[first].key,
                     "required keys are missing: %s", paths);
}

/* In one line, behind what is wrong with the keys that there are: a misspelt one may be what is
 * missing. */
static void report_missing(struct walk *walk) {
    size_t first = KEY_COUNT, count = 0;
    for (size_t key = KEY_COUNT; key-- > 0;)
        if (is_missing(walk, key)) {
            first = key;
            count++;
        }
    if (count == 0)
        return;
    walk->good = false;
    if (count == 1)
        report_one(walk, first);
    else
        report_several(walk, first);
    base_diagnostics_delay(walk->diagnostics);
}

bool scenario_values_read(const struct tree_node *root, struct rlhfsim_diagnostics *diagnostics,
                          struct scenario_values *values) {
    struct walk walk = {diagnostics, values, rlhfsim_diagnostics_count(diagnostics), true};
    start_values(root, values);
    if (tree_is_empty(root)) {
        (void)tree_error(diagnostics, root->place, "the file is empty, expected a scenario");
        return false;
    }
    read_section(&walk, "", root);
    report_missing(&walk);
    return walk.good;
}

/* ---- storing --------------------------------------------------------------------------------- */

static void store(const struct scenario_schema_entry *entry, const struct scenario_value *value,
                  void *field) {
    int narrow = (int)value->integer;
    bool flag = value->integer != 0;
    if (entry->type == SCENARIO_TYPE_TEXT)
        (void)snprintf(field, entry->size, "%s", value->text);
    else if (entry->type == SCENARIO_TYPE_NUMBER || entry->type == SCENARIO_TYPE_QUANTITY)
        memcpy(field, &value->number, sizeof value->number);
    else if (entry->type == SCENARIO_TYPE_BOOLEAN)
        memcpy(field, &flag, sizeof flag);
    else if (entry->size == sizeof narrow)
        memcpy(field, &narrow, sizeof narrow);
    else
        memcpy(field, &value->integer, sizeof value->integer);
}

void scenario_values_store(const struct scenario_values *values,
                           struct rlhfsim_scenario *scenario) {
    for (size_t key = 0; key < KEY_COUNT; key++) {
        const struct scenario_schema_entry *entry = scenario_schema_at(key);
        if (entry->size > 0 && values->at[key].known && entry->type != SCENARIO_TYPE_TAGS)
            store(entry, &values->at[key], (char *)scenario + entry->offset);
    }
    memcpy(scenario->tags, values->tags, sizeof scenario->tags);
}
