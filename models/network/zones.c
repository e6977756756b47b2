/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/network/zones.h"

#include "models/network/topology_blocks.h"
#include "sim/contract.h"

#include <math.h>

int network_zones(const struct hardware_cluster *cluster) {
    return cluster->zones.count > 1 ? cluster->zones.count : 1;
}

int network_zone_gpus(const struct hardware_cluster *cluster) {
    return hardware_cluster_gpus(cluster) / network_zones(cluster);
}

int network_zone_of(const struct hardware_cluster *cluster, int gpu) {
    return gpu / network_zone_gpus(cluster);
}

/* ---- who is where ---------------------------------------------------------------------------- */

double network_zones_crossing(const struct hardware_cluster *cluster, int ranks, int stride) {
    return network_zones(cluster) == 1 ? 0.0
                                       : network_crossing(cluster, network_zone_of, ranks, stride);
}

/* Ordered pairs in different zones, of the group whose first member is `first`. */
static double pairs_apart(const struct hardware_cluster *cluster, int ranks, int stride,
                          long long first) {
    int members[NETWORK_ZONES_LIMIT] = {0};
    double pairs = 0.0;
    for (int i = 0; i < ranks; i++)
        members[network_zone_of(cluster, (int)(first + (long long)i * stride))]++;
    for (int zone = 0; zone < network_zones(cluster); zone++)
        pairs += (double)members[zone] * (ranks - members[zone]);
    return pairs;
}

double network_zones_apart(const struct hardware_cluster *cluster, int ranks, int stride) {
    long long tile = (long long)ranks * stride, gpus = hardware_cluster_gpus(cluster);
    double pairs = 0.0, groups = 0.0;
    CONTRACT(network_zones(cluster) <= NETWORK_ZONES_LIMIT, "too many zones");
    if (network_zones(cluster) == 1 || ranks == 1)
        return 0.0;
    for (long long first = 0; first + tile <= gpus; first += tile) {
        for (int offset = 0; offset < stride; offset++)
            pairs += pairs_apart(cluster, ranks, stride, first + offset);
        groups += stride;
    }
    return groups == 0.0 ? 0.0 : pairs / (groups * ranks * (ranks - 1.0));
}

/* ---- what they get --------------------------------------------------------------------------- */

/* What leaves a zone for each of its GPUs, in units of a GPU's part of its node's NICs as
 * collectives use them. */
static double uplink(const struct hardware_cluster *cluster) {
    const struct hardware_node *node = &cluster->node;
    double part =
        node->network_bandwidth_bytes_per_s * node->network_efficiency / cluster->gpus_per_node;
    return cluster->zones.bandwidth_bytes_per_s / (network_zone_gpus(cluster) * part);
}

double network_zones_ring_share(const struct hardware_cluster *cluster, double crossing,
                                int members) {
    double load = crossing * members;
    return load <= 0.0 ? 1.0 : fmin(1.0, uplink(cluster) / load);
}

double network_zones_exchange_share(const struct hardware_cluster *cluster, int ranks, int members,
                                    double apart) {
    double outside = ranks - members;
    double crossing = outside > 0.0 ? apart * (ranks - 1.0) / outside : 0.0;
    return crossing <= 0.0 ? 1.0 : fmin(1.0, uplink(cluster) / crossing);
}
