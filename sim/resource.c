/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/internal.h"

#include "sim/contract.h"

/*
 * Integrals are taken piecewise: whatever changes a count first brings them up to now. The totals
 * of waiting and sojourn times are summed task by task, from the tasks' own instants, so that
 * Little's law compares two ways of counting and not one with itself.
 *
 * A queue is a list through the tasks (first in, first out) or a binary heap of (priority, arrival,
 * slot) as one integer. With priorities nothing is granted at once: whoever becomes ready at an
 * instant is enqueued first, and then the queue is served, so that the order in which equal times
 * happen to be processed does not decide who is first.
 */

#define PRIORITY_SHIFT 96
#define ARRIVAL_SHIFT 32

static struct sim_resource *resource_at(const struct sim *sim, sim_resource_id id) {
    CONTRACT(id < sim->resources.count, "the resource exists");
    return &sim->resources.all[id];
}

/* For one more resource, and for its place among the dirty ones. */
static bool reserve(struct sim *sim) {
    struct sim_resources *resources = &sim->resources;
    void *all = resources->all, *dirty = resources->dirty;
    bool room = sim_array_reserve(sim, &all, resources->count, &resources->capacity,
                                  sizeof *resources->all) &&
                sim_array_reserve(sim, &dirty, resources->count, &resources->dirty_capacity,
                                  sizeof *resources->dirty);
    resources->all = all;
    resources->dirty = dirty;
    return room;
}

enum sim_status sim_resource_new(struct sim *sim, const char *name, uint32_t capacity,
                                 enum sim_queue_order order, sim_resource_id *id) {
    struct sim_resources *resources = &sim->resources;
    CONTRACT(capacity > 0 && capacity <= INT32_MAX, "a capacity is from 1 to 2^31 - 1");
    if (!reserve(sim))
        return SIM_NO_MEMORY;
    char *copy = sim_name_new(sim, name);
    if (copy == NULL)
        return SIM_NO_MEMORY;
    resources->all[resources->count] = (struct sim_resource){.capacity = capacity,
                                                             .order = order,
                                                             .since = sim->now,
                                                             .fifo = {SIM_NONE, SIM_NONE},
                                                             .name = copy};
    *id = resources->count++;
    return SIM_OK;
}

void sim_resources_free(struct sim *sim) {
    struct sim_resources *resources = &sim->resources;
    for (uint32_t i = 0; i < resources->count; i++) {
        struct sim_resource *resource = &resources->all[i];
        if (resource->heap != NULL)
            sim_reallocate(sim, resource->heap, resource->heap_capacity * sizeof *resource->heap,
                           0);
        sim_name_free(sim, resource->name);
    }
    if (resources->all != NULL)
        sim_reallocate(sim, resources->all, resources->capacity * sizeof *resources->all, 0);
    if (resources->dirty != NULL)
        sim_reallocate(sim, resources->dirty, resources->dirty_capacity * sizeof *resources->dirty,
                       0);
}

const char *sim_resource_name(const struct sim *sim, sim_resource_id id) {
    return resource_at(sim, id)->name;
}

uint32_t sim_resource_capacity(const struct sim *sim, sim_resource_id id) {
    return resource_at(sim, id)->capacity;
}

size_t sim_resource_count(const struct sim *sim) {
    return sim->resources.count;
}

/* ---- statistics -------------------------------------------------------------------------------
 */

static void integrate(struct sim_resource *resource, sim_time now) {
    uint64_t elapsed = (uint64_t)(now - resource->since);
    if (elapsed == 0)
        return;
    resource->busy += (sim_wide)elapsed * resource->working;
    resource->queue += (sim_wide)elapsed * (resource->arrived - resource->started);
    resource->system += (sim_wide)elapsed * (resource->arrived - resource->finished);
    resource->since = now;
}

void sim_resource_arrive(struct sim_resource *resource, sim_time now) {
    integrate(resource, now);
    resource->arrived++;
}

void sim_resource_start(struct sim_resource *resource, sim_time now, sim_time arrived_at,
                        uint32_t units) {
    integrate(resource, now);
    resource->started++;
    resource->working += units;
    resource->wait_total += (uint64_t)(now - arrived_at);
}

void sim_resource_finish(struct sim_resource *resource, sim_time now, sim_time arrived_at,
                         uint32_t units) {
    integrate(resource, now);
    resource->finished++;
    resource->working -= units;
    resource->sojourn_total += (uint64_t)(now - arrived_at);
}

void sim_resource_spent(struct sim *sim, sim_resource_id id, sim_time duration_ns) {
    resource_at(sim, id)->busy += (uint64_t)duration_ns;
}

void sim_resource_statistics(const struct sim *sim, sim_resource_id id,
                             struct sim_resource_statistics *statistics) {
    struct sim_resource resource = *resource_at(sim, id);
    integrate(&resource, sim->now);
    *statistics =
        (struct sim_resource_statistics){.busy_ns = (double)resource.busy,
                                         .queue_integral_ns = (double)resource.queue,
                                         .wait_total_ns = (double)resource.wait_total,
                                         .system_integral_ns = (double)resource.system,
                                         .sojourn_total_ns = (double)resource.sojourn_total,
                                         .arrived = resource.arrived,
                                         .started = resource.started,
                                         .finished = resource.finished};
}

/* ---- queues -----------------------------------------------------------------------------------
 */

static bool fits(const struct sim_resource *resource, uint32_t units) {
    return units <= resource->capacity - resource->granted;
}

static void mark_dirty(struct sim *sim, sim_resource_id id) {
    struct sim_resources *resources = &sim->resources;
    uint32_t *heap = resources->dirty;
    if (resources->all[id].dirty)
        return;
    resources->all[id].dirty = true;
    uint32_t at = resources->dirty_count++;
    for (; at > 0 && id < heap[(at - 1) / 2]; at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = id;
}

uint32_t sim_resource_next_dirty(struct sim *sim) {
    struct sim_resources *resources = &sim->resources;
    uint32_t *heap = resources->dirty;
    if (resources->dirty_count == 0)
        return SIM_NONE;
    uint32_t first = heap[0], count = --resources->dirty_count, last = heap[count], at = 0;
    for (uint32_t child = 1; child < count; child = 2 * at + 1) {
        child += child + 1 < count && heap[child + 1] < heap[child];
        if (heap[child] > last)
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    resources->all[first].dirty = false;
    return first;
}

static void heap_push(struct sim *sim, struct sim_resource *resource, uint32_t slot,
                      int32_t priority) {
    void *heap = resource->heap;
    bool room = sim_array_reserve(sim, &heap, resource->heap_count, &resource->heap_capacity,
                                  sizeof *resource->heap);
    resource->heap = heap;
    if (!room) {
        sim_fail(sim, SIM_NO_MEMORY);
        return;
    }
    sim_calendar_key rank = (uint32_t)((int64_t)INT32_MAX - priority); /* higher comes first */
    sim_calendar_key key =
        rank << PRIORITY_SHIFT | (sim_calendar_key)resource->enqueued++ << ARRIVAL_SHIFT | slot;
    uint32_t at = resource->heap_count++;
    while (at > 0 && key < resource->heap[(at - 1) / 2]) {
        resource->heap[at] = resource->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    resource->heap[at] = key;
}

static void heap_pop(struct sim_resource *resource) {
    sim_calendar_key *heap = resource->heap;
    uint32_t count = --resource->heap_count;
    sim_calendar_key key = heap[count];
    uint32_t at = 0;
    for (uint32_t child = 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && heap[child + 1] < heap[child])
            child++;
        if (heap[child] > key)
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = key;
}

static uint32_t queue_head(const struct sim_resource *resource) {
    if (resource->order == SIM_QUEUE_FIFO)
        return resource->fifo.first;
    return resource->heap_count == 0 ? SIM_NONE : (uint32_t)resource->heap[0];
}

static void queue_append(struct sim *sim, struct sim_resource *resource, uint32_t slot) {
    struct sim_task_list *fifo = &resource->fifo;
    sim_task_at(sim, slot)->next = SIM_NONE;
    if (fifo->first == SIM_NONE)
        fifo->first = slot;
    else
        sim_task_at(sim, fifo->last)->next = slot;
    fifo->last = slot;
}

static void queue_pop(struct sim *sim, struct sim_resource *resource) {
    if (resource->order == SIM_QUEUE_PRIORITY)
        heap_pop(resource);
    else
        resource->fifo.first = sim_task_at(sim, resource->fifo.first)->next;
}

bool sim_resource_ask(struct sim *sim, sim_resource_id id, uint32_t slot, uint32_t units) {
    struct sim_resource *resource = &sim->resources.all[id];
    if (resource->order == SIM_QUEUE_PRIORITY) {
        heap_push(sim, resource, slot, sim_task_at(sim, slot)->priority);
        mark_dirty(sim, id);
        return false;
    }
    if (resource->fifo.first != SIM_NONE || !fits(resource, units)) {
        queue_append(sim, resource, slot);
        return false;
    }
    resource->granted += units;
    return true;
}

uint32_t sim_resource_serve(struct sim *sim, sim_resource_id id) {
    struct sim_resource *resource = &sim->resources.all[id];
    uint32_t slot = queue_head(resource);
    if (slot == SIM_NONE)
        return SIM_NONE;
    uint32_t units = sim_demand_units(sim_demand_asked(sim, sim_task_at(sim, slot)));
    if (!fits(resource, units))
        return SIM_NONE;
    queue_pop(sim, resource);
    resource->granted += units;
    return slot;
}

void sim_resource_release(struct sim *sim, sim_resource_id id, uint32_t units) {
    struct sim_resource *resource = &sim->resources.all[id];
    INVARIANT(resource->granted >= units, "no more is released than was granted");
    resource->granted -= units;
    if (queue_head(resource) != SIM_NONE)
        mark_dirty(sim, id);
}
