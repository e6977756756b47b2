/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where checkpoints go: rows of stores.csv, or described in the scenario, or the node's figure. */
#include "models/scenario/catalog_rows.h"
#include "models/scenario/draft.h"
#include "models/scenario/inline_row.h"

#include <math.h>

static bool find_row(struct scenario_draft *draft, enum scenario_key key, struct column_row *row) {
    const struct scenario_value *value = &draft->values.at[key];
    struct inline_request request = {scenario_schema_at(key)->path, CATALOG_STORES, draft->catalog,
                                     draft->diagnostics};
    if (value->mapping != NULL)
        return inline_row_read(&request, value->mapping, row);
    const struct column_row *known = catalog_row(draft->catalog, CATALOG_STORES, value->text);
    if (known == NULL) {
        scenario_blame_name(draft, key, CATALOG_STORES);
        return false;
    }
    *row = *known;
    return true;
}

static bool given(const struct scenario_draft *draft, enum scenario_key key) {
    return scenario_given(draft, key) && scenario_known(draft, key);
}

/* A row gives a limit of the clients or one of the store, or a run cannot use that direction. */
static void check_direction(struct scenario_draft *draft, enum scenario_key key,
                            const struct store *store, enum store_direction direction,
                            const char *use) {
    const char *word = direction == STORE_WRITE ? "write" : "read";
    if (store_client_limit(store, direction) > 0.0 || store_shared_limit(store, direction) > 0.0)
        return;
    scenario_blame(draft, key,
                   "store '%s' has no %s_gb_per_s and no client_%s_gb_per_s, which %s needs; write "
                   "stores.csv of your own for it, or describe it in the scenario",
                   store->name, word, word, use);
}

/* The node's figure holds for both ways, and so does the limit of a store that has no row. */
static void fill_default(struct scenario_draft *draft) {
    struct rlhfsim_scenario *scenario = draft->scenario;
    double node = scenario->cluster.node.storage_bandwidth_bytes_per_s;
    double shared = scenario->checkpoint.store_bandwidth_bytes_per_s;
    scenario->checkpoint.store =
        (struct store){.write_bytes_per_s = shared,
                       .read_bytes_per_s = shared,
                       .client_write_bytes_per_s = isnan(node) ? 0.0 : node,
                       .client_read_bytes_per_s = isnan(node) ? 0.0 : node,
                       .gb_month_usd = (double)NAN,
                       .write_usd = (double)NAN,
                       .read_gb_usd = (double)NAN};
}

/* Requests have a price and a size, or neither: alone neither says anything. */
static void check_requests(struct scenario_draft *draft, const struct store *store) {
    bool priced = !isnan(store->write_usd), counted = store->part_bytes > 0.0;
    if (priced != counted)
        scenario_blame(draft, KEY_CHECKPOINT_STORE,
                       "store '%s' has %s, but no %s, which requests that write need beside it",
                       store->name, priced ? "usd_per_1000_writes" : "part_mb",
                       priced ? "part_mb" : "usd_per_1000_writes");
}

static void fill_store(struct scenario_draft *draft) {
    struct rlhfsim_scenario *scenario = draft->scenario;
    struct store *store = &scenario->checkpoint.store;
    struct column_row row;
    if (!find_row(draft, KEY_CHECKPOINT_STORE, &row) ||
        !catalog_row_fill(CATALOG_STORES, &row, draft->diagnostics, store))
        return;
    scenario->checkpoint.store_provenance =
        catalog_provenance_name((int)row.number[STORE_PROVENANCE]);
    check_requests(draft, store);
    double narrower = scenario->checkpoint.store_bandwidth_bytes_per_s;
    if (narrower > 0.0 && (store->write_bytes_per_s == 0.0 || narrower < store->write_bytes_per_s))
        store->write_bytes_per_s = narrower;
    if (scenario->checkpoint.every_steps > 0)
        check_direction(draft, KEY_CHECKPOINT_STORE, store, STORE_WRITE, "a save");
    if (scenario->checkpoint.load != SCENARIO_LOAD_NONE)
        check_direction(draft, KEY_CHECKPOINT_STORE, store, STORE_READ, "loading");
}

/* What passes through on its way has no bill: a priced row there would be a surprise. */
static void check_unpriced(struct scenario_draft *draft, const struct store *store) {
    if (isnan(store->gb_month_usd) && isnan(store->write_usd) && isnan(store->read_gb_usd) &&
        store->part_bytes == 0.0)
        return;
    scenario_blame(draft, KEY_CHECKPOINT_STAGING,
                   "store '%s' has prices or part_mb, which are not counted where checkpoints are "
                   "staged; leave them out",
                   store->name);
}

static void fill_staging(struct scenario_draft *draft) {
    struct rlhfsim_scenario *scenario = draft->scenario;
    struct column_row row;
    if (!find_row(draft, KEY_CHECKPOINT_STAGING, &row) ||
        !catalog_row_fill(CATALOG_STORES, &row, draft->diagnostics, &scenario->checkpoint.staging))
        return;
    scenario->checkpoint.staged_on_store = true;
    if (scenario->checkpoint.mode != SCENARIO_SAVE_ASYNCHRONOUS &&
        scenario_known(draft, KEY_CHECKPOINT_MODE))
        scenario_blame_key(draft, KEY_CHECKPOINT_STAGING,
                           "checkpoint.staging is written, but checkpoint.mode is synchronous, "
                           "which stages nothing");
    check_unpriced(draft, &scenario->checkpoint.staging);
    check_direction(draft, KEY_CHECKPOINT_STAGING, &scenario->checkpoint.staging, STORE_WRITE,
                    "staging");
    check_direction(draft, KEY_CHECKPOINT_STAGING, &scenario->checkpoint.staging, STORE_READ,
                    "staging");
}

void scenario_resolve_stores(struct scenario_draft *draft) {
    if (draft->cluster_known)
        fill_default(draft);
    if (given(draft, KEY_CHECKPOINT_STORE))
        fill_store(draft);
    if (given(draft, KEY_CHECKPOINT_STAGING))
        fill_staging(draft);
}
