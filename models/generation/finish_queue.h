/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_GENERATION_FINISH_QUEUE_H
#define MODELS_GENERATION_FINISH_QUEUE_H

/*
 * The decoding sequences ordered by the iteration after which they end. All of them make one token
 * an iteration, so that number is known when a sequence starts and never changes: a binary heap
 * with the position of each request, so that a preempted one can be taken out. O(log n) each. Of
 * equal iterations the lower request comes first.
 */

#include <stdbool.h>
#include <stdint.h>

struct generation_finish {
    uint64_t iteration; /* iterations done when the last token is out */
    uint32_t request;
};

struct generation_finish_queue {
    struct generation_finish *entries; /* a heap: entries[0] ends first */
    uint32_t *positions;               /* by request; GENERATION_FINISH_ABSENT */
    uint32_t count;
};

#define GENERATION_FINISH_ABSENT UINT32_MAX

/* Empty, for requests below `requests`. Both arrays are the caller's; `entries` has room for the
 * most sequences that decode at once. */
void generation_finish_queue_reset(struct generation_finish_queue *queue,
                                   struct generation_finish *entries, uint32_t *positions,
                                   uint32_t requests);

/* The request is absent before, present after. */
void generation_finish_queue_push(struct generation_finish_queue *queue,
                                  struct generation_finish finish);

bool generation_finish_queue_has(const struct generation_finish_queue *queue, uint32_t request);

/* Takes a present request out and returns its entry. */
struct generation_finish generation_finish_queue_remove(struct generation_finish_queue *queue,
                                                        uint32_t request);

#endif
