/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Networks that are written out: against the kinds that they spell, by hand, and random ones
 * against routes that are walked one by one and the max-min fair flows of the engine. */
#include "models/network/graph.h"

#include "models/network/collective.h"
#include "models/network/topology.h"
#include "sim/flow.h"
#include "tests/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NIC 10e9 /* bytes/s of a GPU's part */
#define MOST_LINKS 4096

/* Links in units of one GPU's part of the NICs. */
struct drawing {
    struct network_graph_link links[MOST_LINKS];
    struct network_graph_plan plan;
};

static struct drawing drawing;

static void begin(uint32_t switches, uint32_t nodes, uint32_t per_node) {
    drawing.plan = (struct network_graph_plan){
        .switches = switches, .nodes = nodes, .per_node = per_node, .links = drawing.links};
}

static void join(uint32_t a, uint32_t b, uint32_t cables, double capacity, double latency_s) {
    ck_assert_uint_lt(drawing.plan.link_count, MOST_LINKS);
    drawing.links[drawing.plan.link_count++] =
        (struct network_graph_link){{a, b}, cables, capacity, latency_s};
}

static uint32_t attachment(uint32_t index) {
    return drawing.plan.switches + index;
}

static struct hardware_cluster cluster_of(const char *kind, int nodes, int gpus, int block,
                                          double over) {
    struct hardware_cluster cluster = {
        .gpu = {.scaleup_bandwidth_bytes_per_s = 1e12},
        .node = {.gpus = gpus,
                 .network_bandwidth_bytes_per_s = NIC * gpus,
                 .scaleup_efficiency = 1.0,
                 .network_efficiency = 1.0},
        .nodes = nodes,
        .gpus_per_node = gpus,
        .topology = {.block_nodes = block, .oversubscription = over}};
    cluster.topology.type = network_topology_find(kind);
    ck_assert_ptr_nonnull(cluster.topology.type);
    return cluster;
}

/* The drawing as a cluster's network. */
static struct hardware_cluster graph_of(int gpus) {
    struct hardware_cluster cluster = cluster_of("graph", (int)drawing.plan.nodes, gpus, 0, 1.0);
    uint32_t vertices[2];
    ck_assert_int_eq(network_graph_new(&drawing.plan, &cluster.topology.graph, vertices),
                     NETWORK_GRAPH_GOOD);
    return cluster;
}

static enum network_graph_fault fault_of(uint32_t vertices[2]) {
    struct network_graph *graph = NULL;
    enum network_graph_fault fault = network_graph_new(&drawing.plan, &graph, vertices);
    network_graph_free(graph);
    return fault;
}

/* ---- against the kinds ----------------------------------------------------------------------- */

/* Leaves with `block` whole nodes below and `spines` above, whose links carry 1 / over together;
 * node i is on leaf i / block, or spread on leaf i % leaves. */
static void draw_leaves(uint32_t nodes, uint32_t gpus, uint32_t block, uint32_t spines, double over,
                        bool spread) {
    uint32_t leaves = nodes / block;
    begin(leaves + spines, nodes, 1);
    for (uint32_t node = 0; node < nodes; node++)
        join(attachment(node), spread ? node % leaves : node / block, gpus, gpus, 0.0);
    for (uint32_t leaf = 0; leaf < leaves; leaf++)
        for (uint32_t spine = 0; spine < spines; spine++)
            join(leaf, leaves + spine, 1, block * gpus / over / spines, 0.0);
}

/* Every even group of the cluster gets of both the same. */
static void assert_same_shares(const struct hardware_cluster *graph,
                               const struct hardware_cluster *kind) {
    int gpus = hardware_cluster_gpus(graph);
    for (int ranks = 2; ranks <= gpus; ranks *= 2)
        for (int stride = 1; ranks * stride <= gpus; stride *= 2) {
            struct network_group a = network_group_strided(graph, ranks, stride);
            struct network_group b = network_group_strided(kind, ranks, stride);
            assert_relative(a.ring_share, b.ring_share, 1e-12);
            assert_relative(a.exchange_share, b.exchange_share, 1e-12);
            assert_relative(network_collective_s(graph, NETWORK_ALL_REDUCE, a, 1e9),
                            network_collective_s(kind, NETWORK_ALL_REDUCE, b, 1e9), 1e-12);
        }
}

START_TEST(an_oversubscribed_spine_is_the_kind) {
    for (int spread = 0; spread < 2; spread++)
        for (double over = 1.0; over < 10.0; over += 3.0) {
            struct hardware_cluster kind = cluster_of("leaf_spine", 32, 8, 8, over);
            kind.topology.spread = spread == 1;
            draw_leaves(32, 8, 8, 4, over, spread == 1);
            struct hardware_cluster graph = graph_of(8);
            assert_same_shares(&graph, &kind);
            network_graph_free(graph.topology.graph);
        }
}
END_TEST

/* What the 7:1 spine leaves of a GPU's part, by hand: a seventh where all send across, and of an
 * exchange over 16 nodes, where 64 of the 120 outside a node are across, 120 / 64 / 7. */
START_TEST(an_oversubscribed_spine_by_hand) {
    draw_leaves(16, 8, 8, 4, 7.0, false);
    struct hardware_cluster graph = graph_of(8);
    assert_relative(network_group_strided(&graph, 2, 64).ring_share, 1.0 / 7.0, 1e-12);
    assert_relative(network_group_strided(&graph, 128, 1).exchange_share, 120.0 / 64 / 7, 1e-12);
    ck_assert_double_eq(network_group_strided(&graph, 128, 1).ring_share, 1.0);
    network_graph_free(graph.topology.graph);
    drawing.plan.background = 0.5;
    graph = graph_of(8);
    assert_relative(network_group_strided(&graph, 2, 64).ring_share, 1.0 / 14.0, 1e-12);
    network_graph_free(graph.topology.graph);
}
END_TEST

/* 16 leaves of 4 nodes, pods of 4 leaves with 4 spines, 16 cores: as many links at every level. */
START_TEST(a_fat_tree_of_three_levels_is_the_kind) {
    struct hardware_cluster kind = cluster_of("fat_tree", 64, 8, 32, 1.0);
    begin(16 + 16 + 16, 64, 1);
    for (uint32_t node = 0; node < 64; node++)
        join(attachment(node), node / 4, 8, 8.0, 0.0);
    for (uint32_t leaf = 0; leaf < 16; leaf++)
        for (uint32_t up = 0; up < 4; up++)
            join(leaf, 16 + leaf / 4 * 4 + up, 8, 8.0, 0.0);
    for (uint32_t spine = 0; spine < 16; spine++)
        for (uint32_t up = 0; up < 4; up++)
            join(16 + spine, 32 + spine % 4 * 4 + up, 8, 8.0, 0.0);
    struct hardware_cluster graph = graph_of(8);
    assert_same_shares(&graph, &kind);
    struct network_graph_facts facts = network_graph_facts(graph.topology.graph);
    ck_assert_uint_eq(facts.cables_to_nodes, 512);
    ck_assert_uint_eq(facts.cables_between, 1024);
    ck_assert_uint_eq(facts.longest_links, 6);
    network_graph_free(graph.topology.graph);
}
END_TEST

/* ---- rails ----------------------------------------------------------------------------------- */

/* `nodes` nodes of 8 NICs, NIC k of all of them in leaf k, 4 spines with 1 / over. */
static void draw_rails(uint32_t nodes, double over, bool by_rail) {
    begin(8 + 4, nodes, 8);
    drawing.plan.by_rail = by_rail;
    for (uint32_t node = 0; node < nodes; node++)
        for (uint32_t nic = 0; nic < 8; nic++)
            join(attachment(8 * node + nic), nic, 1, 1.0, 0.0);
    for (uint32_t leaf = 0; leaf < 8; leaf++)
        for (uint32_t spine = 0; spine < 4; spine++)
            join(leaf, 8 + spine, 1, nodes / over / 4, 0.0);
}

/* GPUs of one number are on one rail: their ring stays on its leaf however narrow the spine is.
 * Packed into leaves of 64 NICs, 8 nodes with all of theirs, pairs 64 GPUs apart get a seventh. */
START_TEST(a_ring_on_its_rail) {
    struct hardware_cluster packed = cluster_of("leaf_spine", 16, 8, 8, 7.0);
    struct hardware_cluster rails = packed, kind = cluster_of("rail_optimised", 16, 8, 64, 7.0);
    rails.topology.by_rail = true;
    draw_rails(16, 7.0, true);
    struct hardware_cluster graph = graph_of(8);
    assert_relative(network_group_strided(&packed, 2, 64).ring_share, 1.0 / 7.0, 1e-12);
    ck_assert_double_eq(network_group_strided(&rails, 2, 64).ring_share, 1.0);
    ck_assert_double_eq(network_group_strided(&kind, 2, 64).ring_share, 1.0);
    ck_assert_double_eq(network_group_strided(&graph, 2, 64).ring_share, 1.0);
    ck_assert_double_eq(network_group_strided(&graph, 16, 8).ring_share, 1.0);
    assert_same_shares(&graph, &rails);
    assert_same_shares(&graph, &kind);
    network_graph_free(graph.topology.graph);
    draw_rails(16, 1e6, true); /* as good as no spine */
    graph = graph_of(8);
    assert_same_shares(&graph, &kind);
    network_graph_free(graph.topology.graph);
}
END_TEST

/* 64 nodes with leaves of 4 whole nodes are, by rail, groups of 32 nodes with 8 rails each. */
START_TEST(rails_of_several_groups) {
    struct hardware_cluster rails = cluster_of("leaf_spine", 64, 8, 4, 3.0);
    struct hardware_cluster kind = cluster_of("rail_optimised", 64, 8, 32, 3.0);
    char words[192];
    rails.topology.by_rail = true;
    assert_same_shares(&rails, &kind);
    assert_relative(network_group_strided(&rails, 2, 256).ring_share, 1.0 / 3.0, 1e-12);
    (void)rails.topology.type->describe(&rails, words, sizeof words);
    ck_assert_str_eq(words, "leaf and spine by rail: 16 leaves, 8 for each 32 nodes, 3:1 above "
                            "them; 512 links below and 171 above");
}
END_TEST

/* Exchanges over rails of 16 nodes: each GPU sends to 120 others, by its own NIC 105 of them on
 * other rails, through a 7:1 spine. By rail NVLink comes first, and the spine carries nothing. */
START_TEST(an_exchange_changes_rails_over_nvlink) {
    draw_rails(16, 7.0, false);
    struct hardware_cluster packed = graph_of(8);
    draw_rails(16, 7.0, true);
    struct hardware_cluster rails = graph_of(8);
    assert_relative(network_group_strided(&packed, 128, 1).exchange_share, 120.0 / 105 / 7, 1e-12);
    ck_assert_double_eq(network_group_strided(&rails, 128, 1).exchange_share, 1.0);
    ck_assert_double_eq(network_group_strided(&packed, 16, 8).exchange_share, 1.0);
    network_graph_free(packed.topology.graph);
    network_graph_free(rails.topology.graph);
}
END_TEST

/* ---- routes by hand -------------------------------------------------------------------------- */

/* From leaf 0 to leaf 1 directly, 2 us and a quarter of a part, or over switch 2, twice 0.5 us and
 * 0.75 of a part. By hops the direct link alone is taken, by latency the detour alone. */
static void draw_detour(enum network_graph_routing routing) {
    begin(3, 2, 1);
    drawing.plan.routing = routing;
    join(attachment(0), 0, 1, 1.0, 0.1e-6);
    join(1, attachment(1), 1, 1.0, 0.3e-6);
    join(0, 1, 1, 0.25, 2e-6);
    join(0, 2, 1, 0.75, 0.5e-6);
    join(2, 1, 1, 0.75, 0.5e-6);
}

START_TEST(routes_by_hops_and_by_latency) {
    draw_detour(NETWORK_ROUTES_BY_HOPS);
    struct hardware_cluster graph = graph_of(1);
    struct network_group group = network_group_strided(&graph, 2, 1);
    assert_relative(group.ring_share, 0.25, 1e-12);
    assert_relative(group.exchange_share, 0.25, 1e-12);
    assert_relative(group.ring_latency_s, 2.4e-6, 1e-12);
    assert_relative(group.exchange_latency_s, 2.4e-6, 1e-12);
    network_graph_free(graph.topology.graph);
    draw_detour(NETWORK_ROUTES_BY_LATENCY);
    graph = graph_of(1);
    group = network_group_strided(&graph, 2, 1);
    assert_relative(group.ring_share, 0.75, 1e-12);
    assert_relative(group.ring_latency_s, 1.4e-6, 1e-12);
    network_graph_free(graph.topology.graph);
}
END_TEST

/* Three spines, one of them with two cables to each leaf: a quarter, a quarter and a half. The
 * half goes over links that carry 0.4 of a part, so the ring runs at 0.8. */
START_TEST(equal_paths_share_by_their_cables) {
    begin(5, 2, 1);
    for (uint32_t leaf = 0; leaf < 2; leaf++) {
        join(attachment(leaf), leaf, 1, 1.0, 0.0);
        join(leaf, 2, 1, 0.9, 1e-6);
        join(leaf, 3, 1, 0.9, 1e-6);
        join(leaf, 4, 2, 0.4, 3e-6);
    }
    struct hardware_cluster graph = graph_of(1);
    struct network_group group = network_group_strided(&graph, 2, 1);
    assert_relative(group.ring_share, 0.8, 1e-12);
    assert_relative(group.ring_latency_s, 2e-6 * 0.5 + 6e-6 * 0.5, 1e-12);
    network_graph_free(graph.topology.graph);
}
END_TEST

/* A ring of 8 GPUs on 4 nodes in 2 leaves: of its 4 sendings between nodes two stay in a leaf, 2
 * links of 1 us, and two cross, 4 links: 3 us on average. An all-reduce has 14 steps in a row, 7 of
 * them between nodes; an all-to-all waits for the farthest. */
START_TEST(latencies_of_routes_reach_collectives) {
    draw_leaves(4, 2, 2, 2, 1.0, false);
    struct hardware_cluster flat = cluster_of("full", 4, 2, 0, 1.0);
    flat.node.network_latency_s = 5e-6;
    flat.node.collective_start_s = 9e-6;
    for (size_t i = 0; i < drawing.plan.link_count; i++)
        drawing.links[i].latency_s = 1e-6;
    struct hardware_cluster graph = graph_of(2);
    graph.node = flat.node;
    struct network_group a = network_group_strided(&graph, 8, 1);
    struct network_group b = network_group_strided(&flat, 8, 1);
    assert_relative(network_collective_s(&graph, NETWORK_ALL_REDUCE, a, 1e6),
                    network_collective_s(&flat, NETWORK_ALL_REDUCE, b, 1e6) + 7 * 3e-6, 1e-12);
    assert_relative(network_collective_s(&graph, NETWORK_ALL_TO_ALL, a, 1e6),
                    network_collective_s(&flat, NETWORK_ALL_TO_ALL, b, 1e6) + 4e-6, 1e-12);
    /* Within a node nothing is added. */
    ck_assert_double_eq(network_group_strided(&graph, 2, 1).ring_latency_s, 0.0);
    network_graph_free(graph.topology.graph);
}
END_TEST

/* ---- random graphs --------------------------------------------------------------------------- */

static uint64_t draw(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* Switches in a chain with further links, every attachment on one or two of them. */
static void draw_random(uint64_t *state, uint32_t gpus) {
    begin(1 + (uint32_t)(draw(state) % 6), 2 + (uint32_t)(draw(state) % 6),
          draw(state) % 2 == 0 ? 1 : gpus);
    uint32_t switches = drawing.plan.switches;
    drawing.plan.by_rail = drawing.plan.per_node > 1 && draw(state) % 2 == 0;
    drawing.plan.routing = (enum network_graph_routing)(draw(state) % 2);
    drawing.plan.background = (double)(draw(state) % 3) / 4.0;
    for (uint32_t a = 0; a < drawing.plan.nodes * drawing.plan.per_node; a++) {
        uint32_t first = (uint32_t)(draw(state) % switches);
        join(attachment(a), first, 1 + (uint32_t)(draw(state) % 2),
             (double)(1 + draw(state) % 4) / 2.0, (double)(draw(state) % 3) * 1e-7);
        if (switches > 1 && draw(state) % 3 == 0)
            join((first + 1) % switches, attachment(a), 1, 0.5, (double)(draw(state) % 3) * 1e-7);
    }
    for (uint32_t a = 0; a < switches; a++)
        for (uint32_t b = a + 1; b < switches; b++)
            if (b == a + 1 || draw(state) % 2 == 0)
                join(a, b, 1 + (uint32_t)(draw(state) % 3), (double)(1 + draw(state) % 5) / 3.0,
                     (double)(1 + draw(state) % 3) * 1e-7);
}

#define MOST_VERTICES 64

/* Cost of the shortest way between any two vertices that does not lead through an attachment, by
 * Floyd and Warshall: latency and links in tenths of a microsecond and thousandths of that. */
static long cost_of(const struct network_graph_link *link) {
    long tenths = lround(link->latency_s * 1e7);
    return drawing.plan.routing == NETWORK_ROUTES_BY_HOPS ? 1 : tenths * 1000 + 1;
}

static void all_ways(long way[MOST_VERTICES][MOST_VERTICES], uint32_t vertices) {
    for (uint32_t a = 0; a < vertices; a++)
        for (uint32_t b = 0; b < vertices; b++)
            way[a][b] = a == b ? 0 : 1000000000;
    for (size_t i = 0; i < drawing.plan.link_count; i++) {
        uint32_t a = drawing.links[i].ends[0], b = drawing.links[i].ends[1];
        way[a][b] = way[b][a] = cost_of(&drawing.links[i]);
    }
    for (uint32_t k = 0; k < drawing.plan.switches; k++)
        for (uint32_t a = 0; a < vertices; a++)
            for (uint32_t b = 0; b < vertices; b++)
                if (way[a][k] + way[k][b] < way[a][b])
                    way[a][b] = way[a][k] + way[k][b];
}

/* Walks `units` from a vertex to another over all shortest ways, adding to 2 x link + direction;
 * returns the mean latency. */
static double walk(long way[MOST_VERTICES][MOST_VERTICES], uint32_t from, uint32_t to, double units,
                   double *use) {
    double cables = 0.0, latency = 0.0;
    if (from == to)
        return 0.0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < drawing.plan.link_count; i++)
            for (int end = 0; end < 2; end++) {
                const struct network_graph_link *link = &drawing.links[i];
                uint32_t next = link->ends[1 - end];
                bool through = next == to || next < drawing.plan.switches;
                if (link->ends[end] != from || !through ||
                    cost_of(link) + way[next][to] != way[from][to])
                    continue;
                if (pass == 0) {
                    cables += link->cables;
                    continue;
                }
                double part = link->cables / cables;
                use[2 * i + (size_t)end] += part * units;
                latency += part * (link->latency_s + walk(way, next, to, part * units, use));
            }
    return latency;
}

static uint32_t at_gpu(int gpu, int nic, int gpus) {
    uint32_t node = (uint32_t)(gpu / gpus);
    return attachment(drawing.plan.per_node == 1 ? node
                                                 : node * drawing.plan.per_node + (uint32_t)nic);
}

/* From GPU to GPU, by the sender's NIC or by rail by the receiver's number. */
static double send(long way[MOST_VERTICES][MOST_VERTICES], int from, int to, int gpus, double units,
                   double *use) {
    int nic = drawing.plan.by_rail ? to % gpus : from % gpus;
    return walk(way, at_gpu(from, nic, gpus), at_gpu(to, to % gpus, gpus), units, use);
}

/* A ring: each node's members send `fewest` parts to the next node's, one to one. For groups that
 * have as many members in all nodes. */
static double send_ring(long way[MOST_VERTICES][MOST_VERTICES], int first, int ranks, int stride,
                        int fewest, int gpus, double *use) {
    double latency = 0.0, sendings = 0.0;
    for (int i = 0; i < ranks; i++) {
        int from = first + i * stride, to = first + (i + fewest) % ranks * stride;
        latency += send(way, from, to, gpus, 1.0, use);
        sendings += 1.0;
    }
    return latency / sendings;
}

static double send_exchange(long way[MOST_VERTICES][MOST_VERTICES], int first, int ranks,
                            int stride, int gpus, double *use) {
    double farthest = 0.0;
    for (int i = 0; i < ranks; i++) {
        int outside = 0, from = first + i * stride;
        for (int j = 0; j < ranks; j++)
            outside += (first + j * stride) / gpus != from / gpus ? 1 : 0;
        for (int j = 0; j < ranks; j++) {
            int to = first + j * stride;
            if (to / gpus != from / gpus)
                farthest = fmax(farthest, send(way, from, to, gpus, 1.0 / outside, use));
        }
    }
    return farthest;
}

static void add_links(struct sim *sim) {
    for (size_t i = 0; i < 2 * drawing.plan.link_count; i++) {
        const struct network_graph_link *link = &drawing.links[i / 2];
        bool between =
            link->ends[0] < drawing.plan.switches && link->ends[1] < drawing.plan.switches;
        sim_link_id id;
        ck_assert_int_eq(
            sim_link_new(sim, "link",
                         link->capacity * (between ? 1.0 - drawing.plan.background : 1.0), &id),
            SIM_OK);
    }
}

static sim_flow_id start_coflow(struct sim *sim, const double *use) {
    struct sim_flow_hop hops[512];
    struct sim_flow_spec spec = {.hops = hops, .amount = 1e3, .cap = 1.0};
    sim_flow_id id;
    for (size_t i = 0; i < 2 * drawing.plan.link_count; i++)
        if (use[i] > 0.0)
            hops[spec.hop_count++] = (struct sim_flow_hop){(sim_link_id)i, use[i]};
    ck_assert_int_eq(sim_flow_start(sim, &spec, &id), SIM_OK);
    return id;
}

/* All groups as coflows on the engine: the slowest's rate, at most 1, is the share. */
static double slowest(long way[MOST_VERTICES][MOST_VERTICES], int gpus, int ranks, int stride,
                      int ring_members, double *latency_s) {
    struct sim *sim = sim_new(NULL);
    sim_flow_id ids[64];
    int all = (int)drawing.plan.nodes * gpus, tile = ranks * stride, count = 0;
    double rate = 1.0;
    add_links(sim);
    *latency_s = 0.0;
    for (int base = 0; base + tile <= all; base += tile)
        for (int i = 0; i < stride; i++) {
            double use[512] = {0};
            double latency = ring_members > 0
                                 ? send_ring(way, base + i, ranks, stride, ring_members, gpus, use)
                                 : send_exchange(way, base + i, ranks, stride, gpus, use);
            *latency_s = fmax(*latency_s, latency);
            ids[count++] = start_coflow(sim, use);
        }
    ck_assert_int_eq(sim_run(sim, 0), SIM_OK);
    for (int i = 0; i < count; i++)
        rate = fmin(rate, sim_flow_rate(sim, ids[i]));
    sim_free(sim);
    return rate;
}

/* Whether the network is what holds either. */
static bool compare_with_flows(const struct hardware_cluster *graph, int ranks, int stride,
                               uint64_t seed) {
    static long way[MOST_VERTICES][MOST_VERTICES];
    int gpus = graph->gpus_per_node;
    double ring_s, exchange_s;
    struct network_group group = network_group_strided(graph, ranks, stride);
    if (group.ranks_per_node == ranks)
        return false; /* within nodes */
    all_ways(way, attachment(drawing.plan.nodes * drawing.plan.per_node));
    double ring = slowest(way, gpus, ranks, stride, group.ranks_per_node, &ring_s);
    double exchange = slowest(way, gpus, ranks, stride, 0, &exchange_s);
    ck_assert_msg(fabs(group.ring_share - ring) <= 1e-9 * ring,
                  "seed %llu, %d x %d: ring %.17g, flows %.17g", (unsigned long long)seed, ranks,
                  stride, group.ring_share, ring);
    ck_assert_msg(fabs(group.exchange_share - exchange) <= 1e-9 * exchange,
                  "seed %llu, %d x %d: exchange %.17g, flows %.17g", (unsigned long long)seed,
                  ranks, stride, group.exchange_share, exchange);
    ck_assert_double_eq_tol(group.ring_latency_s, ring_s, 1e-15);
    ck_assert_double_le(exchange_s, group.exchange_latency_s + 1e-15);
    return ring < 1.0 || exchange < 1.0;
}

START_TEST(random_graphs_against_flows) {
    int limited = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        uint64_t state = seed;
        int gpus = 1 << draw(&state) % 3;
        draw_random(&state, (uint32_t)gpus);
        struct hardware_cluster graph = graph_of(gpus);
        int all = hardware_cluster_gpus(&graph);
        for (int nodes = 2; nodes <= graph.nodes; nodes++)
            for (int members = 1; members <= gpus; members *= 2)
                if (nodes * gpus <= all &&
                    compare_with_flows(&graph, nodes * members, gpus / members, seed))
                    limited++;
        network_graph_free(graph.topology.graph);
    }
    ck_assert_int_gt(limited, 1000);
}
END_TEST

/* ---- what is no network ---------------------------------------------------------------------- */

START_TEST(faults_name_the_vertices) {
    uint32_t vertices[2];
    begin(2, 2, 1);
    join(attachment(0), 0, 1, 1.0, 0.0);
    ck_assert_int_eq(fault_of(vertices), NETWORK_GRAPH_LOOSE_ATTACHMENT);
    ck_assert_uint_eq(vertices[0], attachment(1));
    join(0, 1, 1, 1.0, 0.0); /* as many links as nodes, and still */
    ck_assert_int_eq(fault_of(vertices), NETWORK_GRAPH_LOOSE_ATTACHMENT);
    ck_assert_uint_eq(vertices[0], attachment(1));
    drawing.plan.link_count--;
    join(attachment(1), 1, 1, 1.0, 0.0);
    ck_assert_int_eq(fault_of(vertices), NETWORK_GRAPH_APART);
    ck_assert_uint_eq(vertices[0], attachment(1));
    ck_assert_uint_eq(vertices[1], attachment(0));
    join(0, 1, 1, 1.0, 0.0);
    ck_assert_int_eq(fault_of(vertices), NETWORK_GRAPH_GOOD);
    begin(2, 2, 1);
    join(attachment(0), 0, 1, 1.0, 0.0);
    join(attachment(1), 0, 1, 1.0, 0.0);
    ck_assert_int_eq(fault_of(vertices), NETWORK_GRAPH_LOOSE_SWITCH);
    ck_assert_uint_eq(vertices[0], 1);
}
END_TEST

/* Rails without spines are a network by rail only. */
START_TEST(rails_alone) {
    uint32_t vertices[2];
    for (int by_rail = 0; by_rail < 2; by_rail++) {
        begin(2, 2, 2);
        drawing.plan.by_rail = by_rail == 1;
        for (uint32_t a = 0; a < 4; a++)
            join(attachment(a), a % 2, 1, 1.0, 0.0);
        ck_assert_int_eq(fault_of(vertices),
                         by_rail == 1 ? NETWORK_GRAPH_GOOD : NETWORK_GRAPH_APART);
    }
}
END_TEST

static Suite *suite(void) {
    Suite *result = suite_create("network_graph");
    TCase *tests = tcase_create("graphs");
    tcase_add_test(tests, an_oversubscribed_spine_is_the_kind);
    tcase_add_test(tests, an_oversubscribed_spine_by_hand);
    tcase_add_test(tests, a_fat_tree_of_three_levels_is_the_kind);
    tcase_add_test(tests, a_ring_on_its_rail);
    tcase_add_test(tests, rails_of_several_groups);
    tcase_add_test(tests, an_exchange_changes_rails_over_nvlink);
    tcase_add_test(tests, routes_by_hops_and_by_latency);
    tcase_add_test(tests, equal_paths_share_by_their_cables);
    tcase_add_test(tests, latencies_of_routes_reach_collectives);
    tcase_add_test(tests, random_graphs_against_flows);
    tcase_add_test(tests, faults_name_the_vertices);
    tcase_add_test(tests, rails_alone);
    suite_add_tcase(result, tests);
    return result;
}

TESTING_MAIN(suite)
