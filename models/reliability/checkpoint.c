/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/reliability/checkpoint.h"

#include "sim/contract.h"

#include <math.h>

double checkpoint_write_s(const struct checkpoint_plan *plan) {
    double write_s = store_transfer_s(&plan->store, STORE_WRITE, plan->clients, plan->bytes);
    if (plan->staged_read_bytes_per_s <= 0.0 || plan->bytes == 0.0)
        return write_s;
    return fmax(write_s, plan->store.latency_s + plan->bytes / plan->staged_read_bytes_per_s);
}

double checkpoint_blocking_s(const struct checkpoint_plan *plan) {
    if (plan->bytes == 0.0)
        return 0.0;
    return plan->gather_s + (plan->asynchronous ? plan->stage_s : checkpoint_write_s(plan));
}

double checkpoint_save_s(const struct checkpoint_plan *plan) {
    return checkpoint_blocking_s(plan) + (plan->asynchronous ? checkpoint_write_s(plan) : 0.0);
}

double checkpoint_run_s(const struct checkpoint_plan *plan, double saves, double interval_s) {
    if (saves <= 0.0)
        return 0.0;
    double blocking_s = saves * checkpoint_blocking_s(plan);
    if (!plan->asynchronous)
        return blocking_s;
    double write_s = checkpoint_write_s(plan);
    return blocking_s + (saves - 1.0) * fmax(0.0, write_s - interval_s) + write_s;
}

bool checkpoint_due(const struct checkpoint_plan *plan, int64_t step, int64_t steps) {
    return plan->every_steps > 0 && (step % plan->every_steps == 0 || step == steps);
}
