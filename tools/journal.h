/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TOOLS_JOURNAL_H
#define TOOLS_JOURNAL_H

/*
 * What an unfinished sweep has so far, so that it can go on after a crash: the hidden file
 * ".sweep.csv.partial" in the output folder. Its first line says which sweep it is (identity.h); a
 * line is added, with one write, for each point that is done, in whatever order they end. A last
 * line that was cut short is dropped. The lines are sent to the disk once a second, so that a
 * machine that stops loses about that much; more often, a slow disk would be what a sweep waits
 * for. One program at a time writes to a folder.
 */

#include "identity.h"

#include <rlhfsim/diagnostics.h>

#include <stdint.h>

struct journal {
    char *path;
    int descriptor;   /* -1: none */
    int64_t synced_s; /* when it was last sent to the disk, of the monotonic clock */
};

/* Opens the journal of the folder. With `resume` the lines of an earlier one go to
 * rows[point], owned by the caller; one of another sweep is RLHFSIM_INVALID. Without it one that
 * has points is RLHFSIM_INVALID and stays as it is. `header` is that of the table. A journal
 * without a folder (NULL) keeps nothing. */
enum rlhfsim_status journal_open(struct journal *journal, const char *directory,
                                 const struct identity *identity, const char *header, bool resume,
                                 struct rlhfsim_diagnostics *diagnostics, char **rows);

enum rlhfsim_status journal_add(struct journal *journal, const char *row,
                                struct rlhfsim_diagnostics *diagnostics);

/* Closes it; removes the file when the sweep is done. */
void journal_close(struct journal *journal, bool done);

#endif
