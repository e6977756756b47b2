/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_NETWORK_TOPOLOGY_H
#define MODELS_NETWORK_TOPOLOGY_H

/*
 * What lies between the nodes. A kind is one file that ends in one const table; it says what part
 * of its NICs' rate a collective gets when all groups of its kind run at once, as they do in
 * training:
 *
 *     rings      every member sends to the next one of its group
 *     exchanges  every member sends to all of its group alike
 *
 * A part is what the fullest links carry of what would cross them: capacity x (1 - background) /
 * load, at most 1. Uplinks of one block are taken as one link (the switches spread over them, as
 * adaptive routing and packet spraying do), and so are all links of a torus.
 *
 * Who uses these links only for a time is in forecast/neighbour.h.
 *
 * Nodes are numbered as the job has them; placed `packed`, a block's nodes follow each other;
 * placed `spread`, neighbours are in different blocks; placed `by_rail`, a leaf takes as many NICs,
 * but all of one number: one of each of GPUs x block_nodes nodes, and what is for another number
 * changes over NVLink in the sender's node (topology_rail_optimised.c is always so, with
 * block_nodes as the nodes of its rails). Left out: collisions of single flows; zones are in
 * zones.h.
 */

#include "models/hardware/cluster.h"

#include <stddef.h>

/* Keys that a kind takes. */
enum {
    NETWORK_TOPOLOGY_BLOCK = 1,
    NETWORK_TOPOLOGY_OVERSUBSCRIPTION = 2,
    NETWORK_TOPOLOGY_SHAPE = 4,
    NETWORK_TOPOLOGY_GRAPH = 8, /* routing, switches, links */
    NETWORK_TOPOLOGY_RAILS = 16 /* placement may be by_rail */
};

struct network_topology_type {
    const char *name;
    const char *meaning;
    unsigned keys;     /* of the enum above */
    int block_default; /* nodes of a block where none is said; 0: it must be said */
    double (*ring_share)(const struct hardware_cluster *cluster, int ranks, int stride,
                         int members);
    double (*exchange_share)(const struct hardware_cluster *cluster, int ranks, int stride,
                             int members);
    /* The topology in words with the number of its links; returns as snprintf does. */
    int (*describe)(const struct hardware_cluster *cluster, char *buffer, size_t size);
};

/* NULL past the last one / when there is none of that name. */
const struct network_topology_type *network_topology_at(unsigned index);
const struct network_topology_type *network_topology_find(const char *name);

/* Shares of a group whose members are `stride` GPU numbers apart, `members` in each NVLink domain;
 * from above 0 to 1. 1 without a topology. */
double network_topology_ring_share(const struct hardware_cluster *cluster, int ranks, int stride,
                                   int members);
double network_topology_exchange_share(const struct hardware_cluster *cluster, int ranks,
                                       int stride, int members);

/* What routes add to a step between domains, in seconds: round a ring, and to the farthest of an
 * exchange. 0 but for graphs. */
void network_topology_latency(const struct hardware_cluster *cluster, int ranks, int stride,
                              int members, double *ring_s, double *exchange_s);

extern const struct network_topology_type network_topology_full;
extern const struct network_topology_type network_topology_fat_tree;
extern const struct network_topology_type network_topology_rail_optimised;
extern const struct network_topology_type network_topology_leaf_spine;
extern const struct network_topology_type network_topology_dragonfly;
extern const struct network_topology_type network_topology_torus;
extern const struct network_topology_type network_topology_graph;

#endif
