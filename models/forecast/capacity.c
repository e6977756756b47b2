/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/forecast/capacity.h"

#include <math.h>

#define GB 1e9

double forecast_stored_checkpoints(const struct forecast_plan *plan) {
    const struct checkpoint_plan *checkpoint = &plan->checkpoint;
    if (checkpoint->every_steps == 0)
        return 0.0;
    double saves = ceil((double)plan->scenario->steps / (double)checkpoint->every_steps);
    return fmin(saves, (double)checkpoint->keep + 1.0);
}

/* `count` checkpoints in a store. */
static enum rlhfsim_status check_room(const struct forecast_plan *plan, const struct store *store,
                                      double count, const char *key, const char *advice,
                                      struct rlhfsim_diagnostics *diagnostics) {
    const struct checkpoint_plan *checkpoint = &plan->checkpoint;
    double room = store_capacity(store, checkpoint->clients), needed = count * checkpoint->bytes;
    if (needed <= room)
        return RLHFSIM_OK;
    return rlhfsim_diagnostics_add(
        diagnostics, RLHFSIM_INVALID, NULL, 0, 0,
        "%s '%s' has room for %.6g GB, expected %.6g GB for %g checkpoint%s of %.6g GB at once: "
        "%.0f bytes are missing; %s",
        key, store->name, room / GB, needed / GB, count, count == 1.0 ? "" : "s",
        checkpoint->bytes / GB, needed - room, advice);
}

enum rlhfsim_status forecast_capacity_check(const struct forecast_plan *plan,
                                            struct rlhfsim_diagnostics *diagnostics) {
    enum rlhfsim_status store = RLHFSIM_OK, staging = RLHFSIM_OK;
    double count = forecast_stored_checkpoints(plan);
    if (count == 0.0)
        return RLHFSIM_OK;
    store = check_room(plan, &plan->checkpoint.store, count, "checkpoint.store",
                       "keep fewer (checkpoint.keep), or take a larger store", diagnostics);
    if (plan->scenario->checkpoint.staged_on_store)
        staging = check_room(plan, &plan->scenario->checkpoint.staging, 1.0, "checkpoint.staging",
                             "take a larger store, or stage in host memory", diagnostics);
    return store != RLHFSIM_OK ? store : staging;
}
