/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Unit prices: what the scenario says, else what the catalog has for the provider and region. */
#include "models/base/text.h"
#include "models/scenario/columns.h"
#include "models/scenario/draft.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct place_of_rent {
    const char *provider, *region;
};

/* Source, and the date of the list, of a catalog price. */
static void describe_source(const struct scenario_draft *draft, const struct catalog_price *price,
                            char *buffer, size_t size) {
    char name[192], text[1152];
    (void)snprintf(name, sizeof name, "%s/%s/%s", price->provider, price->region, price->item);
    (void)snprintf(text, sizeof text, "%s; %s",
                   catalog_source(draft->catalog, CATALOG_PRICES, name), price->date);
    base_text_copy(buffer, size, text);
}

static bool check_unit(struct scenario_draft *draft, enum scenario_key key,
                       const struct catalog_price *price, const char *unit) {
    if (strcmp(price->unit, unit) == 0)
        return true;
    scenario_blame(draft, key,
                   "the catalog's price of '%s' is by the %s, expected by the %s; "
                   "write %s",
                   price->item, price->unit, unit, scenario_schema_at(key)->path);
    return false;
}

/* ---- services -------------------------------------------------------------------------------- */

struct service {
    enum scenario_key key;
    const char *item, *unit;
};

static const struct service storage = {KEY_PRICES_STORAGE_USD_PER_GB_MONTH, "object storage",
                                       "GB-month"};
static const struct service network = {KEY_PRICES_NETWORK_USD_PER_GB, "cross-region network", "GB"};
static const struct service logs = {KEY_PRICES_LOG_USD_PER_GB, "log ingest", "GB"};

static void resolve_service(struct scenario_draft *draft, struct place_of_rent where,
                            const struct service *service, double *usd, char *source, size_t size) {
    if (scenario_given(draft, service->key)) {
        (void)snprintf(source, size, "%s of the scenario", scenario_schema_at(service->key)->path);
        return;
    }
    const struct catalog_price *price =
        catalog_price(draft->catalog, where.provider, where.region, service->item);
    if (price == NULL) {
        (void)snprintf(source, size, "the catalog has no price of %s in %s/%s: counted as free",
                       service->item, where.provider, where.region);
        return;
    }
    if (check_unit(draft, service->key, price, service->unit))
        *usd = price->usd;
    describe_source(draft, price, source, size);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Where the catalog has a price of the item: "; it has one from azure in eastus". */
static void list_offers(const struct catalog *catalog, const char *item, char *buffer,
                        size_t size) {
    const char *name, *lead = "; it has one from ";
    size_t used = 0;
    buffer[0] = '\0';
    for (size_t i = 0; (name = catalog_name_at(catalog, CATALOG_PRICES, i)) != NULL; i++) {
        const struct column_row *row = catalog_row(catalog, CATALOG_PRICES, name);
        if (row == NULL || strcmp(row->text[PRICE_ITEM], item) != 0 || used >= size)
            continue;
        int length = snprintf(buffer + used, size - used, "%s%s in %s", lead,
                              row->text[PRICE_PROVIDER], row->text[PRICE_REGION]);
        used += length > 0 ? (size_t)length : 0;
        lead = ", ";
    }
}

/* Who said it: "prices.region", or the node where the scenario does not. */
static const char *origin(const struct scenario_draft *draft, enum scenario_key key) {
    return scenario_given(draft, key) ? scenario_schema_at(key)->path : "of the node";
}

static void missing_price(struct scenario_draft *draft, struct place_of_rent where,
                          const char *item) {
    char offers[512];
    const enum scenario_key keys[] = {KEY_PRICES_REGION, KEY_PRICES_PROVIDER, KEY_PRICES_PLAN,
                                      KEY_CLUSTER_NODE};
    size_t index = 0;
    while (index < 3 && !scenario_given(draft, keys[index]))
        index++;
    list_offers(draft->catalog, item, offers, sizeof offers);
    scenario_blame(draft, keys[index],
                   "the catalog has no price of '%s' from %s (%s) in %s (%s)%s; write "
                   "prices.node_usd_per_hour, or another prices.provider, prices.region or "
                   "prices.plan (%s)",
                   item, where.provider, origin(draft, KEY_PRICES_PROVIDER), where.region,
                   origin(draft, KEY_PRICES_REGION), offers,
                   draft->values.at[KEY_PRICES_PLAN].integer == 1 ? "spot" : "on_demand");
}

/* Traffic between zones costs what leaves the region, where nothing else is said. */
static void resolve_zones(struct scenario_draft *draft) {
    struct cost_prices *prices = &draft->scenario->prices;
    if (scenario_given(draft, KEY_CLUSTER_ZONES_USD_PER_GB)) {
        (void)snprintf(prices->zone_source, sizeof prices->zone_source,
                       "cluster.zones.usd_per_gb of the scenario");
        return;
    }
    prices->zone_gb_usd = prices->network_gb_usd;
    memcpy(prices->zone_source, prices->network_source, sizeof prices->zone_source);
}

static void resolve_node(struct scenario_draft *draft, struct place_of_rent where,
                         const char *instance) {
    struct cost_prices *prices = &draft->scenario->prices;
    char item[96], name[192];
    bool spot = draft->values.at[KEY_PRICES_PLAN].integer == 1;
    (void)snprintf(item, sizeof item, "%s %s", instance, spot ? "spot" : "on-demand");
    const struct catalog_price *price =
        catalog_price(draft->catalog, where.provider, where.region, item);
    if (price == NULL) {
        missing_price(draft, where, item);
        return;
    }
    (void)snprintf(name, sizeof name, "%s/%s/%s", price->provider, price->region, price->item);
    if (check_unit(draft, KEY_PRICES_NODE_USD_PER_HOUR, price, "node-hour"))
        prices->node_hour_usd = price->usd;
    describe_source(draft, price, prices->node_source, sizeof prices->node_source);
    draft->scenario->price_provenance = catalog_provenance(draft->catalog, CATALOG_PRICES, name);
}

/* A store that says what it costs has that in place of the region's price of storage. */
static void resolve_store(struct scenario_draft *draft) {
    struct cost_prices *prices = &draft->scenario->prices;
    const struct store *store = &draft->scenario->checkpoint.store;
    (void)snprintf(prices->store_source, sizeof prices->store_source, "store '%s'", store->name);
    if (store->write_usd > 0.0)
        prices->store_write_usd = store->write_usd;
    if (store->read_gb_usd > 0.0)
        prices->store_read_gb_usd = store->read_gb_usd;
    if (isnan(store->gb_month_usd) || scenario_given(draft, KEY_PRICES_STORAGE_USD_PER_GB_MONTH))
        return;
    prices->storage_gb_month_usd = store->gb_month_usd;
    memcpy(prices->storage_source, prices->store_source, sizeof prices->storage_source);
}

void scenario_resolve_prices(struct scenario_draft *draft) {
    struct cost_prices *prices = &draft->scenario->prices;
    const struct scenario_value *provider = &draft->values.at[KEY_PRICES_PROVIDER];
    const struct scenario_value *region = &draft->values.at[KEY_PRICES_REGION];
    const struct catalog_offer *offer = &draft->offer;
    if (!draft->offer_known || provider->given != provider->known ||
        region->given != region->known || !scenario_known(draft, KEY_PRICES_PLAN))
        return;
    struct place_of_rent where = {provider->given ? provider->text : offer->provider,
                                  region->given ? region->text : offer->region};
    if (!scenario_given(draft, KEY_PRICES_NODE_USD_PER_HOUR)) {
        resolve_node(draft, where, offer->instance);
    } else {
        (void)snprintf(prices->node_source, sizeof prices->node_source,
                       "prices.node_usd_per_hour of the scenario");
        draft->scenario->price_provenance = "assumed";
    }
    resolve_service(draft, where, &storage, &prices->storage_gb_month_usd, prices->storage_source,
                    sizeof prices->storage_source);
    resolve_store(draft);
    resolve_service(draft, where, &network, &prices->network_gb_usd, prices->network_source,
                    sizeof prices->network_source);
    resolve_zones(draft);
    resolve_service(draft, where, &logs, &prices->log_gb_usd, prices->log_source,
                    sizeof prices->log_source);
}
