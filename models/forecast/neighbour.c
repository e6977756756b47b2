/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/forecast/neighbour.h"

#include <math.h>

void forecast_neighbour_make(const struct forecast_plan *plan,
                             struct forecast_neighbour *neighbour) {
    const struct hardware_cluster *cluster = &plan->scenario->cluster;
    *neighbour = (struct forecast_neighbour){.present = cluster->topology.neighbour.share > 0.0,
                                             .window = cluster->topology.neighbour};
    if (!neighbour->present)
        return;
    neighbour->cluster = *cluster;
    neighbour->cluster.topology.background = neighbour->window.share;
    for (int role = 0; role < ALGORITHM_ROLE_COUNT; role++) {
        neighbour->passes[role] = plan->passes[role];
        neighbour->passes[role].cluster = &neighbour->cluster;
    }
    if (plan->replicas > 0)
        neighbour->sync_s = forecast_weight_sync_s(plan, &neighbour->cluster);
}

double forecast_neighbour_s(const struct hardware_neighbour *window, double start_s, double calm_s,
                            double crowded_s) {
    double left = 1.0, now_s = start_s; /* of the work */
    if (crowded_s == calm_s || start_s >= window->until_s || start_s + calm_s <= window->from_s)
        return calm_s;
    if (now_s < window->from_s) {
        left -= (window->from_s - now_s) / calm_s;
        now_s = window->from_s;
    }
    double crowded = fmin(left, (window->until_s - now_s) / crowded_s);
    return now_s - start_s + crowded * crowded_s + (left - crowded) * calm_s;
}

double forecast_neighbour_bytes(const struct hardware_cluster *cluster, double from_s,
                                double until_s) {
    const struct hardware_topology *topology = &cluster->topology;
    return topology->neighbour.share * cluster->nodes *
           cluster->node.network_bandwidth_bytes_per_s / topology->oversubscription *
           (until_s - from_s);
}
