/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/internal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/*
 * Who waits for what, for people. Tasks know their successors, not their predecessors, and
 * resources not who holds them: each line searches all tasks, which is fine for a report of a few
 * lines and keeps that knowledge out of the tasks of healthy runs.
 */

#define MOST_NAMED 4 /* predecessors or holders named in a line */

struct text {
    char *buffer;
    size_t size, length;
    const char *(*name_activity)(uint32_t activity);
};

__attribute__((format(printf, 2, 3))) static void add(struct text *text, const char *format, ...) {
    size_t room = text->length < text->size ? text->size - text->length : 0;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(room > 0 ? text->buffer + text->length : NULL, room, format, arguments);
    va_end(arguments);
    if (length > 0)
        text->length += (size_t)length;
}

static void add_task(struct text *text, const struct sim *sim, uint32_t slot) {
    const struct sim_task *task = sim_task_at(sim, slot);
    add(text, "task %" PRIu32 " (", slot);
    if (text->name_activity != NULL)
        add(text, "%s", text->name_activity(task->activity));
    else
        add(text, "activity %" PRIu32, task->activity);
    add(text, ", owner %" PRIu32 ", step %" PRId32 ")", task->owner, task->step);
}

static bool unfinished(const struct sim *sim, uint32_t slot) {
    return sim_task_at(sim, slot)->generation % 2 == 1;
}

static bool precedes(const struct sim *sim, uint32_t slot, uint32_t successor) {
    const struct sim_task *task = sim_task_at(sim, slot);
    for (int i = 0; i < SIM_INLINE_SUCCESSORS; i++)
        if (task->successors[i] == successor)
            return true;
    uint32_t last = task->edges;
    for (uint32_t index = last; index != SIM_NONE;) {
        const struct sim_edge *edge = sim_edge_at(sim, index);
        if (edge->successor == successor)
            return true;
        index = edge->next == last ? SIM_NONE : edge->next;
    }
    return false;
}

/* A running task holds all it demands; one that asks holds what comes before what it asks for. */
static bool holds(const struct sim *sim, uint32_t slot, sim_resource_id resource) {
    const struct sim_task *task = sim_task_at(sim, slot);
    if (task->state < SIM_TASK_READY)
        return false;
    if (task->state == SIM_TASK_READY && resource >= task->asking)
        return false;
    const struct sim_demand *demand = &task->demands;
    for (; demand != NULL;
         demand = demand->next == SIM_NONE ? NULL : sim_demand_at(sim, demand->next))
        if (resource >= demand->first && resource - demand->first < sim_demand_count(demand))
            return true;
    return false;
}

typedef bool(relation_func)(const struct sim *sim, uint32_t slot, uint32_t to);

/* Names the unfinished tasks that stand in a relation, as a list. */
static void add_related(struct text *text, const struct sim *sim, relation_func *related,
                        uint32_t to) {
    uint32_t found = 0;
    for (uint32_t slot = 0; slot < sim->tasks.tasks.used; slot++) {
        if (!unfinished(sim, slot) || !related(sim, slot, to))
            continue;
        if (found++ >= MOST_NAMED)
            continue;
        add(text, found > 1 ? ", " : " ");
        add_task(text, sim, slot);
    }
    if (found > MOST_NAMED)
        add(text, " and %" PRIu32 " more", found - MOST_NAMED);
    if (found == 0)
        add(text, " nobody");
}

static void add_line(struct text *text, const struct sim *sim, uint32_t slot) {
    const struct sim_task *task = sim_task_at(sim, slot);
    add_task(text, sim, slot);
    if (task->state == SIM_TASK_BUILDING) {
        add(text, " was never released\n");
    } else if (task->state == SIM_TASK_RUNNING) {
        add(text, " is running\n");
    } else if (task->state == SIM_TASK_READY) {
        add(text, " waits for resource %s, held by", sim_resource_name(sim, task->asking));
        add_related(text, sim, holds, task->asking);
        add(text, "\n");
    } else if (task->unmet == 0) {
        add(text, " is ready\n");
    } else {
        add(text, " waits for");
        add_related(text, sim, precedes, slot);
        add(text, "\n");
    }
}

size_t sim_deadlock_report(const struct sim *sim, size_t limit,
                           const char *(*name_activity)(uint32_t activity), char *buffer,
                           size_t size) {
    struct text text = {buffer, size, 0, name_activity};
    if (size > 0)
        buffer[0] = '\0';
    size_t lines = 0;
    for (uint32_t slot = 0; slot < sim->tasks.tasks.used && lines < limit; slot++) {
        if (!unfinished(sim, slot))
            continue;
        add_line(&text, sim, slot);
        lines++;
    }
    return text.length;
}
