/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * The ring (Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
 * workstations", 2009): the buffer is cut into n chunks; in each step every GPU passes one on.
 * Reducing takes n-1 steps, gathering n-1 more. A chunk waits for the one before it, so the
 * latencies add up along the ring: of 2 (n-1) steps in a row over domains of m members, at most
 * ceil(2 (n-1) / m) are between domains. tests/models/network/test_collective.c plays the steps.
 *
 * The tree: partial sums go up and results come down, log2 of the domains deep, after a reduction
 * within the domain. With two domains each byte crosses the wire once per direction where the ring
 * takes it 2 (n-1)/n times, so measured bus bandwidths exceed the NICs' rate.
 *
 * In the switch (NVLS): NVSwitch adds up and hands the sum to all, so that a GPU sends and receives
 * each byte once, whatever the number of GPUs: the rate is constant in reduced bytes.
 *
 * Pairwise: all send to all at once; what leaves the domain shares its NICs, and the more GPUs
 * there are the more flows collide on the way.
 *
 * Direct: the small all-reduce of vLLM and others: in one round every GPU reads the whole buffer of
 * all others, or in two rounds a part of each, then all sums. Better than the library up to some
 * MiB within a node.
 *
 * How many members a ring has decides what share of the link it reaches (2 GPUs have one pair of
 * neighbours, and fewer channels); the shares for 2, 4, 8 and more stand in the catalog, in between
 * they go with 1/m. Coefficients: scenarios/catalog/fabrics.csv, refit by `rlhfsim calibrate
 * collectives`. A term 2 sqrt(chunk T) was tried against switches between two and three straight
 * lines, as protocols (LL, LL128, Simple) have them: those are 1-2 points better for twice the
 * coefficients.
 */

#include "models/network/algorithm.h"

#include "sim/contract.h"

#include <math.h>

static double or_one(double share) {
    return share > 0.0 ? share : 1.0;
}

/* A share between those of 2, 4, and 8 and more members, along 1/members. */
static double share_of(double of_2, double of_4, double of_8, int members) {
    double x = 1.0 / members;
    if (members >= 8)
        return of_8;
    if (members >= 4)
        return of_8 + (of_4 - of_8) * (x - 0.125) / 0.125;
    return of_4 + (of_2 - of_4) * (x - 0.25) / 0.25;
}

static double ring_inside(const struct network_lane *lane) {
    const struct hardware_fabric *fabric = &lane->node->scaleup;
    return lane->link * lane->node->scaleup_efficiency *
           share_of(or_one(fabric->ring_of_2), or_one(fabric->ring_of_4), 1.0, lane->members);
}

static double ring_between(const struct network_lane *lane) {
    return lane->nics * lane->node->network_efficiency;
}

double network_lane_ring(const struct network_lane *lane) {
    if (!lane->across)
        return ring_inside(lane);
    /* One member a domain has no NVLink to wait for. */
    return lane->members == 1 ? ring_between(lane) : fmin(ring_inside(lane), ring_between(lane));
}

struct network_lane network_lane_of(const struct hardware_cluster *cluster,
                                    struct network_group group) {
    int used = hardware_domain_gpus(cluster);
    int nodes = used / cluster->gpus_per_node; /* of a domain */
    int members = group.ranks < group.ranks_per_node ? group.ranks : group.ranks_per_node;
    double nic = cluster->node.network_bandwidth_bytes_per_s * nodes / used;
    return (struct network_lane){
        .node = &cluster->node,
        .ranks = group.ranks,
        .members = members,
        .domains = (group.ranks + members - 1) / members,
        .link = cluster->gpu.scaleup_bandwidth_bytes_per_s,
        .nics = nic * members * fmin(or_one(group.ring_share), or_one(group.zone_share)),
        .nic = nic * or_one(group.ring_share),
        .exchange_nic = nic * or_one(group.exchange_share),
        .across = group.ranks > members,
        .ring_latency_s = cluster->node.network_latency_s + group.ring_latency_s,
        .exchange_latency_s = cluster->node.network_latency_s + group.exchange_latency_s,
        .zone_crossing = group.zone_crossing,
        .zone_apart = group.zone_apart,
        .zone_latency_s = cluster->zones.latency_s,
        .zone_bytes_per_s = cluster->zones.bandwidth_bytes_per_s};
}

/* ---- ring ------------------------------------------------------------------------------------ */

/* Latency of `steps` steps in a row, `step_s` each between domains. */
static double steps_s(const struct network_lane *lane, int steps, double step_s) {
    int between = lane->across ? (steps + lane->members - 1) / lane->members : 0;
    return between * (lane->across ? step_s : 0.0) +
           (steps - between) * lane->node->scaleup_latency_s +
           steps * lane->zone_crossing * lane->zone_latency_s;
}

static double chunk_of(const struct network_lane *lane) {
    return lane->across ? lane->node->network.chunk_s : lane->node->scaleup.chunk_s;
}

static bool ring_applies(const struct network_lane *lane, enum network_collective kind) {
    (void)lane;
    return kind != NETWORK_ALL_TO_ALL && kind != NETWORK_GATHER && kind != NETWORK_SEND_RECV;
}

/* Bytes that a GPU moves: the bus factor, and its own part, which gathering, scattering and
 * exchanging copy within its memory. */
static double moved_bytes(const struct network_lane *lane, enum network_collective kind,
                          double bytes) {
    bool own = kind == NETWORK_ALL_GATHER || kind == NETWORK_REDUCE_SCATTER;
    double copied = own && !lane->across ? lane->node->scaleup.own_copy / lane->ranks : 0.0;
    return (network_bus_factor(kind, lane->ranks) + copied) * bytes;
}

static struct network_cost ring_cost(const struct network_lane *lane, enum network_collective kind,
                                     double bytes) {
    int others = lane->ranks - 1;
    int steps = kind == NETWORK_ALL_REDUCE ? 2 * others : others;
    return (struct network_cost){
        .latency_s = lane->node->collective_start_s + steps_s(lane, steps, lane->ring_latency_s),
        .transfer_s = moved_bytes(lane, kind, bytes) / network_lane_ring(lane),
        .chunk_s = chunk_of(lane)};
}

/* ---- tree over domains ----------------------------------------------------------------------- */

static bool tree_applies(const struct network_lane *lane, enum network_collective kind) {
    const struct hardware_fabric *network = &lane->node->network;
    return kind == NETWORK_ALL_REDUCE && lane->across && network->tree > 0.0 &&
           lane->zone_crossing <= 0.0;
}

/* Reduced bytes/s within a domain: in the switch, or round a ring. */
static double reduce_inside(const struct network_lane *lane) {
    const struct hardware_fabric *scaleup = &lane->node->scaleup;
    if (lane->members == 1)
        return (double)INFINITY;
    if (scaleup->switch_members > 0 && lane->members >= scaleup->switch_members)
        return scaleup->switch_reduce * lane->link;
    return ring_inside(lane) / network_bus_factor(NETWORK_ALL_REDUCE, lane->members);
}

static struct network_cost tree_cost(const struct network_lane *lane, enum network_collective kind,
                                     double bytes) {
    const struct hardware_fabric *network = &lane->node->network;
    bool pair = lane->domains == 2;
    int inside = 2 * ((lane->members < 8 ? lane->members : 8) - 1);
    int depth = (int)ceil(log2(lane->domains));
    double wire = pair ? lane->node->network_efficiency : network->tree;
    double within = (pair ? network->pair_inside : network->tree_inside) * reduce_inside(lane);
    double crossing = network_bus_factor(kind, lane->domains) * bytes / (wire * lane->nics);
    return (struct network_cost){.latency_s = lane->node->collective_start_s +
                                              inside * lane->node->scaleup_latency_s +
                                              2.0 * depth * lane->exchange_latency_s,
                                 .transfer_s = fmax(bytes / within, crossing),
                                 .chunk_s = chunk_of(lane)};
}

/* ---- in the switch --------------------------------------------------------------------------- */

static bool switch_applies(const struct network_lane *lane, enum network_collective kind) {
    const struct hardware_fabric *scaleup = &lane->node->scaleup;
    return kind == NETWORK_ALL_REDUCE && !lane->across && scaleup->switch_members > 0 &&
           lane->members >= scaleup->switch_members;
}

static struct network_cost switch_cost(const struct network_lane *lane,
                                       enum network_collective kind, double bytes) {
    const struct hardware_fabric *scaleup = &lane->node->scaleup;
    int hops = 2 * ((lane->members < 8 ? lane->members : 8) - 1);
    (void)kind;
    return (struct network_cost){.latency_s = lane->node->collective_start_s +
                                              hops * lane->node->scaleup_latency_s,
                                 .transfer_s = bytes / (scaleup->switch_reduce * lane->link),
                                 .chunk_s = scaleup->switch_chunk_s};
}

/* ---- pairwise: all-to-all, gather, send/recv ------------------------------------------------- */

static bool pairwise_applies(const struct network_lane *lane, enum network_collective kind) {
    return !ring_applies(lane, kind);
}

static double pairwise_inside(const struct network_lane *lane) {
    const struct hardware_fabric *fabric = &lane->node->scaleup;
    double of_8 = or_one(fabric->alltoall);
    double of_4 = fabric->alltoall_of_4 > 0.0 ? fabric->alltoall_of_4 : of_8;
    double of_2 = fabric->alltoall_of_2 > 0.0 ? fabric->alltoall_of_2 : of_4;
    return lane->link * lane->node->scaleup_efficiency * share_of(of_2, of_4, of_8, lane->members);
}

/* One GPU's way out of the domain in an all-to-all. */
static double pairwise_between(const struct network_lane *lane) {
    const struct hardware_fabric *fabric = &lane->node->network;
    return lane->exchange_nic * lane->node->network_efficiency * or_one(fabric->alltoall) /
           (1.0 + fabric->alltoall_loss * lane->ranks);
}

static double pairwise_start_s(const struct network_lane *lane, enum network_collective kind) {
    double start = lane->node->collective_start_s;
    if (kind == NETWORK_ALL_TO_ALL && lane->node->scaleup.alltoall_start_s > 0.0)
        start = lane->node->scaleup.alltoall_start_s;
    return start + steps_s(lane, 1, lane->exchange_latency_s) +
           (lane->zone_apart > 0.0 ? lane->zone_latency_s : 0.0);
}

/* Within a domain the ring's share, or more where two cards have a bridge of their own. */
static struct network_cost send_cost(const struct network_lane *lane, double bytes) {
    double pair = fmax(or_one(lane->node->scaleup.ring_of_2), 1.0);
    double bandwidth = lane->across ? lane->nic * lane->node->network_efficiency
                                    : lane->link * lane->node->scaleup_efficiency * pair;
    return (struct network_cost){.latency_s = pairwise_start_s(lane, NETWORK_SEND_RECV),
                                 .transfer_s = bytes / bandwidth};
}

/* All others' parts arrive at one GPU. */
static struct network_cost gather_cost(const struct network_lane *lane, double bytes) {
    double part = bytes / lane->ranks;
    double seconds = 0.0;
    if (lane->members > 1)
        seconds = part * (lane->members - 1) / pairwise_inside(lane);
    if (lane->across)
        seconds = fmax(seconds, part * (lane->ranks - lane->members) /
                                    (lane->nic * lane->node->network_efficiency));
    if (lane->zone_apart > 0.0)
        seconds =
            fmax(seconds, part * (lane->ranks - 1.0) * lane->zone_apart / lane->zone_bytes_per_s);
    return (struct network_cost){pairwise_start_s(lane, NETWORK_GATHER), seconds, chunk_of(lane)};
}

static struct network_cost pairwise_cost(const struct network_lane *lane,
                                         enum network_collective kind, double bytes) {
    double part = bytes / lane->ranks;
    double seconds = 0.0;
    if (kind == NETWORK_SEND_RECV)
        return send_cost(lane, bytes);
    if (kind == NETWORK_GATHER)
        return gather_cost(lane, bytes);
    if (lane->members > 1)
        seconds = part * (lane->members - 1) / pairwise_inside(lane);
    if (lane->across)
        seconds = fmax(seconds, part * (lane->ranks - lane->members) / pairwise_between(lane));
    return (struct network_cost){pairwise_start_s(lane, kind), seconds, chunk_of(lane)};
}

/* ---- direct ---------------------------------------------------------------------------------- */

static bool direct_applies(const struct network_lane *lane, enum network_collective kind) {
    return kind == NETWORK_ALL_REDUCE && !lane->across && lane->node->scaleup.direct > 0.0;
}

static struct network_cost direct_cost(const struct network_lane *lane,
                                       enum network_collective kind, double bytes) {
    const struct hardware_fabric *scaleup = &lane->node->scaleup;
    bool one_other = lane->ranks == 2 && scaleup->direct_of_2 > 0.0;
    double bandwidth = (one_other ? scaleup->direct_of_2 : scaleup->direct) * lane->link;
    double one = (lane->ranks - 1) * bytes / bandwidth;
    double two = network_bus_factor(kind, lane->ranks) * bytes / bandwidth;
    bool second = lane->ranks > 2 && scaleup->direct_second_s + two < one;
    return (struct network_cost){.latency_s = scaleup->direct_start_s +
                                              (second ? scaleup->direct_second_s : 0.0),
                                 .transfer_s = second ? two : one};
}

/* ---- the table ------------------------------------------------------------------------------- */

static const struct network_algorithm_type types[NETWORK_ALGORITHM_COUNT] = {
    [NETWORK_RING] = {"ring", true, ring_applies, ring_cost},
    [NETWORK_TREE] = {"tree", true, tree_applies, tree_cost},
    [NETWORK_SWITCH] = {"switch", true, switch_applies, switch_cost},
    [NETWORK_PAIRWISE] = {"pairwise", true, pairwise_applies, pairwise_cost},
    [NETWORK_DIRECT] = {"direct", false, direct_applies, direct_cost},
};

const struct network_algorithm_type *network_algorithm_type(enum network_algorithm algorithm) {
    CONTRACT(algorithm < NETWORK_ALGORITHM_COUNT, "no such algorithm");
    return &types[algorithm];
}
