/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "diagnose.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Messages have no limit of length: the first call measures. */
static void print_error(const struct rlhfsim_error *error) {
    int length = rlhfsim_error_format(error, NULL, 0);
    char *line = length < 0 ? NULL : malloc((size_t)length + 1);
    if (line != NULL) {
        rlhfsim_error_format(error, line, (size_t)length + 1);
        fprintf(stderr, "%s\n", line);
    } else {
        fprintf(stderr, "error: %s\n", error->message);
    }
    free(line);
}

void diagnose_all(const char *program, enum rlhfsim_status status,
                  const struct rlhfsim_diagnostics *diagnostics) {
    size_t count = diagnostics == NULL ? 0 : rlhfsim_diagnostics_count(diagnostics);
    for (size_t i = 0; i < count; i++)
        print_error(rlhfsim_diagnostics_get(diagnostics, i));
    if (count == 0)
        fprintf(stderr, "%s: error: %s\n", program, rlhfsim_status_text(status));
}

void diagnose_copy(const struct rlhfsim_diagnostics *from, struct rlhfsim_diagnostics *to) {
    for (size_t i = 0; i < rlhfsim_diagnostics_count(from); i++) {
        const struct rlhfsim_error *error = rlhfsim_diagnostics_get(from, i);
        rlhfsim_diagnostics_add(to, error->status, error->file, error->line, error->column, "%s",
                                error->message);
    }
}

int diagnose_usage(const char *program, const char *format, ...) {
    va_list arguments;
    fprintf(stderr, "%s: error: ", program);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\nTry '%s --help'.\n", program);
    return EXIT_USAGE;
}

int diagnose_kind(const char *program, const char *name, const char *(*kind)(size_t index)) {
    fprintf(stderr, "%s: error: unknown kind '%s'; expected ", program, name);
    for (size_t i = 0; kind(i) != NULL; i++)
        fprintf(stderr, "%s%s", i == 0 ? "" : kind(i + 1) == NULL ? " or " : ", ", kind(i));
    fprintf(stderr, "\nTry '%s --help'.\n", program);
    return EXIT_USAGE;
}

int diagnose_value(const char *option, const char *format, ...) {
    va_list arguments;
    fprintf(stderr, "%s:1:1: error: ", option);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    return EXIT_USAGE;
}
