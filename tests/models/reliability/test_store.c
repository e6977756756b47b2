/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/reliability/store.h"
#include "sim/flow.h"
#include "tests/testing.h"

#include <math.h>

/* 10 GB/s written by all, 3 by each client; read 40 and 5; half a second to open. */
static const struct store shared = {.name = "made",
                                    .write_bytes_per_s = 10e9,
                                    .read_bytes_per_s = 40e9,
                                    .client_write_bytes_per_s = 3e9,
                                    .client_read_bytes_per_s = 5e9,
                                    .latency_s = 0.5};

START_TEST(clients_until_the_store_is_full) {
    assert_relative(store_rate(&shared, STORE_WRITE, 1), 3e9, 1e-12);
    assert_relative(store_rate(&shared, STORE_WRITE, 3), 9e9, 1e-12);
    assert_relative(store_rate(&shared, STORE_WRITE, 4), 10e9, 1e-12);
    assert_relative(store_rate(&shared, STORE_READ, 4), 20e9, 1e-12);
    /* 90 GB at 9 GB/s, and half a second. */
    assert_relative(store_transfer_s(&shared, STORE_WRITE, 3, 90e9), 10.5, 1e-12);
    ck_assert_double_eq(store_transfer_s(&shared, STORE_WRITE, 3, 0.0), 0.0);
}
END_TEST

START_TEST(one_limit_is_enough) {
    struct store disks = {.client_write_bytes_per_s = 2e9}, only = {.write_bytes_per_s = 2e9};
    assert_relative(store_rate(&disks, STORE_WRITE, 64), 128e9, 1e-12);
    assert_relative(store_rate(&only, STORE_WRITE, 64), 2e9, 1e-12);
}
END_TEST

/* Two saves at once, of 60 and 20 GB by 4 clients each, halve the 10 GB/s: the small one is over
 * after 4 s, with 40 GB of the other left that then take another 4; 0.5 s before all of that. */
START_TEST(two_saves_share) {
    struct store_transfer saves[] = {{60e9, 4}, {20e9, 4}};
    double finish_s[2];
    assert_relative(store_shared_s(&shared, STORE_WRITE, saves, 2, finish_s), 8.5, 1e-12);
    assert_relative(finish_s[0], 8.5, 1e-12);
    assert_relative(finish_s[1], 4.5, 1e-12);
    /* All bytes over all of the bandwidth: nothing is lost by sharing. */
    assert_relative(8.5 - 0.5, 80e9 / 10e9, 1e-12);
}
END_TEST

/* One client gets no more than its 3 GB/s of the 10, the other save the 7 that are left: 21 GB in
 * 7 s and 63 GB, of which 49 are written by then; the rest at 10 GB/s in 1.4 s. */
START_TEST(a_client_at_its_cap_leaves_the_rest) {
    struct store_transfer saves[] = {{21e9, 1}, {63e9, 8}};
    double finish_s[2];
    store_shared_s(&shared, STORE_WRITE, saves, 2, finish_s);
    assert_relative(finish_s[0], 7.5, 1e-12);
    assert_relative(finish_s[1], 8.9, 1e-12);
}
END_TEST

static void note_end(struct sim *sim, void *subject, uint64_t index) {
    ((double *)subject)[index] = sim_time_to_s(sim_now(sim));
}

static void play(const struct store *store, const struct store_transfer *transfers, size_t count,
                 double *finish_s) {
    struct sim *sim = sim_new(NULL);
    sim_link_id link;
    ck_assert_int_eq(sim_link_new(sim, "store", store->write_bytes_per_s, &link), SIM_OK);
    for (size_t i = 0; i < count; i++) {
        struct sim_flow_spec flow = {.route = &link,
                                     .hop_count = 1,
                                     .amount = transfers[i].bytes,
                                     .cap = transfers[i].clients * store->client_write_bytes_per_s,
                                     .latency_ns = sim_time_from_s(store->latency_s),
                                     .on_done = note_end,
                                     .subject = finish_s,
                                     .argument = i};
        ck_assert_int_eq(sim_flow_start(sim, &flow, NULL), SIM_OK);
    }
    ck_assert_int_eq(sim_run(sim, SIM_TIME_MAX), SIM_OK);
    sim_free(sim);
}

/* The closed form and the flows of the engine, on random transfers. */
START_TEST(flows_share_alike) {
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct store_transfer transfers[STORE_TRANSFERS];
        double expected_s[STORE_TRANSFERS], played_s[STORE_TRANSFERS];
        uint64_t state = seed * 0x9E3779B97F4A7C15u;
        size_t count = 1 + seed % STORE_TRANSFERS;
        for (size_t i = 0; i < count; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            transfers[i].bytes = 1e9 + (double)(state >> 44) * 1e5;
            transfers[i].clients = 1 + (int)(state >> 33 & 7);
        }
        double last_s = store_shared_s(&shared, STORE_WRITE, transfers, count, expected_s);
        play(&shared, transfers, count, played_s);
        double latest_s = 0.0;
        for (size_t i = 0; i < count; i++) {
            ck_assert_msg(fabs(played_s[i] - expected_s[i]) < 1e-7, "seed %d: transfer %zu",
                          (int)seed, i);
            latest_s = fmax(latest_s, expected_s[i]);
        }
        ck_assert_double_eq(latest_s, last_s);
    }
}
END_TEST

/* Three nodes with 2 TB each into a store of 5 TB; 10 GB from each of 3 are 1,250 parts of 8 MB,
 * one byte more each is a part more each. */
START_TEST(room_and_requests) {
    struct store store = {.client_capacity_bytes = 2e12, .part_bytes = 8e6};
    ck_assert_double_eq(store_capacity(&store, 3), 6e12);
    store.capacity_bytes = 5e12;
    ck_assert_double_eq(store_capacity(&store, 3), 5e12);
    ck_assert_double_eq(store_capacity(&store, 2), 4e12);
    ck_assert(isinf(store_capacity(&(struct store){0}, 1)));
    ck_assert_double_eq(store_write_requests(&store, 3, 30e9), 3 * 1250);
    ck_assert_double_eq(store_write_requests(&store, 3, 30e9 + 3), 3 * 1251);
    ck_assert_double_eq(store_write_requests(&store, 3, 0.0), 0.0);
    ck_assert_double_eq(store_write_requests(&(struct store){0}, 3, 30e9), 0.0);
}
END_TEST

static Suite *suite(void) {
    Suite *result = suite_create("reliability_store");
    TCase *tests = tcase_create("store");
    tcase_add_test(tests, clients_until_the_store_is_full);
    tcase_add_test(tests, one_limit_is_enough);
    tcase_add_test(tests, two_saves_share);
    tcase_add_test(tests, a_client_at_its_cap_leaves_the_rest);
    tcase_add_test(tests, flows_share_alike);
    tcase_add_test(tests, room_and_requests);
    suite_add_tcase(result, tests);
    return result;
}

TESTING_MAIN(suite)
