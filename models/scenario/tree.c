/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/scenario/tree.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MESSAGE_BYTES 1024

struct tree_entry *tree_find(const struct tree_node *mapping, const char *key) {
    if (mapping == NULL || mapping->kind != TREE_MAPPING)
        return NULL;
    for (struct tree_entry *entry = mapping->first; entry != NULL; entry = entry->next)
        if (strcmp(entry->key, key) == 0)
            return entry;
    return NULL;
}

bool tree_is_empty(const struct tree_node *node) {
    if (node->kind != TREE_TEXT || node->quoted)
        return false;
    static const char *const empty[] = {"", "~", "null", "Null", "NULL"};
    for (size_t i = 0; i < sizeof empty / sizeof empty[0]; i++)
        if (strcmp(node->text, empty[i]) == 0)
            return true;
    return false;
}

struct tree_node *tree_copy_mapping(struct base_arena *arena, const struct tree_node *mapping) {
    struct tree_node *copy = base_arena_allocate(arena, sizeof *copy);
    if (copy == NULL)
        return NULL;
    *copy = *mapping;
    struct tree_entry **link = &copy->first;
    for (const struct tree_entry *entry = mapping->first; entry != NULL; entry = entry->next) {
        *link = base_arena_allocate(arena, sizeof **link);
        if (*link == NULL)
            return NULL;
        **link = *entry;
        link = &(*link)->next;
    }
    return copy;
}

struct tree_entry *tree_put(struct base_arena *arena, struct tree_node *mapping, const char *key,
                            struct tree_place place, struct tree_node *value) {
    struct tree_entry **link = &mapping->first;
    while (*link != NULL && strcmp((*link)->key, key) != 0)
        link = &(*link)->next;
    if (*link == NULL)
        *link = base_arena_allocate(arena, sizeof **link);
    if (*link == NULL)
        return NULL;
    (*link)->key = key;
    (*link)->place = place;
    (*link)->value = value;
    return *link;
}

enum rlhfsim_status tree_error(struct rlhfsim_diagnostics *diagnostics, struct tree_place place,
                               const char *format, ...) {
    char message[MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return rlhfsim_diagnostics_add(diagnostics, RLHFSIM_INVALID, place.file, place.line,
                                   place.column, "%s", message);
}
