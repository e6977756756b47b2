/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * What all groups of a kind put on each link at once. What goes to one target enters at switches
 * and runs together on the way there, from far switches to near ones: a load costs targets x links,
 * whatever the number of sendings.
 *
 * A ring: from a domain to the next all NICs of its members send, m parts of a GPU each in
 * `members` of them. An exchange: each GPU sends to all members outside its domain alike, one part
 * of a GPU together.
 */

#include "models/network/graph_internal.h"

#include "models/network/group.h"
#include "sim/contract.h"

#include <math.h>
#include <string.h>

/* ---- sending --------------------------------------------------------------------------------- */

/* Puts `units` on their way from an attachment to a target; returns the mean latency up to it. */
static double send(struct network_graph *graph, uint32_t attachment, uint32_t target,
                   double units) {
    size_t row = (size_t)target * graph->plan.switches;
    uint32_t vertex = graph->plan.switches + attachment;
    int64_t way = network_graph_way(graph, attachment, target);
    double cables = 0.0, latency = 0.0;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = graph->hop_start[vertex]; i < graph->hop_start[vertex + 1]; i++) {
            const struct network_graph_hop *hop = &graph->hops[i];
            const struct network_graph_link *link = &graph->links[hop->link];
            int64_t behind = graph->distance[row + hop->to];
            if (behind == NETWORK_GRAPH_FAR || graph->costs[hop->link] + behind != way)
                continue;
            if (pass == 0) {
                cables += link->cables;
                continue;
            }
            double part = link->cables / cables;
            graph->load[hop->out] += part * units;
            graph->inject[row + hop->to] += part * units;
            latency += part * (link->latency_s + graph->latency_s[row + hop->to]);
        }
    return latency;
}

/* From the target's switch to an attachment; what ends at an attachment is there already. */
static double deliver(struct network_graph *graph, uint32_t attachment, double units) {
    const struct network_graph_hop *hop =
        &graph->hops[graph->hop_start[graph->plan.switches + attachment]];
    if (graph->targets[graph->target_of[attachment]].vertex >= graph->plan.switches)
        return 0.0;
    graph->load[hop->out ^ 1U] += units;
    return graph->links[hop->link].latency_s;
}

/* ---- running together ------------------------------------------------------------------------ */

static void pass_on(struct network_graph *graph, uint32_t target, uint32_t from, double units) {
    const struct network_graph_hop *last = network_graph_last(graph, target, from);
    double cables = last != NULL ? graph->links[last->link].cables : 0.0;
    for (uint32_t i = graph->hop_start[from]; i < graph->hop_start[from + 1]; i++)
        if (network_graph_is_next(graph, target, from, &graph->hops[i]))
            cables += graph->links[graph->hops[i].link].cables;
    if (last != NULL)
        graph->load[last->out ^ 1U] += units * graph->links[last->link].cables / cables;
    for (uint32_t i = graph->hop_start[from]; i < graph->hop_start[from + 1]; i++) {
        const struct network_graph_hop *hop = &graph->hops[i];
        if (!network_graph_is_next(graph, target, from, hop))
            continue;
        double part = units * graph->links[hop->link].cables / cables;
        graph->load[hop->out] += part;
        graph->arriving[hop->to] += part;
    }
}

static void run_together(struct network_graph *graph) {
    for (uint32_t target = 0; target < graph->target_count; target++) {
        size_t row = (size_t)target * graph->plan.switches;
        memset(graph->arriving, 0, graph->plan.switches * sizeof *graph->arriving);
        for (uint32_t i = graph->reached[target]; i-- > 0;) {
            uint32_t at = graph->order[row + i];
            double units = graph->inject[row + at] + graph->arriving[at];
            if (units > 0.0 && at != graph->targets[target].vertex)
                pass_on(graph, target, at, units);
        }
    }
}

/* The level at which the first link is full. */
static double first_full(const struct network_graph *graph) {
    double level = 1.0;
    for (size_t i = 0; i < graph->plan.link_count; i++) {
        const struct network_graph_link *link = &graph->links[i];
        bool between = link->ends[0] < graph->plan.switches && link->ends[1] < graph->plan.switches;
        double capacity = link->capacity * (between ? 1.0 - graph->plan.background : 1.0);
        double load = fmax(graph->load[2 * i], graph->load[2 * i + 1]);
        if (load > 0.0)
            level = fmin(level, capacity / load);
    }
    return level;
}

static void start(struct network_graph *graph) {
    memset(graph->load, 0, 2 * graph->plan.link_count * sizeof *graph->load);
    memset(graph->inject, 0,
           (size_t)graph->target_count * graph->plan.switches * sizeof *graph->inject);
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* One group: GPUs first, first + stride, ... */
struct group {
    struct network_graph *graph;
    const struct hardware_cluster *cluster;
    int first, ranks, stride, members;
};

static int gpu_of(const struct group *group, int member) {
    return group->first + member * group->stride;
}

static uint32_t attachment_of(const struct group *group, int gpu) {
    int node = gpu / group->cluster->gpus_per_node, nic = gpu % group->cluster->gpus_per_node;
    uint32_t per_node = group->graph->plan.per_node;
    return per_node == 1 ? (uint32_t)node : (uint32_t)node * per_node + (uint32_t)nic;
}

/* Where a GPU's sending to a target leaves its node. */
static uint32_t leaves_at(const struct group *group, int gpu, uint32_t target) {
    uint32_t own = attachment_of(group, gpu), per_node = group->graph->plan.per_node;
    return group->graph->plan.by_rail ? own - own % per_node + group->graph->targets[target].nic
                                      : own;
}

/* The member behind those that are in one domain with `member`. */
static int domain_end(const struct group *group, int member) {
    int domain = hardware_domain_gpus(group->cluster), in = gpu_of(group, member) / domain;
    int end = member + 1;
    while (end < group->ranks && gpu_of(group, end) / domain == in)
        end++;
    return end;
}

/* ---- a ring ---------------------------------------------------------------------------------- */

/* From members [from, end) of a domain to those of the next one: `members` parts in all, spread
 * over the senders. Returns the mean latency. */
static double send_on(const struct group *group, int from, int end, int next) {
    int senders = end - from, receivers = domain_end(group, next) - next;
    double latency = 0.0;
    for (int i = 0; i < senders; i++) {
        int to = gpu_of(group, next + (int)((long long)i * receivers / senders));
        uint32_t arrival = attachment_of(group, to), target = group->graph->target_of[arrival];
        double units = (double)group->members / senders;
        latency +=
            send(group->graph, leaves_at(group, gpu_of(group, from + i), target), target, units) +
            deliver(group->graph, arrival, units);
    }
    return latency / senders;
}

/* Returns the mean latency round the ring. */
static double send_ring(const struct group *group) {
    double latency = 0.0;
    int domains = 0;
    if (domain_end(group, 0) == group->ranks)
        return 0.0;
    for (int from = 0, end; from < group->ranks; from = end) {
        end = domain_end(group, from);
        latency += send_on(group, from, end, end == group->ranks ? 0 : end);
        domains++;
    }
    return latency / domains;
}

/* ---- an exchange ----------------------------------------------------------------------------- */

/* How many of members [from, end) each target has, added to `wanted` or taken from it. */
static void want(const struct group *group, int from, int end, int each) {
    for (int i = from; i < end; i++)
        group->graph->wanted[group->graph->target_of[attachment_of(group, gpu_of(group, i))]] +=
            each;
}

static uint32_t list_targets(const struct group *group) {
    struct network_graph *graph = group->graph;
    uint32_t count = 0;
    for (uint32_t target = 0; target < graph->target_count; target++)
        if (graph->wanted[target] > 0)
            graph->touched[count++] = target;
    return count;
}

/* One GPU to all that is wanted; returns the farthest. */
static double send_all(const struct group *group, int gpu, uint32_t targets, int outside) {
    struct network_graph *graph = group->graph;
    double farthest = 0.0;
    for (uint32_t i = 0; i < targets; i++) {
        uint32_t target = graph->touched[i];
        if (graph->wanted[target] == 0)
            continue;
        double latency = send(graph, leaves_at(group, gpu, target), target,
                              (double)graph->wanted[target] / outside);
        farthest = fmax(farthest, latency + graph->targets[target].farthest_s);
    }
    return farthest;
}

/* Returns the farthest latency. A domain of m members sends m / (ranks - m) to each member outside
 * it. */
static double send_exchange(const struct group *group) {
    double farthest = 0.0, all = 0.0;
    if (domain_end(group, 0) == group->ranks)
        return 0.0;
    want(group, 0, group->ranks, 1);
    uint32_t targets = list_targets(group);
    for (int from = 0, end; from < group->ranks; from = end) {
        end = domain_end(group, from);
        int outside = group->ranks - (end - from);
        all += (double)(end - from) / outside;
        want(group, from, end, -1);
        for (int i = from; i < end; i++)
            farthest = fmax(farthest, send_all(group, gpu_of(group, i), targets, outside));
        want(group, from, end, 1);
    }
    want(group, 0, group->ranks, -1);
    for (int from = 0, end; from < group->ranks; from = end) {
        end = domain_end(group, from);
        double own = (double)(end - from) / (group->ranks - (end - from));
        for (int i = from; i < end; i++)
            (void)deliver(group->graph, attachment_of(group, gpu_of(group, i)), all - own);
    }
    return farthest;
}

/* ---- all groups ------------------------------------------------------------------------------ */

/* Groups tile the GPUs as in topology_blocks.c; a tile that the cluster cuts off is left out. */
static double all_groups(struct group group, double (*send_group)(const struct group *),
                         double *share) {
    int gpus = hardware_cluster_gpus(group.cluster);
    long long tile = (long long)group.ranks * group.stride;
    double latency = 0.0;
    start(group.graph);
    for (long long base = 0; base + tile <= gpus; base += tile)
        for (int i = 0; i < group.stride; i++) {
            group.first = (int)base + i;
            latency = fmax(latency, send_group(&group));
        }
    run_together(group.graph);
    *share = first_full(group.graph);
    return latency;
}

static struct network_graph_share solve(struct network_graph *graph,
                                        const struct hardware_cluster *cluster, int ranks,
                                        int stride, int members) {
    struct group group = {graph, cluster, 0, ranks, stride, members};
    struct network_graph_share share;
    share.ring_latency_s = all_groups(group, send_ring, &share.ring);
    share.exchange_latency_s = all_groups(group, send_exchange, &share.exchange);
    return share;
}

struct network_graph_share network_graph_group(const struct hardware_cluster *cluster, int ranks,
                                               int stride, int members) {
    struct network_graph *graph = cluster->topology.graph;
    CONTRACT(graph->plan.nodes == (uint32_t)cluster->nodes, "a graph of other nodes");
    CONTRACT(graph->plan.per_node == 1 || graph->plan.per_node == (uint32_t)cluster->gpus_per_node,
             "a graph of other GPUs");
    (void)pthread_mutex_lock(&graph->lock);
    struct network_graph_memo *memo = NULL;
    for (uint32_t i = 0; i < NETWORK_GRAPH_MEMOS && memo == NULL; i++)
        if (graph->memos[i].ranks == ranks && graph->memos[i].stride == stride &&
            graph->memos[i].members == members)
            memo = &graph->memos[i];
    if (memo == NULL) {
        memo = &graph->memos[graph->memo_count++ % NETWORK_GRAPH_MEMOS];
        *memo = (struct network_graph_memo){ranks, stride, members,
                                            solve(graph, cluster, ranks, stride, members)};
    }
    struct network_graph_share share = memo->share;
    (void)pthread_mutex_unlock(&graph->lock);
    return share;
}
