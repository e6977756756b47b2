/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * The ring (Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
 * workstations", 2009): the buffer is cut into n chunks; in each step every GPU passes one on.
 * Reducing takes n-1 steps, gathering n-1 more. A chunk waits for the one before it, so the
 * latencies add up along the ring: of 2 (n-1) steps in a row over nodes of g members, at most
 * ceil(2 (n-1) / g) are between nodes. tests/models/network/test_collective.c plays the steps.
 *
 * Against bandwidths measured with nccl-tests, with shares taken from other runs: rings of 8 GiB
 * and more within 9 % (A100 node, two nodes of H200, 128 H200); 512 MiB in a node 7-15 % too fast,
 * since the filling of the chunks' pipeline is left out. Where NCCL does not take the ring it is
 * faster: NVLS (all-reduce of 5 and more GPUs on NVSwitch since Hopper) by a third, a tree over two
 * nodes (which sends each byte over the wire once) by a factor of 2.
 */

#include "models/network/collective.h"

#include "sim/contract.h"

#include <math.h>
#include <stdbool.h>

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

/* How many of members [0, ranks) are in the node of member `first`, from `first` on. */
static int members_from(const struct hardware_cluster *cluster, int ranks, int stride, int first) {
    long long node_end =
        ((long long)first * stride / cluster->gpus_per_node + 1) * cluster->gpus_per_node;
    long long beyond = (node_end + stride - 1) / stride;
    return (beyond < ranks ? (int)beyond : ranks) - first;
}

/* Members fall into nodes in a pattern that repeats; only its first run and the last node, which
 * may be cut short, have to be counted. */
struct network_group network_group_strided(const struct hardware_cluster *cluster, int ranks,
                                           int stride) {
    CONTRACT(ranks >= 1 && stride >= 1 && cluster->gpus_per_node >= 1, "an empty group or node");
    int node = cluster->gpus_per_node;
    int pattern = minimum(ranks, node / greatest_common_divisor(node, stride));
    long long last_node = (long long)(ranks - 1) * stride / node;
    int last_first = (int)((last_node * node + stride - 1) / stride);
    int fewest = members_from(cluster, ranks, stride, last_first);
    for (int first = 0, members; first < pattern; first += members) {
        members = members_from(cluster, ranks, stride, first);
        fewest = minimum(fewest, members);
    }
    return (struct network_group){.ranks = ranks, .ranks_per_node = fewest};
}

static bool is_inside_a_node(struct network_group group) {
    return group.ranks <= group.ranks_per_node;
}

static double scaleup_bandwidth(const struct hardware_cluster *cluster) {
    return cluster->gpu.scaleup_bandwidth_bytes_per_s * cluster->node.scaleup_efficiency;
}

/* The NICs' rate for one of a node's GPUs. */
static double network_bandwidth_per_gpu(const struct hardware_cluster *cluster) {
    return cluster->node.network_bandwidth_bytes_per_s * cluster->node.network_efficiency /
           cluster->gpus_per_node;
}

double network_ring_bandwidth(const struct hardware_cluster *cluster, struct network_group group) {
    double inside = scaleup_bandwidth(cluster);
    if (is_inside_a_node(group))
        return inside;
    double between = network_bandwidth_per_gpu(cluster) * group.ranks_per_node;
    return group.ranks_per_node == 1 ? between : fmin(inside, between);
}

/* Latency of `steps` steps in a row round the ring. */
static double steps_s(const struct hardware_cluster *cluster, struct network_group group,
                      int steps) {
    if (is_inside_a_node(group))
        return steps * cluster->node.scaleup_latency_s;
    int between = (steps + group.ranks_per_node - 1) / group.ranks_per_node;
    return between * cluster->node.network_latency_s +
           (steps - between) * cluster->node.scaleup_latency_s;
}

static double all_to_all_s(const struct hardware_cluster *cluster, struct network_group group,
                           double bytes) {
    int inside = minimum(group.ranks, group.ranks_per_node);
    double per_rank = bytes / group.ranks;
    double seconds = 0.0;
    if (inside > 1)
        seconds = per_rank * (inside - 1) / scaleup_bandwidth(cluster);
    if (group.ranks > inside)
        seconds =
            fmax(seconds, per_rank * (group.ranks - inside) / network_bandwidth_per_gpu(cluster));
    return steps_s(cluster, group, 1) + seconds;
}

static double ring_s(const struct hardware_cluster *cluster, struct network_group group, int steps,
                     double moved_bytes) {
    return steps_s(cluster, group, steps) + moved_bytes / network_ring_bandwidth(cluster, group);
}

double network_collective_s(const struct hardware_cluster *cluster, enum network_collective kind,
                            struct network_group group, double bytes) {
    CONTRACT(group.ranks >= 1 && group.ranks_per_node >= 1, "an empty group");
    CONTRACT(bytes >= 0.0, "a negative number of bytes");
    if (group.ranks == 1 || bytes == 0.0)
        return 0.0;
    int others = group.ranks - 1;
    double moved = bytes * others / group.ranks;
    double seconds = 0.0;
    switch (kind) {
    case NETWORK_ALL_REDUCE:
        seconds = ring_s(cluster, group, 2 * others, 2.0 * moved);
        break;
    case NETWORK_ALL_GATHER:
    case NETWORK_REDUCE_SCATTER:
        seconds = ring_s(cluster, group, others, moved);
        break;
    case NETWORK_BROADCAST:
        seconds = ring_s(cluster, group, others, bytes);
        break;
    case NETWORK_ALL_TO_ALL:
        seconds = all_to_all_s(cluster, group, bytes);
        break;
    }
    return cluster->node.collective_start_s + seconds;
}
