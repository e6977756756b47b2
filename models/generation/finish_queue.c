/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/generation/finish_queue.h"

#include "sim/contract.h"

#include <string.h>

void generation_finish_queue_reset(struct generation_finish_queue *queue,
                                   struct generation_finish *entries, uint32_t *positions,
                                   uint32_t requests) {
    *queue = (struct generation_finish_queue){.entries = entries, .positions = positions};
    memset(positions, 0xff, (size_t)requests * sizeof *positions);
}

static bool before(struct generation_finish a, struct generation_finish b) {
    return a.iteration < b.iteration || (a.iteration == b.iteration && a.request < b.request);
}

static void place(struct generation_finish_queue *queue, uint32_t position,
                  struct generation_finish finish) {
    queue->entries[position] = finish;
    queue->positions[finish.request] = position;
}

/* Moves the hole at `position` up until `finish` fits. */
static void sift_up(struct generation_finish_queue *queue, uint32_t position,
                    struct generation_finish finish) {
    while (position > 0) {
        uint32_t parent = (position - 1) / 2;
        if (before(queue->entries[parent], finish))
            break;
        place(queue, position, queue->entries[parent]);
        position = parent;
    }
    place(queue, position, finish);
}

/* Moves the hole at `position` down until `finish` fits. */
static void sift_down(struct generation_finish_queue *queue, uint32_t position,
                      struct generation_finish finish) {
    for (;;) {
        uint32_t child = 2 * position + 1;
        if (child >= queue->count)
            break;
        if (child + 1 < queue->count && before(queue->entries[child + 1], queue->entries[child]))
            child++;
        if (before(finish, queue->entries[child]))
            break;
        place(queue, position, queue->entries[child]);
        position = child;
    }
    place(queue, position, finish);
}

void generation_finish_queue_push(struct generation_finish_queue *queue,
                                  struct generation_finish finish) {
    INVARIANT(!generation_finish_queue_has(queue, finish.request), "a request is queued twice");
    sift_up(queue, queue->count++, finish);
}

bool generation_finish_queue_has(const struct generation_finish_queue *queue, uint32_t request) {
    return queue->positions[request] != GENERATION_FINISH_ABSENT;
}

struct generation_finish generation_finish_queue_remove(struct generation_finish_queue *queue,
                                                        uint32_t request) {
    uint32_t position = queue->positions[request];
    INVARIANT(position < queue->count, "a request is removed that is not queued");
    struct generation_finish removed = queue->entries[position];
    struct generation_finish last = queue->entries[--queue->count];
    queue->positions[request] = GENERATION_FINISH_ABSENT;
    if (position == queue->count)
        return removed;
    if (position > 0 && before(last, queue->entries[(position - 1) / 2]))
        sift_up(queue, position, last);
    else
        sift_down(queue, position, last);
    return removed;
}
