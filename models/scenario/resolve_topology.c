/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What lies between the nodes: one kind, and the keys that this kind takes. */
#include "models/base/text.h"
#include "models/network/topology.h"
#include "models/scenario/draft.h"
#include "models/scenario/graph_read.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct topology_key {
    enum scenario_key key;
    unsigned use; /* a NETWORK_TOPOLOGY_... of the kinds that take it; 0: all but `full` */
};

/* A graph has its background in it. */
#define TIMED (NETWORK_TOPOLOGY_BLOCK | NETWORK_TOPOLOGY_OVERSUBSCRIPTION | NETWORK_TOPOLOGY_SHAPE)

static const struct topology_key keys[] = {
    {KEY_CLUSTER_TOPOLOGY_BLOCK_NODES, NETWORK_TOPOLOGY_BLOCK},
    {KEY_CLUSTER_TOPOLOGY_OVERSUBSCRIPTION, NETWORK_TOPOLOGY_OVERSUBSCRIPTION},
    {KEY_CLUSTER_TOPOLOGY_SHAPE, NETWORK_TOPOLOGY_SHAPE},
    {KEY_CLUSTER_TOPOLOGY_BACKGROUND, 0},
    {KEY_CLUSTER_TOPOLOGY_BACKGROUND_FROM, TIMED},
    {KEY_CLUSTER_TOPOLOGY_BACKGROUND_UNTIL, TIMED},
    {KEY_CLUSTER_TOPOLOGY_PLACEMENT, NETWORK_TOPOLOGY_BLOCK | NETWORK_TOPOLOGY_GRAPH},
    {KEY_CLUSTER_TOPOLOGY_ROUTING, NETWORK_TOPOLOGY_GRAPH},
    {KEY_CLUSTER_TOPOLOGY_SWITCHES, NETWORK_TOPOLOGY_GRAPH},
    {KEY_CLUSTER_TOPOLOGY_LINKS, NETWORK_TOPOLOGY_GRAPH},
};

static bool given(const struct scenario_draft *draft, enum scenario_key key) {
    return scenario_given(draft, key) && scenario_known(draft, key);
}

static const struct network_topology_type *find_kind(struct scenario_draft *draft) {
    const char *name = draft->values.at[KEY_CLUSTER_TOPOLOGY_KIND].text;
    const struct network_topology_type *type = network_topology_find(name);
    char quoted[BASE_QUOTE_SIZE];
    struct base_nearest nearest;
    if (type != NULL)
        return type;
    base_nearest_start(&nearest, name);
    for (unsigned i = 0; network_topology_at(i) != NULL; i++)
        base_nearest_offer(&nearest, network_topology_at(i)->name);
    const char *near = base_nearest_name(&nearest);
    scenario_blame(draft, KEY_CLUSTER_TOPOLOGY_KIND,
                   "cluster.topology.kind is %s, expected one that `rlhfsim catalog topologies` "
                   "has%s%s%s",
                   base_quote(name, quoted), near == NULL ? "" : "; did you mean '",
                   near == NULL ? "" : near, near == NULL ? "" : "'?");
    return NULL;
}

/* A key that would change nothing is a mistake of whoever wrote it. */
static bool check_uses(struct scenario_draft *draft, const struct network_topology_type *type) {
    bool good = true;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        bool used = keys[i].use == 0 ? type->keys != 0 : (type->keys & keys[i].use) != 0;
        if (used || !scenario_given(draft, keys[i].key))
            continue;
        good = false;
        scenario_blame_key(draft, keys[i].key, "%s is not used by the topology %s; leave it out",
                           scenario_schema_at(keys[i].key)->path, type->name);
    }
    return good;
}

/* "4x4x8" into three numbers; two have a third of 1. */
static bool read_shape(const char *text, int shape[3]) {
    char part[32];
    int count = 0;
    while (count < 3) {
        size_t length = strcspn(text, "x");
        int64_t number = 0;
        if (length >= sizeof part)
            return false;
        memcpy(part, text, length);
        part[length] = '\0';
        if (base_integer_read(part, &number) != BASE_NUMBER_OK || number < 1 || number > 4096)
            return false;
        shape[count++] = (int)number;
        text += length;
        if (*text == '\0')
            break;
        text++;
    }
    for (int i = count; i < 3; i++)
        shape[i] = 1;
    return count >= 2 && *text == '\0';
}

static void fill_shape(struct scenario_draft *draft) {
    struct hardware_cluster *cluster = &draft->scenario->cluster;
    const char *text = draft->values.at[KEY_CLUSTER_TOPOLOGY_SHAPE].text;
    int *shape = cluster->topology.shape;
    char quoted[BASE_QUOTE_SIZE];
    if (!given(draft, KEY_CLUSTER_TOPOLOGY_SHAPE))
        scenario_blame(draft, KEY_CLUSTER_TOPOLOGY_KIND,
                       "a torus needs cluster.topology.shape, as 4x4 or 4x4x8");
    else if (!read_shape(text, shape))
        scenario_blame(draft, KEY_CLUSTER_TOPOLOGY_SHAPE,
                       "cluster.topology.shape is %s, expected two or three numbers, as 4x4x8",
                       base_quote(text, quoted));
    else if ((int64_t)shape[0] * shape[1] * shape[2] != cluster->nodes)
        scenario_blame(draft, KEY_CLUSTER_TOPOLOGY_SHAPE,
                       "cluster.topology.shape has %lld nodes, but cluster.nodes is %d",
                       (long long)shape[0] * shape[1] * shape[2], cluster->nodes);
}

static void fill_block(struct scenario_draft *draft, const struct network_topology_type *type) {
    struct hardware_topology *topology = &draft->scenario->cluster.topology;
    topology->block_nodes = type->block_default;
    if (given(draft, KEY_CLUSTER_TOPOLOGY_BLOCK_NODES))
        topology->block_nodes = (int)draft->values.at[KEY_CLUSTER_TOPOLOGY_BLOCK_NODES].integer;
    else if (type->block_default == 0)
        scenario_blame(draft, KEY_CLUSTER_TOPOLOGY_KIND,
                       "the topology %s needs cluster.topology.block_nodes", type->name);
}

static void fill_placement(struct scenario_draft *draft, const struct network_topology_type *type) {
    struct hardware_topology *topology = &draft->scenario->cluster.topology;
    if (!given(draft, KEY_CLUSTER_TOPOLOGY_PLACEMENT))
        return;
    const char *placement = draft->values.at[KEY_CLUSTER_TOPOLOGY_PLACEMENT].text;
    bool graph = (type->keys & NETWORK_TOPOLOGY_GRAPH) != 0;
    topology->spread = strcmp(placement, "spread") == 0;
    topology->by_rail = strcmp(placement, "by_rail") == 0;
    if (topology->spread && graph)
        scenario_blame(draft, KEY_CLUSTER_TOPOLOGY_PLACEMENT,
                       "cluster.topology.placement is spread, but a graph says where each node is; "
                       "expected packed or by_rail");
    if (topology->by_rail && !graph && (type->keys & NETWORK_TOPOLOGY_RAILS) == 0)
        scenario_blame(draft, KEY_CLUSTER_TOPOLOGY_PLACEMENT,
                       "cluster.topology.placement is by_rail, which is for leaf_spine, "
                       "rail_optimised and graph, not for %s",
                       type->name);
}

/* All the time, or from one time to another. */
static void fill_background(struct scenario_draft *draft) {
    static const enum scenario_key edges[] = {KEY_CLUSTER_TOPOLOGY_BACKGROUND_FROM,
                                              KEY_CLUSTER_TOPOLOGY_BACKGROUND_UNTIL};
    struct hardware_topology *topology = &draft->scenario->cluster.topology;
    const struct scenario_value *at = draft->values.at;
    bool from = given(draft, edges[0]), until = given(draft, edges[1]);
    for (size_t i = 0; i < 2; i++)
        if (scenario_written(draft, edges[i]) &&
            !scenario_given(draft, KEY_CLUSTER_TOPOLOGY_BACKGROUND))
            scenario_blame_key(draft, edges[i],
                               "%s is written, but cluster.topology.background is not: nobody "
                               "uses these links",
                               scenario_schema_at(edges[i])->path);
    if (!given(draft, KEY_CLUSTER_TOPOLOGY_BACKGROUND))
        return;
    if (!from && !until) {
        topology->background = at[KEY_CLUSTER_TOPOLOGY_BACKGROUND].number;
        return;
    }
    topology->neighbour =
        (struct hardware_neighbour){.share = at[KEY_CLUSTER_TOPOLOGY_BACKGROUND].number,
                                    .from_s = from ? at[edges[0]].number : 0.0,
                                    .until_s = until ? at[edges[1]].number : (double)INFINITY};
    if (topology->neighbour.from_s >= topology->neighbour.until_s)
        scenario_blame(draft, edges[1],
                       "cluster.topology.background_until is %.9g s, expected a time after "
                       "cluster.topology.background_from (%.9g s)",
                       topology->neighbour.until_s, topology->neighbour.from_s);
}

/* Behind the topology in words: who else is there, and when. */
static void describe_neighbour(struct rlhfsim_scenario *scenario) {
    const struct hardware_neighbour *neighbour = &scenario->cluster.topology.neighbour;
    size_t used = strlen(scenario->topology), size = sizeof scenario->topology - used;
    if (neighbour->share <= 0.0)
        return;
    int length = snprintf(scenario->topology + used, size,
                          "; others take %.4g %% of these links from %.9g s",
                          100.0 * neighbour->share, neighbour->from_s);
    if (isfinite(neighbour->until_s) && length > 0 && (size_t)length < size)
        (void)snprintf(scenario->topology + used + length, size - (size_t)length, " to %.9g s",
                       neighbour->until_s);
}

void scenario_resolve_topology(struct scenario_draft *draft) {
    struct hardware_topology *topology = &draft->scenario->cluster.topology;
    if (!scenario_known(draft, KEY_CLUSTER_TOPOLOGY_KIND))
        return;
    const struct network_topology_type *type = find_kind(draft);
    if (type == NULL || !check_uses(draft, type))
        return;
    topology->type = type;
    topology->oversubscription =
        given(draft, KEY_CLUSTER_TOPOLOGY_OVERSUBSCRIPTION)
            ? draft->values.at[KEY_CLUSTER_TOPOLOGY_OVERSUBSCRIPTION].number
            : 1.0;
    fill_background(draft);
    fill_placement(draft, type);
    if ((type->keys & NETWORK_TOPOLOGY_BLOCK) != 0)
        fill_block(draft, type);
    if ((type->keys & NETWORK_TOPOLOGY_SHAPE) != 0)
        fill_shape(draft);
    if ((type->keys & NETWORK_TOPOLOGY_GRAPH) != 0)
        scenario_read_graph(draft);
    if ((type->keys & NETWORK_TOPOLOGY_GRAPH) != 0 && topology->graph == NULL)
        topology->type = NULL;
    if (topology->graph != NULL || topology->block_nodes > 0 || type->keys == 0 ||
        topology->shape[0] > 0)
        (void)type->describe(&draft->scenario->cluster, draft->scenario->topology,
                             sizeof draft->scenario->topology);
    describe_neighbour(draft->scenario);
}
