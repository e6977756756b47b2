/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_NETWORK_GROUP_H
#define MODELS_NETWORK_GROUP_H

/*
 * The GPUs that take part in a collective. Members that NVLink joins are a domain: a node, or more
 * of them (`domain_gpus`). Groups that run at the same time in a domain share its NICs: a group
 * with m of its GPUs has that part of them.
 */

#include "models/hardware/cluster.h"

#include <stdbool.h>

enum network_collective {
    NETWORK_ALL_REDUCE,
    NETWORK_ALL_GATHER,
    NETWORK_REDUCE_SCATTER,
    NETWORK_ALL_TO_ALL,
    NETWORK_BROADCAST,
    NETWORK_GATHER,    /* everything to one member */
    NETWORK_SEND_RECV, /* one member to another: the group is the two of them */
    NETWORK_COLLECTIVE_COUNT
};

/* Who takes part: `ranks` GPUs, `ranks_per_node` of them in each NVLink domain they touch. */
struct network_group {
    int ranks;
    int ranks_per_node;
    double ring_share, exchange_share;         /* of the NICs, that the topology leaves; 0 is 1 */
    double ring_latency_s, exchange_latency_s; /* that its routes add to a step */
    double zone_share;                /* for a ring, that the network between zones leaves; 0: 1 */
    double zone_crossing, zone_apart; /* of sendings and pairs, over zones (zones.h) */
};

/* A group of `ranks` (at least 1) whose members are `stride` GPU numbers apart from GPU 0 on, GPUs
 * packed domain by domain. Where domains hold unequal numbers of members, the fewest count: that
 * domain's NICs are the slowest link. */
struct network_group network_group_strided(const struct hardware_cluster *cluster, int ranks,
                                           int stride);

/* Bytes that nccl-tests' bus bandwidth counts: bytes x this = bus bandwidth x seconds. */
double network_bus_factor(enum network_collective kind, int ranks);

#endif
