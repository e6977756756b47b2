/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/base/diagnostics.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    struct rlhfsim_error error;
    size_t file_order; /* index of the first error of the same file, from 1; 0: the main file */
    size_t found;      /* index when it was added */
    bool delayed;
};

struct rlhfsim_diagnostics {
    struct entry *entries;
    size_t count, capacity;
    bool lost;
};

struct rlhfsim_diagnostics *rlhfsim_diagnostics_new(void) {
    return calloc(1, sizeof(struct rlhfsim_diagnostics));
}

static void entry_release(struct entry *entry) {
    free((char *)entry->error.file);
    free((char *)entry->error.message);
}

void rlhfsim_diagnostics_free(struct rlhfsim_diagnostics *diagnostics) {
    if (diagnostics == NULL)
        return;
    for (size_t i = 0; i < diagnostics->count; i++)
        entry_release(&diagnostics->entries[i]);
    free(diagnostics->entries);
    free(diagnostics);
}

size_t rlhfsim_diagnostics_count(const struct rlhfsim_diagnostics *diagnostics) {
    return diagnostics->count;
}

const struct rlhfsim_error *rlhfsim_diagnostics_get(const struct rlhfsim_diagnostics *diagnostics,
                                                    size_t index) {
    return index < diagnostics->count ? &diagnostics->entries[index].error : NULL;
}

bool base_diagnostics_lost(const struct rlhfsim_diagnostics *diagnostics) {
    return diagnostics->lost;
}

/* ---- adding ---------------------------------------------------------------------------------- */

static char *copy_text(const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = malloc(size);
    if (copy != NULL)
        memcpy(copy, text, size);
    return copy;
}

__attribute__((format(printf, 1, 0))) static char *format_text(const char *format,
                                                               va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    char *text = length < 0 ? NULL : malloc((size_t)length + 1);
    if (text != NULL)
        (void)vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

static bool make_room(struct rlhfsim_diagnostics *diagnostics) {
    if (diagnostics->count < diagnostics->capacity)
        return true;
    size_t capacity = diagnostics->capacity == 0 ? 16 : 2 * diagnostics->capacity;
    struct entry *entries = realloc(diagnostics->entries, capacity * sizeof *entries);
    if (entries == NULL)
        return false;
    diagnostics->entries = entries;
    diagnostics->capacity = capacity;
    return true;
}

static bool same_file(const char *a, const char *b) {
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* Errors come file by file, so that looking backwards finds the file at once. */
static size_t file_order(const struct rlhfsim_diagnostics *diagnostics, const char *file) {
    for (size_t i = diagnostics->count; i-- > 0;)
        if (same_file(diagnostics->entries[i].error.file, file))
            return diagnostics->entries[i].file_order;
    return diagnostics->count + 1;
}

/* Takes the strings over, also when it fails. */
static bool push(struct rlhfsim_diagnostics *diagnostics, struct rlhfsim_error error,
                 bool complete) {
    struct entry entry = {.error = error};
    if (!complete || !make_room(diagnostics)) {
        entry_release(&entry);
        diagnostics->lost = true;
        return false;
    }
    entry.file_order = file_order(diagnostics, error.file);
    entry.found = diagnostics->count;
    diagnostics->entries[diagnostics->count++] = entry;
    return true;
}

enum rlhfsim_status rlhfsim_diagnostics_add(struct rlhfsim_diagnostics *diagnostics,
                                            enum rlhfsim_status status, const char *file, int line,
                                            int column, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *message = format_text(format, arguments);
    va_end(arguments);
    char *file_copy = file == NULL ? NULL : copy_text(file);
    bool complete = message != NULL && (file == NULL || file_copy != NULL);
    struct rlhfsim_error error = {status, file_copy, line, column, message};
    return push(diagnostics, error, complete) ? status : RLHFSIM_NO_MEMORY;
}

/* ---- order and number ------------------------------------------------------------------------ */

static int compare_sizes(size_t a, size_t b) {
    return (a > b) - (a < b);
}

static int compare_ints(int a, int b) {
    return (a > b) - (a < b);
}

static int compare_entries(const void *first, const void *second) {
    const struct entry *a = first, *b = second;
    int order = compare_sizes(a->file_order, b->file_order);
    if (order == 0)
        order = a->delayed - b->delayed;
    if (order == 0)
        order = compare_ints(a->error.line, b->error.line);
    if (order == 0)
        order = compare_ints(a->error.column, b->error.column);
    return order != 0 ? order : compare_sizes(a->found, b->found);
}

void base_diagnostics_delay(struct rlhfsim_diagnostics *diagnostics) {
    if (diagnostics->count > 0)
        diagnostics->entries[diagnostics->count - 1].delayed = true;
}

void base_diagnostics_sort(struct rlhfsim_diagnostics *diagnostics, size_t first,
                           const char *main_file) {
    for (size_t i = first; i < diagnostics->count; i++)
        if (same_file(diagnostics->entries[i].error.file, main_file))
            diagnostics->entries[i].file_order = 0;
    if (diagnostics->count > first)
        qsort(diagnostics->entries + first, diagnostics->count - first,
              sizeof *diagnostics->entries, compare_entries);
}

void base_diagnostics_truncate(struct rlhfsim_diagnostics *diagnostics, size_t first,
                               size_t limit) {
    if (diagnostics->count <= first + limit)
        return;
    size_t dropped = diagnostics->count - first - limit;
    enum rlhfsim_status status = diagnostics->entries[first + limit].error.status;
    for (size_t i = first + limit; i < diagnostics->count; i++)
        entry_release(&diagnostics->entries[i]);
    diagnostics->count = first + limit;
    (void)rlhfsim_diagnostics_add(diagnostics, status, NULL, 0, 0, "and %zu more error%s", dropped,
                                  dropped == 1 ? "" : "s");
}

/* ---- printing -------------------------------------------------------------------------------- */

int rlhfsim_error_format(const struct rlhfsim_error *error, char *buffer, size_t size) {
    if (error->file == NULL)
        return snprintf(buffer, size, "error: %s", error->message);
    if (error->line == 0)
        return snprintf(buffer, size, "%s: error: %s", error->file, error->message);
    return snprintf(buffer, size, "%s:%d:%d: error: %s", error->file, error->line, error->column,
                    error->message);
}
