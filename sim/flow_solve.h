/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SIM_FLOW_SOLVE_H
#define SIM_FLOW_SOLVE_H

/* Max-min fair rates, for flow.c only. */

#include "sim/flow_state.h"

/* Rates of all flows that are joined to a changed link. Fails the simulation without memory. */
void sim_flows_solve(struct sim *sim);

/* The rate of a flow that has its links to itself. */
double sim_flow_private_rate(const struct sim *sim, struct sim_flow *flow);

void sim_flows_free_solver(struct sim *sim);

#endif
