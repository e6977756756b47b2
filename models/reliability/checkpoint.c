/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/reliability/checkpoint.h"

#include "sim/contract.h"

#include <math.h>

double checkpoint_save_s(const struct checkpoint_plan *plan) {
    CONTRACT(plan->bytes >= 0.0, "a negative number of bytes");
    if (plan->bytes == 0.0)
        return 0.0;
    double bandwidth = plan->nodes * plan->node_bandwidth_bytes_per_s;
    if (plan->store_bandwidth_bytes_per_s > 0.0)
        bandwidth = fmin(bandwidth, plan->store_bandwidth_bytes_per_s);
    CONTRACT(bandwidth > 0.0, "a store that nothing can be written to");
    return plan->bytes / bandwidth;
}

bool checkpoint_due(const struct checkpoint_plan *plan, int64_t step, int64_t steps) {
    return plan->every_steps > 0 && (step % plan->every_steps == 0 || step == steps);
}
