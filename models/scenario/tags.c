/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/scenario/tags.h"

#include "models/base/text.h"
#include "models/scenario/value.h"

#include <stdio.h>
#include <string.h>

static bool good_name(const char *name) {
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "_-./";
    return *name != '\0' && name[strspn(name, allowed)] == '\0';
}

static bool good_text(const struct tree_node *value) {
    return value->kind == TREE_TEXT && !tree_is_empty(value) && *value->text != '\0' &&
           strpbrk(value->text, ";\r\n\t") == NULL;
}

static bool read_tag(const struct tree_entry *entry, struct rlhfsim_diagnostics *diagnostics) {
    char quoted[BASE_QUOTE_SIZE], got[BASE_QUOTE_SIZE];
    if (!good_name(entry->key)) {
        (void)tree_error(diagnostics, entry->place,
                         "tag name %s, expected letters, digits, '_', '-', '.' and '/'",
                         base_quote(entry->key, quoted));
        return false;
    }
    if (entry->value->broken)
        return false;
    if (tree_is_empty(entry->value) ||
        (entry->value->kind == TREE_TEXT && *entry->value->text == '\0')) {
        (void)tree_error(diagnostics, entry->value->place, "tags.%.64s has no value, expected text",
                         entry->key);
        return false;
    }
    if (good_text(entry->value))
        return true;
    (void)tree_error(diagnostics, entry->value->place,
                     "tags.%.64s is %s, expected one line of text without ';'", entry->key,
                     scenario_value_describe(entry->value, got, sizeof got));
    return false;
}

bool scenario_tags_read(const struct tree_node *tags, struct rlhfsim_diagnostics *diagnostics,
                        char *buffer, size_t size) {
    bool good = true;
    size_t used = 0;
    buffer[0] = '\0';
    for (const struct tree_entry *entry = tags->first; entry != NULL; entry = entry->next) {
        if (!read_tag(entry, diagnostics)) {
            good = false;
            continue;
        }
        int length = snprintf(buffer + used, size - used, "%s%s=%s", used == 0 ? "" : ";",
                              entry->key, entry->value->text);
        if (length < 0 || (size_t)length >= size - used) {
            (void)tree_error(diagnostics, entry->place,
                             "the tags are too long: together at most %zu bytes, names, '=' and "
                             "';' included",
                             size - 1);
            return false;
        }
        used += (size_t)length;
    }
    return good;
}
