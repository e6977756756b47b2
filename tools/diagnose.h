/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TOOLS_DIAGNOSE_H
#define TOOLS_DIAGNOSE_H

/*
 * How errors are said: one line each on stderr, "FILE:LINE:COLUMN: error: MESSAGE". For the value
 * of an option, FILE is the option, LINE is 1 and COLUMN counts in the value. A mistake in the
 * command line itself has the program's name in front.
 */

#include <rlhfsim/diagnostics.h>

#define EXIT_USAGE 2

/* Prints all errors; when there is none, the text of the status. `program` is "rlhfsim run". */
void diagnose_all(const char *program, enum rlhfsim_status status,
                  const struct rlhfsim_diagnostics *diagnostics);

/* Adds the errors of one list to another. */
void diagnose_copy(const struct rlhfsim_diagnostics *from, struct rlhfsim_diagnostics *to);

/* "rlhfsim run: error: MESSAGE" and where the help is. Gives EXIT_USAGE. */
int diagnose_usage(const char *program, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "rlhfsim validate: error: unknown kind 'x'; expected a, b or c"; `kind` gives them by index, NULL
 * behind the last. Gives EXIT_USAGE. */
int diagnose_kind(const char *program, const char *name, const char *(*kind)(size_t index));

/* "--seed:1:1: error: MESSAGE". Gives EXIT_USAGE. */
int diagnose_value(const char *option, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
