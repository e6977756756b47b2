/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_NETWORK_ALGORITHM_H
#define MODELS_NETWORK_ALGORITHM_H

/*
 * The algorithms of collectives as a const table: for whom each is there, and what it costs.
 */

#include "models/network/group.h"

enum network_algorithm {
    NETWORK_RING,
    NETWORK_TREE,
    NETWORK_SWITCH, /* NVLS */
    NETWORK_PAIRWISE,
    NETWORK_DIRECT, /* small all-reduces of inference engines */
    NETWORK_ALGORITHM_COUNT
};

/* A group on its links, worked out once. */
struct network_lane {
    const struct hardware_node *node;
    int ranks, members, domains;               /* of the group, in each domain, touched */
    double link;                               /* NVLink of one GPU, peak bytes/s */
    double nics;                               /* of a domain, this group's part, peak bytes/s */
    double nic;                                /* one GPU's part of them */
    double exchange_nic;                       /* the same where all send to all */
    bool across;                               /* over several domains */
    double ring_latency_s, exchange_latency_s; /* of a step between domains, routes included */
    double zone_crossing, zone_apart;          /* as in the group */
    double zone_latency_s, zone_bytes_per_s;
};

struct network_cost {
    double latency_s;
    double transfer_s;
    double chunk_s; /* 0: no pipeline */
};

struct network_algorithm_type {
    const char *name;
    bool library; /* the collective library takes it by itself */
    bool (*applies)(const struct network_lane *lane, enum network_collective kind);
    struct network_cost (*cost)(const struct network_lane *lane, enum network_collective kind,
                                double bytes);
};

const struct network_algorithm_type *network_algorithm_type(enum network_algorithm algorithm);

struct network_lane network_lane_of(const struct hardware_cluster *cluster,
                                    struct network_group group);

/* Bytes/s of the ring's slowest link. */
double network_lane_ring(const struct network_lane *lane);

#endif
