/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/time.h"

#include "sim/contract.h"

#include <math.h>

sim_time sim_time_from_s(double seconds) {
    CONTRACT(seconds >= 0.0 && seconds < 9.2e9, "a time is finite, not negative and below 9.2e9 s");
    return llround(seconds * SIM_NS_PER_S);
}
