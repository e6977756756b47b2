/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/flow_state.h"

#include "sim/contract.h"

#include <math.h>

void sim_link_settle(struct sim *sim, struct sim_link *link) {
    link->carried += link->load * sim_time_to_s(sim->now - link->since);
    link->since = sim->now;
}

void sim_flow_settle(struct sim *sim, struct sim_flow *flow) {
    flow->remaining -= flow->rate * sim_time_to_s(sim->now - flow->since);
    flow->since = sim->now;
}

void sim_flow_foresee(struct sim *sim, struct sim_flow *flow) {
    double ns = flow->remaining > 0.0 ? ceil(flow->remaining / flow->rate * SIM_NS_PER_S) : 0.0;
    bool in_time = ns < (double)(SIM_TIME_MAX - sim->now);
    if (!in_time)
        sim_fail(sim, SIM_TOO_LONG);
    sim->flows.ends[flow->place] = in_time ? sim->now + (sim_time)ns : SIM_TIME_MAX;
}
