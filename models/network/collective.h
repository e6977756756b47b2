/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_NETWORK_COLLECTIVE_H
#define MODELS_NETWORK_COLLECTIVE_H

/*
 * Time of a collective over a ring of GPUs, alone on its links. `bytes` is the total buffer, as
 * nccl-tests counts it (all-gather and reduce-scatter: the gathered size; all-to-all: what one GPU
 * holds).
 *
 *     t = start + steps x latency + factor(n) x bytes / bandwidth
 *     all-reduce                   steps 2 (n-1)   factor 2 (n-1)/n
 *     all-gather, reduce-scatter   steps n-1       factor (n-1)/n
 *     broadcast                    steps n-1       factor 1
 *
 * A ring over several nodes crosses each node's NICs once per direction, and the groups that run at
 * the same time in a node share all its NICs: bandwidth = min(NVLink, NICs of the node x members in
 * the node / its GPUs), each with its measured share (one member a node has no NVLink to wait for).
 * Of any run of steps round the ring one in so many as there are members in a node goes between
 * nodes and has the network's latency.
 *
 * An all-to-all is no ring: a GPU sends to all others at once, (g-1)/n of its buffer over NVLink
 * and (n-g)/n through the NICs (g members a node), the slower of which is its time, with one step
 * of latency.
 *
 * Left out: trees, NVLS and other reductions in the network, contention between groups.
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

/* A group of `ranks` (at least 1) whose members are `stride` GPU numbers apart from GPU 0 on, GPUs
 * packed node by node. Where nodes hold unequal numbers of members, the fewest count: that node's
 * NICs are the slowest link. */
struct network_group network_group_strided(const struct hardware_cluster *cluster, int ranks,
                                           int stride);

/* Bytes/s of the slowest link of the group's ring, efficiencies included; 0 where nodes have no
 * network between them. */
double network_ring_bandwidth(const struct hardware_cluster *cluster, struct network_group group);

/* Seconds; 0 for a group of one or no bytes, infinite where the group spans nodes without a
 * network.
 */
double network_collective_s(const struct hardware_cluster *cluster, enum network_collective kind,
                            struct network_group group, double bytes);

#endif
