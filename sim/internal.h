/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SIM_INTERNAL_H
#define SIM_INTERNAL_H

/* What a simulation consists of, for the files of sim/ only. */

#include "sim/calendar.h"
#include "sim/pool.h"
#include "sim/recorder.h"

__extension__ typedef unsigned __int128 sim_wide; /* unit-nanoseconds without rounding */

#define SIM_NONE SIM_POOL_NONE
#define SIM_SINKS 8u

/* ---- tasks ------------------------------------------------------------------------------------
 */

enum sim_task_state { SIM_TASK_BUILDING, SIM_TASK_WAITING, SIM_TASK_READY, SIM_TASK_RUNNING };

/* One demand: `amount` units of one resource, or, when it is negative, one unit of each of -amount
 * resources from `first` on. An amount of 0 is no demand. The records of a task are chained in
 * ascending order of `first`; the first is inside the task. */
struct sim_demand {
    uint32_t first;
    int32_t amount;
    uint32_t next;
};

#define SIM_INLINE_SUCCESSORS 2

/* 96 bytes, and 8 for every successor beyond the second. What a completing predecessor touches
 * comes first, and within one cache line; what only the recorder reads comes last. */
struct sim_task {
    union {
        uint32_t unmet;  /* before it is ready: predecessors, and one for the release */
        uint32_t demand; /* after: the record that it is asking for, SIM_NONE for the inline one */
    };
    uint32_t next; /* in the one list that the task is in */
    sim_time duration_ns;
    struct sim_demand demands;
    uint32_t generation; /* odd while the task exists */

    sim_time ready_at;
    uint32_t asking;                            /* resource, of that record */
    uint32_t successors[SIM_INLINE_SUCCESSORS]; /* slots of the first ones, SIM_NONE when fewer */
    uint32_t edges;                             /* last of a ring of edges to the others */
    uint32_t callback;
    uint8_t state;
    bool recorded;

    int32_t priority;
    uint32_t activity, owner;
    int32_t step;
    double bytes, flops;
};

struct sim_edge {
    uint32_t successor;
    uint32_t next;
};

struct sim_callback {
    sim_task_func *func;
    void *subject;
    uint64_t argument;
    uint32_t next;
};

/* First in, first out, linked through sim_task.next. */
struct sim_task_list {
    uint32_t first, last;
};

struct sim_tasks {
    struct sim_pool tasks, edges, demands, callbacks;
    struct sim_task_list ready;    /* to ask for their resources at the next decision */
    struct sim_task_list barriers; /* ready ones that end without an event */
    bool deciding; /* a decision is under way, or is bound to come at this instant */
    size_t unfinished;
};

/* ---- resources --------------------------------------------------------------------------------
 */

struct sim_resource {
    sim_wide busy, queue, system; /* integrals up to `since` */
    sim_wide wait_total, sojourn_total;
    uint64_t arrived, started, finished;
    sim_time since;
    uint32_t capacity;
    uint32_t granted; /* units given out */
    uint32_t working; /* those of them whose tasks run */
    uint32_t order;   /* enum sim_queue_order */
    struct sim_task_list fifo;
    sim_calendar_key *heap; /* priority queue: (priority, arrival, slot), least first */
    uint32_t heap_count, heap_capacity;
    uint64_t enqueued;
    bool dirty; /* among those whose queue may have to be served */
    char *name;
};

struct sim_resources {
    struct sim_resource *all;
    uint32_t count, capacity;
    uint32_t *dirty; /* binary heap of ids, lowest first, with room for all */
    uint32_t dirty_count, dirty_capacity;
};

/* ---- memories and sinks -----------------------------------------------------------------------
 */

struct sim_memory {
    double capacity, used;
    double *held;      /* owners x categories */
    double *peak_held; /* the same at the peak, unless peak_is_now */
    struct sim_memory_peak peak;
    struct sim_memory_peak overflow; /* the first instant over capacity; bytes 0: never */
    bool peak_is_now;
    uint32_t owners, categories;
    char *name;
};

struct sim_memories {
    struct sim_memory *all;
    uint32_t count, capacity;
    uint32_t context;
};

struct sim_recorder {
    const struct sim_sink_type *types[SIM_SINKS];
    void *states[SIM_SINKS];
    uint32_t count;
};

/* ---- flows ------------------------------------------------------------------------------------
 */

struct sim_link;

struct sim_flows {
    struct sim_link *links;
    uint32_t link_count, link_capacity;
    struct sim_pool pool; /* of flows */
    bool pool_ready;
    uint32_t *moving; /* slots, in the order in which they began to move */
    sim_time *ends;   /* of the same */
    uint32_t moving_count, moving_capacity, ends_capacity;
    uint32_t *changed; /* links */
    uint32_t changed_count, changed_capacity;
    uint32_t *ended; /* slots, while an instant's ends are told */
    uint32_t ended_capacity;
    uint32_t *met_links, *met_flows; /* while solving */
    uint32_t met_links_capacity, met_flows_capacity;
    sim_wide *heap; /* of the solver: (level, link or flow) */
    uint32_t heap_count, heap_capacity;
    uint32_t rising; /* flows without a rate, while solving */
    uint64_t solves;
    sim_event_id end_event, solve_event;
    size_t unfinished;
};

/* ---- the simulation ---------------------------------------------------------------------------
 */

struct sim {
    struct sim_calendar calendar;
    sim_time now;
    uint64_t executed;
    enum sim_status failure;
    bool stopped;
    struct sim_tasks tasks;
    struct sim_resources resources;
    struct sim_memories memories;
    struct sim_recorder recorder;
    struct sim_flows flows;
    struct sim_allocator allocator;
};

static inline struct sim_task *sim_task_at(const struct sim *sim, uint32_t slot) {
    return sim_pool_at(&sim->tasks.tasks, slot, sizeof(struct sim_task));
}

static inline struct sim_demand *sim_demand_at(const struct sim *sim, uint32_t index) {
    return sim_pool_at(&sim->tasks.demands, index, sizeof(struct sim_demand));
}

static inline struct sim_edge *sim_edge_at(const struct sim *sim, uint32_t index) {
    return sim_pool_at(&sim->tasks.edges, index, sizeof(struct sim_edge));
}

static inline uint32_t sim_demand_count(const struct sim_demand *demand) {
    return demand->amount < 0 ? (uint32_t)-demand->amount : demand->amount > 0;
}

static inline uint32_t sim_demand_units(const struct sim_demand *demand) {
    return demand->amount < 0 ? 1 : (uint32_t)demand->amount;
}

/* The record that a ready task is asking for a resource of. */
static inline const struct sim_demand *sim_demand_asked(const struct sim *sim,
                                                        const struct sim_task *task) {
    return task->demand == SIM_NONE ? &task->demands : sim_demand_at(sim, task->demand);
}

/* Each module sets up and takes down its part. */
void sim_tasks_init(struct sim *sim);
void sim_tasks_free(struct sim *sim);
void sim_resources_free(struct sim *sim);
void sim_memories_free(struct sim *sim);
void sim_flows_free(struct sim *sim);

/* A copy of a name from the simulation's memory, and back. NULL when exhausted. */
char *sim_name_new(struct sim *sim, const char *name);
void sim_name_free(struct sim *sim, char *name);

/* Makes room for one more record in an array that doubles. False when memory is exhausted. */
bool sim_array_reserve(struct sim *sim, void **array, uint32_t count, uint32_t *capacity,
                       size_t size);

/* ---- what tasks want of resources -------------------------------------------------------------
 */

/* A task that demands it has become ready, starts, ends. */
void sim_resource_arrive(struct sim_resource *resource, sim_time now);
void sim_resource_start(struct sim_resource *resource, sim_time now, sim_time arrived_at,
                        uint32_t units);
void sim_resource_finish(struct sim_resource *resource, sim_time now, sim_time arrived_at,
                         uint32_t units);

/* Grants at once, or puts the task into the queue and returns false. */
bool sim_resource_ask(struct sim *sim, sim_resource_id id, uint32_t slot, uint32_t units);
/* Takes the head of the queue out and grants it, if it fits; SIM_NONE otherwise. */
uint32_t sim_resource_serve(struct sim *sim, sim_resource_id id);
/* Gives units back; true when the queue may have to be served. */
void sim_resource_release(struct sim *sim, sim_resource_id id, uint32_t units);
/* The lowest resource whose queue may have to be served; SIM_NONE when there is none. */
uint32_t sim_resource_next_dirty(struct sim *sim);

/* Adds to the busy time what was no task's. */
void sim_resource_spent(struct sim *sim, sim_resource_id id, sim_time duration_ns);

/* Tells the sinks. */
void sim_recorder_report_span(struct sim *sim, const struct sim_span *span);
void sim_recorder_report_memory(struct sim *sim, const struct sim_memory_change_record *change);

#endif
