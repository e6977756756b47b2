/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SIM_RECORDER_H
#define SIM_RECORDER_H

/*
 * Streams what happens to sinks, as it happens; nothing is kept. A sink is a const table of
 * functions and a state of its own; a function that is NULL is not interested.
 */

#include "sim/memory.h"
#include "sim/resource.h"
#include "sim/sim.h"
#include "sim/task.h"

struct sim_span {
    sim_time start, end;
    sim_resource_id resource;
    struct sim_task_tag tag;
};

struct sim_memory_change_record {
    sim_time time;
    sim_memory_id memory;
    uint32_t owner, category;
    double bytes; /* held from now on */
};

struct sim_sink_type {
    /* One call per task and resource it held, when the task ends: spans of one resource with
     * capacity 1 come in order and do not overlap. */
    void (*span)(void *state, const struct sim *sim, const struct sim_span *span);
    void (*memory)(void *state, const struct sim *sim,
                   const struct sim_memory_change_record *change);
};

/* At most 8 sinks. The caller keeps `state` alive as long as the simulation. */
enum sim_status sim_recorder_add(struct sim *sim, const struct sim_sink_type *type, void *state);

/* For processes that are not tasks (a rollout engine): reports a span that they have spent, and
 * adds it to the resource's busy time. */
void sim_recorder_span(struct sim *sim, const struct sim_span *span);

#endif
