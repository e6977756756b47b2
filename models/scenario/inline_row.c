/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/scenario/inline_row.h"

#include "models/base/text.h"
#include "models/base/units.h"
#include "models/scenario/value.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define TITLE_BYTES 128
#define LIKE "like"

struct reading {
    const struct inline_request *request;
    const struct column *columns;
    size_t count;
    struct column_row *row;
    bool filled[COLUMN_LIMIT]; /* written, rightly or wrongly, or from the row that it is like */
    bool good;
};

static const char *title(const struct reading *reading, const char *name,
                         char buffer[static TITLE_BYTES]) {
    (void)snprintf(buffer, TITLE_BYTES, "%s.%s", reading->request->path, name);
    return buffer;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void unknown_key(struct reading *reading, const struct tree_entry *entry) {
    char quoted[BASE_QUOTE_SIZE];
    struct base_nearest nearest;
    base_nearest_start(&nearest, entry->key);
    base_nearest_offer(&nearest, LIKE);
    for (size_t i = 0; i < reading->count; i++)
        base_nearest_offer(&nearest, reading->columns[i].name);
    const char *near = base_nearest_name(&nearest);
    reading->good = false;
    (void)tree_error(
        reading->request->diagnostics, entry->place,
        "unknown key %s in %s, expected a column of %s%s%s%s", base_quote(entry->key, quoted),
        reading->request->path, catalog_file_name(reading->request->kind),
        near == NULL ? "" : "; did you mean '", near == NULL ? "" : near, near == NULL ? "" : "'?");
}

static void not_text(struct reading *reading, const struct tree_entry *entry) {
    char got[BASE_QUOTE_SIZE], name[TITLE_BYTES];
    reading->good = false;
    (void)tree_error(reading->request->diagnostics, entry->value->place,
                     "%s is %s, expected a single value", title(reading, entry->key, name),
                     scenario_value_describe(entry->value, got, sizeof got));
}

static void unknown_like(struct reading *reading, const struct tree_entry *entry) {
    const struct inline_request *request = reading->request;
    char quoted[BASE_QUOTE_SIZE];
    const char *near = catalog_nearest(request->catalog, request->kind, entry->value->text);
    reading->good = false;
    (void)tree_error(request->diagnostics, entry->value->place,
                     "%s.like is %s, which the catalog does not have%s%s%s", request->path,
                     base_quote(entry->value->text, quoted), near == NULL ? "" : "; did you mean '",
                     near == NULL ? "" : near, near == NULL ? "" : "'?");
}

/* The count of parameters proves the shape of the row it stands in, not of another. */
static void forget_parameters(struct reading *reading) {
    if (reading->request->kind != CATALOG_MODELS)
        return;
    reading->row->text[MODEL_PARAMETERS] = "";
    reading->row->number[MODEL_PARAMETERS] = (double)NAN;
}

/* Takes over every column of a row of the catalog; what is wrong with them is wrong here. */
static void start_like(struct reading *reading, const struct tree_entry *entry) {
    const struct inline_request *request = reading->request;
    bool text = entry->value->kind == TREE_TEXT;
    const struct column_row *row =
        text ? catalog_row(request->catalog, request->kind, entry->value->text) : NULL;
    if (!text)
        not_text(reading, entry);
    else if (row == NULL)
        unknown_like(reading, entry);
    else
        *reading->row = *row;
    forget_parameters(reading);
    for (size_t i = 0; i < reading->count; i++) {
        reading->filled[i] = true;
        reading->row->place[i] = entry->value->place;
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

static const struct base_unit *unit_of(const struct column *column) {
    const struct base_unit *unit = NULL;
    for (size_t i = 0; column->unit != NULL && (unit = base_unit_at(i)) != NULL; i++)
        if (strcmp(unit->name, column->unit) == 0)
            return unit;
    return NULL;
}

/* A value with a unit of its own becomes one in the unit of the column; it is checked again there.
 * False after an error. */
static bool read_quantity(struct reading *reading, const struct column *column,
                          const struct tree_entry *entry, double *number) {
    const struct base_unit *unit = unit_of(column);
    char message[256], quoted[BASE_QUOTE_SIZE], name[TITLE_BYTES], plain[32];
    double si = 0.0;
    if (!base_quantity_read(entry->value->text, unit->dimension, &si, message, sizeof message)) {
        (void)tree_error(reading->request->diagnostics, entry->value->place, "%s is %s: %s",
                         title(reading, column->name, name), base_quote(entry->value->text, quoted),
                         message);
        return false;
    }
    (void)snprintf(plain, sizeof plain, "%.15g", si / unit->si);
    return catalog_read_cell(column, title(reading, column->name, name), plain, entry->value->place,
                             reading->request->diagnostics, number);
}

/* A number that is followed by something: a quantity, or a mistake to be told as one. */
static bool has_unit(const char *text) {
    size_t length = base_number_length(text);
    return length > 0 && text[length] != '\0';
}

static const char *boolean_word(const struct column *column, const char *text) {
    bool yes = strcmp(text, "true") == 0, no = strcmp(text, "false") == 0;
    if (column->type != COLUMN_BOOLEAN || !(yes || no))
        return text;
    return yes ? "yes" : "no";
}

static void read_value(struct reading *reading, size_t index, const struct tree_entry *entry) {
    const struct column *column = &reading->columns[index];
    double *number = &reading->row->number[index];
    char name[TITLE_BYTES];
    bool good;
    reading->filled[index] = true;
    reading->row->place[index] = entry->value->place;
    if (entry->value->kind != TREE_TEXT) {
        not_text(reading, entry);
        return;
    }
    reading->row->text[index] = boolean_word(column, entry->value->text);
    if (unit_of(column) != NULL && has_unit(entry->value->text))
        good = read_quantity(reading, column, entry, number);
    else
        good =
            catalog_read_cell(column, title(reading, column->name, name), reading->row->text[index],
                              entry->value->place, reading->request->diagnostics, number);
    reading->good = reading->good && good;
}

/* ---- the row --------------------------------------------------------------------------------- */

static void fill_absent(struct reading *reading, size_t index, const struct tree_node *mapping) {
    const struct column *column = &reading->columns[index];
    char name[TITLE_BYTES];
    reading->row->place[index] = mapping->place;
    reading->row->text[index] = column->fallback != NULL ? column->fallback : "";
    if (column->fallback == NULL && !column->unknown) {
        reading->good = false;
        (void)tree_error(reading->request->diagnostics, mapping->place, "%s is missing",
                         title(reading, column->name, name));
        return;
    }
    (void)catalog_read_cell(column, column->name, reading->row->text[index], mapping->place,
                            reading->request->diagnostics, &reading->row->number[index]);
}

bool inline_row_read(const struct inline_request *request, const struct tree_node *mapping,
                     struct column_row *row) {
    struct reading reading = {.request = request, .row = row, .good = true};
    reading.columns = catalog_columns(request->kind, &reading.count);
    *row = (struct column_row){0};
    const struct tree_entry *like = tree_find(mapping, LIKE);
    if (like != NULL)
        start_like(&reading, like);
    for (const struct tree_entry *entry = mapping->first; entry != NULL; entry = entry->next) {
        size_t index = catalog_find_column(request->kind, entry->key);
        if (index < reading.count)
            read_value(&reading, index, entry);
        else if (strcmp(entry->key, LIKE) != 0)
            unknown_key(&reading, entry);
    }
    for (size_t i = 0; i < reading.count; i++)
        if (!reading.filled[i])
            fill_absent(&reading, i, mapping);
    return reading.good;
}
