/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * A dragonfly (Kim, Dally, Scott, Abts, "Technology-driven, highly-scalable dragonfly topology",
 * 2008): groups, each joined to every other by its own global links. What a group sends to one
 * other group has 1 / (groups - 1) of them on the direct way, or half of all by way of third groups
 * (Valiant): the better of the two counts for rings, whose members send to one other group.
 * Exchanges go to all groups alike and take the direct way.
 */

#include "models/network/topology_blocks.h"

#include <math.h>
#include <stdio.h>

static double ring_share(const struct hardware_cluster *cluster, int ranks, int stride,
                         int members) {
    int others = network_blocks(cluster) - 1;
    double load = network_blocks_crossing(cluster, ranks, stride) * members;
    double uplink = (1.0 - cluster->topology.background) / cluster->topology.oversubscription;
    if (others <= 0 || load <= 0.0)
        return 1.0;
    return fmin(1.0, uplink * fmax(1.0 / others, 0.5) / load);
}

static int describe(const struct hardware_cluster *cluster, char *buffer, size_t size) {
    int nics = network_blocks_nics(cluster), groups = network_blocks(cluster);
    return snprintf(buffer, size,
                    "dragonfly: %d group%s of %d nodes, %g:1 between them; %d links to nodes and "
                    "%.0f between groups",
                    groups, groups == 1 ? "" : "s", cluster->topology.block_nodes,
                    cluster->topology.oversubscription, nics,
                    nics / cluster->topology.oversubscription / 2.0);
}

const struct network_topology_type network_topology_dragonfly = {
    "dragonfly",
    "groups of nodes, each joined to every other",
    NETWORK_TOPOLOGY_BLOCK | NETWORK_TOPOLOGY_OVERSUBSCRIPTION,
    0,
    ring_share,
    network_blocks_exchange_share,
    describe};
