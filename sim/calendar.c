/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/calendar.h"

#include "sim/contract.h"

#include <string.h>

/*
 * A 4-ary implicit heap (Johnson, "Priority queues with update and finding minimum spanning
 * trees", 1975; on arity and caches LaMarca and Ladner, "The influence of caches on the performance
 * of heaps", 1996). What makes it fast is not the arity alone:
 *
 * - An entry is one 128-bit integer, time 64 | phase 2 | sequence 38 | slot 24, so that an order by
 *   three keys is one comparison and children are compared without branches. The sequence number
 *   is unique: the slot is only carried along, it never decides.
 * - The four children of an entry fill one cache line. Entries past the end are all ones, so that
 *   the last group needs no case of its own.
 * - What an event carries stays in a slab by slot; only the 16 bytes above move. A third array says
 *   where in the heap a slot is, for cancel and move.
 * - A popped root stays vacant while its handler runs, and the first event that the handler
 *   schedules is sifted down from there: a hold costs one pass through the heap instead of two. The
 *   vacant root is an entry of value 0, below every other, so that everything else may go on as if
 *   it were an event. It is closed with the last entry when the next pop finds it still vacant.
 */

#define NONE UINT32_MAX
#define PAST_THE_END (~(sim_calendar_key)0)
#define LINE 64u
#define FIRST_CAPACITY 64u
#define LARGE 8192u /* entries that the first cache level does not hold: prefetching pays */
#define SLOT_BITS 24
#define SEQUENCE_BITS 38

static sim_calendar_key key_of(sim_time time, unsigned phase, uint64_t sequence, uint32_t slot) {
    uint64_t low = (uint64_t)phase << (SEQUENCE_BITS + SLOT_BITS) | sequence << SLOT_BITS | slot;
    return (sim_calendar_key)(uint64_t)time << 64 | low;
}

static uint32_t slot_of(sim_calendar_key key) {
    return (uint32_t)key & (SIM_CALENDAR_SLOTS - 1);
}

static unsigned phase_of(sim_calendar_key key) {
    return (unsigned)((uint64_t)key >> (SEQUENCE_BITS + SLOT_BITS));
}

void sim_calendar_init(struct sim_calendar *calendar, const struct sim_allocator *allocator) {
    *calendar = (struct sim_calendar){.free = NONE, .allocator = allocator};
}

void sim_calendar_free(struct sim_calendar *calendar) {
    const struct sim_allocator *allocator = calendar->allocator;
    if (calendar->block != NULL)
        allocator->reallocate(allocator->subject, calendar->block, calendar->block_size, 0);
    sim_calendar_init(calendar, allocator);
}

/* The children of the root, entries 1 to 4, must start a cache line: so the heap starts three
 * quarters into one. Three entries past the end complete the last group. */
static size_t heap_offset(size_t capacity) {
    return capacity * sizeof(struct sim_calendar_event) + LINE - sizeof(sim_calendar_key);
}

static size_t position_offset(size_t capacity) {
    return heap_offset(capacity) + (capacity + 3) * sizeof(sim_calendar_key);
}

static void lay_out(struct sim_calendar *calendar, void *block, size_t size, uint32_t capacity) {
    char *start = (char *)block + (LINE - (uintptr_t)block % LINE) % LINE;
    calendar->block = block;
    calendar->block_size = size;
    calendar->capacity = capacity;
    calendar->events = (struct sim_calendar_event *)(void *)start;
    calendar->heap = (sim_calendar_key *)(void *)(start + heap_offset(capacity));
    calendar->position = (uint32_t *)(void *)(start + position_offset(capacity));
}

/* Slots from `first` on become the free list, lowest first. */
static void link_free(struct sim_calendar *calendar, uint32_t first) {
    for (uint32_t slot = first; slot < calendar->capacity; slot++) {
        calendar->events[slot].generation = 0;
        calendar->events[slot].next_free = slot + 1 < calendar->capacity ? slot + 1 : NONE;
    }
    calendar->free = first;
}

static bool grow(struct sim_calendar *calendar) {
    const struct sim_allocator *allocator = calendar->allocator;
    struct sim_calendar old = *calendar;
    uint32_t capacity = old.capacity == 0 ? FIRST_CAPACITY : 2 * old.capacity;
    if (old.capacity >= SIM_CALENDAR_SLOTS)
        return false;
    size_t size = position_offset(capacity) + capacity * sizeof(uint32_t) + LINE;
    void *block = allocator->reallocate(allocator->subject, NULL, 0, size);
    if (block == NULL)
        return false;
    lay_out(calendar, block, size, capacity);
    if (old.block != NULL) {
        memcpy(calendar->events, old.events, old.capacity * sizeof *old.events);
        memcpy(calendar->heap, old.heap, old.count * sizeof *old.heap);
        memcpy(calendar->position, old.position, old.capacity * sizeof *old.position);
        allocator->reallocate(allocator->subject, old.block, old.block_size, 0);
    }
    memset(calendar->heap + old.count, 0xff, (capacity + 3 - old.count) * sizeof *calendar->heap);
    link_free(calendar, old.capacity);
    return true;
}

static void place(struct sim_calendar *calendar, size_t at, sim_calendar_key key) {
    calendar->heap[at] = key;
    calendar->position[slot_of(key)] = (uint32_t)at;
}

/* While four children are compared, the four lines of theirs are on their way. */
static void prefetch_grandchildren(const sim_calendar_key *heap, size_t first, size_t count) {
    if (4 * first + 16 >= count)
        return;
    const sim_calendar_key *next = heap + 4 * first + 1;
    for (size_t line = 0; line < 4; line++)
        __builtin_prefetch(next + 4 * line);
}

/* The least of four, without a branch. */
static size_t least_child(const sim_calendar_key *heap, size_t first) {
    size_t left = first + (heap[first + 1] < heap[first]);
    size_t right = first + 2 + (heap[first + 3] < heap[first + 2]);
    return heap[right] < heap[left] ? right : left;
}

/* What enters the second level will soon be the first event: its payload is sent for now. */
static inline void sift_down(struct sim_calendar *calendar, size_t at, sim_calendar_key key) {
    const sim_calendar_key *heap = calendar->heap;
    size_t count = calendar->count;
    bool large = count > LARGE;
    for (size_t first = 4 * at + 1; first < count; first = 4 * at + 1) {
        if (large)
            prefetch_grandchildren(heap, first, count);
        size_t child = least_child(heap, first);
        if (heap[child] > key)
            break;
        if (at <= 4)
            __builtin_prefetch(&calendar->events[slot_of(heap[child])]);
        place(calendar, at, heap[child]);
        at = child;
    }
    place(calendar, at, key);
}

static void sift_up(struct sim_calendar *calendar, size_t at, sim_calendar_key key) {
    while (at > 0 && key < calendar->heap[(at - 1) / 4]) {
        place(calendar, at, calendar->heap[(at - 1) / 4]);
        at = (at - 1) / 4;
    }
    place(calendar, at, key);
}

/* Replaces the entry at `at`, which may be the vacant root, by `key`. */
static void put(struct sim_calendar *calendar, size_t at, sim_calendar_key key) {
    if (at > 0 && key < calendar->heap[(at - 1) / 4])
        sift_up(calendar, at, key);
    else
        sift_down(calendar, at, key);
}

/* Fills the place of an entry that has gone with the last one. */
static void close_gap(struct sim_calendar *calendar, size_t at) {
    size_t last = --calendar->count;
    sim_calendar_key key = calendar->heap[last];
    calendar->heap[last] = PAST_THE_END;
    if (at != last)
        put(calendar, at, key);
}

static void release_slot(struct sim_calendar *calendar, uint32_t slot) {
    calendar->events[slot].generation++;
    calendar->events[slot].next_free = calendar->free;
    calendar->free = slot;
}

enum sim_status sim_calendar_push(struct sim_calendar *calendar, sim_time time,
                                  enum sim_phase phase, sim_event_func *func, void *subject,
                                  uint64_t argument, sim_event_id *id) {
    if (calendar->free == NONE && !grow(calendar))
        return SIM_NO_MEMORY;
    if (calendar->sequence == SIM_CALENDAR_SEQUENCES)
        return SIM_NO_MEMORY;
    uint32_t slot = calendar->free;
    struct sim_calendar_event *event = &calendar->events[slot];
    calendar->free = event->next_free;
    event->func = func;
    event->subject = subject;
    event->argument = argument;
    event->generation++;
    if (id != NULL)
        *id = (sim_event_id){slot, event->generation};
    sim_calendar_key key = key_of(time, phase, calendar->sequence++, slot);
    if (calendar->vacant) {
        calendar->vacant = false;
        sift_down(calendar, 0, key);
    } else {
        sift_up(calendar, calendar->count++, key);
    }
    return SIM_OK;
}

const struct sim_calendar_event *sim_calendar_pop(struct sim_calendar *calendar, sim_time until,
                                                  sim_time *time) {
    if (calendar->vacant) {
        calendar->vacant = false;
        close_gap(calendar, 0);
    }
    if (calendar->count == 0)
        return NULL;
    sim_calendar_key key = calendar->heap[0];
    sim_time first = (sim_time)(uint64_t)(key >> 64);
    if (first > until)
        return NULL;
    *time = first;
    release_slot(calendar, slot_of(key));
    calendar->heap[0] = 0;
    calendar->vacant = true;
    return &calendar->events[slot_of(key)];
}

bool sim_calendar_holds(const struct sim_calendar *calendar, sim_event_id id) {
    return id.generation % 2 == 1 && id.slot < calendar->capacity &&
           calendar->events[id.slot].generation == id.generation;
}

bool sim_calendar_cancel(struct sim_calendar *calendar, sim_event_id id) {
    if (!sim_calendar_holds(calendar, id))
        return false;
    size_t at = calendar->position[id.slot];
    INVARIANT(slot_of(calendar->heap[at]) == id.slot, "a pending event knows its place");
    close_gap(calendar, at);
    release_slot(calendar, id.slot);
    return true;
}

bool sim_calendar_move(struct sim_calendar *calendar, sim_event_id id, sim_time time) {
    if (!sim_calendar_holds(calendar, id) || calendar->sequence == SIM_CALENDAR_SEQUENCES)
        return false;
    size_t at = calendar->position[id.slot];
    unsigned phase = phase_of(calendar->heap[at]);
    put(calendar, at, key_of(time, phase, calendar->sequence++, id.slot));
    return true;
}

bool sim_calendar_due(const struct sim_calendar *calendar, sim_time time, enum sim_phase phase) {
    if (sim_calendar_size(calendar) == 0)
        return false;
    const sim_calendar_key *heap = calendar->heap;
    sim_calendar_key first = calendar->vacant ? heap[least_child(heap, 1)] : heap[0];
    return first < key_of(time, phase, SIM_CALENDAR_SEQUENCES - 1, SIM_CALENDAR_SLOTS - 1);
}
