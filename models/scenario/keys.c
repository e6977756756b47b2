/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What can be said about one key and one value without a scenario. A value that is refused is read
 * again with the range of its key taken away: when that works, its type is right.
 */
#include "models/base/text.h"
#include "models/base/utf8.h"
#include "models/scenario/columns.h"
#include "models/scenario/value.h"

#include <rlhfsim/scenario.h>

#include <stdio.h>
#include <string.h>

#define PATH_BYTES 256
#define NAME_BYTES 64

static const char tags_section[] = "tags.";

static bool is_tag(const char *key) {
    size_t length = strlen(tags_section);
    return strncmp(key, tags_section, length) == 0 && key[length] != '\0';
}

/* ---- unknown keys ---------------------------------------------------------------------------- */

/* A key, cut at the end of the name that begins at `name`. */
struct attempt {
    const char *key;
    size_t name, end;
    char section[PATH_BYTES], path[PATH_BYTES], word[NAME_BYTES];
};

static void attempt_start(struct attempt *attempt, const char *key, size_t name) {
    size_t end = name + strcspn(key + name, ".");
    size_t section = name > 0 ? name - 1 : 0;
    attempt->key = key;
    attempt->name = name;
    attempt->end = end;
    (void)snprintf(attempt->section, PATH_BYTES, "%.*s", (int)section, key);
    (void)snprintf(attempt->path, PATH_BYTES, "%.*s", (int)end, key);
    (void)snprintf(attempt->word, NAME_BYTES, "%.*s", (int)(end - name), key + name);
}

/* The part of a schema path down to the level of the attempt, when it is in the same section. */
static bool sibling(const struct attempt *attempt, const char *path, char *out, size_t size) {
    if (strncmp(path, attempt->key, attempt->name) != 0)
        return false;
    (void)snprintf(out, size, "%.*s", (int)strcspn(path + attempt->name, "."),
                   path + attempt->name);
    return true;
}

/* The known path next to the attempt: by its last name within the section, else the shortest path
 * that contains that name. */
static const char *nearest_path(const struct attempt *attempt, char *out, size_t size) {
    char names[KEY_COUNT][NAME_BYTES];
    struct base_nearest inside, anywhere;
    base_nearest_start(&inside, attempt->word);
    base_nearest_start(&anywhere, attempt->word);
    for (size_t key = 0; key < KEY_COUNT; key++) {
        const char *path = scenario_schema_at(key)->path;
        base_nearest_offer(&anywhere, path);
        if (sibling(attempt, path, names[key], NAME_BYTES))
            base_nearest_offer(&inside, names[key]);
    }
    const char *name = base_nearest_name(&inside);
    const char *path = base_nearest_name(&anywhere);
    if (name != NULL)
        (void)snprintf(out, size, "%.*s%s", (int)attempt->name, attempt->key, name);
    else if (path != NULL)
        (void)snprintf(out, size, "%s", path);
    return name != NULL || path != NULL ? out : NULL;
}

static enum rlhfsim_status unknown(const struct attempt *attempt, const char *file, int column,
                                   struct rlhfsim_diagnostics *diagnostics) {
    char quoted[BASE_QUOTE_SIZE], near[PATH_BYTES + NAME_BYTES];
    bool top = attempt->section[0] == '\0';
    const char *meant = nearest_path(attempt, near, sizeof near);
    return rlhfsim_diagnostics_add(diagnostics, RLHFSIM_INVALID, file, 1,
                                   column + (int)attempt->name, "unknown key %s%s%s%s%s%s",
                                   base_quote(attempt->word, quoted), top ? "" : " in ",
                                   attempt->section, meant == NULL ? "" : "; did you mean '",
                                   meant == NULL ? "" : meant, meant == NULL ? "" : "'?");
}

/* ---- columns of a row written in the scenario -------------------------------------------------
 */

/* Whether the first `length` bytes of the key are one that may hold a row of the catalog, and of
 * which kind. */
static bool holds_row(const char *key, size_t length, enum catalog_kind *kind) {
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "%.*s", (int)length, key);
    enum scenario_key found = scenario_schema_find(path);
    if (found == KEY_COUNT || !scenario_schema_at(found)->row)
        return false;
    *kind = found == KEY_CLUSTER_NODE                                          ? CATALOG_NODES
            : found == KEY_CLUSTER_GPU                                         ? CATALOG_GPUS
            : found == KEY_CHECKPOINT_STORE || found == KEY_CHECKPOINT_STAGING ? CATALOG_STORES
                                                                               : CATALOG_MODELS;
    return true;
}

static enum rlhfsim_status check_column(const char *key, const char *name, enum catalog_kind kind,
                                        const char *file, int column,
                                        struct rlhfsim_diagnostics *diagnostics) {
    size_t count;
    char quoted[BASE_QUOTE_SIZE];
    struct base_nearest nearest;
    const struct column *columns = catalog_columns(kind, &count);
    if (strcmp(name, "like") == 0 || catalog_find_column(kind, name) < count)
        return RLHFSIM_OK;
    base_nearest_start(&nearest, name);
    for (size_t i = 0; i < count; i++)
        base_nearest_offer(&nearest, columns[i].name);
    const char *near = base_nearest_name(&nearest);
    return rlhfsim_diagnostics_add(
        diagnostics, RLHFSIM_INVALID, file, 1, column + (int)(name - key),
        "unknown key %s in %.*s, expected a column of %s%s%s%s", base_quote(name, quoted),
        (int)(name - key) - 1, key, catalog_file_name(kind), near == NULL ? "" : "; did you mean '",
        near == NULL ? "" : near, near == NULL ? "" : "'?");
}

/* ---- known keys ------------------------------------------------------------------------------ */

static enum rlhfsim_status check_leaf(enum scenario_key key, const char *file, int column,
                                      struct rlhfsim_diagnostics *diagnostics) {
    const struct scenario_schema_entry *entry = scenario_schema_at(key);
    if (entry->type == SCENARIO_TYPE_TAGS)
        return rlhfsim_diagnostics_add(diagnostics, RLHFSIM_INVALID, file, 1, column,
                                       "%s holds names, expected one of them such as %s.team",
                                       entry->path, entry->path);
    if (entry->type == SCENARIO_TYPE_LATER)
        return rlhfsim_diagnostics_add(diagnostics, RLHFSIM_INVALID, file, 1, column,
                                       "%s is not supported by this version", entry->path);
    return RLHFSIM_OK;
}

/* The attempt is a key already, and more names follow. */
static enum rlhfsim_status below_leaf(const struct attempt *attempt, enum scenario_key key,
                                      const char *file, int column,
                                      struct rlhfsim_diagnostics *diagnostics) {
    const char *path = scenario_schema_at(key)->path;
    if (scenario_schema_at(key)->type == SCENARIO_TYPE_LATER)
        return check_leaf(key, file, column, diagnostics);
    return rlhfsim_diagnostics_add(diagnostics, RLHFSIM_INVALID, file, 1,
                                   column + (int)attempt->name,
                                   "%s holds a value, expected no further names behind it", path);
}

static enum rlhfsim_status is_section(const char *key, const char *file, int column,
                                      struct rlhfsim_diagnostics *diagnostics) {
    const char *first = "";
    size_t length = strlen(key);
    for (size_t i = KEY_COUNT; i-- > 0;)
        if (strncmp(scenario_schema_at(i)->path, key, length) == 0 &&
            scenario_schema_at(i)->path[length] == '.')
            first = scenario_schema_at(i)->path;
    return rlhfsim_diagnostics_add(diagnostics, RLHFSIM_INVALID, file, 1, column,
                                   "%s is a section, expected one of its keys such as %s", key,
                                   first);
}

enum rlhfsim_status rlhfsim_key_check(const char *key, const char *file, int column,
                                      struct rlhfsim_diagnostics *diagnostics) {
    struct attempt attempt;
    enum scenario_key found = scenario_schema_find(key);
    enum catalog_kind kind;
    const char *last = strrchr(key, '.');
    if (is_tag(key))
        return RLHFSIM_OK;
    if (last != NULL && holds_row(key, (size_t)(last - key), &kind))
        return check_column(key, last + 1, kind, file, column, diagnostics);
    if (found != KEY_COUNT)
        return check_leaf(found, file, column, diagnostics);
    attempt_start(&attempt, key, 0);
    while (scenario_schema_is_section(attempt.path)) {
        if (key[attempt.end] == '\0')
            return is_section(key, file, column, diagnostics);
        attempt_start(&attempt, key, attempt.end + 1);
    }
    if (attempt.end == attempt.name)
        return rlhfsim_diagnostics_add(diagnostics, RLHFSIM_INVALID, file, 1,
                                       column + (int)attempt.name,
                                       "a name is missing in the key, expected one such as "
                                       "training.tp");
    found = scenario_schema_find(attempt.path);
    return found == KEY_COUNT ? unknown(&attempt, file, column, diagnostics)
                              : below_leaf(&attempt, found, file, column, diagnostics);
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool is_planned(const struct scenario_schema_entry *entry, const struct tree_node *value) {
    const char *const *choice = value->kind == TREE_TEXT ? entry->planned : NULL;
    for (; choice != NULL && *choice != NULL; choice++)
        if (strcmp(*choice, value->text) == 0)
            return true;
    return false;
}

static bool has_type(const struct scenario_schema_entry *entry, const struct tree_node *value,
                     struct rlhfsim_diagnostics *unseen) {
    struct scenario_schema_entry wide = *entry;
    struct scenario_value read = {0};
    scenario_schema_widen(&wide);
    return is_planned(&wide, value) || scenario_value_read(&wide, value, unseen, &read);
}

static enum rlhfsim_status check_type(const struct scenario_schema_entry *entry,
                                      const struct tree_node *value,
                                      struct rlhfsim_diagnostics *diagnostics) {
    struct scenario_value read = {0};
    struct rlhfsim_diagnostics *unseen = rlhfsim_diagnostics_new();
    if (unseen == NULL)
        return RLHFSIM_NO_MEMORY;
    bool good =
        has_type(entry, value, unseen) || scenario_value_read(entry, value, diagnostics, &read);
    rlhfsim_diagnostics_free(unseen);
    return good ? RLHFSIM_OK : RLHFSIM_INVALID;
}

static enum rlhfsim_status check_text(const char *value, const char *file, int column,
                                      struct rlhfsim_diagnostics *diagnostics) {
    struct base_utf8_fault fault = base_utf8_check(value, strlen(value));
    const char *line_end = strpbrk(value, "\r\n");
    if (fault.message != NULL)
        return rlhfsim_diagnostics_add(diagnostics, RLHFSIM_INVALID, file, 1,
                                       column + fault.column - 1, "%s", fault.message);
    if (line_end != NULL)
        return rlhfsim_diagnostics_add(diagnostics, RLHFSIM_INVALID, file, 1, column,
                                       "a line end, expected a value on one line");
    return RLHFSIM_OK;
}

enum rlhfsim_status rlhfsim_key_check_value(const char *key, const char *value, const char *file,
                                            int column, struct rlhfsim_diagnostics *diagnostics) {
    enum scenario_key found = scenario_schema_find(key);
    struct tree_source source = {file, value, strlen(value), column};
    struct base_arena arena = {0};
    struct tree_node *node = NULL;
    enum rlhfsim_status status = check_text(value, file, column, diagnostics);
    if (status == RLHFSIM_OK)
        status = tree_read(&arena, &source, diagnostics, &node);
    if (status == RLHFSIM_OK && found != KEY_COUNT)
        status = check_type(scenario_schema_at(found), node, diagnostics);
    base_arena_release(&arena);
    return status;
}
