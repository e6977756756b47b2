/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/internal.h"

#include "sim/contract.h"

#include <string.h>

void *sim_reallocate(struct sim *sim, void *block, size_t old_size, size_t new_size) {
    return sim->allocator.reallocate(sim->allocator.subject, block, old_size, new_size);
}

char *sim_name_new(struct sim *sim, const char *name) {
    size_t size = strlen(name) + 1;
    char *copy = sim_reallocate(sim, NULL, 0, size);
    if (copy != NULL)
        memcpy(copy, name, size);
    return copy;
}

void sim_name_free(struct sim *sim, char *name) {
    if (name != NULL)
        sim_reallocate(sim, name, strlen(name) + 1, 0);
}

bool sim_array_reserve(struct sim *sim, void **array, uint32_t count, uint32_t *capacity,
                       size_t size) {
    if (count < *capacity)
        return true;
    if (count > UINT32_MAX / 2)
        return false;
    uint32_t wanted = count < 8 ? 8 : 2 * count;
    void *grown = sim_reallocate(sim, *array, *capacity * size, wanted * size);
    if (grown == NULL)
        return false;
    *array = grown;
    *capacity = wanted;
    return true;
}

sim_time sim_now(const struct sim *sim) {
    return sim->now;
}

uint64_t sim_events_executed(const struct sim *sim) {
    return sim->executed;
}

size_t sim_events_pending(const struct sim *sim) {
    return sim_calendar_size(&sim->calendar);
}

enum sim_status sim_schedule(struct sim *sim, sim_time time, enum sim_phase phase,
                             sim_event_func *func, void *subject, uint64_t argument,
                             sim_event_id *id) {
    CONTRACT(time >= sim->now, "nothing is scheduled in the past");
    if (time == SIM_TIME_MAX)
        return SIM_TOO_LONG;
    return sim_calendar_push(&sim->calendar, time, phase, func, subject, argument, id);
}

bool sim_cancel(struct sim *sim, sim_event_id id) {
    return sim_calendar_cancel(&sim->calendar, id);
}

bool sim_move(struct sim *sim, sim_event_id id, sim_time time) {
    CONTRACT(time >= sim->now, "nothing is moved into the past");
    if (time == SIM_TIME_MAX && sim_calendar_holds(&sim->calendar, id)) {
        sim_fail(sim, SIM_TOO_LONG);
        return true;
    }
    if (sim_calendar_move(&sim->calendar, id, time))
        return true;
    if (sim_calendar_holds(&sim->calendar, id))
        sim_fail(sim, SIM_NO_MEMORY); /* out of sequence numbers */
    return false;
}

bool sim_is_pending(const struct sim *sim, sim_event_id id) {
    return sim_calendar_holds(&sim->calendar, id);
}

static bool execute_next(struct sim *sim, sim_time until) {
    const struct sim_calendar_event *event = sim_calendar_pop(&sim->calendar, until, &sim->now);
    if (event == NULL)
        return false;
    sim->executed++;
    event->func(sim, event->subject, event->argument);
    return true;
}

bool sim_step(struct sim *sim) {
    return execute_next(sim, SIM_TIME_MAX);
}

enum sim_status sim_run(struct sim *sim, sim_time until) {
    sim->stopped = false;
    while (sim->failure == SIM_OK && !sim->stopped && execute_next(sim, until))
        ;
    if (sim->failure != SIM_OK || sim->stopped)
        return sim->failure;
    bool blocked = sim_events_pending(sim) == 0 && sim->tasks.unfinished > 0;
    return blocked ? SIM_DEADLOCK : SIM_OK;
}

void sim_stop(struct sim *sim) {
    sim->stopped = true;
}

void sim_fail(struct sim *sim, enum sim_status status) {
    if (sim->failure == SIM_OK)
        sim->failure = status;
}
