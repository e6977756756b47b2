/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_NETWORK_ZONE_TRAFFIC_H
#define MODELS_NETWORK_ZONE_TRAFFIC_H

/* What collectives send from zone to zone (zones.h), which somebody has to pay. */

#include "models/network/group.h"

/* Bytes that the collectives of all groups together send from zone to zone, a GPU in the mean; 0
 * in one zone. `bytes` as in network_collective_s. */
double network_zone_bytes(const struct hardware_cluster *cluster, enum network_collective kind,
                          int ranks, int stride, double bytes);

#endif
