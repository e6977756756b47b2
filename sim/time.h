/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SIM_TIME_H
#define SIM_TIME_H

/*
 * Simulated time: a signed 64-bit count of nanoseconds since the start, so that "the same instant"
 * is exact. 2^63 ns are 292 years. Durations come from the models in seconds and are rounded to the
 * nearest nanosecond once, here.
 */

#include <stdint.h>

typedef int64_t sim_time;

#define SIM_TIME_MAX INT64_MAX
#define SIM_NS_PER_S 1000000000.0

/* Seconds (finite, at least 0, below 9.2e9) to nanoseconds, rounded to nearest. */
sim_time sim_time_from_s(double seconds);

static inline double sim_time_to_s(sim_time time) {
    return (double)time / SIM_NS_PER_S;
}

#endif
