/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_NETWORK_COLLECTIVE_H
#define MODELS_NETWORK_COLLECTIVE_H

/*
 * Time of a collective over a ring of GPUs, alone on its links. `bytes` is the total buffer, as
 * nccl-tests counts it (all-gather and reduce-scatter: the gathered size).
 *
 *     t = start + steps x latency + factor(n) x bytes / bandwidth
 *     factor: all-reduce 2 (n-1)/n, all-gather, reduce-scatter and all-to-all (n-1)/n,
 *             broadcast 1
 *
 * A ring over several nodes crosses each node's NICs once per direction, and all members in a node
 * share all its NICs: bandwidth = min(NVLink, NICs of the node x members in the node / its GPUs),
 * each with its measured share. Left out: trees, NVLS, contention between groups.
 */

#include "models/hardware/cluster.h"

enum network_collective {
    NETWORK_ALL_REDUCE,
    NETWORK_ALL_GATHER,
    NETWORK_REDUCE_SCATTER,
    NETWORK_ALL_TO_ALL,
    NETWORK_BROADCAST
};

/* Who takes part: `ranks` GPUs, `ranks_per_node` of them in each node they touch. */
struct network_group {
    int ranks;
    int ranks_per_node;
};

/* A group of `ranks` whose members are `stride` GPU numbers apart, GPUs packed node by node. */
struct network_group network_group_strided(const struct hardware_cluster *cluster, int ranks,
                                           int stride);

/* Bytes/s of the slowest link of the group's ring, efficiencies included. */
double network_ring_bandwidth(const struct hardware_cluster *cluster, struct network_group group);

/* Seconds; 0 for a group of one or no bytes. */
double network_collective_s(const struct hardware_cluster *cluster, enum network_collective kind,
                            struct network_group group, double bytes);

#endif
