/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/scenario/value.h"

#include "models/base/text.h"

#include <stdio.h>
#include <string.h>

#define EXPECTATION_BYTES 256

struct reading {
    const struct scenario_schema_entry *entry;
    const struct tree_node *node;
    struct rlhfsim_diagnostics *diagnostics;
    struct scenario_value *value;
};

const char *scenario_value_describe(const struct tree_node *node, char *buffer, size_t size) {
    char quoted[BASE_QUOTE_SIZE];
    const char *text = node->kind == TREE_LIST      ? "a list"
                       : node->kind == TREE_MAPPING ? "a mapping"
                                                    : base_quote(node->text, quoted);
    (void)snprintf(buffer, size, "%s", text);
    return buffer;
}

static bool refuse(const struct reading *reading) {
    char expectation[EXPECTATION_BYTES], got[BASE_QUOTE_SIZE];
    scenario_schema_expectation(reading->entry, expectation, sizeof expectation);
    (void)tree_error(reading->diagnostics, reading->node->place, "%s is %s, expected %s",
                     reading->entry->path, scenario_value_describe(reading->node, got, sizeof got),
                     expectation);
    return false;
}

static bool refuse_empty(const struct reading *reading) {
    char expectation[EXPECTATION_BYTES];
    scenario_schema_expectation(reading->entry, expectation, sizeof expectation);
    (void)tree_error(reading->diagnostics, reading->node->place, "%s has no value, expected %s",
                     reading->entry->path, expectation);
    return false;
}

/* A number in quotes is text to YAML; so is true. */
static bool refuse_quoted(const struct reading *reading) {
    char expectation[EXPECTATION_BYTES], quoted[BASE_QUOTE_SIZE];
    scenario_schema_expectation(reading->entry, expectation, sizeof expectation);
    (void)tree_error(reading->diagnostics, reading->node->place,
                     "%s is %s in quotes, expected %s without quotes", reading->entry->path,
                     base_quote(reading->node->text, quoted), expectation);
    return false;
}

/* ---- one reader a type ----------------------------------------------------------------------- */

static bool read_text(const struct reading *reading) {
    const char *text = reading->node->text;
    if (*text == '\0')
        return refuse_empty(reading);
    if (strlen(text) > (size_t)reading->entry->most || strpbrk(text, "\r\n\t") != NULL)
        return refuse(reading);
    return true;
}

static bool refuse_later(const struct reading *reading) {
    (void)tree_error(reading->diagnostics, reading->node->place,
                     "%s is %s, but %s is not supported by this version; expected 1",
                     reading->entry->path, reading->node->text, reading->entry->later);
    return false;
}

static bool read_integer(const struct reading *reading) {
    const struct scenario_schema_entry *entry = reading->entry;
    int64_t integer = 0;
    if (base_integer_read(reading->node->text, &integer) != BASE_NUMBER_OK)
        return refuse(reading);
    if (entry->later != NULL && integer > entry->most)
        return refuse_later(reading);
    if (integer < entry->least || integer > entry->most)
        return refuse(reading);
    reading->value->integer = integer;
    return true;
}

static bool in_range(const struct scenario_schema_entry *entry, double number) {
    bool low = entry->above ? number > entry->minimum : number >= entry->minimum;
    bool high = entry->below ? number < entry->maximum : number <= entry->maximum;
    return low && high;
}

static bool read_number(const struct reading *reading) {
    double number = 0.0;
    if (base_number_read(reading->node->text, &number) != BASE_NUMBER_OK ||
        !in_range(reading->entry, number))
        return refuse(reading);
    reading->value->number = number;
    return true;
}

static bool read_quantity(const struct reading *reading) {
    char message[EXPECTATION_BYTES], quoted[BASE_QUOTE_SIZE];
    double quantity = 0.0;
    if (!base_quantity_read(reading->node->text, reading->entry->dimension, &quantity, message,
                            sizeof message)) {
        (void)tree_error(reading->diagnostics, reading->node->place, "%s is %s: %s",
                         reading->entry->path, base_quote(reading->node->text, quoted), message);
        return false;
    }
    if (!in_range(reading->entry, quantity))
        return refuse(reading);
    reading->value->number = quantity;
    return true;
}

static bool read_boolean(const struct reading *reading) {
    static const char *const words[] = {"false", "False", "FALSE", "true", "True", "TRUE"};
    for (int i = 0; i < 6; i++)
        if (strcmp(reading->node->text, words[i]) == 0) {
            reading->value->integer = i / 3;
            return true;
        }
    return refuse(reading);
}

static int find_choice(const char *const *choices, const char *name) {
    for (int i = 0; choices != NULL && choices[i] != NULL; i++)
        if (strcmp(choices[i], name) == 0)
            return i;
    return -1;
}

static bool refuse_choice(const struct reading *reading) {
    const struct scenario_schema_entry *entry = reading->entry;
    char expectation[EXPECTATION_BYTES], quoted[BASE_QUOTE_SIZE];
    struct base_nearest nearest;
    bool planned = find_choice(entry->planned, reading->node->text) >= 0;
    base_nearest_start(&nearest, reading->node->text);
    for (const char *const *choice = entry->choices; *choice != NULL; choice++)
        base_nearest_offer(&nearest, *choice);
    const char *near = planned ? NULL : base_nearest_name(&nearest);
    scenario_schema_expectation(entry, expectation, sizeof expectation);
    (void)tree_error(reading->diagnostics, reading->node->place, "%s is %s, %sexpected %s%s%s%s",
                     entry->path, base_quote(reading->node->text, quoted),
                     planned ? "which this version does not support; " : "", expectation,
                     near == NULL ? "" : "; did you mean '", near == NULL ? "" : near,
                     near == NULL ? "" : "'?");
    return false;
}

static bool read_choice(const struct reading *reading) {
    int choice = find_choice(reading->entry->choices, reading->node->text);
    if (choice < 0)
        return refuse_choice(reading);
    reading->value->integer = choice;
    return true;
}

bool scenario_value_read(const struct scenario_schema_entry *entry, const struct tree_node *node,
                         struct rlhfsim_diagnostics *diagnostics, struct scenario_value *value) {
    struct reading reading = {entry, node, diagnostics, value};
    if (node->broken)
        return false;
    if (tree_is_empty(node))
        return refuse_empty(&reading);
    if (entry->row && node->kind == TREE_MAPPING) {
        value->mapping = node;
        return true;
    }
    if (entry->type == SCENARIO_TYPE_LIST && node->kind == TREE_LIST) {
        value->list = node;
        return true;
    }
    if (node->kind != TREE_TEXT)
        return refuse(&reading);
    value->text = node->text;
    switch (entry->type) {
    case SCENARIO_TYPE_TEXT:
        return read_text(&reading);
    case SCENARIO_TYPE_QUANTITY:
        return read_quantity(&reading);
    case SCENARIO_TYPE_CHOICE:
        return read_choice(&reading);
    case SCENARIO_TYPE_INTEGER:
        return node->quoted ? refuse_quoted(&reading) : read_integer(&reading);
    case SCENARIO_TYPE_NUMBER:
        return node->quoted ? refuse_quoted(&reading) : read_number(&reading);
    case SCENARIO_TYPE_BOOLEAN:
        return node->quoted ? refuse_quoted(&reading) : read_boolean(&reading);
    case SCENARIO_TYPE_TAGS:
    case SCENARIO_TYPE_LIST:
    case SCENARIO_TYPE_LATER:
        break;
    }
    return refuse(&reading);
}
