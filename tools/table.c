/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "table.h"

#include "row.h"
#include "whole_file.h"

#include <stdlib.h>

bool table_start(struct table *table, const struct identity *identity, char *header) {
    *table = (struct table){.identity = *identity, .header = header};
    table->rows = calloc(identity->points, sizeof *table->rows);
    return header != NULL && table->rows != NULL;
}

void table_end(struct table *table) {
    for (size_t i = 0; table->rows != NULL && i < table->identity.points; i++)
        free(table->rows[i]);
    free(table->rows);
    free(table->header);
    *table = (struct table){0};
}

static void write_table(FILE *stream, const void *subject) {
    const struct table *table = subject;
    fputs(table->header, stream);
    for (size_t i = 0; i < table->identity.points; i++)
        if (table->rows[i] != NULL)
            fputs(table->rows[i], stream);
}

static void write_identity(FILE *stream, const void *subject) {
    char line[IDENTITY_TEXT];
    identity_print(subject, line);
    fputs(line, stream);
}

static void say_counts(const struct table *table, const char *directory) {
    size_t counts[ROW_STATUSES] = {0}, all = 0, point;
    enum row_status status;
    for (size_t i = 0; i < table->identity.points; i++)
        if (table->rows[i] != NULL && row_read(table->header, table->rows[i], &point, &status)) {
            counts[status]++;
            all++;
        }
    char *path = whole_file_path(directory, TABLE_FILE);
    printf("%s: %zu point%s", path == NULL ? TABLE_FILE : path, all, all == 1 ? "" : "s");
    for (int i = 0; i < ROW_STATUSES; i++)
        if (counts[i] > 0)
            printf(", %zu %s", counts[i], row_status_name((enum row_status)i));
    putchar('\n');
    free(path);
}

/* The mark of an earlier shard goes first, that of this one comes last: a folder with a mark has
 * the table that the mark speaks of. */
enum rlhfsim_status table_deliver(const struct table *table, const char *directory,
                                  struct rlhfsim_diagnostics *diagnostics) {
    if (directory == NULL) {
        write_table(stdout, table);
        return RLHFSIM_OK;
    }
    enum rlhfsim_status status = whole_file_remove(directory, TABLE_SHARD_FILE, diagnostics);
    if (status == RLHFSIM_OK)
        status = whole_file_write(directory, TABLE_FILE, write_table, table, diagnostics);
    if (status == RLHFSIM_OK && table->identity.shards > 1)
        status = whole_file_write(directory, TABLE_SHARD_FILE, write_identity, &table->identity,
                                  diagnostics);
    if (status == RLHFSIM_OK)
        say_counts(table, directory);
    return status;
}
