/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/scenario/graph_read.h"

#include "models/base/text.h"
#include "models/network/graph.h"
#include "models/scenario/graph_range.h"
#include "models/scenario/value.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ERRORS_READ 20 /* with so many nobody reads on */

struct named {
    char name[GRAPH_NAME_BYTES];
    struct tree_place place;
};

/* A link as read, with the place of its item. Nodes are numbered by their NICs until it is known
 * whether they have them apart. */
struct read_link {
    struct network_graph_link link;
    struct tree_place place;
};

struct graph_reading {
    struct scenario_draft *draft;
    uint32_t nodes, gpus; /* of a node */
    struct named *switches;
    uint32_t switch_count;
    struct read_link *links;
    size_t link_count;
    uint32_t *from, *to;             /* of one item */
    struct tree_place whole, by_nic; /* where a node was first attached so; file NULL: nowhere */
    bool good;
    int errors;
};

__attribute__((format(printf, 3, 4))) static void
wrong(struct graph_reading *reading, struct tree_place place, const char *format, ...) {
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    reading->good = false;
    reading->errors++;
    (void)tree_error(reading->draft->diagnostics, place, "%s", message);
}

static uint32_t find_switch(const struct graph_reading *reading, const char *name) {
    uint32_t index = 0;
    while (index < reading->switch_count && strcmp(reading->switches[index].name, name) != 0)
        index++;
    return index;
}

/* ---- switches -------------------------------------------------------------------------------- */

static void add_switch(struct graph_reading *reading, const struct graph_range *range,
                       uint32_t number, struct tree_place place) {
    char name[GRAPH_VERTEX_BYTES];
    graph_range_name(range, number, name);
    uint32_t known = find_switch(reading, name);
    if (strlen(name) >= GRAPH_NAME_BYTES)
        wrong(reading, place, "switch '%s' has a name of more than %d characters", name,
              GRAPH_NAME_BYTES - 1);
    else if (known < reading->switch_count)
        wrong(reading, place, "switch '%s' is written twice, first at line %d", name,
              reading->switches[known].place.line);
    else if (reading->switch_count == NETWORK_GRAPH_SWITCHES)
        wrong(reading, place, "more than %d switches", NETWORK_GRAPH_SWITCHES);
    else {
        struct named *made = &reading->switches[reading->switch_count++];
        memcpy(made->name, name, GRAPH_NAME_BYTES);
        made->place = place;
    }
}

static void read_switches(struct graph_reading *reading, const struct tree_node *list) {
    for (const struct tree_entry *entry = list->first;
         entry != NULL && reading->errors < ERRORS_READ; entry = entry->next) {
        char got[BASE_QUOTE_SIZE];
        struct graph_range range;
        reading->good = reading->good && !entry->value->broken;
        if (entry->value->broken)
            continue;
        if (entry->value->kind != TREE_TEXT || !graph_range_read(entry->value->text, &range) ||
            range.nic >= 0)
            wrong(reading, entry->value->place,
                  "a switch is %s, expected a name as leaf0, or leaf0..3 for four of them",
                  scenario_value_describe(entry->value, got, sizeof got));
        else if (graph_range_is_node(&range))
            wrong(reading, entry->value->place,
                  "a switch is %s, but names such as node0 are the nodes'",
                  base_quote(entry->value->text, got));
        else
            for (uint32_t i = range.first; i <= range.last && reading->good; i++)
                add_switch(reading, &range, i, entry->value->place);
    }
}

/* ---- ends of links --------------------------------------------------------------------------- */

static uint32_t expand_nodes(struct graph_reading *reading, const struct graph_range *range,
                             struct tree_place place, uint32_t *vertices) {
    uint32_t count = 0, nic = range->nic < 0 ? 0 : (uint32_t)range->nic;
    struct tree_place *first = range->nic < 0 ? &reading->whole : &reading->by_nic;
    if (first->file == NULL)
        *first = place;
    if (range->last >= reading->nodes) {
        wrong(reading, place,
              "node%u is not there: cluster.nodes is %u, so they are node0 to node%u", range->last,
              reading->nodes, reading->nodes - 1);
        return 0;
    }
    if (nic >= reading->gpus) {
        wrong(reading, place,
              "nic%u is not there: a node has nic0 to nic%u, one for each of its GPUs", nic,
              reading->gpus - 1);
        return 0;
    }
    for (uint32_t node = range->first; node <= range->last; node++)
        vertices[count++] = reading->switch_count + node * reading->gpus + nic;
    return count;
}

static void unknown_end(struct graph_reading *reading, const char *key, const char *name,
                        struct tree_place place) {
    char quoted[BASE_QUOTE_SIZE];
    struct base_nearest nearest;
    base_nearest_start(&nearest, name);
    for (uint32_t i = 0; i < reading->switch_count; i++)
        base_nearest_offer(&nearest, reading->switches[i].name);
    const char *near = base_nearest_name(&nearest);
    wrong(reading, place,
          "%s of a link is %s, which is no switch of cluster.topology.switches and no node%s%s%s",
          key, base_quote(name, quoted), near == NULL ? "" : "; did you mean '",
          near == NULL ? "" : near, near == NULL ? "" : "'?");
}

static uint32_t expand(struct graph_reading *reading, const char *key, const struct tree_node *node,
                       uint32_t *vertices) {
    char got[BASE_QUOTE_SIZE], name[GRAPH_VERTEX_BYTES];
    struct graph_range range;
    uint32_t count = 0;
    if (!graph_range_read(node->text, &range)) {
        wrong(reading, node->place,
              "%s of a link is %s, expected a switch, a node as node3 or node3.nic0, or a range as "
              "leaf0..3 or node0..7.nic0",
              key, base_quote(node->text, got));
        return 0;
    }
    if (graph_range_is_node(&range))
        return expand_nodes(reading, &range, node->place, vertices);
    for (uint32_t i = range.first; i <= range.last; i++) {
        graph_range_name(&range, i, name);
        uint32_t index = find_switch(reading, name);
        if (index == reading->switch_count || range.nic >= 0) {
            unknown_end(reading, key, range.nic >= 0 ? node->text : name, node->place);
            return 0;
        }
        vertices[count++] = index;
    }
    return count;
}

static void name_vertex(const struct graph_reading *reading, uint32_t vertex, bool whole,
                        char name[static GRAPH_VERTEX_BYTES]) {
    uint32_t nic = vertex - reading->switch_count;
    if (vertex < reading->switch_count)
        (void)snprintf(name, GRAPH_VERTEX_BYTES, "%s", reading->switches[vertex].name);
    else if (whole)
        (void)snprintf(name, GRAPH_VERTEX_BYTES, "node%u", nic / reading->gpus);
    else
        (void)snprintf(name, GRAPH_VERTEX_BYTES, "node%u.nic%u", nic / reading->gpus,
                       nic % reading->gpus);
}

/* ---- links ----------------------------------------------------------------------------------- */

enum link_key { LINK_FROM, LINK_TO, LINK_BANDWIDTH, LINK_LATENCY, LINK_CABLES, LINK_KEYS };

#define LINK "cluster.topology.links."

static const struct scenario_schema_entry link_keys[LINK_KEYS] = {
    [LINK_FROM] = {.path = LINK "from", .type = SCENARIO_TYPE_TEXT, .most = 63},
    [LINK_TO] = {.path = LINK "to", .type = SCENARIO_TYPE_TEXT, .most = 63},
    [LINK_BANDWIDTH] = {.path = LINK "bandwidth",
                        .type = SCENARIO_TYPE_QUANTITY,
                        .dimension = BASE_BYTE_RATE,
                        .above = true,
                        .maximum = 1e15},
    [LINK_LATENCY] = {.path = LINK "latency",
                      .type = SCENARIO_TYPE_QUANTITY,
                      .dimension = BASE_TIME,
                      .maximum = 0.1},
    [LINK_CABLES] = {.path = LINK "cables",
                     .type = SCENARIO_TYPE_INTEGER,
                     .least = 1,
                     .most = 100000},
};

static const char *key_name(size_t key) {
    return link_keys[key].path + strlen(LINK);
}

static void unknown_key(struct graph_reading *reading, const struct tree_entry *entry) {
    char quoted[BASE_QUOTE_SIZE];
    struct base_nearest nearest;
    base_nearest_start(&nearest, entry->key);
    for (size_t key = 0; key < LINK_KEYS; key++)
        base_nearest_offer(&nearest, key_name(key));
    const char *near = base_nearest_name(&nearest);
    wrong(reading, entry->place,
          "unknown key %s of a link, expected from, to, bandwidth, latency or cables%s%s%s",
          base_quote(entry->key, quoted), near == NULL ? "" : "; did you mean '",
          near == NULL ? "" : near, near == NULL ? "" : "'?");
}

struct link_item {
    const struct tree_node *node[LINK_KEYS];
    struct scenario_value value[LINK_KEYS];
};

static bool read_item(struct graph_reading *reading, const struct tree_node *mapping,
                      struct link_item *item) {
    bool before = reading->good;
    reading->good = true;
    *item = (struct link_item){.value[LINK_CABLES] = {.integer = 1}};
    for (const struct tree_entry *entry = mapping->first; entry != NULL; entry = entry->next) {
        size_t key = 0;
        while (key < LINK_KEYS && strcmp(key_name(key), entry->key) != 0)
            key++;
        if (key == LINK_KEYS) {
            unknown_key(reading, entry);
            continue;
        }
        item->node[key] = entry->value;
        if (!scenario_value_read(&link_keys[key], entry->value, reading->draft->diagnostics,
                                 &item->value[key])) {
            reading->good = false;
            reading->errors++;
        }
    }
    for (size_t key = LINK_FROM; key <= LINK_BANDWIDTH && reading->good; key++)
        if (item->node[key] == NULL)
            wrong(reading, mapping->place, "a link has no %s, expected from, to and bandwidth",
                  key_name(key));
    bool good = reading->good;
    reading->good = good && before;
    return good;
}

static bool add_link(struct graph_reading *reading, const struct tree_node *mapping,
                     const struct link_item *item, uint32_t from, uint32_t to) {
    char name[GRAPH_VERTEX_BYTES];
    const struct hardware_node *node = &reading->draft->scenario->cluster.node;
    double part = node->network_bandwidth_bytes_per_s / reading->gpus;
    uint32_t cables = (uint32_t)item->value[LINK_CABLES].integer;
    if (from == to) {
        name_vertex(reading, from, true, name);
        wrong(reading, mapping->place, "a link joins %s with itself", name);
        return false;
    }
    if (from >= reading->switch_count && to >= reading->switch_count) {
        wrong(reading, mapping->place, "a link joins two nodes, expected a switch at one end");
        return false;
    }
    if (reading->link_count == NETWORK_GRAPH_LINKS) {
        wrong(reading, mapping->place,
              "more than %d links; cables side by side are one link with "
              "`cables`",
              NETWORK_GRAPH_LINKS);
        return false;
    }
    reading->links[reading->link_count++] =
        (struct read_link){{{from, to},
                            cables,
                            cables * item->value[LINK_BANDWIDTH].number / part,
                            item->value[LINK_LATENCY].number},
                           mapping->place};
    return true;
}

static void read_links(struct graph_reading *reading, const struct tree_node *list) {
    for (const struct tree_entry *entry = list->first;
         entry != NULL && reading->errors < ERRORS_READ; entry = entry->next) {
        struct link_item item;
        char got[BASE_QUOTE_SIZE];
        reading->good = reading->good && !entry->value->broken;
        if (entry->value->broken)
            continue;
        if (entry->value->kind != TREE_MAPPING) {
            wrong(reading, entry->value->place,
                  "a link is %s, expected a mapping as {from: node0, "
                  "to: leaf0, bandwidth: 400 Gbit/s}",
                  scenario_value_describe(entry->value, got, sizeof got));
            continue;
        }
        if (!read_item(reading, entry->value, &item))
            continue;
        uint32_t from = expand(reading, "from", item.node[LINK_FROM], reading->from);
        uint32_t to = expand(reading, "to", item.node[LINK_TO], reading->to);
        bool good = true;
        for (uint32_t i = 0; i < from && good; i++)
            for (uint32_t j = 0; j < to && good; j++)
                good = add_link(reading, entry->value, &item, reading->from[i], reading->to[j]);
    }
}

/* ---- all links ------------------------------------------------------------------------------- */

/* By their ends, whichever is first, then in the order written. */
static int compare_links(const void *a, const void *b) {
    const struct read_link *const *left = a, *const *right = b;
    for (int end = 0; end < 2; end++) {
        const uint32_t *l = (*left)->link.ends, *r = (*right)->link.ends;
        uint32_t x = end == 0 ? (l[0] < l[1] ? l[0] : l[1]) : (l[0] < l[1] ? l[1] : l[0]);
        uint32_t y = end == 0 ? (r[0] < r[1] ? r[0] : r[1]) : (r[0] < r[1] ? r[1] : r[0]);
        if (x != y)
            return x < y ? -1 : 1;
    }
    return *left < *right ? -1 : *left > *right;
}

static bool same_ends(const struct read_link *a, const struct read_link *b) {
    const uint32_t *x = a->link.ends, *y = b->link.ends;
    return (x[0] == y[0] && x[1] == y[1]) || (x[0] == y[1] && x[1] == y[0]);
}

/* The first of them in the file that is there already. */
static bool check_twice(struct graph_reading *reading) {
    const struct read_link **sorted = calloc(reading->link_count + 1, sizeof *sorted);
    const struct read_link *second = NULL, *first = NULL;
    char from[GRAPH_VERTEX_BYTES], to[GRAPH_VERTEX_BYTES];
    bool whole = reading->whole.file != NULL;
    if (sorted == NULL)
        return false;
    for (size_t i = 0; i < reading->link_count; i++)
        sorted[i] = &reading->links[i];
    qsort(sorted, reading->link_count, sizeof *sorted, compare_links);
    for (size_t i = 1; i < reading->link_count; i++)
        if (same_ends(sorted[i - 1], sorted[i]) && (second == NULL || sorted[i] < second)) {
            second = sorted[i];
            first = sorted[i - 1];
        }
    free(sorted);
    if (second == NULL)
        return true;
    name_vertex(reading, second->link.ends[0], whole, from);
    name_vertex(reading, second->link.ends[1], whole, to);
    wrong(reading, second->place,
          "the link of %s and %s is written twice, first at line %d; `cables` says how many are "
          "side by side",
          from, to, first->place.line);
    return true;
}

static void check_attachments(struct graph_reading *reading) {
    const struct scenario_draft *draft = reading->draft;
    const struct tree_place *whole = &reading->whole, *by_nic = &reading->by_nic;
    if (whole->file != NULL && by_nic->file != NULL)
        wrong(reading, *by_nic,
              "nodes are attached by their NICs here and as a whole at line %d, expected one way "
              "for all",
              whole->line);
    else if (draft->scenario->cluster.topology.by_rail && whole->file != NULL)
        wrong(reading, draft->values.at[KEY_CLUSTER_TOPOLOGY_PLACEMENT].place,
              "cluster.topology.placement is by_rail, which needs nodes attached by their NICs, "
              "as node0.nic0");
}

/* ---- the graph ------------------------------------------------------------------------------- */

static void blame_fault(struct graph_reading *reading, enum network_graph_fault fault,
                        const uint32_t vertices[2]) {
    struct tree_place place = reading->draft->values.at[KEY_CLUSTER_TOPOLOGY_LINKS].place;
    bool whole = reading->by_nic.file == NULL;
    char name[2][GRAPH_VERTEX_BYTES];
    for (int i = 0; i < 2; i++) {
        bool node = vertices[i] >= reading->switch_count && whole;
        uint32_t number = vertices[i] - reading->switch_count;
        name_vertex(reading, node ? reading->switch_count + number * reading->gpus : vertices[i],
                    whole, name[i]);
    }
    if (fault == NETWORK_GRAPH_NO_MEMORY)
        reading->draft->fatal = RLHFSIM_NO_MEMORY;
    else if (fault == NETWORK_GRAPH_LOOSE_ATTACHMENT)
        wrong(reading, place, "%s has no link, expected all nodes to be attached", name[0]);
    else if (fault == NETWORK_GRAPH_LOOSE_SWITCH)
        wrong(reading, reading->switches[vertices[0]].place,
              "switch '%s' is not joined to any node", name[0]);
    else if (fault == NETWORK_GRAPH_APART)
        wrong(reading, place, "the graph is disconnected: no links lead from %s to %s", name[0],
              name[1]);
    else
        wrong(reading, place,
              "too many places where routes end: together at most %d switches with nodes and nodes "
              "or NICs with several links",
              NETWORK_GRAPH_TARGETS);
}

static void make(struct graph_reading *reading) {
    struct hardware_topology *topology = &reading->draft->scenario->cluster.topology;
    const struct scenario_value *routing = &reading->draft->values.at[KEY_CLUSTER_TOPOLOGY_ROUTING];
    bool whole = reading->by_nic.file == NULL;
    struct network_graph_link *links = calloc(reading->link_count + 1, sizeof *links);
    uint32_t vertices[2] = {0};
    if (links == NULL) {
        blame_fault(reading, NETWORK_GRAPH_NO_MEMORY, vertices);
        return;
    }
    for (size_t i = 0; i < reading->link_count; i++) {
        links[i] = reading->links[i].link;
        for (int end = 0; end < 2; end++)
            if (whole && links[i].ends[end] >= reading->switch_count)
                links[i].ends[end] = reading->switch_count +
                                     (links[i].ends[end] - reading->switch_count) / reading->gpus;
    }
    struct network_graph_plan plan = {.switches = reading->switch_count,
                                      .nodes = reading->nodes,
                                      .per_node = whole ? 1 : reading->gpus,
                                      .links = links,
                                      .link_count = reading->link_count,
                                      .routing = routing->known && routing->given
                                                     ? (enum network_graph_routing)routing->integer
                                                     : NETWORK_ROUTES_BY_HOPS,
                                      .by_rail = topology->by_rail,
                                      .background = topology->background};
    enum network_graph_fault fault = network_graph_new(&plan, &topology->graph, vertices);
    if (fault != NETWORK_GRAPH_GOOD)
        blame_fault(reading, fault, vertices);
    free(links);
}

static bool start(struct graph_reading *reading) {
    size_t ends = reading->nodes > NETWORK_GRAPH_SWITCHES ? reading->nodes : NETWORK_GRAPH_SWITCHES;
    reading->switches = calloc(NETWORK_GRAPH_SWITCHES, sizeof *reading->switches);
    reading->links = calloc(NETWORK_GRAPH_LINKS, sizeof *reading->links);
    reading->from = calloc(ends, sizeof *reading->from);
    reading->to = calloc(ends, sizeof *reading->to);
    return reading->switches != NULL && reading->links != NULL && reading->from != NULL &&
           reading->to != NULL;
}

static void read_all(struct graph_reading *reading) {
    const struct scenario_values *values = &reading->draft->values;
    if (!start(reading)) {
        reading->draft->fatal = RLHFSIM_NO_MEMORY;
        return;
    }
    read_switches(reading, values->at[KEY_CLUSTER_TOPOLOGY_SWITCHES].list);
    if (reading->good)
        read_links(reading, values->at[KEY_CLUSTER_TOPOLOGY_LINKS].list);
    if (reading->good && !check_twice(reading))
        reading->draft->fatal = RLHFSIM_NO_MEMORY;
    if (reading->good)
        check_attachments(reading);
    if (reading->good && reading->draft->fatal == RLHFSIM_OK)
        make(reading);
}

void scenario_read_graph(struct scenario_draft *draft) {
    static const enum scenario_key lists[] = {KEY_CLUSTER_TOPOLOGY_SWITCHES,
                                              KEY_CLUSTER_TOPOLOGY_LINKS};
    const struct hardware_cluster *cluster = &draft->scenario->cluster;
    struct graph_reading reading = {.draft = draft,
                                    .nodes = (uint32_t)cluster->nodes,
                                    .gpus = (uint32_t)cluster->gpus_per_node,
                                    .good = true};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        if (!scenario_given(draft, lists[i]))
            wrong(&reading, draft->values.at[KEY_CLUSTER_TOPOLOGY_KIND].place,
                  "the topology graph needs %s", scenario_schema_at(lists[i])->path);
        reading.good = reading.good && scenario_known(draft, lists[i]);
    }
    if (!(cluster->node.network_bandwidth_bytes_per_s > 0.0)) {
        wrong(&reading, draft->values.at[KEY_CLUSTER_TOPOLOGY_KIND].place,
              "the topology graph needs the rate of the NICs, which node '%s' does not have",
              cluster->node.name);
    }
    if (reading.good)
        read_all(&reading);
    free(reading.switches);
    free(reading.links);
    free(reading.from);
    free(reading.to);
}
