/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "grid.h"

#include "decimal.h"

#include <stdlib.h>
#include <string.h>

static const char file[] = "--vary";

/* An argument while it is read. */
struct reading {
    struct grid_axis *axis;
    const char *argument;
    size_t most; /* values that the axis may have */
    struct rlhfsim_diagnostics *diagnostics;
};

bool grid_start(struct grid *grid, size_t axes) {
    *grid = (struct grid){.point_count = 1};
    grid->axes = calloc(axes + 1, sizeof *grid->axes);
    return grid->axes != NULL;
}

static void axis_free(struct grid_axis *axis) {
    for (size_t i = 0; i < axis->count; i++)
        free(axis->values[i]);
    free(axis->values);
    free(axis->columns);
    free(axis->key);
    *axis = (struct grid_axis){0};
}

void grid_end(struct grid *grid) {
    for (size_t i = 0; i < grid->axis_count; i++)
        axis_free(&grid->axes[i]);
    free(grid->axes);
    *grid = (struct grid){0};
}

/* Columns count characters; the bytes that go on with one begin with 10. */
static int column_of(const struct reading *reading, const char *at) {
    int column = 1;
    for (const char *byte = reading->argument; byte < at; byte++)
        column += ((unsigned char)*byte & 0xC0U) != 0x80U;
    return column;
}

static enum rlhfsim_status refuse(const struct reading *reading, const char *at,
                                  const char *message) {
    return rlhfsim_diagnostics_add(reading->diagnostics, RLHFSIM_INVALID, file, 1,
                                   column_of(reading, at), "%s", message);
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool make_room(struct grid_axis *axis) {
    size_t room = axis->room == 0 ? 16 : 2 * axis->room;
    if (axis->count < axis->room)
        return true;
    char **values = realloc(axis->values, room * sizeof *values);
    axis->values = values != NULL ? values : axis->values;
    int *columns = realloc(axis->columns, room * sizeof *columns);
    axis->columns = columns != NULL ? columns : axis->columns;
    if (values == NULL || columns == NULL)
        return false;
    axis->room = room;
    return true;
}

/* Takes the text over. */
static enum rlhfsim_status keep(const struct reading *reading, const char *at, char *text) {
    struct grid_axis *axis = reading->axis;
    if (text == NULL || !make_room(axis)) {
        free(text);
        return RLHFSIM_NO_MEMORY;
    }
    axis->columns[axis->count] = column_of(reading, at);
    axis->values[axis->count++] = text;
    return RLHFSIM_OK;
}

/* `at` is where the user wrote it, or the range it comes from. */
static enum rlhfsim_status add_value(const struct reading *reading, const char *at,
                                     const char *text, size_t length) {
    char *value = strndup(text, length);
    enum rlhfsim_status status = keep(reading, at, value);
    if (status != RLHFSIM_OK)
        return status;
    if (reading->axis->count > reading->most)
        return rlhfsim_diagnostics_add(
            reading->diagnostics, RLHFSIM_INVALID, file, 1, column_of(reading, at),
            "more than %d points, expected at most that many", GRID_POINTS_MOST);
    return rlhfsim_key_check_value(reading->axis->key, value, file, column_of(reading, at),
                                   reading->diagnostics);
}

/* ---- ranges ---------------------------------------------------------------------------------- */

struct range {
    const char *text;
    struct decimal from, to, by;
    bool factor;
};

static const char range_grammar[] =
    "expected a range FROM:TO:xFACTOR or FROM:TO:+STEP of plain numbers, such as 256:4096:x2 or "
    "0:1:+0.1";

/* Reads a number up to the end of its part and moves on to the next part. */
static bool read_part(const char **text, const char *end, struct decimal *number) {
    const char *colon = memchr(*text, ':', (size_t)(end - *text));
    const char *stop = colon == NULL ? end : colon;
    if (!decimal_read(*text, (size_t)(stop - *text), number))
        return false;
    *text = colon == NULL ? end : colon + 1;
    return true;
}

static enum rlhfsim_status read_range(const struct reading *reading, const char *text,
                                      const char *end, struct range *range) {
    const struct decimal one = {1, 0}, zero = {0, 0};
    const char *at = text;
    range->text = text;
    if (!read_part(&at, end, &range->from))
        return refuse(reading, at, range_grammar);
    const char *to = at;
    if (!read_part(&at, end, &range->to) || at == end || (*at != 'x' && *at != '+'))
        return refuse(reading, at, range_grammar);
    range->factor = *at++ == 'x';
    const char *by = at;
    if (!read_part(&at, end, &range->by) || at != end)
        return refuse(reading, at, range_grammar);
    if (decimal_compare(range->from, range->to) > 0)
        return refuse(reading, to, "expected an end that is not below the start of the range");
    if (range->factor && decimal_compare(range->by, one) <= 0)
        return refuse(reading, by, "expected a factor above 1");
    if (decimal_compare(range->by, zero) <= 0)
        return refuse(reading, by, "expected a step above 0");
    if (range->factor && decimal_compare(range->from, zero) == 0)
        return refuse(reading, text, "expected a start above 0: 0 times a factor stays 0");
    return RLHFSIM_OK;
}

static bool advance(const struct range *range, struct decimal *value) {
    return range->factor ? decimal_multiply(*value, range->by, value)
                         : decimal_add(*value, range->by, value);
}

static enum rlhfsim_status add_range(const struct reading *reading, const struct range *range) {
    struct decimal value = range->from;
    while (decimal_compare(value, range->to) <= 0) {
        char text[DECIMAL_TEXT];
        decimal_print(value, text);
        enum rlhfsim_status status = add_value(reading, range->text, text, strlen(text));
        if (status != RLHFSIM_OK)
            return status;
        if (!advance(range, &value))
            return refuse(reading, range->text,
                          "a value of the range has more than 18 digits; write the values out");
    }
    return RLHFSIM_OK;
}

/* ---- the argument ---------------------------------------------------------------------------- */

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

static enum rlhfsim_status read_item(const struct reading *reading, const char *text,
                                     const char *end) {
    struct range range;
    while (text < end && is_blank(*text))
        text++;
    while (text < end && is_blank(end[-1]))
        end--;
    if (text == end)
        return refuse(reading, text, "a value is missing, expected a list such as 4,8,16");
    if (memchr(text, ':', (size_t)(end - text)) == NULL)
        return add_value(reading, text, text, (size_t)(end - text));
    enum rlhfsim_status status = read_range(reading, text, end, &range);
    return status == RLHFSIM_OK ? add_range(reading, &range) : status;
}

/* All items, so that all mistakes are told. */
static enum rlhfsim_status read_items(const struct reading *reading, const char *text) {
    enum rlhfsim_status worst = RLHFSIM_OK;
    for (bool more = true; more;) {
        const char *end = text + strcspn(text, ",");
        enum rlhfsim_status status = read_item(reading, text, end);
        if (status == RLHFSIM_NO_MEMORY || reading->axis->count > reading->most)
            return status;
        worst = status == RLHFSIM_OK ? worst : status;
        more = *end == ',';
        text = end + 1;
    }
    return worst;
}

static bool has_axis(const struct grid *grid, const char *key) {
    for (size_t i = 0; i < grid->axis_count; i++)
        if (strcmp(grid->axes[i].key, key) == 0)
            return true;
    return false;
}

static enum rlhfsim_status read_argument(const struct grid *grid, const struct reading *reading) {
    const char *equals = strchr(reading->argument, '=');
    if (equals == NULL)
        return refuse(reading, reading->argument,
                      "expected KEY=SPEC such as algorithm.samples_per_prompt=4,8,16");
    char *key = strndup(reading->argument, (size_t)(equals - reading->argument));
    reading->axis->key = key;
    if (key == NULL)
        return RLHFSIM_NO_MEMORY;
    if (has_axis(grid, key))
        return refuse(reading, reading->argument, "this key is varied twice");
    enum rlhfsim_status status = rlhfsim_key_check(key, file, 1, reading->diagnostics);
    return status == RLHFSIM_OK ? read_items(reading, equals + 1) : status;
}

enum rlhfsim_status grid_add(struct grid *grid, const char *argument,
                             struct rlhfsim_diagnostics *diagnostics) {
    struct grid_axis axis = {0};
    struct reading reading = {&axis, argument, GRID_POINTS_MOST / grid->point_count, diagnostics};
    enum rlhfsim_status status = read_argument(grid, &reading);
    if (status != RLHFSIM_OK) {
        axis_free(&axis);
        return status;
    }
    grid->axes[grid->axis_count++] = axis;
    grid->point_count *= axis.count;
    return RLHFSIM_OK;
}

/* ---- repeats --------------------------------------------------------------------------------- */

/* A value in the form that all its spellings share. */
struct form {
    char *text;
    size_t index;
};

static int compare_forms(const void *first, const void *second) {
    const struct form *a = first, *b = second;
    int order = strcmp(a->text, b->text);
    return order != 0 ? order : (a->index > b->index) - (a->index < b->index);
}

static enum rlhfsim_status refuse_repeat(const struct grid_axis *axis, size_t first, size_t again,
                                         struct rlhfsim_diagnostics *diagnostics) {
    bool same = strcmp(axis->values[first], axis->values[again]) == 0;
    return rlhfsim_diagnostics_add(
        diagnostics, RLHFSIM_INVALID, file, 1, axis->columns[again],
        "'%s' is a value of %s already%s%s%s, at column %d; expected each value once",
        axis->values[again], axis->key, same ? "" : ", as '", same ? "" : axis->values[first],
        same ? "" : "'", axis->columns[first]);
}

static enum rlhfsim_status find_repeats(const struct grid_axis *axis, struct form *forms,
                                        struct rlhfsim_diagnostics *diagnostics) {
    enum rlhfsim_status status = RLHFSIM_OK;
    size_t first = 0;
    qsort(forms, axis->count, sizeof *forms, compare_forms);
    for (size_t i = 1; i < axis->count; i++)
        if (strcmp(forms[i].text, forms[first].text) != 0)
            first = i;
        else
            status = refuse_repeat(axis, forms[first].index, forms[i].index, diagnostics);
    return status;
}

static enum rlhfsim_status check_axis(const struct grid_axis *axis,
                                      const struct rlhfsim_source *source,
                                      struct rlhfsim_diagnostics *diagnostics) {
    struct form *forms = calloc(axis->count + 1, sizeof *forms);
    enum rlhfsim_status status = forms == NULL ? RLHFSIM_NO_MEMORY : RLHFSIM_OK;
    for (size_t i = 0; i < axis->count && status == RLHFSIM_OK; i++) {
        char *text = rlhfsim_source_canonical_value(source, axis->key, axis->values[i]);
        forms[i] = (struct form){text, i};
        status = text == NULL ? RLHFSIM_NO_MEMORY : RLHFSIM_OK;
    }
    if (status == RLHFSIM_OK)
        status = find_repeats(axis, forms, diagnostics);
    for (size_t i = 0; forms != NULL && i < axis->count; i++)
        free(forms[i].text);
    free(forms);
    return status;
}

enum rlhfsim_status grid_refuse_repeats(const struct grid *grid,
                                        const struct rlhfsim_source *source,
                                        struct rlhfsim_diagnostics *diagnostics) {
    enum rlhfsim_status worst = RLHFSIM_OK;
    for (size_t i = 0; i < grid->axis_count && worst != RLHFSIM_NO_MEMORY; i++) {
        enum rlhfsim_status status = check_axis(&grid->axes[i], source, diagnostics);
        worst = status == RLHFSIM_OK ? worst : status;
    }
    return worst;
}

/* ---- points ---------------------------------------------------------------------------------- */

const char *grid_value(const struct grid *grid, size_t point, size_t axis) {
    for (size_t faster = grid->axis_count - 1; faster > axis; faster--)
        point /= grid->axes[faster].count;
    return grid->axes[axis].values[point % grid->axes[axis].count];
}
