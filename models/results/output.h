/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_RESULTS_OUTPUT_H
#define MODELS_RESULTS_OUTPUT_H

/*
 * A file that appears whole or not at all: it is written under a name of its own in the target
 * directory (".timeline.csv.0.tmp") and takes its final name, in place of an older file, when it is
 * published. A process that is killed leaves the hidden file behind, never a part under the final
 * name. The next run removes it: a living process holds its hidden files with a lock (flock), and
 * one that nobody holds is a leftover.
 *
 * Writing never fails in the caller's face: the first error is kept, later text is dropped, and
 * results_output_close reports it. Errors are errno values.
 */

#include <stdbool.h>
#include <stddef.h>

struct results_output {
    char *path, *temporary; /* final and present name; NULL when there is no such file */
    int descriptor;         /* valid while `is_open` */
    int holder;             /* of the lock, while there is a temporary name */
    bool is_open;
    int error;
    char *buffer;
    size_t used;
};

/* Creates the hidden file. 0, or an errno (ENOMEM included); nothing is then left. */
int results_output_open(struct results_output *output, const char *directory, const char *name);

void results_output_write(struct results_output *output, const void *bytes, size_t length);
void results_output_text(struct results_output *output, const char *text);

/* Writes what is buffered and closes. 0, or the first error since the file was opened. */
int results_output_close(struct results_output *output);

/* Gives a closed file its final name. 0 or an errno. */
int results_output_publish(struct results_output *output);

/* Removes the hidden file, if it was not published, and frees everything. A zeroed output is
 * fine. */
void results_output_free(struct results_output *output);

/* Creates the directory and those above it that are missing; *made says how many. 0 or an errno
 * (ENOTDIR where something else has the name); nothing is then left. */
int results_directory_make(const char *path, size_t *made);
/* Removes what results_directory_make made, as far as it is empty. */
void results_directory_unmake(const char *path, size_t made);

#endif
