/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Load of the uplinks. In units of one GPU's part of its node's NICs a group with m members in each
 * domain sends m units from a domain to the next (all its NICs, see network/collective.h), once
 * round the ring. So of G GPUs in all, C of which have their successor in another block, C m units
 * leave blocks, C m / B each of B blocks, whose uplinks carry (GPUs of a block) / oversubscription.
 *
 * A packed ring leaves each block once however large the block is, and hardly notices an
 * oversubscribed spine; groups of far members, a spread placement, and exchanges meet it in full.
 */

#include "models/network/topology_blocks.h"

#include "models/network/collective.h"

#include <math.h>

/* Rails that are a kind of their own say their nodes themselves. */
int network_blocks_nodes(const struct hardware_cluster *cluster) {
    const struct hardware_topology *topology = &cluster->topology;
    bool rails = topology->by_rail && topology->type != &network_topology_rail_optimised;
    return rails ? topology->block_nodes * cluster->node.gpus : topology->block_nodes;
}

int network_blocks(const struct hardware_cluster *cluster) {
    int block = network_blocks_nodes(cluster);
    return (cluster->nodes + block - 1) / block;
}

int network_blocks_nics(const struct hardware_cluster *cluster) {
    return cluster->nodes * cluster->node.gpus;
}

static int block_of(const struct hardware_cluster *cluster, int gpu) {
    int node = gpu / cluster->gpus_per_node;
    return cluster->topology.spread ? node % network_blocks(cluster)
                                    : node / network_blocks_nodes(cluster);
}

/* Groups tile the GPUs: `stride` of them side by side fill ranks x stride. */
double network_crossing(const struct hardware_cluster *cluster,
                        int (*part_of)(const struct hardware_cluster *cluster, int gpu), int ranks,
                        int stride) {
    int gpus = hardware_cluster_gpus(cluster);
    long long tile = (long long)ranks * stride;
    int crossing = 0, counted = 0;
    for (int gpu = 0; gpu < gpus; gpu++) {
        long long in_tile = gpu % tile;
        long long next = in_tile + stride < tile ? gpu + (long long)stride
                                                 : gpu - (long long)(ranks - 1) * stride;
        if (next >= gpus || gpu - in_tile + tile > gpus)
            continue; /* a tile that the cluster cuts off */
        counted++;
        crossing += part_of(cluster, gpu) != part_of(cluster, (int)next) ? 1 : 0;
    }
    return counted == 0 ? 0.0 : (double)crossing / counted;
}

double network_blocks_crossing(const struct hardware_cluster *cluster, int ranks, int stride) {
    return network_crossing(cluster, block_of, ranks, stride);
}

/* Units that a block's uplinks carry, for each of its GPUs. */
static double uplink(const struct hardware_cluster *cluster) {
    return (1.0 - cluster->topology.background) / cluster->topology.oversubscription;
}

double network_blocks_ring_share(const struct hardware_cluster *cluster, int ranks, int stride,
                                 int members) {
    double load = network_blocks_crossing(cluster, ranks, stride) * members;
    return network_blocks(cluster) == 1 || load <= 0.0 ? 1.0 : fmin(1.0, uplink(cluster) / load);
}

/* Spread, nodes that are a multiple of the blocks apart are in one block again: of the nodes of a
 * group, `apart` nodes from one to the next, those before the first that comes back. */
static double spread_blocks(const struct hardware_cluster *cluster, double nodes, int stride) {
    int blocks = network_blocks(cluster), apart = stride / cluster->gpus_per_node, first = 1;
    if (apart <= 1)
        return nodes;
    while (first * (long long)apart % blocks != 0)
        first++;
    return fmin(nodes, first);
}

/* Blocks that a group touches. */
static int touched(const struct hardware_cluster *cluster, int ranks, int stride) {
    double nodes = fmin((double)ranks * stride / cluster->gpus_per_node, cluster->nodes);
    double members = fmin(ranks, ceil(nodes));
    double blocks = cluster->topology.spread ? spread_blocks(cluster, nodes, stride)
                                             : nodes / network_blocks_nodes(cluster);
    return (int)fmax(1.0, fmin(fmin(ceil(blocks), network_blocks(cluster)), members));
}

double network_blocks_exchange_share(const struct hardware_cluster *cluster, int ranks, int stride,
                                     int members) {
    double inside = (double)ranks / touched(cluster, ranks, stride);
    double outside_domain = ranks - members;
    double crossing = outside_domain > 0.0 ? fmax(0.0, ranks - inside) / outside_domain : 0.0;
    return crossing <= 0.0 ? 1.0 : fmin(1.0, uplink(cluster) / crossing);
}
