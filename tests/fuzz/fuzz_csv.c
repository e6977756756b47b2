/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * libFuzzer: the first byte chooses the catalog file, the rest is its text.
 */
#include "models/base/utf8.h"
#include "models/scenario/catalog_rows.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_rows(enum catalog_kind kind, const struct csv_table *table,
                      struct rlhfsim_diagnostics *diagnostics, struct base_arena *arena) {
    size_t position[COLUMN_LIMIT] = {0};
    if (!catalog_match_header(kind, table, "fuzz.csv", diagnostics, position))
        return;
    for (const struct csv_row *cells = table->rows; cells != NULL; cells = cells->next) {
        struct column_row row;
        void *item = base_arena_allocate(arena, catalog_row_size(kind));
        if (item != NULL && catalog_read_row(kind, cells, position, diagnostics, &row))
            (void)catalog_row_fill(kind, &row, diagnostics, item);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct base_arena arena = {0};
    struct csv_table table;
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    if (diagnostics != NULL && size > 0) {
        enum catalog_kind kind = (enum catalog_kind)(data[0] % CATALOG_KIND_COUNT);
        const char *text = (const char *)data + 1;
        if (base_utf8_check(text, size - 1).message == NULL &&
            csv_table_read(&arena, "fuzz.csv", text, size - 1, diagnostics, &table) == RLHFSIM_OK)
            read_rows(kind, &table, diagnostics, &arena);
    }
    rlhfsim_diagnostics_free(diagnostics);
    base_arena_release(&arena);
    return 0;
}
