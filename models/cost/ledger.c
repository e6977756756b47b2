/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/cost/ledger.h"

#include "sim/contract.h"

#define HOUR_S 3600.0
#define GB 1e9
#define MONTH_HOURS 730.0 /* 8,760 hours a year / 12: how clouds turn months into hours */

static struct cost_item item_of(const char *item, const char *dimension, double quantity,
                                const char *unit, double unit_price_usd, const char *source) {
    return (struct cost_item){.item = item,
                              .dimension = dimension,
                              .quantity = quantity,
                              .unit = unit,
                              .unit_price_usd = unit_price_usd,
                              .amount_usd = quantity * unit_price_usd,
                              .source = source};
}

static double hours_of(const struct cost_usage *usage) {
    return usage->duration_s / HOUR_S;
}

/* What storage and network add to each hour, in the formula's view. */
static double surcharge_usd_per_hour(const struct cost_prices *prices,
                                     const struct cost_usage *usage) {
    double peak = usage->storage_peak_bytes > 0.0 ? usage->storage_peak_bytes
                                                  : usage->storage_byte_s / usage->duration_s;
    double traffic_usd = usage->network_bytes / GB * prices->network_gb_usd +
                         usage->zone_bytes / GB * prices->zone_gb_usd;
    return peak / GB * prices->storage_gb_month_usd / MONTH_HOURS + traffic_usd / hours_of(usage);
}

static double formula_usd(const struct cost_prices *prices, const struct cost_usage *usage) {
    double counted = prices->log_gb_usd * usage->log_bytes / GB +
                     prices->store_write_usd * usage->store_requests +
                     prices->store_read_gb_usd * usage->store_read_bytes / GB;
    /* A run of no length has no rate to charge by. */
    if (usage->duration_s == 0.0)
        return counted;
    double rate = prices->node_hour_usd * usage->nodes + surcharge_usd_per_hour(prices, usage);
    return rate * hours_of(usage) + counted;
}

void cost_ledger_fill(const struct cost_prices *prices, const struct cost_usage *usage,
                      struct cost_ledger *ledger) {
    CONTRACT(usage->duration_s >= 0.0 && usage->nodes >= 0, "a negative quantity");
    ledger->items[0] = item_of("accelerators", "node hours", usage->nodes * hours_of(usage),
                               "node hour", prices->node_hour_usd, prices->node_source);
    ledger->items[1] = item_of("checkpoint_storage", "stored data",
                               usage->storage_byte_s / GB / HOUR_S / MONTH_HOURS, "GB-month",
                               prices->storage_gb_month_usd, prices->storage_source);
    ledger->items[2] = item_of("network", "traffic out of the region", usage->network_bytes / GB,
                               "GB", prices->network_gb_usd, prices->network_source);
    ledger->items[3] = item_of("logs", "ingested", usage->log_bytes / GB, "GB", prices->log_gb_usd,
                               prices->log_source);
    ledger->count = 4;
    if (usage->zones)
        ledger->items[ledger->count++] =
            item_of("zone_traffic", "traffic between zones", usage->zone_bytes / GB, "GB",
                    prices->zone_gb_usd, prices->zone_source);
    if (usage->store_writes)
        ledger->items[ledger->count++] =
            item_of("store_requests", "requests that write", usage->store_requests, "request",
                    prices->store_write_usd, prices->store_source);
    if (usage->store_reads)
        ledger->items[ledger->count++] =
            item_of("store_reads", "read from the store", usage->store_read_bytes / GB, "GB",
                    prices->store_read_gb_usd, prices->store_source);
    ledger->total_usd = 0.0;
    for (size_t i = 0; i < ledger->count; i++) {
        ledger->items[i].start_s = 0.0;
        ledger->items[i].end_s = usage->duration_s;
        ledger->total_usd += ledger->items[i].amount_usd;
    }
    ledger->formula_usd = formula_usd(prices, usage);
}
