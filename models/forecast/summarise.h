/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_FORECAST_SUMMARISE_H
#define MODELS_FORECAST_SUMMARISE_H

/*
 * From what the replicates came to, to the figures of the summary: quantiles over the replicates,
 * each figure one formula of one replicate's measures.
 */

#include "models/cost/ledger.h"
#include "models/forecast/simulation.h"
#include "models/results/summary.h"

/* What one replicate costs. The ledger points to the scenario's prices. */
void forecast_ledger(const struct forecast_plan *plan, const struct forecast_measures *measures,
                     struct cost_ledger *ledger);

/* Fills time, band, throughput, rollout, cost, gpu_hours, idle_fraction, critical_path and events
 * from `replicates` (at least 1) simulations; `shown` is the one that the files show.
 * RLHFSIM_NO_MEMORY or RLHFSIM_OK. */
enum rlhfsim_status forecast_summarise(const struct forecast_plan *plan,
                                       const struct forecast_measures *measures, size_t replicates,
                                       size_t shown, struct rlhfsim_summary *summary);

#endif
