/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_COST_LEDGER_H
#define MODELS_COST_LEDGER_H

/*
 * What a run costs: dated items, each quantity x unit price with the price's source. And beside it
 * the closed formula
 *
 *     (instance price + storage and network surcharge) x peak run time + log price x sampled volume
 */

#include <stdbool.h>
#include <stddef.h>

/* Unit prices in US dollars; 0 where a service is free. A source says where each comes from. */
struct cost_prices {
    double node_hour_usd;
    double storage_gb_month_usd; /* GB = 1e9 bytes, month = 730 hours */
    double network_gb_usd;       /* traffic that leaves the region */
    double log_gb_usd;           /* ingested */
    char node_source[192], storage_source[192], network_source[192], log_source[192];
};

/* What the run used. */
struct cost_usage {
    double duration_s;
    int nodes;
    double storage_byte_s; /* integral of what is stored over the run */
    double network_bytes;  /* leaving the region */
    double log_bytes;      /* after sampling */
};

struct cost_item {
    double start_s, end_s;
    const char *item;      /* "accelerators", "checkpoint_storage", "network", "logs" */
    const char *dimension; /* "node hours", "stored data", ... */
    double quantity;
    const char *unit;
    double unit_price_usd;
    double amount_usd;
    const char *source;
};

#define COST_ITEMS 4

struct cost_ledger {
    struct cost_item items[COST_ITEMS];
    size_t count;
    double total_usd;
    double formula_usd;
};

/* Fills the ledger; `prices` must outlive it (items point to its sources). */
void cost_ledger_fill(const struct cost_prices *prices, const struct cost_usage *usage,
                      struct cost_ledger *ledger);

#endif
