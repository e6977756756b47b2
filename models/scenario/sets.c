/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/scenario/sets.h"

#include "models/base/text.h"
#include "models/base/utf8.h"
#include "sim/contract.h"

#include <string.h>

const char scenario_set_file[] = "--set";

struct setting {
    struct base_arena *arena;
    struct rlhfsim_diagnostics *diagnostics;
    const char *argument;
    const char *equals; /* the "=" in it */
    struct tree_node *value;
};

/* The place of a byte of an argument; columns count characters. */
static struct tree_place place_at(const char *argument, const char *at) {
    int column = 1;
    for (const char *byte = argument; byte < at; byte++)
        column += ((unsigned char)*byte & 0xC0U) != 0x80U ? 1 : 0;
    return (struct tree_place){scenario_set_file, 1, column};
}

static enum rlhfsim_status read_value(struct setting *setting) {
    INVARIANT(setting->equals != NULL, "the argument was checked");
    const char *text = setting->equals + 1;
    struct tree_place place = place_at(setting->argument, text);
    struct tree_source source = {scenario_set_file, text, strlen(text), place.column};
    enum rlhfsim_status status =
        tree_read(setting->arena, &source, setting->diagnostics, &setting->value);
    if (status == RLHFSIM_OK && tree_is_empty(setting->value))
        return tree_error(setting->diagnostics, place, "%.*s has no value, expected KEY=VALUE",
                          (int)(setting->equals - setting->argument), setting->argument);
    return status;
}

/* Where a name of the key ends: at the next "." or "="; the name of a tag may have dots. */
static const char *name_end(const struct setting *setting, const char *name) {
    bool tag = name - setting->argument == (ptrdiff_t)strlen("tags.") &&
               strncmp(setting->argument, "tags.", strlen("tags.")) == 0;
    return tag ? setting->equals : name + strcspn(name, ".=");
}

static enum rlhfsim_status check_names(const struct setting *setting) {
    for (const char *start = setting->argument;;) {
        const char *end = name_end(setting, start);
        if (end == start)
            return tree_error(setting->diagnostics, place_at(setting->argument, start),
                              "a name is missing in the key, expected KEY=VALUE such as "
                              "training.tp=4");
        if (end == setting->equals)
            return RLHFSIM_OK;
        start = end + 1;
    }
}

static enum rlhfsim_status check_argument(struct setting *setting) {
    const char *argument = setting->argument;
    struct base_utf8_fault fault = base_utf8_check(argument, strlen(argument));
    const char *line_end = strpbrk(argument, "\r\n");
    char quoted[BASE_QUOTE_SIZE];
    if (fault.message != NULL)
        return rlhfsim_diagnostics_add(setting->diagnostics, RLHFSIM_INVALID, scenario_set_file,
                                       fault.line, fault.column, "%s", fault.message);
    if (line_end != NULL)
        return tree_error(setting->diagnostics, place_at(argument, line_end),
                          "a line end, expected KEY=VALUE on one line");
    setting->equals = strchr(argument, '=');
    if (setting->equals == NULL)
        return tree_error(setting->diagnostics, place_at(argument, argument),
                          "expected KEY=VALUE such as training.tp=4, got %s",
                          base_quote(argument, quoted));
    return check_names(setting);
}

/* The mapping at a name in `parent`, as a copy that may be changed, made where there is none. */
static enum rlhfsim_status step_into(const struct setting *setting, struct tree_node *parent,
                                     const char *name, struct tree_place place,
                                     struct tree_node **inner) {
    struct tree_entry *entry = tree_find(parent, name);
    struct tree_node empty = {.kind = TREE_MAPPING, .place = place, .text = "", .expanded = 1};
    bool fresh = entry == NULL || tree_is_empty(entry->value);
    if (!fresh && entry->value->kind != TREE_MAPPING)
        return tree_error(setting->diagnostics, place,
                          "'%.*s' cannot be set: '%s' holds a value at %s:%d:%d, not a mapping",
                          (int)(setting->equals - setting->argument), setting->argument, name,
                          entry->value->place.file, entry->value->place.line,
                          entry->value->place.column);
    *inner = tree_copy_mapping(setting->arena, fresh ? &empty : entry->value);
    struct tree_place at = fresh ? place : entry->place;
    if (*inner == NULL || tree_put(setting->arena, parent, name, at, *inner) == NULL)
        return RLHFSIM_NO_MEMORY;
    return RLHFSIM_OK;
}

/* Walks down the names of the key; the last one gets the value. */
static enum rlhfsim_status put_value(const struct setting *setting, struct tree_node *mapping) {
    const char *start = setting->argument;
    for (;;) {
        const char *end = name_end(setting, start);
        struct tree_place place = place_at(setting->argument, start);
        const char *name = base_arena_text(setting->arena, start, (size_t)(end - start));
        if (name == NULL)
            return RLHFSIM_NO_MEMORY;
        if (end == setting->equals)
            return tree_put(setting->arena, mapping, name, place, setting->value) == NULL
                       ? RLHFSIM_NO_MEMORY
                       : RLHFSIM_OK;
        enum rlhfsim_status status = step_into(setting, mapping, name, place, &mapping);
        if (status != RLHFSIM_OK)
            return status;
        start = end + 1;
    }
}

static enum rlhfsim_status apply(struct setting *setting, struct tree_node *root) {
    enum rlhfsim_status status = check_argument(setting);
    if (status == RLHFSIM_OK)
        status = read_value(setting);
    return status == RLHFSIM_OK ? put_value(setting, root) : status;
}

enum rlhfsim_status scenario_sets_apply(struct base_arena *arena, const char *const *sets,
                                        size_t count, struct rlhfsim_diagnostics *diagnostics,
                                        struct tree_node **root) {
    enum rlhfsim_status worst = RLHFSIM_OK;
    bool empty_document = tree_is_empty(*root);
    /* A document that is no mapping is an error that the reader reports. */
    if (count == 0 || (!empty_document && (*root)->kind != TREE_MAPPING))
        return RLHFSIM_OK;
    struct tree_node empty = {
        .kind = TREE_MAPPING, .place = (*root)->place, .text = "", .expanded = 1};
    *root = tree_copy_mapping(arena, empty_document ? &empty : *root);
    if (*root == NULL)
        return RLHFSIM_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        struct setting setting = {.arena = arena, .diagnostics = diagnostics, .argument = sets[i]};
        enum rlhfsim_status status = apply(&setting, *root);
        if (status == RLHFSIM_NO_MEMORY)
            return status;
        worst = status == RLHFSIM_OK ? worst : status;
    }
    return worst;
}
