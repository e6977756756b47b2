/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/network/topology.h"

#include "models/network/graph.h"
#include "sim/contract.h"

#include <string.h>

static const struct network_topology_type *const types[] = {
    &network_topology_full,       &network_topology_fat_tree,  &network_topology_rail_optimised,
    &network_topology_leaf_spine, &network_topology_dragonfly, &network_topology_torus,
    &network_topology_graph};

#define TYPES (sizeof types / sizeof *types)

const struct network_topology_type *network_topology_at(unsigned index) {
    return index < TYPES ? types[index] : NULL;
}

const struct network_topology_type *network_topology_find(const char *name) {
    for (size_t i = 0; i < TYPES; i++)
        if (strcmp(types[i]->name, name) == 0)
            return types[i];
    return NULL;
}

/* Groups within a domain never get there. */
static const struct network_topology_type *type_of(const struct hardware_cluster *cluster,
                                                   int ranks, int members) {
    return ranks <= members || cluster->nodes == 1 ? NULL : cluster->topology.type;
}

double network_topology_ring_share(const struct hardware_cluster *cluster, int ranks, int stride,
                                   int members) {
    const struct network_topology_type *type = type_of(cluster, ranks, members);
    double share = type == NULL ? 1.0 : type->ring_share(cluster, ranks, stride, members);
    INVARIANT(share > 0.0 && share <= 1.0, "a share is from above 0 to 1");
    return share;
}

double network_topology_exchange_share(const struct hardware_cluster *cluster, int ranks,
                                       int stride, int members) {
    const struct network_topology_type *type = type_of(cluster, ranks, members);
    double share = type == NULL ? 1.0 : type->exchange_share(cluster, ranks, stride, members);
    INVARIANT(share > 0.0 && share <= 1.0, "a share is from above 0 to 1");
    return share;
}

void network_topology_latency(const struct hardware_cluster *cluster, int ranks, int stride,
                              int members, double *ring_s, double *exchange_s) {
    const struct network_topology_type *type = type_of(cluster, ranks, members);
    struct network_graph_share share = {0};
    if (type == &network_topology_graph)
        share = network_graph_group(cluster, ranks, stride, members);
    *ring_s = share.ring_latency_s;
    *exchange_s = share.exchange_latency_s;
}
