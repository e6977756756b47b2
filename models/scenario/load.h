/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_SCENARIO_LOAD_H
#define MODELS_SCENARIO_LOAD_H

/* Scenarios that are not in a file: the same keys, checks and messages. */

#include "models/scenario/catalog.h"

#include <rlhfsim/scenario.h>

/* A scenario of nothing but settings, "training.tp=2". `name` is the file of messages. Statuses as
 * rlhfsim_scenario_load. */
enum rlhfsim_status scenario_load_sets(const struct catalog *catalog, const char *name,
                                       const char *const *sets, size_t set_count,
                                       struct rlhfsim_diagnostics *diagnostics,
                                       struct rlhfsim_scenario **scenario);

#endif
