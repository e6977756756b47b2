/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the scenario writes out, link by link (graph.h). */
#include "models/network/graph.h"
#include "models/network/topology.h"

#include <inttypes.h>
#include <stdio.h>

static double ring_share(const struct hardware_cluster *cluster, int ranks, int stride,
                         int members) {
    return network_graph_group(cluster, ranks, stride, members).ring;
}

static double exchange_share(const struct hardware_cluster *cluster, int ranks, int stride,
                             int members) {
    return network_graph_group(cluster, ranks, stride, members).exchange;
}

static int describe(const struct hardware_cluster *cluster, char *buffer, size_t size) {
    struct network_graph_facts facts = network_graph_facts(cluster->topology.graph);
    char nics[32] = "";
    if (facts.per_node > 1)
        (void)snprintf(nics, sizeof nics, " by %" PRIu32 " NICs", facts.per_node);
    return snprintf(
        buffer, size,
        "graph: %" PRIu32 " nodes%s, %" PRIu32 " switch%s; %" PRIu64 " links to nodes and %" PRIu64
        " between switches; routes by %s, up to %" PRIu32 " links and %.4g us",
        facts.nodes, nics, facts.switches, facts.switches == 1 ? "" : "es", facts.cables_to_nodes,
        facts.cables_between, facts.routing == NETWORK_ROUTES_BY_HOPS ? "hops" : "latency",
        facts.longest_links, facts.longest_s * 1e6);
}

const struct network_topology_type network_topology_graph = {
    "graph",
    "switches and links as the scenario writes them",
    NETWORK_TOPOLOGY_GRAPH,
    0,
    ring_share,
    exchange_share,
    describe};
