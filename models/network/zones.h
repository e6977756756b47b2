/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_NETWORK_ZONES_H
#define MODELS_NETWORK_ZONES_H

/*
 * A cluster over several zones (or regions): equal numbers of nodes in each, one after the other,
 * and between the zones a network of its own. `bandwidth` is what leaves a zone, one direction, and
 * all traffic to the other zones shares it; `latency` is of one crossing; what crosses is paid by
 * the byte.
 *
 *     ring        a group of n members crosses c times; the part c / n of all that its members send
 *     exchange    the part of its pairs whose members are in different zones
 *
 * As everywhere all groups of a kind run at once, so their crossings share the zone's bandwidth.
 * Over zones only rings and pairwise exchanges are taken: what is timed is what is billed. Left
 * out: unequal zones, distances that differ from pair to pair.
 */

#include "models/hardware/cluster.h"

#define NETWORK_ZONES_LIMIT 64

/* At least 1. */
int network_zones(const struct hardware_cluster *cluster);

/* GPUs of one zone; and the zone of a GPU, from 0. */
int network_zone_gpus(const struct hardware_cluster *cluster);
int network_zone_of(const struct hardware_cluster *cluster, int gpu);

/* Of the sendings of all members to the next of their group, the part that goes to another zone; of
 * all pairs of members, the part in different zones. From 0 to 1; groups as in
 * network_group_strided, tiling the cluster. */
double network_zones_crossing(const struct hardware_cluster *cluster, int ranks, int stride);
double network_zones_apart(const struct hardware_cluster *cluster, int ranks, int stride);

/* The part of their NICs that groups with `members` in each domain get where the zones are the
 * limit; above 0 and at most 1. */
double network_zones_ring_share(const struct hardware_cluster *cluster, double crossing,
                                int members);
double network_zones_exchange_share(const struct hardware_cluster *cluster, int ranks, int members,
                                    double apart);

#endif
