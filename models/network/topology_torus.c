/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * A torus of two or three dimensions: a node's NICs are its links to its neighbours. What travels d
 * hops takes d links, so with all links in use alike (rings in all directions at once, adaptive
 * routing) everyone gets 1 / (mean hops) of the NICs. Nodes fill the torus row by row.
 */

#include "models/network/topology.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int hops_along(int a, int b, int size) {
    int apart = abs(a - b);
    return apart < size - apart ? apart : size - apart;
}

static int hops(const int shape[3], int from, int to) {
    int sum = 0;
    for (int i = 0; i < 3; i++) {
        sum += hops_along(from % shape[i], to % shape[i], shape[i]);
        from /= shape[i];
        to /= shape[i];
    }
    return sum;
}

static double available(const struct hardware_cluster *cluster, double mean_hops) {
    double capacity = 1.0 - cluster->topology.background;
    return mean_hops <= 0.0 ? 1.0 : fmin(1.0, capacity / mean_hops);
}

/* Of the sendings that leave a node. */
static double ring_share(const struct hardware_cluster *cluster, int ranks, int stride,
                         int members) {
    int gpus = hardware_cluster_gpus(cluster), node = cluster->gpus_per_node;
    long long tile = (long long)ranks * stride;
    double sum = 0.0, counted = 0.0;
    (void)members;
    for (int gpu = 0; gpu < gpus; gpu++) {
        long long in_tile = gpu % tile;
        long long next = in_tile + stride < tile ? gpu + (long long)stride
                                                 : gpu - (long long)(ranks - 1) * stride;
        if (next >= gpus || next / node == gpu / node)
            continue;
        sum += hops(cluster->topology.shape, gpu / node, (int)(next / node));
        counted += 1.0;
    }
    return counted == 0.0 ? 1.0 : available(cluster, sum / counted);
}

/* Between any two nodes. */
static double exchange_share(const struct hardware_cluster *cluster, int ranks, int stride,
                             int members) {
    double mean = 0.0;
    (void)ranks;
    (void)stride;
    (void)members;
    for (int i = 0; i < 3; i++)
        for (int at = 0; at < cluster->topology.shape[i]; at++)
            mean +=
                (double)hops_along(0, at, cluster->topology.shape[i]) / cluster->topology.shape[i];
    mean *= (double)cluster->nodes / (cluster->nodes - 1); /* but itself */
    return available(cluster, mean);
}

static int describe(const struct hardware_cluster *cluster, char *buffer, size_t size) {
    const int *shape = cluster->topology.shape;
    int links = 0;
    for (int i = 0; i < 3; i++)
        links += shape[i] > 2 ? cluster->nodes : shape[i] == 2 ? cluster->nodes / 2 : 0;
    return snprintf(buffer, size, "torus of %d x %d x %d nodes, %d links between neighbours",
                    shape[0], shape[1], shape[2], links);
}

const struct network_topology_type network_topology_torus = {
    "torus",
    "nodes joined to their neighbours in two or three dimensions",
    NETWORK_TOPOLOGY_SHAPE,
    0,
    ring_share,
    exchange_share,
    describe};
