/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/cost/ledger.h"
#include "tests/testing.h"

#include <stdio.h>
#include <stdlib.h>

static const struct cost_prices prices = {.node_hour_usd = 40.0,
                                          .storage_gb_month_usd = 0.146,
                                          .network_gb_usd = 0.09,
                                          .log_gb_usd = 0.5,
                                          .node_source = "node list",
                                          .storage_source = "store list",
                                          .network_source = "network list",
                                          .log_source = "log list"};

/* Ten hours on 4 nodes; 500 GB stored all the time; 20 GB leave the region, 3 GB of logs. */
static struct cost_usage uniform_usage(void) {
    return (struct cost_usage){.duration_s = 36000,
                               .nodes = 4,
                               .storage_byte_s = 500e9 * 36000,
                               .storage_peak_bytes = 500e9,
                               .network_bytes = 20e9,
                               .log_bytes = 3e9};
}

static void assert_item(const struct cost_item *item, const char *name, double quantity,
                        const char *unit, double amount, const char *source) {
    ck_assert_str_eq(item->item, name);
    ck_assert_str_eq(item->unit, unit);
    ck_assert_str_eq(item->source, source);
    assert_relative(item->quantity, quantity, 1e-12);
    assert_relative(item->amount_usd, amount, 1e-12);
    ck_assert_double_eq(item->start_s, 0.0);
    ck_assert_double_eq(item->end_s, 36000.0);
}

START_TEST(items_by_hand) {
    struct cost_usage usage = uniform_usage();
    struct cost_ledger ledger;
    cost_ledger_fill(&prices, &usage, &ledger);
    ck_assert_uint_eq(ledger.count, 4);
    /* 4 x 10 node hours at 40; 500 GB for 10 of 730 hours at 14.6 cents: 1 dollar. */
    assert_item(&ledger.items[0], "accelerators", 40, "node hour", 1600, "node list");
    assert_item(&ledger.items[1], "checkpoint_storage", 5000.0 / 730, "GB-month", 1.0,
                "store list");
    assert_item(&ledger.items[2], "network", 20, "GB", 1.8, "network list");
    assert_item(&ledger.items[3], "logs", 3, "GB", 1.5, "log list");
    assert_relative(ledger.total_usd, 1604.3, 1e-12);
}
END_TEST

/* (40 x 4 + 500 x 0.146 / 730 + 20 / 10 x 0.09) x 10 + 0.5 x 3 = (160 + 0.1 + 0.18) x 10 + 1.5. */
START_TEST(the_formula_agrees_where_everything_is_uniform) {
    struct cost_usage usage = uniform_usage();
    struct cost_ledger ledger;
    cost_ledger_fill(&prices, &usage, &ledger);
    assert_relative(ledger.formula_usd, 1604.3, 1e-12);
    assert_relative(ledger.formula_usd, ledger.total_usd, 1e-12);
    /* Without a peak the mean is taken, which is the same here. */
    usage.storage_peak_bytes = 0;
    cost_ledger_fill(&prices, &usage, &ledger);
    assert_relative(ledger.formula_usd, 1604.3, 1e-12);
}
END_TEST

/* A store that fills evenly from nothing to 500 GB holds half of that on average: the ledger
 * charges 50 cents, the formula still a dollar. */
START_TEST(the_formula_is_above_while_storage_fills) {
    struct cost_usage usage = uniform_usage();
    struct cost_ledger ledger;
    usage.storage_byte_s /= 2;
    cost_ledger_fill(&prices, &usage, &ledger);
    assert_relative(ledger.formula_usd - ledger.total_usd, 0.5, 1e-9);
}
END_TEST

START_TEST(nothing_used_costs_nothing) {
    struct cost_usage usage = {.nodes = 4};
    struct cost_ledger ledger;
    cost_ledger_fill(&prices, &usage, &ledger);
    ck_assert_uint_eq(ledger.count, 4);
    ck_assert_double_eq(ledger.total_usd, 0.0);
    ck_assert_double_eq(ledger.formula_usd, 0.0);
    /* A free service has an item with a price of 0. */
    struct cost_prices free_of_charge = {.node_hour_usd = 0};
    usage = uniform_usage();
    cost_ledger_fill(&free_of_charge, &usage, &ledger);
    ck_assert_double_eq(ledger.total_usd, 0.0);
    assert_relative(ledger.items[0].quantity, 40.0, 1e-12);
}
END_TEST

/* 40,000 requests at 5 dollars a million and 200 GB read at 9 cents: 20 cents and 18 dollars, which
 * the formula adds as they are. */
START_TEST(requests_and_reads_of_a_store) {
    struct cost_usage usage = uniform_usage();
    struct cost_prices with_store = prices;
    struct cost_ledger ledger;
    with_store.store_write_usd = 5e-6;
    with_store.store_read_gb_usd = 0.09;
    (void)snprintf(with_store.store_source, sizeof with_store.store_source, "store list");
    usage.store_writes = usage.store_reads = true;
    usage.store_requests = 40000;
    usage.store_read_bytes = 200e9;
    cost_ledger_fill(&with_store, &usage, &ledger);
    ck_assert_uint_eq(ledger.count, 6);
    assert_item(&ledger.items[4], "store_requests", 40000, "request", 0.2, "store list");
    assert_item(&ledger.items[5], "store_reads", 200, "GB", 18, "store list");
    assert_relative(ledger.total_usd, 1604.3 + 18.2, 1e-12);
    assert_relative(ledger.formula_usd, ledger.total_usd, 1e-12);
}
END_TEST

static double random_up_to(double limit) {
    return limit * rand() / RAND_MAX;
}

/* Any usage: the total is the sum of quantity x price, doubling what is used doubles it, and the
 * formula agrees where storage is uniform. */
START_TEST(properties_of_any_usage) {
    unsigned seed = 20261201;
    srand(seed);
    for (int round = 0; round < 500; round++) {
        double stored = random_up_to(1e13);
        struct cost_usage usage = {.duration_s = 1 + random_up_to(1e7),
                                   .nodes = 1 + rand() % 64,
                                   .network_bytes = random_up_to(1e12),
                                   .log_bytes = random_up_to(1e12)};
        usage.storage_byte_s = stored * usage.duration_s;
        struct cost_ledger ledger, twice;
        cost_ledger_fill(&prices, &usage, &ledger);
        double sum = 0;
        for (size_t i = 0; i < ledger.count; i++)
            sum += ledger.items[i].quantity * ledger.items[i].unit_price_usd;
        double relative = fabs(ledger.total_usd / sum - 1);
        ck_assert_msg(relative < 1e-12, "seed %u round %d", seed, round);
        ck_assert_msg(fabs(ledger.formula_usd / sum - 1) < 1e-12, "seed %u round %d", seed, round);
        usage.duration_s *= 2;
        usage.storage_byte_s *= 2;
        usage.network_bytes *= 2;
        usage.log_bytes *= 2;
        cost_ledger_fill(&prices, &usage, &twice);
        ck_assert_msg(fabs(twice.total_usd / sum - 2) < 1e-12, "seed %u round %d", seed, round);
    }
}
END_TEST

static Suite *suite(void) {
    Suite *result = suite_create("cost_ledger");
    TCase *tests = tcase_create("ledger");
    tcase_add_test(tests, items_by_hand);
    tcase_add_test(tests, the_formula_agrees_where_everything_is_uniform);
    tcase_add_test(tests, the_formula_is_above_while_storage_fills);
    tcase_add_test(tests, nothing_used_costs_nothing);
    tcase_add_test(tests, requests_and_reads_of_a_store);
    tcase_add_test(tests, properties_of_any_usage);
    suite_add_tcase(result, tests);
    return result;
}

TESTING_MAIN(suite)
