/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * From links to routes: for every target the cost from each switch (Dijkstra, "A note on two
 * problems in connexion with graphs", 1959), backwards from the target. A hop is on a shortest way
 * where its cost and the cost behind it add up; costs are whole numbers, so that equal is equal.
 */

#include "models/network/graph_internal.h"

#include "sim/contract.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PICOSECONDS 1e12
#define MORE_THAN_LINKS 2048 /* that a way can have: the latency counts before their number */

static int64_t cost_of(const struct network_graph *graph, size_t link) {
    if (graph->plan.routing == NETWORK_ROUTES_BY_HOPS)
        return 1;
    return llround(graph->links[link].latency_s * PICOSECONDS) * MORE_THAN_LINKS + 1;
}

int64_t network_graph_way(const struct network_graph *graph, uint32_t attachment, uint32_t target) {
    const int64_t *distance = &graph->distance[(size_t)target * graph->plan.switches];
    uint32_t vertex = graph->plan.switches + attachment;
    int64_t nearest = NETWORK_GRAPH_FAR;
    for (uint32_t i = graph->hop_start[vertex]; i < graph->hop_start[vertex + 1]; i++) {
        const struct network_graph_hop *hop = &graph->hops[i];
        if (distance[hop->to] == NETWORK_GRAPH_FAR)
            continue;
        int64_t cost = graph->costs[hop->link] + distance[hop->to];
        nearest = cost < nearest ? cost : nearest;
    }
    return nearest;
}

void network_graph_free(struct network_graph *graph) {
    if (graph == NULL)
        return;
    (void)pthread_mutex_destroy(&graph->lock);
    free(graph->links);
    free(graph->costs);
    free(graph->hop_start);
    free(graph->hops);
    free(graph->targets);
    free(graph->target_of);
    free(graph->distance);
    free(graph->order);
    free(graph->reached);
    free(graph->latency_s);
    free(graph->inject);
    free(graph->load);
    free(graph->arriving);
    free(graph->wanted);
    free(graph->touched);
    free(graph);
}

/* At least one, so that NULL is memory that ran out. */
static void *zeroed(size_t count, size_t size) {
    return calloc(count > 0 ? count : 1, size);
}

/* ---- links ----------------------------------------------------------------------------------- */

static void count_cables(struct network_graph *graph) {
    for (size_t i = 0; i < graph->plan.link_count; i++) {
        const struct network_graph_link *link = &graph->links[i];
        bool between = link->ends[0] < graph->plan.switches && link->ends[1] < graph->plan.switches;
        CONTRACT(link->ends[0] < graph->plan.switches || link->ends[1] < graph->plan.switches,
                 "a link without a switch");
        CONTRACT(link->capacity > 0.0 && link->cables > 0, "a link that carries nothing");
        *(between ? &graph->facts.cables_between : &graph->facts.cables_to_nodes) += link->cables;
    }
}

/* An attachment knows its switches, not they it: routes do not lead through nodes. */
static bool hop_from(const struct network_graph *graph, const struct network_graph_link *link,
                     int end) {
    return link->ends[1 - end] < graph->plan.switches;
}

/* Counted two places further on, so that filling moves each start to where it belongs. */
static void fill_hops(struct network_graph *graph) {
    uint32_t *start = graph->hop_start;
    for (size_t i = 0; i < graph->plan.link_count; i++)
        for (int end = 0; end < 2; end++)
            if (hop_from(graph, &graph->links[i], end))
                start[graph->links[i].ends[end] + 2]++;
    for (uint32_t v = 0; v < graph->vertices; v++)
        start[v + 2] += start[v + 1];
    for (uint32_t i = 0; i < graph->plan.link_count; i++)
        for (uint32_t end = 0; end < 2; end++)
            if (hop_from(graph, &graph->links[i], (int)end))
                graph->hops[start[graph->links[i].ends[end] + 1]++] =
                    (struct network_graph_hop){graph->links[i].ends[1 - end], i, 2 * i + end};
}

static uint32_t hop_count(const struct network_graph *graph, uint32_t vertex) {
    return graph->hop_start[vertex + 1] - graph->hop_start[vertex];
}

static bool make_hops(struct network_graph *graph) {
    const struct network_graph_plan *plan = &graph->plan;
    graph->links = zeroed(plan->link_count, sizeof *graph->links);
    graph->costs = zeroed(plan->link_count, sizeof *graph->costs);
    graph->hop_start = zeroed(graph->vertices + 2, sizeof *graph->hop_start);
    graph->hops = zeroed(2 * plan->link_count, sizeof *graph->hops);
    if (graph->links == NULL || graph->costs == NULL || graph->hop_start == NULL ||
        graph->hops == NULL)
        return false;
    memcpy(graph->links, plan->links, plan->link_count * sizeof *graph->links);
    graph->plan.links = graph->links;
    for (size_t i = 0; i < plan->link_count; i++)
        graph->costs[i] = cost_of(graph, i);
    count_cables(graph);
    fill_hops(graph);
    return true;
}

/* ---- targets --------------------------------------------------------------------------------- */

static void join_target(struct network_graph *graph, uint32_t attachment, uint32_t target) {
    struct network_graph_target *at = &graph->targets[target];
    const struct network_graph_hop *hop =
        &graph->hops[graph->hop_start[graph->plan.switches + attachment]];
    uint32_t node = attachment / graph->plan.per_node;
    graph->target_of[attachment] = target;
    at->several = at->several || at->node != node;
    if (at->vertex < graph->plan.switches)
        at->farthest_s = fmax(at->farthest_s, graph->links[hop->link].latency_s);
}

/* The target of a vertex that there is already; `target_count` where there is none. By rail a
 * switch has one for each number. */
static uint32_t find_target(const struct network_graph *graph, uint32_t vertex, uint32_t nic) {
    for (uint32_t t = 0; t < graph->target_count; t++)
        if (graph->targets[t].vertex == vertex && graph->targets[t].nic == nic)
            return t;
    return graph->target_count;
}

static enum network_graph_fault make_targets(struct network_graph *graph, uint32_t *loose) {
    uint32_t count = graph->plan.nodes * graph->plan.per_node;
    graph->targets = zeroed(NETWORK_GRAPH_TARGETS, sizeof *graph->targets);
    graph->target_of = zeroed(count, sizeof *graph->target_of);
    if (graph->targets == NULL || graph->target_of == NULL)
        return NETWORK_GRAPH_NO_MEMORY;
    for (uint32_t a = 0; a < count; a++) {
        uint32_t vertex = graph->plan.switches + a, links = hop_count(graph, vertex);
        uint32_t nic = graph->plan.by_rail ? a % graph->plan.per_node : 0;
        *loose = vertex;
        if (links == 0)
            return NETWORK_GRAPH_LOOSE_ATTACHMENT;
        uint32_t at = links == 1 ? graph->hops[graph->hop_start[vertex]].to : vertex;
        uint32_t target = links == 1 ? find_target(graph, at, nic) : graph->target_count;
        if (target == NETWORK_GRAPH_TARGETS)
            return NETWORK_GRAPH_TOO_MANY_TARGETS;
        if (target == graph->target_count)
            graph->targets[graph->target_count++] =
                (struct network_graph_target){at, nic, a / graph->plan.per_node, false, 0.0};
        join_target(graph, a, target);
    }
    return NETWORK_GRAPH_GOOD;
}

/* ---- routes ---------------------------------------------------------------------------------- */

/* A binary heap of (cost, switch); what is out of date stays in it and is passed over. */
struct reach {
    int64_t cost;
    uint32_t at;
};

struct front {
    struct reach *heap;
    size_t count;
};

static void push(struct front *front, int64_t cost, uint32_t at) {
    size_t i = front->count++;
    for (; i > 0 && cost < front->heap[(i - 1) / 2].cost; i = (i - 1) / 2)
        front->heap[i] = front->heap[(i - 1) / 2];
    front->heap[i] = (struct reach){cost, at};
}

static struct reach pop(struct front *front) {
    struct reach top = front->heap[0], last = front->heap[--front->count];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < front->count; i = child) {
        if (child + 1 < front->count && front->heap[child + 1].cost < front->heap[child].cost)
            child++;
        if (front->heap[child].cost >= last.cost)
            break;
        front->heap[i] = front->heap[child];
    }
    front->heap[i] = last;
    return top;
}

static void improve(struct front *front, int64_t *distance, uint32_t at, int64_t cost) {
    if (cost >= distance[at])
        return;
    distance[at] = cost;
    push(front, cost, at);
}

static void find_ways(struct network_graph *graph, uint32_t target, struct front *front) {
    uint32_t switches = graph->plan.switches, vertex = graph->targets[target].vertex;
    int64_t *distance = &graph->distance[(size_t)target * switches];
    uint32_t *order = &graph->order[(size_t)target * switches], reached = 0;
    for (uint32_t s = 0; s < switches; s++)
        distance[s] = NETWORK_GRAPH_FAR;
    front->count = 0;
    if (vertex < switches)
        improve(front, distance, vertex, 0);
    for (uint32_t i = graph->hop_start[vertex];
         vertex >= switches && i < graph->hop_start[vertex + 1]; i++)
        improve(front, distance, graph->hops[i].to, graph->costs[graph->hops[i].link]);
    while (front->count > 0) {
        struct reach next = pop(front);
        if (next.cost > distance[next.at])
            continue;
        order[reached++] = next.at;
        for (uint32_t i = graph->hop_start[next.at]; i < graph->hop_start[next.at + 1]; i++)
            improve(front, distance, graph->hops[i].to,
                    next.cost + graph->costs[graph->hops[i].link]);
    }
    graph->reached[target] = reached;
}

bool network_graph_is_next(const struct network_graph *graph, uint32_t target, uint32_t from,
                           const struct network_graph_hop *hop) {
    const int64_t *distance = &graph->distance[(size_t)target * graph->plan.switches];
    return distance[hop->to] != NETWORK_GRAPH_FAR &&
           distance[hop->to] + graph->costs[hop->link] == distance[from];
}

const struct network_graph_hop *network_graph_last(const struct network_graph *graph,
                                                   uint32_t target, uint32_t from) {
    uint32_t vertex = graph->targets[target].vertex;
    int64_t left = graph->distance[(size_t)target * graph->plan.switches + from];
    for (uint32_t i = graph->hop_start[vertex];
         vertex >= graph->plan.switches && i < graph->hop_start[vertex + 1]; i++)
        if (graph->hops[i].to == from && graph->costs[graph->hops[i].link] == left)
            return &graph->hops[i];
    return NULL;
}

/* ---- latencies ------------------------------------------------------------------------------- */

/* Means of what each way adds, weighted by cables as traffic is, from near switches to far ones.
 * `depth` gets the links of the longest way. */
static void add_latency(struct network_graph *graph, uint32_t target, uint32_t from,
                        uint32_t *depth) {
    double *latency = &graph->latency_s[(size_t)target * graph->plan.switches];
    const struct network_graph_hop *last = network_graph_last(graph, target, from);
    double sum = 0.0, cables = 0.0;
    depth[from] = last != NULL ? 1 : 0;
    if (last != NULL) {
        cables = graph->links[last->link].cables;
        sum = cables * graph->links[last->link].latency_s;
    }
    for (uint32_t i = graph->hop_start[from]; i < graph->hop_start[from + 1]; i++) {
        const struct network_graph_hop *hop = &graph->hops[i];
        const struct network_graph_link *link = &graph->links[hop->link];
        if (!network_graph_is_next(graph, target, from, hop))
            continue;
        cables += link->cables;
        sum += link->cables * (link->latency_s + latency[hop->to]);
        depth[from] = depth[hop->to] + 1 > depth[from] ? depth[hop->to] + 1 : depth[from];
    }
    latency[from] = cables > 0.0 ? sum / cables : 0.0;
}

bool network_graph_sends(const struct network_graph *graph, uint32_t attachment, uint32_t target) {
    const struct network_graph_target *at = &graph->targets[target];
    if (graph->plan.by_rail && attachment % graph->plan.per_node != at->nic)
        return false;
    return at->several || at->node != attachment / graph->plan.per_node;
}

/* The longest route from an attachment to a target; false where there is none. */
static bool note_longest(struct network_graph *graph, uint32_t attachment, uint32_t target,
                         const uint32_t *depth) {
    const struct network_graph_target *at = &graph->targets[target];
    size_t row = (size_t)target * graph->plan.switches;
    uint32_t vertex = graph->plan.switches + attachment, beyond = at->vertex < graph->plan.switches;
    int64_t way = network_graph_way(graph, attachment, target);
    for (uint32_t i = graph->hop_start[vertex]; i < graph->hop_start[vertex + 1]; i++) {
        const struct network_graph_hop *hop = &graph->hops[i];
        int64_t behind = graph->distance[row + hop->to];
        if (behind == NETWORK_GRAPH_FAR || graph->costs[hop->link] + behind != way)
            continue;
        uint32_t links = 1 + depth[hop->to] + beyond;
        double seconds =
            graph->links[hop->link].latency_s + graph->latency_s[row + hop->to] + at->farthest_s;
        graph->facts.longest_links =
            links > graph->facts.longest_links ? links : graph->facts.longest_links;
        graph->facts.longest_s = fmax(graph->facts.longest_s, seconds);
    }
    return way != NETWORK_GRAPH_FAR;
}

static enum network_graph_fault make_target_ways(struct network_graph *graph, uint32_t target,
                                                 struct front *front, uint32_t *depth,
                                                 uint32_t vertices[2]) {
    size_t row = (size_t)target * graph->plan.switches;
    find_ways(graph, target, front);
    for (uint32_t i = 0; i < graph->reached[target]; i++)
        add_latency(graph, target, graph->order[row + i], depth);
    for (uint32_t a = 0; a < graph->plan.nodes * graph->plan.per_node; a++) {
        if (!network_graph_sends(graph, a, target) || note_longest(graph, a, target, depth))
            continue;
        vertices[0] = graph->plan.switches + a;
        for (uint32_t b = 0; b < graph->plan.nodes * graph->plan.per_node; b++)
            if (graph->target_of[b] == target &&
                b / graph->plan.per_node != a / graph->plan.per_node)
                vertices[1] = graph->plan.switches + b;
        return NETWORK_GRAPH_APART;
    }
    return NETWORK_GRAPH_GOOD;
}

/* A switch that no way leads to is nobody's. */
static enum network_graph_fault find_loose_switch(const struct network_graph *graph,
                                                  uint32_t vertices[2]) {
    for (uint32_t s = 0; s < graph->plan.switches; s++) {
        bool met = false;
        for (uint32_t t = 0; t < graph->target_count && !met; t++)
            met = graph->distance[(size_t)t * graph->plan.switches + s] != NETWORK_GRAPH_FAR;
        vertices[0] = s;
        if (!met)
            return NETWORK_GRAPH_LOOSE_SWITCH;
    }
    return NETWORK_GRAPH_GOOD;
}

static enum network_graph_fault make_ways(struct network_graph *graph, uint32_t vertices[2]) {
    size_t cells = (size_t)graph->target_count * graph->plan.switches;
    size_t hops = 2 * graph->plan.link_count + graph->plan.switches + 1;
    struct front front = {zeroed(hops, sizeof *front.heap), 0};
    uint32_t *depth = zeroed(graph->plan.switches, sizeof *depth);
    enum network_graph_fault fault = NETWORK_GRAPH_GOOD;
    graph->distance = zeroed(cells, sizeof *graph->distance);
    graph->order = zeroed(cells, sizeof *graph->order);
    graph->reached = zeroed(graph->target_count, sizeof *graph->reached);
    graph->latency_s = zeroed(cells, sizeof *graph->latency_s);
    if (front.heap == NULL || depth == NULL || graph->distance == NULL || graph->order == NULL ||
        graph->reached == NULL || graph->latency_s == NULL)
        fault = NETWORK_GRAPH_NO_MEMORY;
    for (uint32_t t = 0; t < graph->target_count && fault == NETWORK_GRAPH_GOOD; t++)
        fault = make_target_ways(graph, t, &front, depth, vertices);
    free(front.heap);
    free(depth);
    return fault == NETWORK_GRAPH_GOOD ? find_loose_switch(graph, vertices) : fault;
}

/* ---- the graph ------------------------------------------------------------------------------- */

static bool make_workspace(struct network_graph *graph) {
    size_t cells = (size_t)graph->target_count * graph->plan.switches;
    graph->inject = zeroed(cells, sizeof *graph->inject);
    graph->load = zeroed(2 * graph->plan.link_count, sizeof *graph->load);
    graph->arriving = zeroed(graph->plan.switches, sizeof *graph->arriving);
    graph->wanted = zeroed(graph->target_count, sizeof *graph->wanted);
    graph->touched = zeroed(graph->target_count, sizeof *graph->touched);
    return graph->inject != NULL && graph->load != NULL && graph->arriving != NULL &&
           graph->wanted != NULL && graph->touched != NULL;
}

/* Of more attachments than links one of the first is loose: memory is not asked for all of them. */
static enum network_graph_fault find_loose(const struct network_graph_plan *plan,
                                           uint32_t vertices[2]) {
    size_t looked_at = plan->link_count + 1, loose = 0;
    bool *joined = zeroed(looked_at, sizeof *joined);
    if (joined == NULL)
        return NETWORK_GRAPH_NO_MEMORY;
    for (size_t i = 0; i < 2 * plan->link_count; i++) {
        uint32_t vertex = plan->links[i / 2].ends[i % 2];
        if (vertex >= plan->switches && vertex - plan->switches < looked_at)
            joined[vertex - plan->switches] = true;
    }
    while (joined[loose])
        loose++;
    free(joined);
    vertices[0] = plan->switches + (uint32_t)loose;
    return NETWORK_GRAPH_LOOSE_ATTACHMENT;
}

static enum network_graph_fault build(struct network_graph *graph, uint32_t vertices[2]) {
    if (!make_hops(graph))
        return NETWORK_GRAPH_NO_MEMORY;
    enum network_graph_fault fault = make_targets(graph, vertices);
    if (fault == NETWORK_GRAPH_GOOD)
        fault = make_ways(graph, vertices);
    if (fault == NETWORK_GRAPH_GOOD && !make_workspace(graph))
        fault = NETWORK_GRAPH_NO_MEMORY;
    return fault;
}

enum network_graph_fault network_graph_new(const struct network_graph_plan *plan,
                                           struct network_graph **graph, uint32_t vertices[2]) {
    CONTRACT(plan->switches <= NETWORK_GRAPH_SWITCHES && plan->link_count <= NETWORK_GRAPH_LINKS,
             "too large a graph");
    CONTRACT(plan->nodes > 0 && plan->per_node > 0, "a graph without nodes");
    *graph = NULL;
    if ((uint64_t)plan->nodes * plan->per_node > plan->link_count)
        return find_loose(plan, vertices);
    struct network_graph *made = zeroed(1, sizeof *made);
    if (made == NULL)
        return NETWORK_GRAPH_NO_MEMORY;
    made->plan = *plan;
    made->vertices = plan->switches + plan->nodes * plan->per_node;
    made->facts = (struct network_graph_facts){.switches = plan->switches,
                                               .nodes = plan->nodes,
                                               .per_node = plan->per_node,
                                               .routing = plan->routing};
    (void)pthread_mutex_init(&made->lock, NULL); /* glibc's cannot fail */
    enum network_graph_fault fault = build(made, vertices);
    if (fault == NETWORK_GRAPH_GOOD)
        *graph = made;
    else
        network_graph_free(made);
    return fault;
}

struct network_graph_facts network_graph_facts(const struct network_graph *graph) {
    return graph->facts;
}
