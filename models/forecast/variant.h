/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_FORECAST_VARIANT_H
#define MODELS_FORECAST_VARIANT_H

/* One variant of a scenario: loaded with a few settings more, planned, maybe simulated. */

#include "models/forecast/plan.h"

/* A workspace; the plan points into the scenario. */
struct forecast_variant {
    const struct rlhfsim_source *source;
    struct rlhfsim_scenario *scenario; /* NULL: the settings are not legal */
    struct forecast_plan plan;
};

struct forecast_variant *forecast_variant_new(const struct rlhfsim_source *source);
void forecast_variant_free(struct forecast_variant *variant);

/* Loads and plans the scenario with the settings, words with spaces between them. RLHFSIM_OK with
 * `scenario` NULL where they are not legal; RLHFSIM_NO_MEMORY. */
enum rlhfsim_status forecast_variant_try(struct forecast_variant *variant, const char *settings);

/* Settings of as many GPUs: some of one node, or whole nodes, and pools in the proportions that
 * they have. False where there are no such. */
bool forecast_variant_gpus(const struct forecast_plan *plan, int gpus, char *settings, size_t size);

/* Legal, and it fits. */
bool forecast_variant_fits(const struct forecast_variant *variant);

/* Length of the whole run and price of its nodes, from its first steps; checkpoints are left out.
 */
enum rlhfsim_status forecast_variant_cost(const struct forecast_variant *variant, double *time_s,
                                          double *cost_usd);

#endif
