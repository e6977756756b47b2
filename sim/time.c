/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/time.h"

#include "sim/contract.h"

#include <math.h>

sim_time sim_time_from_s(double seconds) {
    CONTRACT(!(seconds < 0.0), "a time is not negative");
    return seconds < SIM_TIME_END_S ? llround(seconds * SIM_NS_PER_S) : SIM_TIME_MAX;
}

sim_time sim_time_sum(sim_time start, sim_time duration) {
    return duration < SIM_TIME_MAX - start ? start + duration : SIM_TIME_MAX;
}
