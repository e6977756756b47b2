/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SIM_SIM_H
#define SIM_SIM_H

/*
 * One simulation: clock, calendar, memory of its own. Everything of a run hangs from a
 * `struct sim *`; there are no globals, so two simulations in one process are independent.
 *
 * Order of events: by time, at one instant by phase (completions, then updates, then decisions,
 * then rates), within a phase in the order they were scheduled. An event is one pop from the
 * calendar and its handler; `sim_events_executed` counts exactly those.
 *
 * Handles are (slot, generation): a handle whose event has fired or was cancelled is recognised as
 * stale, never followed. No memory is allocated per event once the pools have grown to the largest
 * number of pending events.
 */

#include "sim/time.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim;

enum sim_status {
    SIM_OK,
    SIM_NO_MEMORY, /* the allocator refused, or a built-in limit was met */
    SIM_DEADLOCK,  /* the calendar is empty while tasks are unfinished */
    SIM_TOO_LONG   /* something would end after the last instant of the clock (sim/time.h) */
};

enum sim_phase {
    SIM_PHASE_COMPLETION, /* work ends, resources are given back */
    SIM_PHASE_UPDATE,     /* state machines take note */
    SIM_PHASE_DECISION,   /* schedulers start new work */
    SIM_PHASE_RATES       /* shared rates are solved once for the instant */
};

typedef struct {
    uint32_t slot;
    uint32_t generation;
} sim_event_id;

/* Called at the event's time. `subject` and `argument` are what was given when scheduling. */
typedef void(sim_event_func)(struct sim *sim, void *subject, uint64_t argument);

/* All memory of a simulation comes from here. `reallocate(subject, old, old_size, new_size)` frees
 * when new_size is 0 and returns NULL when it refuses. What it returns is aligned for any type. */
struct sim_allocator {
    void *(*reallocate)(void *subject, void *block, size_t old_size, size_t new_size);
    void *subject;
};

/* `allocator` may be NULL for the C library's. NULL when memory is exhausted. */
struct sim *sim_new(const struct sim_allocator *allocator);
void sim_free(struct sim *sim);

/* For the other modules of sim/ and for processes that live in a simulation. */
void *sim_reallocate(struct sim *sim, void *block, size_t old_size, size_t new_size);

sim_time sim_now(const struct sim *sim);
uint64_t sim_events_executed(const struct sim *sim);
size_t sim_events_pending(const struct sim *sim);

/* Schedules `func` at `time` (not before now). *id may be NULL when the caller will not cancel.
 * SIM_TOO_LONG at SIM_TIME_MAX. */
enum sim_status sim_schedule(struct sim *sim, sim_time time, enum sim_phase phase,
                             sim_event_func *func, void *subject, uint64_t argument,
                             sim_event_id *id);

/* False when the handle is stale. A moved event counts as scheduled anew among its equals. */
bool sim_cancel(struct sim *sim, sim_event_id id);
bool sim_move(struct sim *sim, sim_event_id id, sim_time time);
bool sim_is_pending(const struct sim *sim, sim_event_id id);

/* Executes one event; false when none is left. */
bool sim_step(struct sim *sim);

/* Executes events until the calendar is empty, the next one is later than `until`, or a handler
 * called sim_stop. SIM_DEADLOCK when it is empty with unfinished tasks (see sim/task.h). The clock
 * stays at the last event executed. Not to be called from a handler. */
enum sim_status sim_run(struct sim *sim, sim_time until);
void sim_stop(struct sim *sim);

/* A handler that cannot go on, for want of memory or of time, records it here; sim_run then returns
 * it. */
void sim_fail(struct sim *sim, enum sim_status status);

#endif
