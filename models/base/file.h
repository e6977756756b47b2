/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_BASE_FILE_H
#define MODELS_BASE_FILE_H

/* Whole input files: read once, checked to be text. */

#include <rlhfsim/diagnostics.h>

#include <stdbool.h>
#include <stdio.h>

#define BASE_FILE_LIMIT ((size_t)16 * 1024 * 1024)

struct base_file {
    char *text;    /* without a byte order mark, terminated; release with base_file_release */
    size_t length; /* bytes before the terminator */
};

/* Reads a text file of at most BASE_FILE_LIMIT bytes. RLHFSIM_INVALID when it is not there,
 * RLHFSIM_IO when reading it fails, RLHFSIM_INVALID when it is too large or not strict UTF-8 (see
 * utf8.h), RLHFSIM_NO_MEMORY; the error is added at its place and `file` is empty. */
enum rlhfsim_status base_file_read(const char *path, struct rlhfsim_diagnostics *diagnostics,
                                   struct base_file *file);
/* The same from a stream that base_file_open has opened, of which nothing was read; `path` is for
 * messages. The stream stays open. */
enum rlhfsim_status base_file_read_stream(FILE *stream, const char *path,
                                          struct rlhfsim_diagnostics *diagnostics,
                                          struct base_file *file);
void base_file_release(struct base_file *file);

/* For readers that take a file piece by piece: opens it, refusing what can hang (a named pipe) as
 * base_file_read does; what a failed read adds. Statuses and errors as above. */
enum rlhfsim_status base_file_open(const char *path, struct rlhfsim_diagnostics *diagnostics,
                                   FILE **stream);
enum rlhfsim_status base_file_failed(const char *path, int error,
                                     struct rlhfsim_diagnostics *diagnostics);

/* Whether something of that name exists. */
bool base_file_exists(const char *path);

#endif
