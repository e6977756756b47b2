/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TOOLS_PROGRESS_H
#define TOOLS_PROGRESS_H

/*
 * One line on stderr that says how far a run is and how long it will still take, from the time it
 * took so far. It appears after a second, changes ten times a second at most, and is erased in the
 * end. It also is where a run learns that its user pressed Ctrl-C.
 */

#include <stdbool.h>
#include <stddef.h>

struct progress {
    bool visible; /* stderr is a terminal and nobody asked for quiet */
    double start_s, last_s;
    int width; /* of what is on the screen */
};

void progress_start(struct progress *progress, bool quiet);

/* An rlhfsim_progress_func; `subject` is the progress. */
bool progress_update(void *subject, double share_done);

/* Erases the line. */
void progress_finish(struct progress *progress);

/* The line for a share done (0 to 1) after elapsed_s seconds, as snprintf gives it. */
int progress_line(char *buffer, size_t size, double share_done, double elapsed_s);

#endif
