/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_SCENARIO_GRAPH_READ_H
#define MODELS_SCENARIO_GRAPH_READ_H

/*
 * cluster.topology.switches and cluster.topology.links of the topology `graph`:
 *
 *     switches: [leaf0..1, spine0..3]
 *     links:
 *       - {from: node0..7, to: leaf0, bandwidth: 400 Gbit/s, cables: 8}
 *       - {from: leaf0..1, to: spine0..3, bandwidth: 400 Gbit/s, latency: 300 ns}
 *
 * A range stands for all its numbers; each of `from` is joined to each of `to`. A node is attached
 * as a whole (node3: all its NICs) or by the NICs of its GPUs (node3.nic0, ...), all nodes alike.
 * `bandwidth` is of one cable in one direction.
 */

#include "models/scenario/draft.h"

/* Makes cluster.topology.graph, which rlhfsim_scenario_free frees. Needs the cluster and the rest
 * of its topology; nothing is made after an error. */
void scenario_read_graph(struct scenario_draft *draft);

#endif
