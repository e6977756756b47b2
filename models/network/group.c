/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/network/group.h"

#include "models/network/topology.h"
#include "models/network/zones.h"
#include "sim/contract.h"

#include <math.h>

static int minimum(int a, int b) {
    return a < b ? a : b;
}

static int greatest_common_divisor(int a, int b) {
    while (b != 0) {
        int rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* How many of members [0, ranks) are in the domain of member `first`, from `first` on. */
static int members_from(int domain, int ranks, int stride, int first) {
    long long domain_end = ((long long)first * stride / domain + 1) * domain;
    long long beyond = (domain_end + stride - 1) / stride;
    return (beyond < ranks ? (int)beyond : ranks) - first;
}

/* Where zones leave less than the topology does. */
static void cross_zones(const struct hardware_cluster *cluster, int stride,
                        struct network_group *group) {
    if (network_zones(cluster) == 1)
        return;
    int ranks = group->ranks, members = group->ranks_per_node;
    group->zone_crossing = network_zones_crossing(cluster, ranks, stride);
    group->zone_apart = network_zones_apart(cluster, ranks, stride);
    group->zone_share = network_zones_ring_share(cluster, group->zone_crossing, members);
    group->exchange_share =
        fmin(group->exchange_share,
             network_zones_exchange_share(cluster, ranks, members, group->zone_apart));
}

/* Members fall into domains in a pattern that repeats; only its first run and the last domain,
 * which may be cut short, have to be counted. */
struct network_group network_group_strided(const struct hardware_cluster *cluster, int ranks,
                                           int stride) {
    CONTRACT(ranks >= 1 && stride >= 1 && cluster->gpus_per_node >= 1, "an empty group or node");
    int domain = hardware_domain_gpus(cluster);
    int pattern = minimum(ranks, domain / greatest_common_divisor(domain, stride));
    long long last = (long long)(ranks - 1) * stride / domain;
    int last_first = (int)((last * domain + stride - 1) / stride);
    int fewest = members_from(domain, ranks, stride, last_first);
    for (int first = 0, members; first < pattern; first += members) {
        members = members_from(domain, ranks, stride, first);
        fewest = minimum(fewest, members);
    }
    struct network_group group = {
        .ranks = ranks,
        .ranks_per_node = fewest,
        .ring_share = network_topology_ring_share(cluster, ranks, stride, fewest),
        .exchange_share = network_topology_exchange_share(cluster, ranks, stride, fewest)};
    network_topology_latency(cluster, ranks, stride, fewest, &group.ring_latency_s,
                             &group.exchange_latency_s);
    cross_zones(cluster, stride, &group);
    return group;
}

double network_bus_factor(enum network_collective kind, int ranks) {
    double others = (ranks - 1.0) / ranks;
    switch (kind) {
    case NETWORK_ALL_REDUCE:
        return 2.0 * others;
    case NETWORK_BROADCAST:
    case NETWORK_SEND_RECV:
        return 1.0;
    default:
        return others;
    }
}
