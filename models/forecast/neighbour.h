/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_FORECAST_NEIGHBOUR_H
#define MODELS_FORECAST_NEIGHBOUR_H

/*
 * A job in the neighbourhood that takes part of the links between blocks from one time of the run
 * to another (hardware/cluster.h). What the run does meanwhile is costed a second time, on a
 * cluster whose links have only the rest; work that takes `calm_s` alone and `crowded_s` beside the
 * neighbour is done at a rate of 1 / calm_s a second, and of 1 / crowded_s within the window,
 *
 *     integral of the rate from the start to the end = 1
 *
 * so that work that reaches over an edge of the window has its collectives spread evenly over it.
 * Left out: what this run takes from the neighbour, whose share is given.
 */

#include "models/forecast/pass_cache.h"
#include "models/forecast/plan.h"

/* The crowded twin of a plan; points into itself and must stay where it is. */
struct forecast_neighbour {
    bool present;
    struct hardware_neighbour window;
    struct hardware_cluster cluster;
    struct training_plan passes[ALGORITHM_ROLE_COUNT];
    struct forecast_pass_cache cache;
    double sync_s;
};

/* Of a plan without a neighbour only `present` counts. The plan must outlive it. */
void forecast_neighbour_make(const struct forecast_plan *plan,
                             struct forecast_neighbour *neighbour);

/* Seconds that work takes which begins `start_s` after the run did. */
double forecast_neighbour_s(const struct hardware_neighbour *window, double start_s, double calm_s,
                            double crowded_s);

/* Bytes that the neighbour sends over these links from time to time of the run: its share of what
 * the blocks' uplinks carry at the rate of the NICs, one direction. */
double forecast_neighbour_bytes(const struct hardware_cluster *cluster, double from_s,
                                double until_s);

#endif
