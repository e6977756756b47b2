/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TOOLS_POOL_H
#define TOOLS_POOL_H

/*
 * Independent jobs on several threads: each thread takes the next index by an atomic fetch-add
 * until there is none left, and puts its result into the place of that index, so that who did what
 * leaves no trace. The calling thread shows the progress meanwhile.
 */

#include "progress.h"

#include <rlhfsim/forecast.h>

/* What a job gets: tell `progress` how far the job is, and stop with RLHFSIM_CANCELLED when it says
 * false. `diagnostics` is the thread's own. */
struct pool_job {
    size_t index;
    rlhfsim_progress_func *progress;
    void *progress_subject;
    struct rlhfsim_diagnostics *diagnostics;
};

typedef enum rlhfsim_status(pool_func)(void *subject, const struct pool_job *job);

/* Runs the function for every index below `count` on at most `threads` threads. The first failure
 * stops all; its status is returned and its errors are added. RLHFSIM_CANCELLED after Ctrl-C. */
enum rlhfsim_status pool_run(size_t threads, size_t count, pool_func *function, void *subject,
                             struct progress *progress, struct rlhfsim_diagnostics *diagnostics);

/* The processors that this process may use. */
size_t pool_processors(void);

#endif
