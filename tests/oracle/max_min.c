/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/oracle/max_min.h"

#include <math.h>
#include <stdbool.h>

#define FLOWS 256

/* Capacity that stopped flows have left, and the weight of those that rise. */
static void look_at(const struct max_min_flow *flows, size_t count, const bool *stopped,
                    size_t link, double *left, double *weight) {
    for (size_t i = 0; i < count; i++)
        for (size_t h = 0; h < flows[i].hops; h++) {
            if (flows[i].link[h] != link)
                continue;
            if (stopped[i])
                *left -= flows[i].use[h] * flows[i].rate;
            else
                *weight += flows[i].use[h] * flows[i].weight;
        }
}

void max_min_rates(const double *capacity, size_t links, struct max_min_flow *flows, size_t count) {
    bool stopped[FLOWS] = {false};
    for (size_t done = 0; done < count;) {
        double level = (double)INFINITY;
        size_t full = links;
        for (size_t l = 0; l < links; l++) {
            double left = capacity[l], weight = 0.0;
            look_at(flows, count, stopped, l, &left, &weight);
            if (weight > 0.0 && left / weight < level) {
                level = left / weight;
                full = l;
            }
        }
        bool by_cap = false;
        for (size_t i = 0; i < count; i++)
            if (!stopped[i] && flows[i].cap > 0.0 && flows[i].cap / flows[i].weight <= level) {
                level = flows[i].cap / flows[i].weight;
                by_cap = true;
            }
        for (size_t i = 0; i < count; i++) {
            bool holds = by_cap && flows[i].cap > 0.0 && flows[i].cap / flows[i].weight <= level;
            for (size_t h = 0; !by_cap && h < flows[i].hops; h++)
                holds = holds || flows[i].link[h] == full;
            if (stopped[i] || !holds)
                continue;
            flows[i].rate = level * flows[i].weight;
            stopped[i] = true;
            done++;
        }
    }
}
