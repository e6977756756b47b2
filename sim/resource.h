/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SIM_RESOURCE_H
#define SIM_RESOURCE_H

/*
 * Servers that tasks need: exclusive (capacity 1) or counted (capacity n), with a queue that is
 * first-in-first-out or by priority (higher first, equal ones first-in-first-out). A queue never
 * overtakes its head: a large demand is not starved by small ones behind it.
 *
 * Kept for every resource: busy time (units x ns in use), tasks served, and the time integrals of
 * the queue length and of the tasks in the system with the sojourn times, so that Little's law can
 * be checked for every simulation.
 */

#include "sim/sim.h"

typedef uint32_t sim_resource_id;

enum sim_queue_order { SIM_QUEUE_FIFO, SIM_QUEUE_PRIORITY };

/* `name` is copied. Ids count from 0 in the order of creation. `capacity` is from 1 to 2^31 - 1. */
enum sim_status sim_resource_new(struct sim *sim, const char *name, uint32_t capacity,
                                 enum sim_queue_order order, sim_resource_id *id);

const char *sim_resource_name(const struct sim *sim, sim_resource_id id);
uint32_t sim_resource_capacity(const struct sim *sim, sim_resource_id id);
size_t sim_resource_count(const struct sim *sim);

/* Up to now, from the start. A task arrives at all the resources it demands when it becomes ready,
 * starts when it has been granted all, and finishes when it ends: what it holds of one while it
 * waits for another is not busy, and the task counts as waiting. Busy time is what tasks spent,
 * recorded or not, and what sim_recorder_span added. Integrals are in unit-nanoseconds (exact:
 * 128-bit inside). */
struct sim_resource_statistics {
    double busy_ns;            /* sum over tasks of units x service time, up to now */
    double queue_integral_ns;  /* tasks waiting x time */
    double wait_total_ns;      /* sum of the waiting times of the tasks that have started */
    double system_integral_ns; /* tasks waiting or in service x time */
    double sojourn_total_ns;   /* sum over finished tasks of waiting + service */
    uint64_t arrived, started, finished;
};
void sim_resource_statistics(const struct sim *sim, sim_resource_id id,
                             struct sim_resource_statistics *statistics);

#endif
