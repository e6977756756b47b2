/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/network/weight_sync.h"
#include "tests/testing.h"

#include <string.h>

/* Nodes of 8 GPUs: 200 GB/s inside, 80 GB/s of NICs, no latencies, so that sums are by hand. */
static struct hardware_cluster round_cluster(int nodes) {
    return (struct hardware_cluster){.gpu = {.scaleup_bandwidth_bytes_per_s = 250e9},
                                     .node = {.gpus = 8,
                                              .network_bandwidth_bytes_per_s = 100e9,
                                              .scaleup_efficiency = 0.8,
                                              .network_efficiency = 0.8},
                                     .nodes = nodes,
                                     .gpus_per_node = 8};
}

static const struct network_weight_sync_cost cost = {
    .pause_s = 1.5, .tensor_s = 2e-3, .load_bandwidth_bytes_per_s = 4e9};

static double duration(const char *name, const struct network_weight_sync_request *request) {
    const struct network_weight_sync_type *type = network_weight_sync_find(name);
    ck_assert_ptr_nonnull(type);
    return type->duration_s(&cost, request);
}

START_TEST(mechanisms_are_found_by_name) {
    static const char *const names[] = {"in_place",      "ipc_bucket",     "gather_broadcast",
                                        "adapters_only", "shard_to_shard", "checkpoint_engine",
                                        "peer_to_peer",  "delta",          "metadata"};
    const unsigned count = sizeof names / sizeof *names;
    for (unsigned i = 0; i < count; i++) {
        const struct network_weight_sync_type *type = network_weight_sync_at(i);
        ck_assert_ptr_nonnull(type);
        ck_assert_str_eq(type->name, names[i]);
        ck_assert_ptr_eq(network_weight_sync_find(names[i]), type);
        ck_assert(strlen(type->meaning) > 0);
        ck_assert(type->adapters == (i == 3));
        ck_assert(type->loads == (i != 0 && i != count - 1));
    }
    ck_assert_ptr_null(network_weight_sync_at(count));
    ck_assert_ptr_null(network_weight_sync_find("in_place "));
}
END_TEST

/* 64 GB in 300 tensors from 32 trainers of 4 nodes to engines of 16 GPUs: 1.5 s + 300 x 2 ms = 2.1.
 * A shard is 4 GB: 0.4 s over its eighth of 80 GB/s, 1 s of loading at 4 GB/s. */
START_TEST(shards_and_engines_by_hand) {
    struct hardware_cluster cluster = round_cluster(4);
    struct network_weight_sync_request request = {.cluster = &cluster,
                                                  .total_bytes = 64e9,
                                                  .tensors = 300,
                                                  .trainer_ranks = 32,
                                                  .engine_ranks = 16};
    assert_relative(duration("shard_to_shard", &request), 2.1 + 0.4 + 1.0, 1e-12);
    /* All 32 GPUs raise 2 GB each at 25 GB/s: 80 ms; the wire takes 0.8 s; loading 16 s: the
     * slowest. */
    cluster.gpu.host_bandwidth_bytes_per_s = 25e9;
    assert_relative(duration("checkpoint_engine", &request), 2.1 + 16.0, 1e-12);
    assert_relative(duration("peer_to_peer", &request), 2.1 + 16.0, 1e-12);
    ck_assert_double_eq(duration("metadata", &request), 2.1);
    struct network_weight_sync_cost fast = {.load_bandwidth_bytes_per_s = 1e15};
    assert_relative(network_weight_sync_find("checkpoint_engine")->duration_s(&fast, &request), 0.8,
                    1e-12);
    cluster.gpu.host_bandwidth_bytes_per_s = 1e9; /* 2 s a GPU */
    assert_relative(network_weight_sync_find("checkpoint_engine")->duration_s(&fast, &request), 2.0,
                    1e-12);
}
END_TEST

/* A hundredth of 64 GB changed; with positions 1.92 GB: gather 31/32 at 80 GB/s, one NIC of 10
 * GB/s, 4 GB/s of loading. */
START_TEST(a_delta_moves_what_changed) {
    struct hardware_cluster cluster = round_cluster(4);
    struct network_weight_sync_request request = {
        .cluster = &cluster, .total_bytes = 64e9, .tensors = 300, .trainer_ranks = 32};
    struct network_weight_sync_cost delta = cost;
    delta.changed_fraction = 0.01;
    assert_relative(network_weight_sync_find("delta")->duration_s(&delta, &request),
                    2.1 + 1.92 * (31.0 / 32 / 80 + 1.0 / 10 + 1.0 / 4), 1e-12);
}
END_TEST

/* 64 GB in buckets of 5: 13 of 0.1 s; three doublings from 1 to 8 nodes at 0.4 s. */
START_TEST(buckets_and_hops) {
    struct hardware_cluster cluster = round_cluster(8);
    struct network_weight_sync_request request = {
        .cluster = &cluster, .total_bytes = 64e9, .tensors = 0, .trainer_ranks = 8};
    struct network_weight_sync_cost software = {.bucket_bytes = 5e9, .bucket_s = 0.1, .hop_s = 0.4};
    assert_relative(network_weight_sync_find("metadata")->duration_s(&software, &request),
                    1.3 + 1.2, 1e-12);
}
END_TEST

/* 16 GB in 300 tensors over 8 trainers: pause 1.5 + 300 x 2 ms = 2.1 s; the gather moves 7/8 of the
 * bytes at 200 GB/s: 70 ms. */
START_TEST(sums_in_a_node_by_hand) {
    struct hardware_cluster cluster = round_cluster(1);
    struct network_weight_sync_request request = {
        .cluster = &cluster, .total_bytes = 16e9, .tensors = 300, .trainer_ranks = 8};
    assert_relative(duration("in_place", &request), 2.1 + 0.07, 1e-12);
    /* All bytes at 4 GB/s: 4 s. */
    assert_relative(duration("ipc_bucket", &request), 2.1 + 0.07 + 4.0, 1e-12);
    /* All bytes once more over NVLink: 80 ms. */
    assert_relative(duration("gather_broadcast", &request), 2.1 + 0.07 + 0.08 + 4.0, 1e-12);
    /* The same sum for adapters (none is that large). */
    assert_relative(duration("adapters_only", &request), 2.1 + 0.07 + 4.0, 1e-12);
    /* One trainer has nothing to gather. */
    request.trainer_ranks = 1;
    assert_relative(duration("in_place", &request), 2.1, 1e-12);
}
END_TEST

/* Over 32 trainers of 4 nodes: 31/32 of 16 GB at 80 GB/s, 193.75 ms; the broadcast has one of eight
 * NICs, 10 GB/s: 1.6 s. */
START_TEST(sums_over_nodes_by_hand) {
    struct hardware_cluster cluster = round_cluster(4);
    struct network_weight_sync_request request = {
        .cluster = &cluster, .total_bytes = 16e9, .tensors = 300, .trainer_ranks = 32};
    assert_relative(duration("in_place", &request), 2.1 + 0.19375, 1e-12);
    assert_relative(duration("ipc_bucket", &request), 2.1 + 0.19375 + 4.0, 1e-12);
    assert_relative(duration("gather_broadcast", &request), 2.1 + 0.19375 + 1.6 + 4.0, 1e-12);
}
END_TEST

START_TEST(time_grows_with_bytes_and_tensors) {
    struct hardware_cluster cluster = round_cluster(2);
    for (unsigned i = 0; network_weight_sync_at(i) != NULL; i++) {
        double last = 0;
        for (int step = 0; step < 40; step++) {
            struct network_weight_sync_request request = {.cluster = &cluster,
                                                          .total_bytes = 1e6 * exp(step * 0.3),
                                                          .tensors = 100.0 + step,
                                                          .trainer_ranks = 16};
            double seconds = network_weight_sync_at(i)->duration_s(&cost, &request);
            ck_assert_double_gt(seconds, last);
            last = seconds;
        }
    }
}
END_TEST

/* ---- published syncs ------------------------------------------------------------------------- */

/* H100 nodes: NVLink 450 GB/s, 0.80 of it in rings; 8 x 400 Gbit/s, 0.92. */
static struct hardware_cluster h100_nodes(int nodes) {
    return (struct hardware_cluster){.gpu = {.scaleup_bandwidth_bytes_per_s = 450e9},
                                     .node = {.gpus = 8,
                                              .network_bandwidth_bytes_per_s = 400e9,
                                              .scaleup_efficiency = 0.8,
                                              .network_efficiency = 0.92},
                                     .nodes = nodes,
                                     .gpus_per_node = 8};
}

static double sync_of(const struct network_weight_sync_type *type,
                      const struct network_weight_sync_cost *software,
                      const struct hardware_cluster *cluster, double parameters) {
    struct network_weight_sync_request request = {
        .cluster = cluster, .total_bytes = 2 * parameters, .trainer_ranks = 8};
    return type->duration_s(software, &request);
}

/* Solves pause and load bandwidth from two measured syncs: both enter the sum linearly. The cost
 * per tensor is not published and is lumped into them. */
static struct network_weight_sync_cost calibrate(const struct network_weight_sync_type *type,
                                                 const struct hardware_cluster *cluster,
                                                 const double parameters[2],
                                                 const double measured_s[2]) {
    struct network_weight_sync_cost trial = {.load_bandwidth_bytes_per_s = 1e9};
    double rest[2]; /* measured less gather and wire: what pause and load have to make up */
    for (int i = 0; i < 2; i++)
        rest[i] = measured_s[i] -
                  (sync_of(type, &trial, cluster, parameters[i]) - 2 * parameters[i] / 1e9);
    double load = 2 * (parameters[1] - parameters[0]) / (rest[1] - rest[0]);
    return (struct network_weight_sync_cost){.pause_s = rest[0] - 2 * parameters[0] / load,
                                             .load_bandwidth_bytes_per_s = load};
}

/* verl's split pools over NCCL with offload (its checkpoint engine and asynchronous trainers, as
 * documented @1dda039b9): 7B 5.5-6 s, 72B 28.5 s; from these two the 32B, which took 14.2 to 18 s,
 * must follow. Parameters are those of Qwen2.5. */
START_TEST(gather_and_broadcast_of_a_size_in_between) {
    struct hardware_cluster cluster = h100_nodes(2);
    const struct network_weight_sync_type *type = network_weight_sync_find("gather_broadcast");
    struct network_weight_sync_cost software =
        calibrate(type, &cluster, (double[]){7615616512.0, 72706203648.0}, (double[]){5.75, 28.5});
    assert_relative(sync_of(type, &software, &cluster, 72706203648.0), 28.5, 1e-9);
    double seconds = sync_of(type, &software, &cluster, 32763876352.0);
    ck_assert_msg(seconds > 14.2 && seconds < 18.0, "%g s", seconds);
}
END_TEST

/* NeMo-RL v0.3 on 64 H100, colocated: 8B 4-8 s, 70B 14-26 s (refit guide; middles taken). Other
 * frameworks on the same mechanism, so an order of magnitude, a factor of 2, is all that is asked:
 * verl 7B 3.1-4.6 s, slime 4B about 5 s. */
START_TEST(ipc_buckets_of_other_frameworks) {
    struct hardware_cluster cluster = h100_nodes(1);
    const struct network_weight_sync_type *type = network_weight_sync_find("ipc_bucket");
    struct network_weight_sync_cost software =
        calibrate(type, &cluster, (double[]){8030261248.0, 70553706496.0}, (double[]){6, 20});
    double verl = sync_of(type, &software, &cluster, 7615616512.0);
    double slime = sync_of(type, &software, &cluster, 4022468096.0);
    ck_assert_msg(verl > 3.85 / 2 && verl < 3.85 * 2, "%g s", verl);
    ck_assert_msg(slime > 5.0 / 2 && slime < 5.0 * 2, "%g s", slime);
}
END_TEST

static Suite *suite(void) {
    Suite *result = suite_create("network_weight_sync");
    TCase *sums = tcase_create("sums");
    tcase_add_test(sums, mechanisms_are_found_by_name);
    tcase_add_test(sums, shards_and_engines_by_hand);
    tcase_add_test(sums, a_delta_moves_what_changed);
    tcase_add_test(sums, buckets_and_hops);
    tcase_add_test(sums, sums_in_a_node_by_hand);
    tcase_add_test(sums, sums_over_nodes_by_hand);
    tcase_add_test(sums, time_grows_with_bytes_and_tensors);
    suite_add_tcase(result, sums);
    TCase *published = tcase_create("published");
    tcase_add_test(published, gather_and_broadcast_of_a_size_in_between);
    tcase_add_test(published, ipc_buckets_of_other_frameworks);
    suite_add_tcase(result, published);
    return result;
}

TESTING_MAIN(suite)
