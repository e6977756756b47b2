/* SPDX-License-Identifier: GPL-3.0-or-later */

/* A simulation comes to life and goes: the one file that knows all parts of it. */

#include "sim/internal.h"

#include <stdlib.h>

static void *library_reallocate(void *subject, void *block, size_t old_size, size_t new_size) {
    (void)subject;
    (void)old_size;
    if (new_size == 0) {
        free(block);
        return NULL;
    }
    return realloc(block, new_size);
}

struct sim *sim_new(const struct sim_allocator *allocator) {
    static const struct sim_allocator library = {library_reallocate, NULL};
    if (allocator == NULL)
        allocator = &library;
    struct sim *sim = allocator->reallocate(allocator->subject, NULL, 0, sizeof *sim);
    if (sim == NULL)
        return NULL;
    *sim = (struct sim){.allocator = *allocator};
    sim_calendar_init(&sim->calendar, &sim->allocator);
    sim_tasks_init(sim);
    return sim;
}

void sim_free(struct sim *sim) {
    if (sim == NULL)
        return;
    sim_flows_free(sim);
    sim_memories_free(sim);
    sim_resources_free(sim);
    sim_tasks_free(sim);
    sim_calendar_free(&sim->calendar);
    struct sim_allocator allocator = sim->allocator;
    allocator.reallocate(allocator.subject, sim, sizeof *sim, 0);
}
