/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/tools/check_internal.h"

#include <csv.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A table while it is read; libcsv calls back for every field and every end of a row. */
struct reading {
    struct check *check;
    struct check_table *table;
    size_t text_size, text_room, cell_count, cell_room;
    size_t row_cells; /* of the row being read */
    size_t rows;      /* with the header */
    bool failed;
};

static void *roomier(void *block, size_t *room, size_t wanted, size_t size) {
    if (wanted <= *room)
        return block;
    while (*room < wanted)
        *room = *room == 0 ? 4096 : 2 * *room;
    block = realloc(block, *room * size);
    if (block == NULL)
        abort(); /* a test program has nothing better to do */
    return block;
}

static void on_field(void *bytes, size_t length, void *subject) {
    struct reading *reading = subject;
    struct check_table *table = reading->table;
    table->text = roomier(table->text, &reading->text_room, reading->text_size + length + 1, 1);
    table->cells =
        roomier(table->cells, &reading->cell_room, reading->cell_count + 1, sizeof *table->cells);
    table->cells[reading->cell_count++] = reading->text_size;
    if (length > 0)
        memcpy(table->text + reading->text_size, bytes, length);
    table->text[reading->text_size + length] = '\0';
    reading->text_size += length + 1;
    reading->row_cells++;
}

static void on_row(int terminator, void *subject) {
    struct reading *reading = subject;
    struct check_table *table = reading->table;
    (void)terminator;
    if (reading->rows == 0)
        table->columns = reading->row_cells;
    if (reading->row_cells != table->columns && !reading->failed) {
        check_fault(reading->check, "%s: row %zu has %zu cells, the header %zu", table->name,
                    reading->rows, reading->row_cells, table->columns);
        reading->failed = true;
    }
    reading->row_cells = 0;
    reading->rows++;
}

static bool parse(struct reading *reading, FILE *file) {
    struct csv_parser parser;
    char buffer[65536];
    bool good = csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI) == 0;
    for (size_t n; good && (n = fread(buffer, 1, sizeof buffer, file)) > 0;)
        good = csv_parse(&parser, buffer, n, on_field, on_row, reading) == n;
    good = good && csv_fini(&parser, on_field, on_row, reading) == 0;
    if (!good)
        check_fault(reading->check, "%s: not a CSV file: %s", reading->table->name,
                    csv_strerror(csv_error(&parser)));
    csv_free(&parser);
    return good;
}

/* The header is compared cell by cell, so that neither spaces nor quotes slip in. */
static bool has_header(const struct check_table *table, const char *header) {
    for (size_t i = 0; i < table->columns; i++) {
        size_t length = strcspn(header, ",");
        const char *cell = table->text + table->cells[i];
        if (strlen(cell) != length || memcmp(cell, header, length) != 0)
            return false;
        header += length;
        header += *header == ',';
    }
    return *header == '\0';
}

bool check_table_read(struct check *check, const char *name, const char *header,
                      struct check_table *table) {
    struct reading reading = {.check = check, .table = table};
    *table = (struct check_table){.name = name};
    FILE *file = check_open(check, name);
    if (file == NULL)
        return false;
    bool good = parse(&reading, file) && !reading.failed;
    fclose(file);
    if (good && (reading.rows == 0 || !has_header(table, header))) {
        check_fault(check, "%s: the header is not %s", name, header);
        good = false;
    }
    table->rows = reading.rows > 0 ? reading.rows - 1 : 0;
    if (!good)
        check_table_free(table);
    return good;
}

void check_table_free(struct check_table *table) {
    free(table->text);
    free(table->cells);
    *table = (struct check_table){0};
}

const char *check_cell(const struct check_table *table, size_t row, size_t column) {
    return table->text + table->cells[(row + 1) * table->columns + column];
}

/* ---- numbers ---------------------------------------------------------------------------------*/

static void bad_cell(struct check *check, const struct check_table *table, size_t row,
                     size_t column, const char *expected) {
    check_fault(check, "%s: row %zu: '%s' is not %s", table->name, row + 1,
                check_cell(table, row, column), expected);
}

double check_number(struct check *check, const struct check_table *table, size_t row,
                    size_t column) {
    const char *cell = check_cell(table, row, column);
    char *end;
    double value = strtod(cell, &end);
    if (end != cell && cell[strspn(cell, "+-.eE0123456789")] == '\0' && *end == '\0' &&
        isfinite(value))
        return value;
    bad_cell(check, table, row, column, "a finite number");
    return 0.0;
}

int64_t check_integer(struct check *check, const struct check_table *table, size_t row,
                      size_t column) {
    const char *cell = check_cell(table, row, column);
    char *end;
    errno = 0;
    long long value = strtoll(cell, &end, 10);
    if (end != cell && *end == '\0' && errno == 0)
        return value;
    bad_cell(check, table, row, column, "a whole number");
    return 0;
}

int64_t check_nanoseconds(struct check *check, const struct check_table *table, size_t row,
                          size_t column) {
    const char *cell = check_cell(table, row, column);
    const char *c = cell;
    int64_t value = 0;
    int decimals = 0;
    for (; '0' <= *c && *c <= '9' && value < INT64_MAX / 100; c++)
        value = 10 * value + (*c - '0');
    bool good = c > cell;
    if (*c == '.')
        for (c++; '0' <= *c && *c <= '9' && decimals < 9 && value < INT64_MAX / 100;
             c++, decimals++)
            value = 10 * value + (*c - '0');
    for (; decimals < 9 && value < INT64_MAX / 10; decimals++)
        value *= 10;
    if (good && *c == '\0' && decimals == 9)
        return value;
    bad_cell(check, table, row, column, "a time in seconds, at least 0, with at most 9 decimals");
    return 0;
}
