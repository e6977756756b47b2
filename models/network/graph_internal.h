/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_NETWORK_GRAPH_INTERNAL_H
#define MODELS_NETWORK_GRAPH_INTERNAL_H

/* A graph with its routes, for graph.c and graph_load.c only. */

#include "models/network/graph.h"

#include <pthread.h>

#define NETWORK_GRAPH_MEMOS 64
#define NETWORK_GRAPH_FAR INT64_MAX

/* A link as one of its ends sees it; `out` is the direction away from it, `out ^ 1` the other. */
struct network_graph_hop {
    uint32_t to, link, out;
};

/*
 * Where routes end: a switch with those attachments that have one link, to it (by rail, those of
 * one number), or an attachment with several links.
 */
struct network_graph_target {
    uint32_t vertex;
    uint32_t nic;      /* by rail: of its attachments */
    uint32_t node;     /* of the first of them */
    bool several;      /* there are other nodes' too */
    double farthest_s; /* of the links from the switch to its attachments; 0 for an attachment */
};

struct network_graph_memo {
    int ranks, stride, members; /* ranks 0: empty */
    struct network_graph_share share;
};

struct network_graph {
    struct network_graph_plan plan; /* with links of its own */
    struct network_graph_facts facts;
    struct network_graph_link *links;
    int64_t *costs; /* of each link on a way; at least 1 */
    uint32_t vertices;
    uint32_t *hop_start; /* of each vertex, and the end; attachments are nobody's hop */
    struct network_graph_hop *hops;
    uint32_t target_count;
    struct network_graph_target *targets;
    uint32_t *target_of; /* attachment */
    /* For each target and switch: cost of the way there, or FAR; switches from near to far; mean
     * latency of the ways. */
    int64_t *distance;
    uint32_t *order, *reached;
    double *latency_s;
    /* What graph_load.c works with, under the lock. */
    pthread_mutex_t lock;
    double *inject, *load, *arriving;
    int *wanted;
    uint32_t *touched;
    struct network_graph_memo memos[NETWORK_GRAPH_MEMOS];
    uint32_t memo_count;
};

/* The cost of the way from an attachment to a target, FAR where there is none. */
int64_t network_graph_way(const struct network_graph *graph, uint32_t attachment, uint32_t target);

/* Whether a hop out of a switch is on a shortest way to the target; and the link from the switch to
 * a target that is an attachment where that is on one, else NULL (as the attachment's hop). */
bool network_graph_is_next(const struct network_graph *graph, uint32_t target, uint32_t from,
                           const struct network_graph_hop *hop);
const struct network_graph_hop *network_graph_last(const struct network_graph *graph,
                                                   uint32_t target, uint32_t from);

/* Whether nodes send from an attachment to a target. */
bool network_graph_sends(const struct network_graph *graph, uint32_t attachment, uint32_t target);

#endif
