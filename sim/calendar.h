/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SIM_CALENDAR_H
#define SIM_CALENDAR_H

/*
 * The calendar of a simulation: pending events in the order (time, phase, sequence number). Known
 * to the files of sim/ only; models go through sim/sim.h.
 */

#include "sim/sim.h"

__extension__ typedef unsigned __int128 sim_calendar_key;

#define SIM_CALENDAR_SLOTS (UINT32_C(1) << 24)     /* most events pending at once */
#define SIM_CALENDAR_SEQUENCES (UINT64_C(1) << 38) /* most events ever scheduled or moved */

struct sim_calendar_event {
    sim_event_func *func;
    void *subject;
    uint64_t argument;
    uint32_t generation; /* odd while the event is pending: no handle of zeros is ever valid */
    uint32_t next_free;
};

struct sim_calendar {
    sim_calendar_key *heap; /* children of i are 4i + 1 to 4i + 4, and share a cache line */
    struct sim_calendar_event *events; /* by slot */
    uint32_t *position;                /* by slot: where the event is in the heap */
    uint32_t count;                    /* entries of the heap, the vacant root among them */
    uint32_t free;                     /* first free slot */
    uint32_t capacity;
    bool vacant; /* the root was popped and not yet replaced */
    uint64_t sequence;
    const struct sim_allocator *allocator;
    void *block; /* the one allocation that all three arrays live in */
    size_t block_size;
};

/* The allocator must outlive the calendar. Nothing is allocated yet. */
void sim_calendar_init(struct sim_calendar *calendar, const struct sim_allocator *allocator);
void sim_calendar_free(struct sim_calendar *calendar);

/* `time` is at least 0. SIM_NO_MEMORY leaves the calendar as it was. */
enum sim_status sim_calendar_push(struct sim_calendar *calendar, sim_time time,
                                  enum sim_phase phase, sim_event_func *func, void *subject,
                                  uint64_t argument, sim_event_id *id);

/* Takes the first event if there is one at or before `until`, NULL otherwise. Its handle is stale
 * from here on, and what is returned holds until the next push. */
const struct sim_calendar_event *sim_calendar_pop(struct sim_calendar *calendar, sim_time until,
                                                  sim_time *time);

/* All three are false for a stale handle; move also when the sequence numbers are used up. */
bool sim_calendar_cancel(struct sim_calendar *calendar, sim_event_id id);
bool sim_calendar_move(struct sim_calendar *calendar, sim_event_id id, sim_time time);
bool sim_calendar_holds(const struct sim_calendar *calendar, sim_event_id id);

/* Is anything pending at `time` in `phase` or before? */
bool sim_calendar_due(const struct sim_calendar *calendar, sim_time time, enum sim_phase phase);

static inline size_t sim_calendar_size(const struct sim_calendar *calendar) {
    return calendar->count - calendar->vacant;
}

#endif
