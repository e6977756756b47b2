/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nothing between the nodes is slower than their NICs: what a scenario has that says nothing. */
#include "models/network/topology.h"

#include <stdio.h>

static double whole(const struct hardware_cluster *cluster, int ranks, int stride, int members) {
    (void)cluster;
    (void)ranks;
    (void)stride;
    (void)members;
    return 1.0;
}

static int describe(const struct hardware_cluster *cluster, char *buffer, size_t size) {
    return snprintf(buffer, size, "%d nodes, any two at the rate of their NICs", cluster->nodes);
}

const struct network_topology_type network_topology_full = {
    "full", "nothing between nodes is slower than their NICs", 0, 0, whole, whole, describe};
