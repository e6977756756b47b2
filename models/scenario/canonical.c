/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/scenario/canonical.h"

#include "models/base/text.h"
#include "models/scenario/columns.h"
#include "models/scenario/sets.h"
#include "models/scenario/value.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PATH_BYTES 256
#define FORM_BYTES 40

/* 15 digits: two units of the same quantity may differ in the last bit. */
static char *of_number(double number) {
    char form[FORM_BYTES];
    (void)snprintf(form, sizeof form, "%.15g", number == 0.0 ? 0.0 : number);
    return strdup(form);
}

static char *of_integer(int64_t integer) {
    char form[FORM_BYTES];
    (void)snprintf(form, sizeof form, "%" PRId64, integer);
    return strdup(form);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* The kind of row that a key or a column names; CATALOG_KIND_COUNT for none. */
static enum catalog_kind kind_of_key(enum scenario_key key) {
    if (key == KEY_FRAMEWORK)
        return CATALOG_FRAMEWORKS;
    if (key == KEY_COUNT || !scenario_schema_at(key)->row)
        return CATALOG_KIND_COUNT;
    return key == KEY_CLUSTER_NODE                                        ? CATALOG_NODES
           : key == KEY_CLUSTER_GPU                                       ? CATALOG_GPUS
           : key == KEY_CHECKPOINT_STORE || key == KEY_CHECKPOINT_STAGING ? CATALOG_STORES
                                                                          : CATALOG_MODELS;
}

static char *of_name(const struct catalog *catalog, enum catalog_kind kind, const char *text) {
    const char *name = kind == CATALOG_KIND_COUNT ? NULL : catalog_name(catalog, kind, text);
    return strdup(name == NULL ? text : name);
}

/* ---- keys of the schema ---------------------------------------------------------------------- */

static char *of_schema(const struct catalog *catalog, enum scenario_key key,
                       const struct tree_node *node) {
    const struct scenario_schema_entry *entry = scenario_schema_at(key);
    struct scenario_schema_entry wide = *entry;
    struct scenario_value value = {0};
    struct rlhfsim_diagnostics *unseen = rlhfsim_diagnostics_new();
    if (unseen == NULL)
        return NULL;
    scenario_schema_widen(&wide);
    bool good = scenario_value_read(&wide, node, unseen, &value);
    rlhfsim_diagnostics_free(unseen);
    bool number = entry->type == SCENARIO_TYPE_NUMBER || entry->type == SCENARIO_TYPE_QUANTITY;
    if (!good || entry->type == SCENARIO_TYPE_TEXT)
        return of_name(catalog, kind_of_key(key), node->text);
    return number ? of_number(value.number) : of_integer(value.integer);
}

/* ---- columns of a row written in the scenario ------------------------------------------------ */

static const struct base_unit *unit_named(const char *name) {
    const struct base_unit *unit = NULL;
    for (size_t i = 0; name != NULL && (unit = base_unit_at(i)) != NULL; i++)
        if (strcmp(unit->name, name) == 0)
            return unit;
    return NULL;
}

static char *of_cell(const struct column *column, const char *text) {
    const struct base_unit *unit = unit_named(column->unit);
    char message[256];
    double number;
    bool numeric = column->type == COLUMN_NUMBER || column->type == COLUMN_INTEGER;
    if (numeric && base_number_read(text, &number) == BASE_NUMBER_OK)
        return of_number(number);
    if (numeric && unit != NULL &&
        base_quantity_read(text, unit->dimension, &number, message, sizeof message))
        return of_number(number / unit->si);
    if (column->type == COLUMN_BOOLEAN && (strcmp(text, "true") == 0 || strcmp(text, "false") == 0))
        return strdup(*text == 't' ? "yes" : "no");
    return strdup(text);
}

/* `name` is what follows the key that holds the row. */
static char *of_column(const struct catalog *catalog, enum catalog_kind kind, const char *name,
                       const char *text) {
    size_t count;
    const struct column *columns = catalog_columns(kind, &count);
    size_t index = catalog_find_column(kind, name);
    if (index < count)
        return of_cell(&columns[index], text);
    return of_name(catalog, strcmp(name, "like") == 0 ? kind : CATALOG_KIND_COUNT, text);
}

/* ---- all ------------------------------------------------------------------------------------- */

static char *of_node(const struct catalog *catalog, const char *key, const struct tree_node *node) {
    const char *last = strrchr(key, '.');
    enum scenario_key found = scenario_schema_find(key);
    char row[PATH_BYTES];
    if (found != KEY_COUNT)
        return of_schema(catalog, found, node);
    (void)snprintf(row, sizeof row, "%.*s", last == NULL ? 0 : (int)(last - key), key);
    enum scenario_key holder = scenario_schema_find(row);
    bool holds = holder != KEY_COUNT && scenario_schema_at(holder)->row;
    return holds ? of_column(catalog, kind_of_key(holder), last + 1, node->text)
                 : strdup(node->text);
}

char *scenario_canonical(const struct catalog *catalog, const char *key, const char *value) {
    struct base_arena arena = {0};
    struct tree_node *node = NULL;
    struct tree_source source = {scenario_set_file, value, strlen(value), 1};
    struct rlhfsim_diagnostics *unseen = rlhfsim_diagnostics_new();
    char *form = NULL;
    if (unseen != NULL) {
        bool text = tree_read(&arena, &source, unseen, &node) == RLHFSIM_OK && node != NULL &&
                    node->kind == TREE_TEXT;
        form = text ? of_node(catalog, key, node) : strdup(value);
    }
    rlhfsim_diagnostics_free(unseen);
    base_arena_release(&arena);
    return form;
}
