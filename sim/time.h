/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SIM_TIME_H
#define SIM_TIME_H

/*
 * Simulated time: a signed 64-bit count of nanoseconds since the start, so that "the same instant"
 * is exact. 2^63 ns are 292 years, and SIM_TIME_MAX is past the last instant: nothing can be
 * scheduled there (SIM_TOO_LONG). Durations come from the models in seconds and are rounded to the
 * nearest nanosecond once, here.
 */

#include <stdint.h>

typedef int64_t sim_time;

#define SIM_TIME_MAX INT64_MAX
#define SIM_NS_PER_S 1000000000.0

/* What a duration is below that the clock can hold. */
#define SIM_TIME_END_S 9.2e9

/* Seconds (at least 0) to nanoseconds, rounded to nearest. SIM_TIME_MAX from SIM_TIME_END_S on, and
 * for a sum that left the range of a double (infinite, or not a number). */
sim_time sim_time_from_s(double seconds);

/* `duration` (at least 0) after `start` (at least 0); SIM_TIME_MAX where the clock ends before. */
sim_time sim_time_sum(sim_time start, sim_time duration);

static inline double sim_time_to_s(sim_time time) {
    return (double)time / SIM_NS_PER_S;
}

#endif
