/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef RLHFSIM_DIAGNOSTICS_H
#define RLHFSIM_DIAGNOSTICS_H

/*
 * What is wrong with the user's input, said where the user wrote it. A reader adds every error it
 * finds and goes on, so that all of them are reported at once. For `--set KEY=VALUE` the file is
 * "--set", the line 1 and the column counts in the argument.
 */

#include <rlhfsim/status.h>

#include <stddef.h>

struct rlhfsim_error {
    enum rlhfsim_status status;
    const char *file;    /* as the user named it; NULL where no file is at fault */
    int line;            /* from 1; 0 where the file as a whole is meant */
    int column;          /* from 1, in characters; 0 with line 0 */
    const char *message; /* what is wrong, what was expected, the nearest known name */
};

struct rlhfsim_diagnostics;

/* NULL when memory is exhausted. _free(NULL) is fine. */
RLHFSIM_API struct rlhfsim_diagnostics *rlhfsim_diagnostics_new(void);
RLHFSIM_API void rlhfsim_diagnostics_free(struct rlhfsim_diagnostics *diagnostics);

/* The errors in the order they were found. A returned error lives as long as the list. */
RLHFSIM_API size_t rlhfsim_diagnostics_count(const struct rlhfsim_diagnostics *diagnostics);
RLHFSIM_API const struct rlhfsim_error *
rlhfsim_diagnostics_get(const struct rlhfsim_diagnostics *diagnostics, size_t index);

/* Adds an error and returns its status, so that `return rlhfsim_diagnostics_add(...)` reads well.
 * The strings are copied; `file` may be NULL. */
RLHFSIM_API enum rlhfsim_status
rlhfsim_diagnostics_add(struct rlhfsim_diagnostics *diagnostics, enum rlhfsim_status status,
                        const char *file, int line, int column, const char *format, ...)
    __attribute__((format(printf, 6, 7)));

/* Writes "FILE:LINE:COLUMN: error: MESSAGE", without the parts that are not known, into `buffer`
 * of `size` bytes, always terminated; returns the length the whole text has, as snprintf does. */
RLHFSIM_API int rlhfsim_error_format(const struct rlhfsim_error *error, char *buffer, size_t size);

#endif
