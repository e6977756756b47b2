/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/internal.h"

#include "sim/contract.h"

#include <string.h>

/*
 * The life of tasks. What happens at one instant, in this order:
 *
 * 1. Completions (one event for each task that ends, in the order the tasks started): its units are
 *    given back, its spans are reported, its on_done is called; then its successors, in the order
 * of the sim_task_after calls, count one predecessor less. A successor that has become ready joins
 *    the ready list; a ready barrier (no demand, no duration) ends here and now, without an event,
 *    after the successors of the task that set it free have all been counted.
 * 2. One decision, when the ready list or the queue of a released resource has something to decide:
 *    the ready tasks ask for their resources in the order they became ready, then the queues that
 *    may move are served in ascending order of their resources (so that who is granted one has
 *    asked for the next before that is served). A task starts, that is its completion is scheduled,
 *    as soon as it has all it wants.
 *
 * So all completions of an instant are taken before any task starts, and who is served depends on
 * queues and priorities alone. The decision is an event in the decision phase; but when a
 * completion finds that nothing else would come before that event, it decides itself and saves it.
 * sim_task_release only joins the ready list: nothing starts and no on_done is called inside it.
 */

_Static_assert(sizeof(struct sim_task) == 96, "a task is small");

/* ---- building ---------------------------------------------------------------------------------
 */

void sim_tasks_init(struct sim *sim) {
    struct sim_tasks *tasks = &sim->tasks;
    sim_pool_init(&tasks->tasks, &sim->allocator, sizeof(struct sim_task),
                  offsetof(struct sim_task, next));
    sim_pool_init(&tasks->edges, &sim->allocator, sizeof(struct sim_edge),
                  offsetof(struct sim_edge, next));
    sim_pool_init(&tasks->demands, &sim->allocator, sizeof(struct sim_demand),
                  offsetof(struct sim_demand, next));
    sim_pool_init(&tasks->callbacks, &sim->allocator, sizeof(struct sim_callback),
                  offsetof(struct sim_callback, next));
    tasks->ready = tasks->barriers = (struct sim_task_list){SIM_NONE, SIM_NONE};
}

void sim_tasks_free(struct sim *sim) {
    sim_pool_free(&sim->tasks.tasks);
    sim_pool_free(&sim->tasks.edges);
    sim_pool_free(&sim->tasks.demands);
    sim_pool_free(&sim->tasks.callbacks);
}

static struct sim_callback *callback_at(const struct sim *sim, uint32_t index) {
    return sim_pool_at(&sim->tasks.callbacks, index, sizeof(struct sim_callback));
}

static bool take_callback(struct sim *sim, const struct sim_task_spec *spec, uint32_t *index) {
    *index = SIM_NONE;
    if (spec->on_done == NULL)
        return true;
    *index = sim_pool_take(&sim->tasks.callbacks);
    if (*index == SIM_NONE)
        return false;
    struct sim_callback *callback = callback_at(sim, *index);
    callback->func = spec->on_done;
    callback->subject = spec->subject;
    callback->argument = spec->argument;
    return true;
}

/* Field by field: clearing the whole record first takes longer than all the rest. */
static void fill(struct sim_task *task, const struct sim_task_spec *spec, uint32_t callback) {
    task->unmet = 1; /* the release */
    task->next = SIM_NONE;
    task->duration_ns = spec->duration_ns;
    task->demands = (struct sim_demand){.next = SIM_NONE};
    task->ready_at = 0;
    task->asking = 0;
    for (int i = 0; i < SIM_INLINE_SUCCESSORS; i++)
        task->successors[i] = SIM_NONE;
    task->edges = SIM_NONE;
    task->callback = callback;
    task->state = SIM_TASK_BUILDING;
    task->recorded = spec->recorded;
    task->priority = spec->priority;
    task->activity = spec->tag.activity;
    task->owner = spec->tag.owner;
    task->step = spec->tag.step;
    task->bytes = spec->tag.bytes;
    task->flops = spec->tag.flops;
}

enum sim_status sim_task_new(struct sim *sim, const struct sim_task_spec *spec, sim_task_id *id) {
    CONTRACT(spec->duration_ns >= 0, "a duration is not negative");
    uint32_t callback, used = sim->tasks.tasks.used;
    if (!take_callback(sim, spec, &callback))
        return SIM_NO_MEMORY;
    uint32_t slot = sim_pool_take(&sim->tasks.tasks);
    if (slot == SIM_NONE) {
        if (callback != SIM_NONE)
            sim_pool_give(&sim->tasks.callbacks, callback);
        return SIM_NO_MEMORY;
    }
    struct sim_task *task = sim_task_at(sim, slot);
    task->generation = slot == used ? 1 : task->generation + 1; /* a fresh record holds anything */
    fill(task, spec, callback);
    sim->tasks.unfinished++;
    *id = (sim_task_id){slot, task->generation};
    return SIM_OK;
}

static bool exists(const struct sim *sim, sim_task_id id) {
    return id.generation % 2 == 1 && id.slot < sim->tasks.tasks.used &&
           sim_task_at(sim, id.slot)->generation == id.generation;
}

static struct sim_task *task_in_building(const struct sim *sim, sim_task_id id) {
    CONTRACT(exists(sim, id) && sim_task_at(sim, id.slot)->state == SIM_TASK_BUILDING,
             "a task is changed only before its release");
    return sim_task_at(sim, id.slot);
}

static struct sim_demand *next_demand(const struct sim *sim, const struct sim_demand *demand) {
    return demand->next == SIM_NONE ? NULL : sim_demand_at(sim, demand->next);
}

static void check_apart(const struct sim_demand *low, const struct sim_demand *high) {
    CONTRACT(high == NULL || low->first + sim_demand_count(low) <= high->first,
             "a task demands each resource once");
}

/* Into its place by resource; the least is always the one inside the task. */
static enum sim_status add_demand(struct sim *sim, struct sim_task *task,
                                  struct sim_demand demand) {
    struct sim_demand *at = &task->demands;
    if (at->amount == 0) {
        *at = demand;
        return SIM_OK;
    }
    uint32_t index = sim_pool_take(&sim->tasks.demands);
    if (index == SIM_NONE)
        return SIM_NO_MEMORY;
    if (demand.first < at->first) {
        struct sim_demand first = *at;
        *at = (struct sim_demand){demand.first, demand.amount, first.next};
        demand = first;
    }
    struct sim_demand *after = next_demand(sim, at);
    for (; after != NULL && after->first < demand.first; after = next_demand(sim, at))
        at = after;
    demand.next = at->next;
    *sim_demand_at(sim, index) = demand;
    at->next = index;
    check_apart(at, &demand);
    check_apart(&demand, after);
    return SIM_OK;
}

enum sim_status sim_task_demand(struct sim *sim, sim_task_id id, sim_resource_id resource,
                                uint32_t units) {
    CONTRACT(resource < sim->resources.count, "a demand is on an existing resource");
    CONTRACT(units > 0 && units <= sim->resources.all[resource].capacity,
             "a demand is at least one unit and at most the capacity");
    struct sim_demand demand = {resource, (int32_t)units, SIM_NONE};
    return add_demand(sim, task_in_building(sim, id), demand);
}

enum sim_status sim_task_demand_range(struct sim *sim, sim_task_id id, sim_resource_id first,
                                      uint32_t count) {
    CONTRACT(count > 0 && count <= INT32_MAX && first < sim->resources.count &&
                 count <= sim->resources.count - first,
             "a demand is on existing resources");
    struct sim_demand demand = {first, -(int32_t)count, SIM_NONE};
    return add_demand(sim, task_in_building(sim, id), demand);
}

/* Most tasks have one or two successors, which are noted in the task itself: that saves memory, and
 * lets them be sent for before they are needed. */
static bool add_successor(struct sim *sim, struct sim_task *task, uint32_t slot) {
    for (int i = 0; i < SIM_INLINE_SUCCESSORS; i++)
        if (task->successors[i] == SIM_NONE) {
            task->successors[i] = slot;
            return true;
        }
    uint32_t index = sim_pool_take(&sim->tasks.edges);
    if (index == SIM_NONE)
        return false;
    struct sim_edge *edge = sim_edge_at(sim, index);
    *edge = (struct sim_edge){slot, index};
    if (task->edges != SIM_NONE) {
        struct sim_edge *last = sim_edge_at(sim, task->edges);
        edge->next = last->next;
        last->next = index;
    }
    task->edges = index;
    return true;
}

enum sim_status sim_task_after(struct sim *sim, sim_task_id id, sim_task_id predecessor) {
    struct sim_task *task = task_in_building(sim, id);
    if (!exists(sim, predecessor))
        return SIM_OK;
    CONTRACT(predecessor.slot != id.slot, "no task comes after itself");
    if (!add_successor(sim, sim_task_at(sim, predecessor.slot), id.slot))
        return SIM_NO_MEMORY;
    task->unmet++;
    return SIM_OK;
}

size_t sim_tasks_unfinished(const struct sim *sim) {
    return sim->tasks.unfinished;
}

/* ---- the demands of a task, resource by resource ----------------------------------------------
 */

struct cursor {
    const struct sim_demand *demand; /* NULL: past the end */
    uint32_t resource, end;
};

static struct cursor cursor_at(const struct sim_demand *demand) {
    if (demand == NULL || demand->amount == 0)
        return (struct cursor){NULL, 0, 0};
    return (struct cursor){demand, demand->first, demand->first + sim_demand_count(demand)};
}

static void advance(const struct sim *sim, struct cursor *cursor) {
    if (++cursor->resource == cursor->end)
        *cursor = cursor_at(next_demand(sim, cursor->demand));
}

/* ---- decisions --------------------------------------------------------------------------------
 */

static void decide(struct sim *sim, void *subject, uint64_t argument);
static void complete(struct sim *sim, void *subject, uint64_t argument);
static void finish_barriers(struct sim *sim);

static void append(struct sim *sim, struct sim_task_list *list, uint32_t slot) {
    sim_task_at(sim, slot)->next = SIM_NONE;
    if (list->first == SIM_NONE)
        list->first = slot;
    else
        sim_task_at(sim, list->last)->next = slot;
    list->last = slot;
}

static uint32_t take_first(struct sim *sim, struct sim_task_list *list) {
    uint32_t slot = list->first;
    if (slot != SIM_NONE)
        list->first = sim_task_at(sim, slot)->next;
    return slot;
}

static void want_decision(struct sim *sim) {
    if (sim->tasks.deciding)
        return;
    sim->tasks.deciding = true;
    if (sim_schedule(sim, sim->now, SIM_PHASE_DECISION, decide, NULL, 0, NULL) != SIM_OK)
        sim_fail(sim, SIM_NO_MEMORY);
}

static bool is_barrier(const struct sim_task *task) {
    return task->duration_ns == 0 && task->demands.amount == 0;
}

void sim_task_release(struct sim *sim, sim_task_id id) {
    struct sim_task *task = task_in_building(sim, id);
    task->state = SIM_TASK_WAITING;
    if (--task->unmet > 0)
        return;
    append(sim, &sim->tasks.ready, id.slot);
    want_decision(sim);
}

/* By the time that the task ends they are in the cache. */
static void send_for_successors(const struct sim *sim, const struct sim_task *task) {
    for (int i = 0; i < SIM_INLINE_SUCCESSORS && task->successors[i] != SIM_NONE; i++) {
        const struct sim_task *successor = sim_task_at(sim, task->successors[i]);
        __builtin_prefetch(successor);
        __builtin_prefetch(&successor->ready_at);
    }
}

static void start(struct sim *sim, uint32_t slot) {
    struct sim_task *task = sim_task_at(sim, slot);
    task->state = SIM_TASK_RUNNING;
    send_for_successors(sim, task);
    struct cursor cursor = cursor_at(&task->demands);
    for (; cursor.demand != NULL; advance(sim, &cursor))
        sim_resource_start(&sim->resources.all[cursor.resource], sim->now, task->ready_at,
                           sim_demand_units(cursor.demand));
    enum sim_status status = sim_schedule(sim, sim_time_sum(sim->now, task->duration_ns),
                                          SIM_PHASE_COMPLETION, complete, task, slot, NULL);
    if (status != SIM_OK)
        sim_fail(sim, status);
}

/* Moves on to the next resource that the task demands; false past the last. */
static bool ask_next(const struct sim *sim, struct sim_task *task) {
    const struct sim_demand *demand = sim_demand_asked(sim, task);
    if (task->asking - demand->first + 1 < sim_demand_count(demand)) {
        task->asking++;
        return true;
    }
    if (demand->next == SIM_NONE)
        return false;
    task->demand = demand->next;
    task->asking = sim_demand_at(sim, demand->next)->first;
    return true;
}

/* Asks for resource after resource until it has to wait for one; starts when it has all. */
static void ask(struct sim *sim, uint32_t slot) {
    struct sim_task *task = sim_task_at(sim, slot);
    do {
        uint32_t units = sim_demand_units(sim_demand_asked(sim, task));
        if (!sim_resource_ask(sim, task->asking, slot, units))
            return;
    } while (ask_next(sim, task));
    start(sim, slot);
}

/* A task whose predecessors are done. */
static void arrive(struct sim *sim, uint32_t slot) {
    struct sim_task *task = sim_task_at(sim, slot);
    if (is_barrier(task)) {
        append(sim, &sim->tasks.barriers, slot);
        finish_barriers(sim);
        return;
    }
    task->state = SIM_TASK_READY;
    task->ready_at = sim->now;
    task->demand = SIM_NONE;
    task->asking = task->demands.first;
    struct cursor cursor = cursor_at(&task->demands);
    for (; cursor.demand != NULL; advance(sim, &cursor))
        sim_resource_arrive(&sim->resources.all[cursor.resource], sim->now);
    if (task->demands.amount == 0)
        start(sim, slot);
    else
        ask(sim, slot);
}

static void serve(struct sim *sim, sim_resource_id id) {
    uint32_t slot;
    while ((slot = sim_resource_serve(sim, id)) != SIM_NONE) {
        if (ask_next(sim, sim_task_at(sim, slot)))
            ask(sim, slot);
        else
            start(sim, slot);
    }
}

static void decide(struct sim *sim, void *subject, uint64_t argument) {
    (void)subject;
    (void)argument;
    uint32_t slot, resource;
    sim->tasks.deciding = true;
    while ((slot = take_first(sim, &sim->tasks.ready)) != SIM_NONE)
        arrive(sim, slot);
    while ((resource = sim_resource_next_dirty(sim)) != SIM_NONE)
        serve(sim, resource);
    sim->tasks.deciding = false;
}

/* ---- completions ------------------------------------------------------------------------------
 */

static void report(struct sim *sim, const struct sim_task *task, sim_resource_id resource) {
    struct sim_task_tag tag = {.activity = task->activity,
                               .owner = task->owner,
                               .step = task->step,
                               .bytes = task->bytes,
                               .flops = task->flops};
    sim_recorder_report_span(
        sim, &(struct sim_span){sim->now - task->duration_ns, sim->now, resource, tag});
}

/* Gives back what the task held, and the records of its demands. */
static void leave_resources(struct sim *sim, struct sim_task *task) {
    bool reported = task->recorded && sim->recorder.count > 0;
    for (struct cursor cursor = cursor_at(&task->demands); cursor.demand != NULL;
         advance(sim, &cursor)) {
        uint32_t units = sim_demand_units(cursor.demand);
        sim_resource_finish(&sim->resources.all[cursor.resource], sim->now, task->ready_at, units);
        sim_resource_release(sim, cursor.resource, units);
        if (reported)
            report(sim, task, cursor.resource);
    }
    while (task->demands.next != SIM_NONE) {
        uint32_t index = task->demands.next;
        task->demands.next = sim_demand_at(sim, index)->next;
        sim_pool_give(&sim->tasks.demands, index);
    }
}

static void count_down(struct sim *sim, uint32_t slot) {
    struct sim_task *task = sim_task_at(sim, slot);
    if (--task->unmet == 0)
        append(sim, is_barrier(task) ? &sim->tasks.barriers : &sim->tasks.ready, slot);
}

/* One predecessor less for each successor, in the order of the sim_task_after calls; the edges are
 * given back. */
static void release_successors(struct sim *sim, const uint32_t successors[], uint32_t edges) {
    for (int i = 0; i < SIM_INLINE_SUCCESSORS && successors[i] != SIM_NONE; i++)
        count_down(sim, successors[i]);
    if (edges != SIM_NONE) {
        uint32_t index = sim_edge_at(sim, edges)->next, next;
        bool last;
        do {
            last = index == edges;
            next = sim_edge_at(sim, index)->next;
            count_down(sim, sim_edge_at(sim, index)->successor);
            sim_pool_give(&sim->tasks.edges, index);
            index = next;
        } while (!last);
    }
}

static void call_back(struct sim *sim, uint32_t index) {
    if (index == SIM_NONE)
        return;
    struct sim_callback callback = *callback_at(sim, index);
    sim_pool_give(&sim->tasks.callbacks, index);
    callback.func(sim, callback.subject, callback.argument);
}

/* The task is gone, and its slot free, before on_done runs. */
static void finish(struct sim *sim, uint32_t slot) {
    struct sim_task *task = sim_task_at(sim, slot);
    uint32_t callback = task->callback, edges = task->edges;
    uint32_t successors[SIM_INLINE_SUCCESSORS];
    memcpy(successors, task->successors, sizeof successors);
    leave_resources(sim, task);
    task->generation++;
    sim_pool_give(&sim->tasks.tasks, slot);
    sim->tasks.unfinished--;
    call_back(sim, callback);
    release_successors(sim, successors, edges);
}

static void finish_barriers(struct sim *sim) {
    uint32_t slot;
    while ((slot = take_first(sim, &sim->tasks.barriers)) != SIM_NONE)
        finish(sim, slot);
}

/* Decides now, or by an event when something else is due before. */
static void decide_in_turn(struct sim *sim) {
    sim->tasks.deciding = false;
    if (sim->tasks.ready.first == SIM_NONE && sim->resources.dirty_count == 0)
        return;
    if (sim_calendar_due(&sim->calendar, sim->now, SIM_PHASE_DECISION))
        want_decision(sim);
    else
        decide(sim, NULL, 0);
}

static void complete(struct sim *sim, void *subject, uint64_t argument) {
    (void)subject;
    bool decided_elsewhere = sim->tasks.deciding;
    sim->tasks.deciding = true;
    finish(sim, (uint32_t)argument);
    finish_barriers(sim);
    if (!decided_elsewhere)
        decide_in_turn(sim);
}
