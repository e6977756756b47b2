/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SIM_TASK_H
#define SIM_TASK_H

/*
 * The unit of work: a duration on some resources, after some other tasks.
 *
 *     waiting (for predecessors) -> ready (for resources) -> running -> done
 *
 * A graph is built task by task: sim_task_new, then its demands and predecessors, then
 * sim_task_release. A released task whose predecessors are done asks for its resources in ascending
 * order of id and holds what it has been granted while it waits for the next (so no cycle of
 * holders can arise); it runs when all are granted. With no demand it runs at once; a duration of 0
 * is a barrier. `on_done`, if any, is called at the completion, before the successors start.
 *
 * Tasks of a step are taken from pools and given back as they finish; a graph is unfolded one step
 * at a time, so memory is bounded by the step, not by the run. Ids carry a generation, as event
 * handles do: a predecessor that is already done (or a stale id) is simply no obstacle.
 */

#include "sim/resource.h"
#include "sim/sim.h"

typedef struct {
    uint32_t slot;
    uint32_t generation;
} sim_task_id;

typedef void(sim_task_func)(struct sim *sim, void *subject, uint64_t argument);

/* What the recorder is told about a task; the engine itself does not look at these. */
struct sim_task_tag {
    uint32_t activity; /* what is done (an index of the model's own table) */
    uint32_t owner;    /* for whom (likewise) */
    int32_t step;
    double bytes; /* moved by the task */
    double flops; /* done by the task */
};

struct sim_task_spec {
    sim_time duration_ns;
    int32_t priority;
    bool recorded; /* false: no span is reported (barriers) */
    struct sim_task_tag tag;
    sim_task_func *on_done; /* may be NULL */
    void *subject;
    uint64_t argument;
};

enum sim_status sim_task_new(struct sim *sim, const struct sim_task_spec *spec, sim_task_id *id);

/* Both only before the release. A task may demand each resource once; `units` is at most the
 * resource's capacity. `first` to `first + count - 1` is shorthand for `count` demands. */
enum sim_status sim_task_demand(struct sim *sim, sim_task_id task, sim_resource_id resource,
                                uint32_t units);
enum sim_status sim_task_demand_range(struct sim *sim, sim_task_id task, sim_resource_id first,
                                      uint32_t count);
enum sim_status sim_task_after(struct sim *sim, sim_task_id task, sim_task_id predecessor);

/* Nothing starts and no on_done is called inside: that happens at this instant, in the decision
 * phase, once the handler has returned. Ready tasks are served in the order they became ready,
 * where queues and priorities do not say otherwise (the order is told in full at the top of
 * task.c). */
void sim_task_release(struct sim *sim, sim_task_id task);

size_t sim_tasks_unfinished(const struct sim *sim);

/* After SIM_DEADLOCK: writes one line per unfinished task, at most `limit` of them: what it waits
 * for (predecessors, or the resource and who holds it). Returns the text's full length, as snprintf
 * does. `name_activity` may be NULL. */
size_t sim_deadlock_report(const struct sim *sim, size_t limit,
                           const char *(*name_activity)(uint32_t activity), char *buffer,
                           size_t size);

#endif
