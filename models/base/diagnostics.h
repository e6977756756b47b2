/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_BASE_DIAGNOSTICS_H
#define MODELS_BASE_DIAGNOSTICS_H

/* What the readers of this library need of a list of errors beyond the public functions. */

#include <rlhfsim/diagnostics.h>

#include <stdbool.h>

/* True when memory ran out while an error was added, so that the list is short of it. */
bool base_diagnostics_lost(const struct rlhfsim_diagnostics *diagnostics);

/* The last error is about something that is not there: it comes behind those of its file. */
void base_diagnostics_delay(struct rlhfsim_diagnostics *diagnostics);

/* Brings the errors from index `first` on into reading order: by file (`main_file`, then the others
 * in the order in which they were first named), those that are delayed last, line and column;
 * errors of one place keep their order. */
void base_diagnostics_sort(struct rlhfsim_diagnostics *diagnostics, size_t first,
                           const char *main_file);

/* Keeps `limit` errors from index `first` on and puts one line in place of the others that says
 * how many there were. */
void base_diagnostics_truncate(struct rlhfsim_diagnostics *diagnostics, size_t first, size_t limit);

#endif
