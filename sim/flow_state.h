/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SIM_FLOW_STATE_H
#define SIM_FLOW_STATE_H

/* What flows and links consist of, and bringing them up to the present. */

#include "sim/flow.h"
#include "sim/internal.h"

#define SIM_FLOW_INLINE_HOPS 4

struct sim_hop {
    double use;
    sim_link_id link;
    uint32_t at; /* where it stands in the link's list of crossings */
};

/* One flow on one link. */
struct sim_crossing {
    uint32_t flow; /* slot */
    uint32_t hop;  /* of the flow */
    double demand; /* weight x use */
};

struct sim_link {
    double capacity, load, carried;
    sim_time since; /* when `carried` was right */
    struct sim_crossing *crossings;
    uint32_t count, room;
    uint64_t visited;    /* number of the last solve that came by */
    bool changed;        /* among those that the next solve starts from */
    double left, weight; /* while solving: capacity and weight x use that are not given out */
    uint32_t open;       /* while solving: crossings of flows without a rate */
    char *name;
};

enum sim_flow_state { SIM_FLOW_WAITING, SIM_FLOW_MOVING, SIM_FLOW_ENDED };

/* What a solve reads comes first. */
struct sim_flow {
    double weight;
    double limit; /* while solving: its cap, or what a link carries that it has to itself */
    uint64_t visited;
    struct sim_hop *more_hops; /* instead of the inline ones */
    uint32_t hop_count;
    uint32_t place;         /* among the moving ones */
    double rate, remaining; /* at `since` */
    sim_time since;
    bool rated; /* while solving: it has its rate */
    uint8_t state;
    struct sim_hop inline_hops[SIM_FLOW_INLINE_HOPS];
    double cap;
    uint32_t generation; /* odd while it exists */
    uint32_t next;       /* in the pool */
    sim_event_id arrival;
    sim_flow_func *on_done;
    void *subject;
    uint64_t argument;
};

static inline struct sim_flow *sim_flow_at(const struct sim *sim, uint32_t slot) {
    return sim_pool_at(&sim->flows.pool, slot, sizeof(struct sim_flow));
}

static inline struct sim_hop *sim_flow_hops(struct sim_flow *flow) {
    return flow->more_hops != NULL ? flow->more_hops : flow->inline_hops;
}

/* Brings what has been moved up to now. */
void sim_flow_settle(struct sim *sim, struct sim_flow *flow);
void sim_link_settle(struct sim *sim, struct sim_link *link);

/* When the flow will have ended at its present rate. */
void sim_flow_foresee(struct sim *sim, struct sim_flow *flow);

#endif
