/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_NETWORK_GRAPH_H
#define MODELS_NETWORK_GRAPH_H

/*
 * A network that is written out: switches, links between them, and what attaches the nodes to them.
 *
 * Routes are shortest paths, by the number of links or by latency (then by the number of links).
 * Where several next links are equally near, what arrives is split over them by their cables, at
 * every switch anew: the mean of ECMP's hashes. Nodes do not forward. So the load of every link is
 * a sum over routes and nothing is drawn.
 *
 * All groups of a collective run at once, each at one rate (a ring waits for its slowest sending):
 * as coflows with a `use` on each link. Max-min fair rates (sim/flow.h) of equal weights then begin
 * at the level at which the first link is full, min over links of capacity / load, and the slowest
 * group stays there. That level is the share; tests/models/network/test_graph.c holds it against
 * the flows of sim/.
 *
 * A node has one attachment for all its NICs, or one for each of its GPUs' parts of them. Then
 * packed placement has every GPU send and receive by its own; by rail the sender's node sends by
 * the one with the number of the receiver, over NVLink first (NCCL's PXN), so that every sending
 * stays on the rail of its number.
 *
 * Left out: collisions of single flows, adaptive routing.
 */

#include "models/hardware/cluster.h"

#include <stddef.h>
#include <stdint.h>

#define NETWORK_GRAPH_SWITCHES 1024 /* at most */
#define NETWORK_GRAPH_LINKS 65536
#define NETWORK_GRAPH_TARGETS 2048 /* switches with nodes, and attachments by several links */

enum network_graph_routing { NETWORK_ROUTES_BY_HOPS, NETWORK_ROUTES_BY_LATENCY };

/* Full duplex, between vertices: switches from 0 on, attachments behind them. Attachment
 * `node x per_node + nic` is of that node; no link joins two of them. */
struct network_graph_link {
    uint32_t ends[2];
    uint32_t cables;
    double capacity;  /* of all its cables, one direction, in units of a GPU's part of the NICs */
    double latency_s; /* from 0 to 0.1 */
};

struct network_graph_plan {
    uint32_t switches, nodes, per_node;     /* per_node: 1, or GPUs in use of a node */
    const struct network_graph_link *links; /* copied */
    size_t link_count;
    enum network_graph_routing routing;
    bool by_rail;      /* needs per_node of all GPUs */
    double background; /* part of the links between switches that others use, below 1 */
};

struct network_graph;

enum network_graph_fault {
    NETWORK_GRAPH_GOOD,
    NETWORK_GRAPH_NO_MEMORY,
    NETWORK_GRAPH_TOO_MANY_TARGETS,
    NETWORK_GRAPH_LOOSE_ATTACHMENT, /* vertices[0] has no link */
    NETWORK_GRAPH_LOOSE_SWITCH,     /* no node is reached from switch vertices[0] */
    NETWORK_GRAPH_APART             /* no route from vertices[0] to vertices[1] */
};

/* *graph is the caller's to free, NULL but for GOOD. By rail only attachments of one number need
 * routes. */
enum network_graph_fault network_graph_new(const struct network_graph_plan *plan,
                                           struct network_graph **graph, uint32_t vertices[2]);
void network_graph_free(struct network_graph *graph);

/* What a group gets: shares as in topology.h, and what its routes add to a step between domains, in
 * seconds: the mean round the ring (of the slowest group), and the farthest of an exchange. */
struct network_graph_share {
    double ring, exchange;
    double ring_latency_s, exchange_latency_s;
};

/* Shares of groups of `ranks` GPUs, `stride` apart, `members` of them in each NVLink domain. Known
 * groups are remembered; may be called by several threads. */
struct network_graph_share network_graph_group(const struct hardware_cluster *cluster, int ranks,
                                               int stride, int members);

struct network_graph_facts {
    uint32_t switches, nodes, per_node;
    uint64_t cables_to_nodes, cables_between;
    uint32_t longest_links; /* of a route, those to the nodes included */
    double longest_s;
    enum network_graph_routing routing;
};

struct network_graph_facts network_graph_facts(const struct network_graph *graph);

#endif
