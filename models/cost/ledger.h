/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_COST_LEDGER_H
#define MODELS_COST_LEDGER_H

/*
 * What a run costs: dated items, each quantity x unit price with the price's source. And beside it
 * the closed formula that a planner would use,
 *
 *     (node price x nodes + surcharge) x run time + log price x sampled volume
 *     surcharge = most stored at once x storage price / month + network price x traffic / run time
 *
 * (traffic between zones at its own price) in US dollars an hour, and beside it requests to the
 * store and what is read from it. The ledger charges what was stored while it was stored, the
 * formula the most that was stored all the time: they agree where storage does not change over the
 * run, and the formula is above by what it takes for the checkpoints to fill up otherwise. Left
 * out: taxes, minimum billing times.
 */

#include <stdbool.h>
#include <stddef.h>

/* Unit prices in US dollars; 0 where a service is free. A source says where each comes from. */
struct cost_prices {
    double node_hour_usd;
    double storage_gb_month_usd; /* GB = 1e9 bytes, month = 730 hours */
    double network_gb_usd;       /* traffic that leaves the region */
    double log_gb_usd;           /* ingested */
    double zone_gb_usd;          /* traffic from zone to zone */
    double store_write_usd;      /* a request that writes to the store */
    double store_read_gb_usd;    /* read from the store */
    char node_source[192], storage_source[192], network_source[192], log_source[192],
        zone_source[192], store_source[192];
};

/* What the run used. */
struct cost_usage {
    double duration_s;
    int nodes;
    double storage_byte_s;     /* integral of what is stored over the run */
    double storage_peak_bytes; /* most stored at once; 0: the mean, storage_byte_s / duration_s */
    double network_bytes;      /* leaving the region */
    double log_bytes;          /* after sampling */
    bool zones;                /* the cluster has several */
    double zone_bytes;         /* from zone to zone */
    bool store_writes;         /* the store counts its requests */
    double store_requests;     /* that wrote */
    bool store_reads;          /* the store has a price of reading */
    double store_read_bytes;   /* from the store */
};

struct cost_item {
    double start_s, end_s;
    /* "accelerators", "checkpoint_storage", "network", "logs", "zone_traffic", "store_requests",
     * "store_reads" */
    const char *item;
    const char
        *dimension; /* "node hours", "stored data", "traffic out of the region", "ingested" */
    double quantity;
    const char *unit; /* "node hour", "GB-month", "GB", "GB" */
    double unit_price_usd;
    double amount_usd;
    const char *source;
};

#define COST_ITEMS 7

struct cost_ledger {
    struct cost_item items[COST_ITEMS];
    size_t count;
    double total_usd;
    double formula_usd;
};

/* Fills the ledger: always the same four items, each over the whole run, those that cost nothing
 * too; the traffic between zones where there are several; requests to the store and reading
 * from it where it counts and prices them.
 * `prices` must outlive it (items point to its sources). */
void cost_ledger_fill(const struct cost_prices *prices, const struct cost_usage *usage,
                      struct cost_ledger *ledger);

#endif
