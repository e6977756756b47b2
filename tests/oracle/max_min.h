/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TESTS_ORACLE_MAX_MIN_H
#define TESTS_ORACLE_MAX_MIN_H

/*
 * Max-min fair rates by the definition, without a heap or components: all flows rise together; at
 * every step the smallest level at which any link fills or any cap is met is found by looking at
 * all of them, and what is held there stops.
 */

#include <stddef.h>

struct max_min_flow {
    double weight, cap; /* cap 0: none */
    size_t hops;
    size_t link[16];
    double use[16];
    double rate; /* the result */
};

void max_min_rates(const double *capacity, size_t links, struct max_min_flow *flows, size_t count);

#endif
