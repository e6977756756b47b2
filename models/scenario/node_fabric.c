/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/scenario/node_fabric.h"

#include "models/base/text.h"

#include <math.h>

#define MICRO 1e-6

/* One of the two fabrics of a node. */
struct slot {
    size_t column, efficiency, latency;
    enum catalog_fabric_use use;
};

static const struct slot inside = {NODE_SCALEUP_FABRIC, NODE_SCALEUP_EFFICIENCY,
                                   NODE_SCALEUP_LATENCY_US, CATALOG_FABRIC_INSIDE};
static const struct slot between = {NODE_NETWORK_FABRIC, NODE_NETWORK_EFFICIENCY,
                                    NODE_NETWORK_LATENCY_US, CATALOG_FABRIC_BETWEEN};

static bool no_such_fabric(const struct catalog *catalog, const struct column_row *row,
                           size_t column, struct rlhfsim_diagnostics *diagnostics) {
    char quoted[BASE_QUOTE_SIZE];
    const char *name = row->text[column];
    const char *near = catalog_nearest(catalog, CATALOG_FABRICS, name);
    (void)tree_error(diagnostics, row->place[column], "%s is %s, which is not in fabrics.csv%s%s%s",
                     column == NODE_SCALEUP_FABRIC ? "scaleup_fabric" : "network_fabric",
                     base_quote(name, quoted), near == NULL ? "" : "; did you mean '",
                     near == NULL ? "" : near, near == NULL ? "" : "'?");
    return false;
}

static bool wrong_use(const struct column_row *row, const struct slot *slot,
                      struct rlhfsim_diagnostics *diagnostics) {
    char quoted[BASE_QUOTE_SIZE];
    bool is_inside = slot->use == CATALOG_FABRIC_INSIDE;
    (void)tree_error(diagnostics, row->place[slot->column],
                     "%s is %s, which does not join %s, expected one whose use is '%s'",
                     is_inside ? "scaleup_fabric" : "network_fabric",
                     base_quote(row->text[slot->column], quoted),
                     is_inside ? "the GPUs of a node" : "nodes", is_inside ? "inside" : "between");
    return false;
}

static void fill_gap(double *cell, double value) {
    if (isnan(*cell))
        *cell = value;
}

/* NULL with *good unchanged where the row names none; NULL and false after an error. */
static const struct catalog_fabric *find(const struct catalog *catalog, struct column_row *row,
                                         const struct slot *slot, bool *good,
                                         struct rlhfsim_diagnostics *diagnostics) {
    const char *name = row->text[slot->column];
    if (*name == '\0')
        return NULL;
    const struct catalog_fabric *fabric = catalog_fabric(catalog, name);
    if (fabric == NULL) {
        *good = no_such_fabric(catalog, row, slot->column, diagnostics);
        return NULL;
    }
    if (fabric->use != slot->use) {
        *good = wrong_use(row, slot, diagnostics);
        return NULL;
    }
    fill_gap(&row->number[slot->efficiency], fabric->efficiency);
    fill_gap(&row->number[slot->latency], fabric->latency_s / MICRO);
    return fabric;
}

static bool domain_is_whole(const struct column_row *row, struct hardware_node *node,
                            struct rlhfsim_diagnostics *diagnostics) {
    if (node->domain_gpus == 0 || node->domain_gpus % node->gpus == 0)
        return true;
    (void)tree_error(diagnostics, row->place[NODE_DOMAIN_GPUS],
                     "domain_gpus is %d, expected a multiple of the node's %d GPUs",
                     node->domain_gpus, node->gpus);
    return false;
}

bool node_fabric_fill(const struct catalog *catalog, struct column_row *row,
                      struct hardware_node *node, struct rlhfsim_diagnostics *diagnostics) {
    bool good = domain_is_whole(row, node, diagnostics);
    const struct catalog_fabric *scaleup = find(catalog, row, &inside, &good, diagnostics);
    const struct catalog_fabric *network = find(catalog, row, &between, &good, diagnostics);
    if (scaleup != NULL) {
        node->scaleup = scaleup->fabric;
        fill_gap(&row->number[NODE_COLLECTIVE_START_US], scaleup->start_s / MICRO);
    }
    if (network != NULL)
        node->network = network->fabric;
    node->scaleup_efficiency = row->number[NODE_SCALEUP_EFFICIENCY];
    node->network_efficiency = row->number[NODE_NETWORK_EFFICIENCY];
    node->scaleup_latency_s = row->number[NODE_SCALEUP_LATENCY_US] * MICRO;
    node->network_latency_s = row->number[NODE_NETWORK_LATENCY_US] * MICRO;
    node->collective_start_s = row->number[NODE_COLLECTIVE_START_US] * MICRO;
    return good;
}
