/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_FORECAST_CAPACITY_H
#define MODELS_FORECAST_CAPACITY_H

/*
 * Whether checkpoints have room where they go. The store holds those that are kept, and while
 * another one is written that one, too, since the oldest is deleted when the newest is safe:
 *
 *     needed = min(saves of the run, checkpoint.keep + 1) x bytes of one
 *
 * The staging store holds the one that passes through. Left out: what else is in a store, data sets
 * and weights that are only read.
 */

#include "models/forecast/plan.h"

#include <rlhfsim/diagnostics.h>

/* Checkpoints in the store at once, at most. */
double forecast_stored_checkpoints(const struct forecast_plan *plan);

/* RLHFSIM_OK, or RLHFSIM_INVALID with an error for each store that is too small: what it holds,
 * what is needed, how many bytes are missing and the key to turn. */
enum rlhfsim_status forecast_capacity_check(const struct forecast_plan *plan,
                                            struct rlhfsim_diagnostics *diagnostics);

#endif
