/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/network/collective.h"
#include "models/network/weight_sync.h"
#include "models/network/zone_traffic.h"
#include "models/network/zones.h"
#include "tests/testing.h"

#include <math.h>

/* 8 nodes of 4 GPUs; NICs of 40 GB/s a node at 0.5; 2 zones of 16 GPUs with 8 GB/s between them. */
static struct hardware_cluster two_zones(void) {
    return (struct hardware_cluster){.gpu = {.scaleup_bandwidth_bytes_per_s = 1e15},
                                     .node = {.gpus = 4,
                                              .network_bandwidth_bytes_per_s = 40e9,
                                              .network_efficiency = 0.5,
                                              .scaleup_efficiency = 1.0},
                                     .nodes = 8,
                                     .gpus_per_node = 4,
                                     .zones = {.count = 2, .bandwidth_bytes_per_s = 8e9}};
}

static double all_reduce_s(const struct hardware_cluster *cluster, int ranks, int stride) {
    return network_collective_s(cluster, NETWORK_ALL_REDUCE,
                                network_group_strided(cluster, ranks, stride), 16e9);
}

/* A ring over all goes from each zone to the other once: 2 of 32 sendings. Groups of one GPU a node
 * go over the border once each, 4 side by side: 2 of 8 sendings. Groups within a zone never. */
START_TEST(crossings_by_hand) {
    struct hardware_cluster cluster = two_zones();
    assert_relative(network_zones_crossing(&cluster, 32, 1), 2.0 / 32, 1e-12);
    assert_relative(network_zones_crossing(&cluster, 8, 4), 2.0 / 8, 1e-12);
    ck_assert_double_eq(network_zones_crossing(&cluster, 16, 1), 0.0);
    /* Each of 8 members has 4 of 7 others in the other zone; each of 32 has 16 of 31. */
    assert_relative(network_zones_apart(&cluster, 8, 4), 4.0 / 7, 1e-12);
    assert_relative(network_zones_apart(&cluster, 32, 1), 16.0 / 31, 1e-12);
    ck_assert_double_eq(network_zones_apart(&cluster, 4, 1), 0.0);
    cluster.zones.count = 1;
    ck_assert_double_eq(network_zones_crossing(&cluster, 32, 1), 0.0);
}
END_TEST

/* Every border edge of one ring over all carries 2 x 31/32 of 16 GB, at 8 GB/s. Four rings side by
 * side over 8 members each carry 2 x 7/8 of 16 GB over the same 8 GB/s. */
START_TEST(all_reduce_at_the_border) {
    struct hardware_cluster cluster = two_zones();
    assert_relative(all_reduce_s(&cluster, 32, 1), 2.0 * 31 / 32 * 16e9 / 8e9, 1e-9);
    assert_relative(all_reduce_s(&cluster, 8, 4), 4 * 2.0 * 7 / 8 * 16e9 / 8e9, 1e-9);
    /* Within a zone the NICs of a node, 20 GB/s, as without zones. */
    assert_relative(all_reduce_s(&cluster, 16, 1), 2.0 * 15 / 16 * 16e9 / 20e9, 1e-9);
    /* A wide border is not noticed. */
    cluster.zones.bandwidth_bytes_per_s = 1e12;
    assert_relative(all_reduce_s(&cluster, 32, 1), 2.0 * 31 / 32 * 16e9 / 20e9, 1e-9);
}
END_TEST

/* 2 x 31 steps in a row, of which 2 of 32 cross: 3.875 crossings of 10 ms. */
START_TEST(latency_of_crossings) {
    struct hardware_cluster cluster = two_zones();
    double without_s = all_reduce_s(&cluster, 32, 1);
    cluster.zones.latency_s = 0.01;
    assert_relative(all_reduce_s(&cluster, 32, 1) - without_s, 2 * 31 * 2.0 / 32 * 0.01, 1e-9);
}
END_TEST

/* What is billed went over the borders in the time that they took: bytes = seconds x rate of both
 * borders, for rings side by side and alone, whatever is gathered, scattered or reduced. */
START_TEST(bytes_are_seconds_times_rate) {
    struct hardware_cluster cluster = two_zones();
    static const int groups[][2] = {{32, 1}, {8, 4}, {4, 8}, {16, 2}};
    static const enum network_collective kinds[] = {NETWORK_ALL_REDUCE, NETWORK_ALL_GATHER,
                                                    NETWORK_REDUCE_SCATTER};
    cluster.zones.bandwidth_bytes_per_s = 1e9; /* always the slowest */
    for (size_t g = 0; g < 4; g++)
        for (size_t k = 0; k < 3; k++) {
            int ranks = groups[g][0], stride = groups[g][1];
            double seconds = network_collective_s(
                &cluster, kinds[k], network_group_strided(&cluster, ranks, stride), 3e9);
            double bytes = 32 * network_zone_bytes(&cluster, kinds[k], ranks, stride, 3e9);
            assert_relative(bytes, seconds * 2 * 1e9, 1e-9);
        }
}
END_TEST

/* Played sending by sending: every member of every group passes its part on in each step. */
START_TEST(ring_bytes_step_by_step) {
    struct hardware_cluster cluster = two_zones();
    cluster.zones.count = 4;
    double crossed = 0.0, bytes = 7e9;
    for (int step = 0; step < 7; step++) /* an all-gather over 8 members, 4 apart */
        for (int gpu = 0; gpu < 32; gpu++)
            if (network_zone_of(&cluster, gpu) != network_zone_of(&cluster, (gpu + 4) % 32))
                crossed += bytes / 8;
    assert_relative(32 * network_zone_bytes(&cluster, NETWORK_ALL_GATHER, 8, 4, bytes), crossed,
                    1e-12);
    /* A broadcast passes three borders; gathering brings 24 of 32 parts over one. */
    assert_relative(32 * network_zone_bytes(&cluster, NETWORK_BROADCAST, 32, 1, bytes), 3 * bytes,
                    1e-12);
    assert_relative(32 * network_zone_bytes(&cluster, NETWORK_GATHER, 32, 1, bytes),
                    bytes * 24 / 32, 1e-12);
}
END_TEST

/* 10 GB of weights, trainer over all 32 GPUs, replicas of 4. The gather has two borders with 31/32
 * of all; a broadcast passes one with all; 8 replicas fetch, half of it from the other zone. */
START_TEST(syncs_are_billed) {
    struct hardware_cluster cluster = two_zones();
    struct network_weight_sync_cost cost = {.load_bandwidth_bytes_per_s = 1e18};
    struct network_weight_sync_request request = {
        .cluster = &cluster, .total_bytes = 10e9, .trainer_ranks = 32, .engine_ranks = 4};
    const struct {
        const char *name;
        double bytes;
    } rows[] = {{"in_place", 2 * 10e9 * 31 / 32},
                {"gather_broadcast", 2 * 10e9 * 31 / 32 + 10e9},
                {"checkpoint_engine", 10e9},
                {"shard_to_shard", 8 * 10e9 / 2},
                {"metadata", 0.0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct network_weight_sync_type *type = network_weight_sync_find(rows[i].name);
        double bytes = network_weight_sync_zone_bytes(type, &cost, &request);
        ck_assert_msg(fabs(bytes - rows[i].bytes) <= 1e-3, "%s: %g", rows[i].name, bytes);
        /* Two borders of 8 GB/s carry it. */
        ck_assert_double_ge(type->duration_s(&cost, &request) * (1 + 1e-12), bytes / 16e9);
        cluster.zones.count = 1;
        ck_assert_double_eq(network_weight_sync_zone_bytes(type, &cost, &request), 0.0);
        cluster.zones.count = 2;
    }
}
END_TEST

static Suite *suite(void) {
    Suite *result = suite_create("network_zones");
    TCase *tests = tcase_create("zones");
    tcase_add_test(tests, crossings_by_hand);
    tcase_add_test(tests, all_reduce_at_the_border);
    tcase_add_test(tests, latency_of_crossings);
    tcase_add_test(tests, bytes_are_seconds_times_rate);
    tcase_add_test(tests, ring_bytes_step_by_step);
    tcase_add_test(tests, syncs_are_billed);
    suite_add_tcase(result, tests);
    return result;
}

TESTING_MAIN(suite)
