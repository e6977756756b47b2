/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * A fat tree of switches with 64 ports (DGX SuperPOD reference architecture): 32 down and 32 up in
 * a leaf; spines below 2,048 NICs, spines and cores above. As many links at every level as NICs, so
 * only what others send (background) takes anything away. A block is the nodes below one set of
 * leaves.
 */

#include "models/network/topology_blocks.h"

#include <stdio.h>

#define HALF_PORTS 32
#define TWO_LEVELS 2048 /* NICs */

static int describe(const struct hardware_cluster *cluster, char *buffer, size_t size) {
    int nics = network_blocks_nics(cluster);
    int leaves = (nics + HALF_PORTS - 1) / HALF_PORTS;
    if (nics <= TWO_LEVELS)
        return snprintf(
            buffer, size,
            "fat tree: %d leaves and %d spines of 64 ports, %d links below and %d above "
            "the leaves",
            leaves, (leaves + 1) / 2, nics, nics);
    return snprintf(buffer, size,
                    "fat tree: %d leaves, %d spines and %d cores of 64 ports, %d links at each of "
                    "3 levels",
                    leaves, leaves, (leaves + 1) / 2, nics);
}

const struct network_topology_type network_topology_fat_tree = {
    "fat_tree",
    "as many links at every level as NICs",
    NETWORK_TOPOLOGY_BLOCK,
    HALF_PORTS,
    network_blocks_ring_share,
    network_blocks_exchange_share,
    describe};
