/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_NETWORK_TOPOLOGY_BLOCKS_H
#define MODELS_NETWORK_TOPOLOGY_BLOCKS_H

/* Topologies of blocks of nodes with uplinks: leaves below spines, pods, groups of a dragonfly. */

#include "models/network/topology.h"

/* Nodes whose NICs reach each other below the uplinks: those of a block; by rail those of which a
 * leaf has a NIC each. Blocks of so many that the cluster's nodes fill. */
int network_blocks_nodes(const struct hardware_cluster *cluster);
int network_blocks(const struct hardware_cluster *cluster);

/* Of all members' sendings to the next of their group: the part that leaves where they are (the
 * number that `part_of` gives), or a block. */
double network_crossing(const struct hardware_cluster *cluster,
                        int (*part_of)(const struct hardware_cluster *cluster, int gpu), int ranks,
                        int stride);
double network_blocks_crossing(const struct hardware_cluster *cluster, int ranks, int stride);

/* Shares where a block's uplinks carry 1 / oversubscription of its NICs. */
double network_blocks_ring_share(const struct hardware_cluster *cluster, int ranks, int stride,
                                 int members);
double network_blocks_exchange_share(const struct hardware_cluster *cluster, int ranks, int stride,
                                     int members);

/* NICs of all nodes: one a GPU. */
int network_blocks_nics(const struct hardware_cluster *cluster);

#endif
