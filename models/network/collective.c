/* SPDX-License-Identifier: GPL-3.0-or-later */

/* The fastest of the algorithms (algorithm.c has their laws). */

#include "models/network/collective.h"

#include "sim/contract.h"

#include <math.h>
#include <stddef.h>

#define MIB 1048576.0

double network_ring_bandwidth(const struct hardware_cluster *cluster, struct network_group group) {
    struct network_lane lane = network_lane_of(cluster, group);
    return network_lane_ring(&lane);
}

/* ---- the fastest ----------------------------------------------------------------------------- */

/* Chunks of the best size fill and empty the pipeline in 2 sqrt(chunk T). Between domains there are
 * only so many buffers under way: the term saturates with the latency. */
static double pipeline_s(const struct network_lane *lane, const struct network_cost *cost) {
    if (cost->chunk_s <= 0.0 || cost->transfer_s <= 0.0 || isinf(cost->transfer_s))
        return 0.0;
    double free = 2.0 * sqrt(cost->chunk_s * cost->transfer_s);
    return lane->across ? 1.0 / (1.0 / free + 1.0 / (4.0 * cost->latency_s)) : free;
}

static struct network_estimate estimate(const struct network_lane *lane,
                                        enum network_algorithm algorithm,
                                        enum network_collective kind, double bytes, double host_s) {
    struct network_cost cost = network_algorithm_type(algorithm)->cost(lane, kind, bytes);
    struct network_estimate result = {.algorithm = algorithm,
                                      .latency_s = host_s + cost.latency_s,
                                      .transfer_s = cost.transfer_s,
                                      .pipeline_s = pipeline_s(lane, &cost)};
    result.seconds = result.latency_s + result.transfer_s + result.pipeline_s;
    return result;
}

static bool permitted(const struct network_call *call, enum network_algorithm algorithm) {
    if (call->algorithms == 0)
        return network_algorithm_type(algorithm)->library;
    return (call->algorithms >> algorithm & 1U) != 0;
}

static double uncertainty(const struct network_lane *lane, enum network_collective kind,
                          double bytes) {
    const struct hardware_fabric *fabric =
        lane->across ? &lane->node->network : &lane->node->scaleup;
    if (kind == NETWORK_ALL_TO_ALL && fabric->uncertainty_alltoall > 0.0)
        return fabric->uncertainty_alltoall;
    if (kind == NETWORK_SEND_RECV && fabric->uncertainty_send > 0.0)
        return fabric->uncertainty_send;
    return bytes < MIB ? fabric->uncertainty_small : fabric->uncertainty;
}

/* Read and written once in the memory of each GPU. */
static double copy_s(const struct hardware_cluster *cluster, double bytes) {
    double bandwidth = cluster->gpu.memory_bandwidth_bytes_per_s * cluster->gpu.memory_efficiency;
    CONTRACT(bandwidth > 0.0, "a copy in a memory without bandwidth");
    return 2.0 * bytes / bandwidth;
}

struct network_estimate network_collective_estimate(const struct hardware_cluster *cluster,
                                                    enum network_collective kind,
                                                    struct network_group group, double bytes,
                                                    const struct network_call *call) {
    const struct network_call plain = {0};
    const struct network_call *how = call == NULL ? &plain : call;
    struct network_estimate best = {.seconds = (double)INFINITY};
    CONTRACT(group.ranks >= 1 && group.ranks_per_node >= 1, "an empty group");
    CONTRACT(bytes >= 0.0 && how->host_s >= 0.0, "a negative number of bytes or seconds");
    if (group.ranks == 1 || bytes == 0.0)
        return (struct network_estimate){0};
    struct network_lane lane = network_lane_of(cluster, group);
    double skewed = kind == NETWORK_ALL_TO_ALL && how->skew > 1.0 ? how->skew * bytes : bytes;
    for (unsigned i = 0; i < NETWORK_ALGORITHM_COUNT; i++) {
        enum network_algorithm algorithm = (enum network_algorithm)i;
        if (!permitted(how, algorithm) || !network_algorithm_type(algorithm)->applies(&lane, kind))
            continue;
        struct network_estimate next = estimate(&lane, algorithm, kind, skewed, how->host_s);
        if (next.seconds < best.seconds)
            best = next;
    }
    if (how->copied)
        best.seconds += copy_s(cluster, bytes);
    best.seconds = fmax(best.seconds, how->floor_s);
    best.uncertainty = uncertainty(&lane, kind, bytes);
    return best;
}

double network_collective_s(const struct hardware_cluster *cluster, enum network_collective kind,
                            struct network_group group, double bytes) {
    return network_collective_estimate(cluster, kind, group, bytes, NULL).seconds;
}
