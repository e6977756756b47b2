/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SIM_FLOW_H
#define SIM_FLOW_H

/*
 * Links that flows share. A flow moves an amount over the links of its route at one rate; a link's
 * rate is `use` x the flow's (1 for a plain flow). Rates are max-min fair: a flow is held by its
 * own cap or by a full link on which no flow has a higher rate for its weight; nothing can be
 * raised without lowering what is not higher.
 *
 * What many take part in is one flow with a `use` for each link that it crosses: one rate, one
 * completion, whatever their number (a coflow). Played step by step it is as many flows as there
 * are steps and parties; a test holds both to agree.
 *
 * All starts, ends and changes of an instant are solved once, at its end, for those links only that
 * are joined to a changed one by flows. A flow that has its links to itself is never part of that.
 *
 * A flow first waits for its latency, then moves; it ends at the first whole nanosecond at which
 * its amount has been moved.
 */

#include "sim/sim.h"

typedef uint32_t sim_link_id;

typedef struct {
    uint32_t slot;
    uint32_t generation;
} sim_flow_id;

typedef void(sim_flow_func)(struct sim *sim, void *subject, uint64_t argument);

/* `name` is copied; ids count from 0. `capacity` is what it carries a second, above 0. */
enum sim_status sim_link_new(struct sim *sim, const char *name, double capacity, sim_link_id *id);
/* What it carries from now on. */
void sim_link_set_capacity(struct sim *sim, sim_link_id id, double capacity);

size_t sim_link_count(const struct sim *sim);
const char *sim_link_name(const struct sim *sim, sim_link_id id);
double sim_link_capacity(const struct sim *sim, sim_link_id id);
double sim_link_load(const struct sim *sim, sim_link_id id);    /* a second, as last solved */
double sim_link_carried(const struct sim *sim, sim_link_id id); /* from the start up to now */

struct sim_flow_hop {
    sim_link_id link;
    double use; /* of the link, for each unit that the flow moves; above 0 */
};

struct sim_flow_spec {
    const struct sim_flow_hop *hops; /* copied; a link at most once. NULL with `route` */
    const sim_link_id *route;        /* instead of hops: links that are used once each */
    uint32_t hop_count;              /* 0: only a cap holds it */
    double amount;                   /* at least 0 */
    double weight;                   /* share against others; 0 is 1 */
    double cap;                      /* its own limit, a second; 0: none (then it has hops) */
    sim_time latency_ns;
    sim_flow_func *on_done; /* may be NULL; called when it has ended and left its links */
    void *subject;
    uint64_t argument;
};

/* `id` may be NULL. */
enum sim_status sim_flow_start(struct sim *sim, const struct sim_flow_spec *spec, sim_flow_id *id);

/* Ends it without on_done; the part that was not moved is returned. 0 for a stale id. */
double sim_flow_cancel(struct sim *sim, sim_flow_id id);

/* A second, as last solved; 0 for a stale id and during the latency. */
double sim_flow_rate(const struct sim *sim, sim_flow_id id);

size_t sim_flows_unfinished(const struct sim *sim);

#endif
