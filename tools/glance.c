/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows are read back from their CSV, so that a resumed sweep shows the points of before. */
#include "glance.h"

#include "text.h"

#include <stdlib.h>
#include <string.h>

#define CELL 40 /* bytes of a shown cell; more is cut */
#define COLUMNS 24

struct figure {
    const char *path, *title;
    text_function *text;
};

static const struct figure figures[] = {{"time.step_s", "step", text_duration},
                                        {"time.total_s", "time", text_duration},
                                        {"cost.total_usd", "money", text_usd},
                                        {"memory.peak_bytes", "peak", text_gb}};
#define FIGURES (sizeof figures / sizeof figures[0])

struct column {
    size_t cell;         /* in the row */
    text_function *text; /* NULL: as it is written */
    int width;
};

struct layout {
    char titles[COLUMNS][CELL];
    struct column columns[COLUMNS];
    size_t count;
};

/* Copies the cell of that index without its quotes; false past the last one. */
static bool read_cell(const char *row, size_t index, char cell[CELL]) {
    bool quoted = false;
    size_t at = 0, used = 0;
    for (; *row != '\0' && *row != '\n' && at <= index; row++) {
        bool twice = quoted && row[0] == '"' && row[1] == '"';
        row += twice;
        if (*row == '"' && !twice)
            quoted = !quoted;
        else if (*row == ',' && !quoted)
            at++;
        else if (at == index && used + 1 < CELL)
            cell[used++] = *row;
    }
    cell[used] = '\0';
    return at >= index;
}

static struct text as_written(const char *cell) {
    struct text text;
    (void)snprintf(text.chars, sizeof text.chars, "%s", cell);
    return text;
}

static struct text shown(const struct column *column, const char *row) {
    char cell[CELL];
    if (!read_cell(row, column->cell, cell) || cell[0] == '\0')
        return as_written("-");
    return column->text == NULL ? as_written(cell) : column->text(strtod(cell, NULL));
}

/* Everything up to the status, then the figures. */
static struct layout lay_out(const char *header) {
    struct layout layout = {0};
    char name[CELL];
    bool keys = true;
    for (size_t i = 0; layout.count < COLUMNS && read_cell(header, i, name); i++) {
        struct column *column = &layout.columns[layout.count];
        size_t figure = 0;
        while (figure < FIGURES && strcmp(name, figures[figure].path) != 0)
            figure++;
        if (!keys && figure == FIGURES)
            continue;
        keys = keys && strcmp(name, "status") != 0;
        column->cell = i;
        column->text = figure < FIGURES ? figures[figure].text : NULL;
        strcpy(layout.titles[layout.count++], figure < FIGURES ? figures[figure].title : name);
    }
    return layout;
}

static const char *row_at(const struct table *table, size_t *point) {
    while (*point < table->identity.points && table->rows[*point] == NULL)
        ++*point;
    return *point < table->identity.points ? table->rows[(*point)++] : NULL;
}

static void measure(struct layout *layout, const struct table *table) {
    const char *row;
    size_t point = 0;
    for (size_t i = 0; i < layout->count; i++)
        layout->columns[i].width = (int)strlen(layout->titles[i]);
    for (int n = 0; n < GLANCE_ROWS && (row = row_at(table, &point)) != NULL; n++)
        for (size_t i = 0; i < layout->count; i++) {
            struct column *column = &layout->columns[i];
            int width = (int)strlen(shown(column, row).chars);
            column->width = width > column->width ? width : column->width;
        }
}

static void print_cell(FILE *stream, const struct layout *layout, size_t index, const char *text) {
    bool figure = layout->columns[index].text != NULL;
    int width = layout->columns[index].width;
    fprintf(stream, "%s%*s", index == 0 ? "" : "  ", figure ? width : -width, text);
}

void glance_print(FILE *stream, const struct table *table) {
    struct layout layout = lay_out(table->header);
    const char *row;
    size_t point = 0, more = 0;
    measure(&layout, table);
    for (size_t i = 0; i < layout.count; i++)
        print_cell(stream, &layout, i, layout.titles[i]);
    fputc('\n', stream);
    for (int n = 0; n < GLANCE_ROWS && (row = row_at(table, &point)) != NULL; n++) {
        for (size_t i = 0; i < layout.count; i++)
            print_cell(stream, &layout, i, shown(&layout.columns[i], row).chars);
        fputc('\n', stream);
    }
    while (row_at(table, &point) != NULL)
        more++;
    if (more > 0)
        fprintf(stream, "and %zu more\n", more);
}
