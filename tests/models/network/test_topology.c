/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Topologies: what they leave of the NICs, by hand, against routes counted one by one, and what it
 * does to collectives. */
#include "models/network/topology.h"

#include "models/network/collective.h"
#include "models/network/topology_blocks.h"
#include "tests/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Nodes of 8 GPUs and as many NICs, 80 GB/s together, no latencies. */
static struct hardware_cluster cluster_of(const char *kind, int nodes, int block, double over) {
    struct hardware_cluster cluster = {
        .gpu = {.scaleup_bandwidth_bytes_per_s = 1e12},
        .node = {.gpus = 8,
                 .network_bandwidth_bytes_per_s = 80e9,
                 .scaleup_efficiency = 1.0,
                 .network_efficiency = 1.0},
        .nodes = nodes,
        .gpus_per_node = 8,
        .topology = {.block_nodes = block, .oversubscription = over}};
    cluster.topology.type = network_topology_find(kind);
    ck_assert_ptr_nonnull(cluster.topology.type);
    return cluster;
}

static double reduce_s(const struct hardware_cluster *cluster, int ranks, int stride) {
    return network_collective_s(cluster, NETWORK_ALL_REDUCE,
                                network_group_strided(cluster, ranks, stride), 1e9);
}

START_TEST(kinds_are_found_by_name) {
    unsigned count = 0;
    for (; network_topology_at(count) != NULL; count++)
        ck_assert_ptr_eq(network_topology_find(network_topology_at(count)->name),
                         network_topology_at(count));
    ck_assert_uint_eq(count, 7);
    ck_assert_ptr_null(network_topology_find("leaf-spine"));
}
END_TEST

/* ---- by hand --------------------------------------------------------------------------------- */

/* 16 nodes in 2 pods of 8, 7:1: a pod's uplinks carry 8 nodes / 7 = 1.14 of a node's NICs. A ring
 * over all, packed, leaves each pod once with one node's NICs: it fits. Spread, all 8 nodes of a
 * pod send to the other pod: a seventh is left. */
START_TEST(an_oversubscribed_spine_by_hand) {
    struct hardware_cluster flat = cluster_of("full", 16, 0, 1.0);
    struct hardware_cluster pods = cluster_of("leaf_spine", 16, 8, 7.0);
    ck_assert_double_eq(network_topology_ring_share(&pods, 128, 1, 8), 1.0);
    assert_relative(reduce_s(&pods, 128, 1), reduce_s(&flat, 128, 1), 1e-12);
    pods.topology.spread = true;
    assert_relative(network_topology_ring_share(&pods, 128, 1, 8), 1.0 / 7.0, 1e-12);
    assert_relative(reduce_s(&pods, 128, 1), 7.0 * reduce_s(&flat, 128, 1), 1e-12);
    /* Pairs of GPUs half the cluster apart: every sending crosses. */
    pods.topology.spread = false;
    assert_relative(network_topology_ring_share(&pods, 2, 64, 1), 1.0 / 7.0, 1e-12);
    assert_relative(reduce_s(&pods, 2, 64), 7.0 * reduce_s(&flat, 2, 64), 1e-12);
    /* Groups within a pod do not notice. */
    ck_assert_double_eq(network_topology_ring_share(&pods, 64, 1, 8), 1.0);
    ck_assert_double_eq(network_topology_ring_share(&pods, 8, 8, 1), 1.0);
    /* All to all: of 120 outside the node 64 are in the other pod; (1/7) / (64/120). */
    assert_relative(network_topology_exchange_share(&pods, 128, 1, 8), 120.0 / 64 / 7, 1e-12);
}
END_TEST

/* Two jobs that share the spine: what the other takes, this one lacks. */
START_TEST(background_takes_its_part) {
    struct hardware_cluster pods = cluster_of("leaf_spine", 16, 8, 2.0);
    pods.topology.spread = true;
    double alone = reduce_s(&pods, 128, 1);
    pods.topology.background = 0.5;
    assert_relative(reduce_s(&pods, 128, 1), 2.0 * alone, 1e-12);
    struct hardware_cluster tree = cluster_of("fat_tree", 64, 32, 1.0);
    ck_assert_double_eq(network_topology_exchange_share(&tree, 512, 1, 8), 1.0);
    tree.topology.background = 0.75;
    ck_assert_double_lt(network_topology_exchange_share(&tree, 512, 1, 8), 0.6);
}
END_TEST

/* Four groups: the direct way to one other has a third of the global links, by way of others a
 * half; 2:1, so a quarter where all members send to the next group. */
START_TEST(a_dragonfly_by_hand) {
    struct hardware_cluster fly = cluster_of("dragonfly", 16, 4, 2.0);
    assert_relative(network_topology_ring_share(&fly, 4, 32, 1), 0.25, 1e-12);
    /* Two groups have all links to each other. */
    fly = cluster_of("dragonfly", 8, 4, 2.0);
    assert_relative(network_topology_ring_share(&fly, 2, 32, 1), 0.5, 1e-12);
}
END_TEST

/* 4 x 4: neighbours along a row are one hop apart, so a ring over all in order has hops of 1 within
 * a row, and from row to row of 1 + 1 (3 to 0 round the edge, and one down). */
START_TEST(a_torus_by_hand) {
    struct hardware_cluster torus = cluster_of("torus", 16, 0, 1.0);
    memcpy(torus.topology.shape, (int[]){4, 4, 1}, sizeof torus.topology.shape);
    double mean = (12 * 1 + 4 * 2) / 16.0;
    assert_relative(network_topology_ring_share(&torus, 128, 1, 8), 1.0 / mean, 1e-12);
    /* Columns: GPUs of the same number, four nodes apart: one hop. */
    ck_assert_double_eq(network_topology_ring_share(&torus, 4, 32, 1), 1.0);
    /* From a node to the 15 others: 1 + 1 in each direction, 2 halfway: (0+1+2+1) x 4 x 2 / 15. */
    assert_relative(network_topology_exchange_share(&torus, 128, 1, 8), 15.0 / 32.0, 1e-12);
}
END_TEST

/* ---- links ----------------------------------------------------------------------------------- */

/* DGX B200 SuperPOD reference architecture: 64 nodes 16 leaves and 8 spines, 512 cables at both
 * levels; 512 nodes 128, 128 and 64, 4,096 at each of three. */
START_TEST(links_are_counted_as_published) {
    char words[192];
    struct hardware_cluster tree = cluster_of("fat_tree", 64, 32, 1.0);
    (void)tree.topology.type->describe(&tree, words, sizeof words);
    ck_assert_str_eq(words, "fat tree: 16 leaves and 8 spines of 64 ports, 512 links below and 512 "
                            "above the leaves");
    tree.nodes = 512;
    (void)tree.topology.type->describe(&tree, words, sizeof words);
    ck_assert_str_eq(words, "fat tree: 128 leaves, 128 spines and 64 cores of 64 ports, 4096 links "
                            "at each of 3 levels");
    struct hardware_cluster torus = cluster_of("torus", 32, 0, 1.0);
    memcpy(torus.topology.shape, (int[]){4, 4, 2}, sizeof torus.topology.shape);
    (void)torus.topology.type->describe(&torus, words, sizeof words);
    ck_assert_str_eq(words, "torus of 4 x 4 x 2 nodes, 80 links between neighbours");
}
END_TEST

/* ---- against counting one by one --------------------------------------------------------------
 */

/* Every group of the cluster as a list of GPUs; its ring's sendings that leave a block. */
static double crossing_by_lists(const struct hardware_cluster *cluster, int ranks, int stride) {
    int gpus = hardware_cluster_gpus(cluster), sendings = 0, crossing = 0;
    int block = cluster->topology.block_nodes * cluster->gpus_per_node;
    for (int base = 0; base + ranks * stride <= gpus; base += ranks * stride)
        for (int first = base; first < base + stride; first++)
            for (int i = 0; i < ranks; i++) {
                int from = first + i * stride, to = first + (i + 1) % ranks * stride;
                sendings++;
                crossing += from / block != to / block ? 1 : 0;
            }
    return sendings == 0 ? 0.0 : (double)crossing / sendings;
}

START_TEST(crossings_against_lists_of_groups) {
    for (int nodes = 1; nodes <= 12; nodes++)
        for (int block = 1; block <= 5; block++)
            for (int ranks = 2; ranks <= 24; ranks++)
                for (int stride = 1; stride <= 17; stride += 2) {
                    struct hardware_cluster pods = cluster_of("leaf_spine", nodes, block, 3.0);
                    pods.gpus_per_node = 4;
                    double expected = crossing_by_lists(&pods, ranks, stride);
                    ck_assert_double_eq_tol(network_blocks_crossing(&pods, ranks, stride), expected,
                                            1e-12);
                }
}
END_TEST

/* Whatever the group: shares are from above 0 to 1, and more oversubscription never gives more. */
START_TEST(shares_are_shares) {
    for (unsigned kind = 0; network_topology_at(kind) != &network_topology_graph; kind++)
        for (int ranks = 2; ranks <= 64; ranks *= 2)
            for (int stride = 1; ranks * stride <= 96; stride *= 2) {
                double before = 1.0;
                for (double over = 1.0; over < 20.0; over *= 1.7) {
                    struct hardware_cluster c =
                        cluster_of(network_topology_at(kind)->name, 12, 4, over);
                    memcpy(c.topology.shape, (int[]){4, 3, 1}, sizeof c.topology.shape);
                    struct network_group group = network_group_strided(&c, ranks, stride);
                    ck_assert(group.ring_share > 0.0 && group.ring_share <= before);
                    ck_assert(group.exchange_share > 0.0 && group.exchange_share <= 1.0);
                    before = group.ring_share;
                }
            }
}
END_TEST

static Suite *suite(void) {
    Suite *result = suite_create("network_topology");
    TCase *tests = tcase_create("topologies");
    tcase_add_test(tests, kinds_are_found_by_name);
    tcase_add_test(tests, an_oversubscribed_spine_by_hand);
    tcase_add_test(tests, background_takes_its_part);
    tcase_add_test(tests, a_dragonfly_by_hand);
    tcase_add_test(tests, a_torus_by_hand);
    tcase_add_test(tests, links_are_counted_as_published);
    tcase_add_test(tests, crossings_against_lists_of_groups);
    tcase_add_test(tests, shares_are_shares);
    suite_add_tcase(result, tests);
    return result;
}

TESTING_MAIN(suite)
