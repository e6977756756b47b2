/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/network/zone_traffic.h"

#include "models/network/zones.h"

#include <math.h>

/* A broadcast does not go back from the last member to the first. */
static double broadcast_bytes(const struct hardware_cluster *cluster, int ranks, int stride,
                              double bytes) {
    double crossings = network_zones_crossing(cluster, ranks, stride) * ranks;
    return fmax(0.0, crossings - 1.0) * bytes / ranks;
}

double network_zone_bytes(const struct hardware_cluster *cluster, enum network_collective kind,
                          int ranks, int stride, double bytes) {
    if (network_zones(cluster) == 1 || ranks == 1)
        return 0.0;
    switch (kind) {
    case NETWORK_ALL_TO_ALL:
        return network_zones_apart(cluster, ranks, stride) * (ranks - 1.0) / ranks * bytes;
    case NETWORK_GATHER: /* each sends its part to one, who is apart from as many as the mean */
        return network_zones_apart(cluster, ranks, stride) * (ranks - 1.0) / ranks * bytes / ranks;
    case NETWORK_BROADCAST:
    case NETWORK_SEND_RECV:
        return broadcast_bytes(cluster, ranks, stride, bytes);
    default:
        return network_zones_crossing(cluster, ranks, stride) * network_bus_factor(kind, ranks) *
               bytes;
    }
}
