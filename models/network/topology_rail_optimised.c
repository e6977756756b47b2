/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Rails: the NICs of the same number of all nodes of a block meet in one leaf, so that what stays
 * on its rail within a block passes one switch; other traffic crosses NVLink first (as NCCL does),
 * or the spines. Uplinks may be oversubscribed (Alibaba HPN and others build them so between pods).
 */

#include "models/network/topology_blocks.h"

#include <stdio.h>

static int describe(const struct hardware_cluster *cluster, char *buffer, size_t size) {
    int nics = network_blocks_nics(cluster), rails = cluster->node.gpus;
    int blocks = network_blocks(cluster);
    return snprintf(buffer, size,
                    "rail-optimised: %d block%s of %d nodes, %d rails; %d leaves, %d links below "
                    "and %.0f above them",
                    blocks, blocks == 1 ? "" : "s", cluster->topology.block_nodes, rails,
                    blocks * rails, nics, nics / cluster->topology.oversubscription);
}

const struct network_topology_type network_topology_rail_optimised = {
    "rail_optimised",
    "a leaf for each NIC number in a block of nodes, spines between",
    NETWORK_TOPOLOGY_BLOCK | NETWORK_TOPOLOGY_OVERSUBSCRIPTION | NETWORK_TOPOLOGY_RAILS,
    32,
    network_blocks_ring_share,
    network_blocks_exchange_share,
    describe};
