/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The node and its GPU: rows of the catalog, or described in the scenario itself. */
#include "models/base/text.h"
#include "models/scenario/catalog_kernels.h"
#include "models/scenario/catalog_rows.h"
#include "models/scenario/draft.h"
#include "models/scenario/inline_row.h"
#include "models/scenario/node_fabric.h"

/* ---- one row --------------------------------------------------------------------------------- */

static bool inline_row(struct scenario_draft *draft, enum scenario_key key, enum catalog_kind kind,
                       struct column_row *row) {
    struct inline_request request = {scenario_schema_at(key)->path, kind, draft->catalog,
                                     draft->diagnostics};
    return inline_row_read(&request, draft->values.at[key].mapping, row);
}

/* The row that a key names or holds. False after the errors. */
static bool find_row(struct scenario_draft *draft, enum scenario_key key, enum catalog_kind kind,
                     struct column_row *row) {
    if (draft->values.at[key].mapping != NULL)
        return inline_row(draft, key, kind, row);
    const struct column_row *known = catalog_row(draft->catalog, kind, draft->values.at[key].text);
    if (known == NULL) {
        scenario_blame_name(draft, key, kind);
        return false;
    }
    *row = *known;
    return true;
}

/* ---- GPU ------------------------------------------------------------------------------------- */

/* An inline GPU is the one of the node, whatever the catalog puts there. */
static bool resolve_inline_gpu(struct scenario_draft *draft) {
    struct hardware_gpu *gpu = &draft->scenario->cluster.gpu;
    if (!inline_row(draft, KEY_CLUSTER_GPU, CATALOG_GPUS, &draft->gpu_row) ||
        !catalog_row_fill(CATALOG_GPUS, &draft->gpu_row, draft->diagnostics, gpu))
        return false;
    catalog_kernels_join(draft->catalog, gpu);
    return true;
}

static void check_gpu_name(struct scenario_draft *draft, const char *gpu) {
    char quoted[BASE_QUOTE_SIZE];
    const struct hardware_node *node = &draft->scenario->cluster.node;
    const char *name = draft->values.at[KEY_CLUSTER_GPU].text;
    if (!scenario_known(draft, KEY_CLUSTER_GPU) ||
        catalog_row(draft->catalog, CATALOG_GPUS, name) ==
            catalog_row(draft->catalog, CATALOG_GPUS, gpu))
        return;
    scenario_blame(draft, KEY_CLUSTER_GPU, "cluster.gpu is %s, but node '%s' has %s",
                   base_quote(name, quoted), node->name, node->gpu);
}

static bool resolve_named_gpu(struct scenario_draft *draft, struct tree_place place) {
    const char *name = draft->scenario->cluster.node.gpu;
    const struct column_row *row = catalog_row(draft->catalog, CATALOG_GPUS, name);
    char quoted[BASE_QUOTE_SIZE];
    if (row == NULL) {
        const char *near = catalog_nearest(draft->catalog, CATALOG_GPUS, name);
        (void)tree_error(draft->diagnostics, place,
                         "cluster.node.gpu is %s, which the catalog does not have%s%s%s",
                         base_quote(name, quoted), near == NULL ? "" : "; did you mean '",
                         near == NULL ? "" : near, near == NULL ? "" : "'?");
        return false;
    }
    check_gpu_name(draft, name);
    draft->gpu_row = *row;
    draft->scenario->cluster.gpu = *catalog_gpu(draft->catalog, name);
    return true;
}

/* ---- the stage ------------------------------------------------------------------------------- */

static bool check_gpu_count(struct scenario_draft *draft, const struct hardware_node *node) {
    struct hardware_cluster *cluster = &draft->scenario->cluster;
    if (!scenario_given(draft, KEY_CLUSTER_GPUS_PER_NODE))
        cluster->gpus_per_node = node->gpus;
    else if (!scenario_known(draft, KEY_CLUSTER_GPUS_PER_NODE))
        return false;
    if (cluster->gpus_per_node <= node->gpus)
        return true;
    scenario_blame(draft, KEY_CLUSTER_GPUS_PER_NODE,
                   "cluster.gpus_per_node is %d, but node '%s' has %d GPUs", cluster->gpus_per_node,
                   node->name, node->gpus);
    return false;
}

static bool resolve_gpu(struct scenario_draft *draft) {
    return draft->values.at[KEY_CLUSTER_GPU].mapping != NULL
               ? resolve_inline_gpu(draft)
               : resolve_named_gpu(draft, draft->node_row.place[NODE_GPU]);
}

void scenario_resolve_cluster(struct scenario_draft *draft) {
    struct rlhfsim_scenario *scenario = draft->scenario;
    struct catalog_node_row row;
    if (!scenario_known(draft, KEY_CLUSTER_NODE) ||
        !find_row(draft, KEY_CLUSTER_NODE, CATALOG_NODES, &draft->node_row) ||
        !catalog_row_fill(CATALOG_NODES, &draft->node_row, draft->diagnostics, &row) ||
        !node_fabric_fill(draft->catalog, &draft->node_row, &row.node, draft->diagnostics))
        return;
    scenario->cluster.node = row.node;
    draft->offer = row.offer;
    if (!resolve_gpu(draft))
        return;
    draft->offer_known = true;
    scenario->node_provenance =
        catalog_provenance_name((int)draft->node_row.number[NODE_PROVENANCE]);
    scenario->kernels_provenance =
        catalog_kernels_provenance(draft->catalog, scenario->cluster.gpu.name);
    scenario->gpu_provenance = catalog_provenance_name((int)draft->gpu_row.number[GPU_PROVENANCE]);
    draft->cluster_known =
        check_gpu_count(draft, &scenario->cluster.node) && scenario_known(draft, KEY_CLUSTER_NODES);
    if (draft->cluster_known)
        scenario_resolve_topology(draft);
}
