/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * libcsv says neither where a cell starts nor on which line an error is, only how many bytes it
 * took. It is therefore fed byte by byte while we count lines and characters: when it reports a
 * cell, the next one starts at the next byte. (Catalogs are small.)
 */
#include "models/scenario/csv_table.h"

#include <csv.h>
#include <string.h>

#define ERROR_LIMIT 200

struct reader {
    struct base_arena *arena;
    struct rlhfsim_diagnostics *diagnostics;
    struct csv_table *table;
    enum rlhfsim_status status;
    bool stopped;
    int errors;
    const char *file;
    int line, column;        /* of the byte that is fed */
    bool cell_ended;         /* by the byte that is fed */
    struct tree_place start; /* of the cell that is read */
    struct csv_row **tail;
    struct csv_cell cells[CSV_COLUMN_LIMIT];
    size_t count; /* cells of the row so far */
};

static void note(struct reader *reader, enum rlhfsim_status status) {
    reader->status = status;
    reader->stopped =
        reader->stopped || status == RLHFSIM_NO_MEMORY || ++reader->errors >= ERROR_LIMIT;
}

static void take_cell(void *text, size_t length, void *subject) {
    struct reader *reader = subject;
    reader->cell_ended = true;
    if (reader->count == CSV_COLUMN_LIMIT) {
        note(reader, tree_error(reader->diagnostics, reader->start, "more than %d columns",
                                CSV_COLUMN_LIMIT));
        reader->stopped = true;
    }
    if (reader->stopped)
        return;
    const char *copy = base_arena_text(reader->arena, text == NULL ? "" : text, length);
    if (copy == NULL)
        note(reader, RLHFSIM_NO_MEMORY);
    else
        reader->cells[reader->count++] = (struct csv_cell){copy, reader->start};
}

static struct csv_cell *keep_cells(struct reader *reader) {
    size_t bytes = reader->count * sizeof(struct csv_cell);
    struct csv_cell *cells = base_arena_allocate(reader->arena, bytes);
    if (cells == NULL)
        note(reader, RLHFSIM_NO_MEMORY);
    else
        memcpy(cells, reader->cells, bytes);
    return cells;
}

static void keep_row(struct reader *reader) {
    struct csv_row *row = base_arena_allocate(reader->arena, sizeof *row);
    struct csv_cell *cells = keep_cells(reader);
    if (row == NULL || cells == NULL) {
        note(reader, RLHFSIM_NO_MEMORY);
        return;
    }
    row->cells = cells;
    *reader->tail = row;
    reader->tail = &row->next;
}

static void take_row(int terminator, void *subject) {
    struct reader *reader = subject;
    struct csv_table *table = reader->table;
    (void)terminator;
    reader->cell_ended = true;
    if (reader->count == 0 || reader->stopped) {
        reader->count = 0;
        return;
    }
    if (table->header == NULL) {
        table->columns = reader->count;
        table->header = keep_cells(reader);
    } else if (reader->count != table->columns)
        note(reader, tree_error(reader->diagnostics, reader->cells[0].place,
                                "a row of %zu cells, but the header has %zu", reader->count,
                                table->columns));
    else
        keep_row(reader);
    reader->count = 0;
}

static void advance(struct reader *reader, char byte) {
    bool inside = ((unsigned char)byte & 0xC0U) == 0x80U;
    if (byte == '\n') {
        reader->line++;
        reader->column = 1;
    } else if (!inside) {
        reader->column++;
    }
    if (reader->cell_ended)
        reader->start = (struct tree_place){reader->file, reader->line, reader->column};
    reader->cell_ended = false;
}

static void refuse_syntax(struct reader *reader, struct csv_parser *parser, struct tree_place place,
                          const char *message) {
    bool memory = csv_error(parser) != CSV_EPARSE;
    note(reader,
         memory ? RLHFSIM_NO_MEMORY : tree_error(reader->diagnostics, place, "%s", message));
    reader->stopped = true;
}

static void feed(struct reader *reader, struct csv_parser *parser, const char *text,
                 size_t length) {
    for (size_t i = 0; i < length && !reader->stopped; i++) {
        struct tree_place here = {reader->file, reader->line, reader->column};
        if (csv_parse(parser, text + i, 1, take_cell, take_row, reader) != 1) {
            refuse_syntax(reader, parser, here,
                          "a quote in the wrong place; a cell with quotes or commas is put in "
                          "quotes, and quotes inside are doubled");
            return;
        }
        advance(reader, text[i]);
    }
    if (!reader->stopped && csv_fini(parser, take_cell, take_row, reader) != 0)
        refuse_syntax(reader, parser, reader->start,
                      "the quote that opens this cell is not closed");
}

enum rlhfsim_status csv_table_read(struct base_arena *arena, const char *file, const char *text,
                                   size_t length, struct rlhfsim_diagnostics *diagnostics,
                                   struct csv_table *table) {
    struct csv_parser parser;
    *table = (struct csv_table){0};
    struct reader reader = {.arena = arena,
                            .diagnostics = diagnostics,
                            .table = table,
                            .file = file,
                            .line = 1,
                            .column = 1,
                            .start = {file, 1, 1},
                            .tail = &table->rows};
    if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_APPEND_NULL | CSV_REPALL_NL) != 0)
        return RLHFSIM_NO_MEMORY;
    feed(&reader, &parser, text, length);
    csv_free(&parser);
    if (reader.status == RLHFSIM_OK && table->header == NULL)
        return tree_error(diagnostics, (struct tree_place){file, 1, 1},
                          "the file is empty, expected a header line");
    return reader.status;
}
