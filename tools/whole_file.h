/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TOOLS_WHOLE_FILE_H
#define TOOLS_WHOLE_FILE_H

/*
 * Files that appear whole or not at all: written under a hidden name in the same folder, then
 * renamed. Errors are added to the diagnostics: RLHFSIM_IO, RLHFSIM_NO_MEMORY.
 */

#include <rlhfsim/diagnostics.h>

#include <stdio.h>

/* DIRECTORY/NAME; the caller frees it, NULL when memory is exhausted. */
char *whole_file_path(const char *directory, const char *name);

/* Creates the folder and those above it that are missing. */
enum rlhfsim_status whole_file_folder(const char *directory,
                                      struct rlhfsim_diagnostics *diagnostics);

/* Writes DIRECTORY/NAME, in place of an older one, with what `write` puts out. */
typedef void(whole_file_writer)(FILE *stream, const void *subject);
enum rlhfsim_status whole_file_write(const char *directory, const char *name,
                                     whole_file_writer *write, const void *subject,
                                     struct rlhfsim_diagnostics *diagnostics);

/* Removes DIRECTORY/NAME if there is one. */
enum rlhfsim_status whole_file_remove(const char *directory, const char *name,
                                      struct rlhfsim_diagnostics *diagnostics);

/* "PATH: error: WHAT: REASON" with the reason of `error`, an errno. */
enum rlhfsim_status whole_file_failed(const char *path, const char *what, int error,
                                      struct rlhfsim_diagnostics *diagnostics);

#endif
