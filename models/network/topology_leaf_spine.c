/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Blocks (a leaf, a pod) whose uplinks carry a part of what their NICs do: 7:1 above the pods of
 * one of Meta's clusters of 24,576 H100.
 */

#include "models/network/topology_blocks.h"

#include <stdio.h>

/* By rail a block's nodes have a leaf for each of their NICs. */
static int describe_rails(const struct hardware_cluster *cluster, char *buffer, size_t size) {
    int nics = network_blocks_nics(cluster), blocks = network_blocks(cluster);
    return snprintf(buffer, size,
                    "leaf and spine by rail: %d leaves, %d for each %d nodes, %g:1 above them; %d "
                    "links below and %.0f above",
                    blocks * cluster->node.gpus, cluster->node.gpus, network_blocks_nodes(cluster),
                    cluster->topology.oversubscription, nics,
                    nics / cluster->topology.oversubscription);
}

static int describe(const struct hardware_cluster *cluster, char *buffer, size_t size) {
    int nics = network_blocks_nics(cluster), blocks = network_blocks(cluster);
    if (cluster->topology.by_rail)
        return describe_rails(cluster, buffer, size);
    return snprintf(buffer, size,
                    "leaf and spine: %d block%s of %d nodes, %g:1 above them; %d links below and "
                    "%.0f above",
                    blocks, blocks == 1 ? "" : "s", cluster->topology.block_nodes,
                    cluster->topology.oversubscription, nics,
                    nics / cluster->topology.oversubscription);
}

const struct network_topology_type network_topology_leaf_spine = {
    "leaf_spine",
    "blocks of nodes with fewer links up than NICs below",
    NETWORK_TOPOLOGY_BLOCK | NETWORK_TOPOLOGY_OVERSUBSCRIPTION | NETWORK_TOPOLOGY_RAILS,
    0,
    network_blocks_ring_share,
    network_blocks_exchange_share,
    describe};
