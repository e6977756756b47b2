/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SIM_MEMORY_H
#define SIM_MEMORY_H

/*
 * Simulated memories: a capacity, and who holds how much of it for what. Owners and categories are
 * indices of the model's own tables. Exceeding the capacity is not refused: it is recorded (the
 * first instant, and the peak), because the model decides what a shortage means.
 */

#include "sim/sim.h"

typedef uint32_t sim_memory_id;

/* Owners below `owners`, categories below `categories`. `name` is copied. */
enum sim_status sim_memory_new(struct sim *sim, const char *name, double capacity_bytes,
                               uint32_t owners, uint32_t categories, sim_memory_id *id);

/* Adds `bytes` (negative gives back) to what `owner` holds in `category`; what is held never goes
 * below 0 by more than rounding (a contract). Sinks are told the new amount when it changed. */
void sim_memory_change(struct sim *sim, sim_memory_id id, uint32_t owner, uint32_t category,
                       double bytes);
/* Sets instead of adds. */
void sim_memory_set(struct sim *sim, sim_memory_id id, uint32_t owner, uint32_t category,
                    double bytes);

const char *sim_memory_name(const struct sim *sim, sim_memory_id id);
size_t sim_memory_count(const struct sim *sim);
double sim_memory_capacity(const struct sim *sim, sim_memory_id id);
double sim_memory_held(const struct sim *sim, sim_memory_id id, uint32_t owner, uint32_t category);
double sim_memory_used(const struct sim *sim, sim_memory_id id);

/* The high-water mark: its size, the instant it was first reached, and the table of holders then.
 * `context` is what sim_memory_context said at that instant (the model's own number, such as a
 * phase). Changes at one instant count as they are made: what coincides is added. */
struct sim_memory_peak {
    double bytes;
    sim_time time;
    uint32_t context;
};
void sim_memory_context(struct sim *sim, uint32_t context);
void sim_memory_peak(const struct sim *sim, sim_memory_id id, struct sim_memory_peak *peak);
/* The first time that more than the capacity was held: false (and zeros) when it never was. */
bool sim_memory_overflow(const struct sim *sim, sim_memory_id id, struct sim_memory_peak *first);
double sim_memory_peak_held(const struct sim *sim, sim_memory_id id, uint32_t owner,
                            uint32_t category);

#endif
