/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/forecast/variant.h"

#include "models/forecast/footprint.h"
#include "models/forecast/planning.h"
#include "models/forecast/run.h"

#include "models/scenario/placement.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SETTINGS 8 /* at most, of one variant */
#define STEPS 2    /* that are simulated */
#define HOUR_S 3600.0

struct forecast_variant *forecast_variant_new(const struct rlhfsim_source *source) {
    struct forecast_variant *variant = calloc(1, sizeof *variant);
    if (variant != NULL)
        variant->source = source;
    return variant;
}

void forecast_variant_free(struct forecast_variant *variant) {
    if (variant == NULL)
        return;
    rlhfsim_scenario_free(variant->scenario);
    free(variant);
}

/* Cuts the words in place; returns how many. */
static size_t split(char *words, const char *parts[SETTINGS]) {
    size_t count = 0;
    for (char *rest = words; *rest != '\0' && count < SETTINGS; count++) {
        parts[count] = rest;
        rest += strcspn(rest, " ");
        if (*rest == ' ')
            *rest++ = '\0';
    }
    return count;
}

enum rlhfsim_status forecast_variant_try(struct forecast_variant *variant, const char *settings) {
    const char *parts[SETTINGS];
    struct rlhfsim_diagnostics *unseen = rlhfsim_diagnostics_new();
    char *words = strdup(settings);
    enum rlhfsim_status status = RLHFSIM_NO_MEMORY;
    rlhfsim_scenario_free(variant->scenario);
    variant->scenario = NULL;
    if (unseen != NULL && words != NULL)
        status = rlhfsim_source_scenario(variant->source, parts, split(words, parts), unseen,
                                         &variant->scenario);
    if (status == RLHFSIM_INVALID)
        status = RLHFSIM_OK;
    if (variant->scenario != NULL)
        forecast_plan_make(variant->scenario, &variant->plan);
    free(words);
    rlhfsim_diagnostics_free(unseen);
    return status;
}

bool forecast_variant_gpus(const struct forecast_plan *plan, int gpus, char *settings,
                           size_t size) {
    int node = plan->scenario->cluster.node.gpus;
    if (gpus > node && gpus % node != 0)
        return false;
    size_t used = (size_t)snprintf(settings, size, "cluster.nodes=%d cluster.gpus_per_node=%d",
                                   gpus > node ? gpus / node : 1, gpus > node ? node : gpus);
    for (size_t i = 0; plan->pool_count > 1 && i < plan->pool_count; i++) {
        int64_t part = (int64_t)plan->pools[i].gpus * gpus;
        if (part % plan->gpus != 0 || used >= size)
            return false;
        used += (size_t)snprintf(settings + used, size - used, " placement.%s_gpus=%d",
                                 scenario_pool_name(plan->pools[i].kind), (int)(part / plan->gpus));
    }
    return used < size;
}

bool forecast_variant_fits(const struct forecast_variant *variant) {
    return variant->scenario != NULL && forecast_plan_fits(&variant->plan);
}

enum rlhfsim_status forecast_variant_cost(const struct forecast_variant *variant, double *time_s,
                                          double *cost_usd) {
    const struct rlhfsim_scenario *scenario = variant->scenario;
    struct forecast_plan plan = variant->plan;
    struct forecast_measures measures;
    struct forecast_run_options options = {.steps =
                                               scenario->steps < STEPS ? scenario->steps : STEPS};
    struct rlhfsim_diagnostics *unseen = rlhfsim_diagnostics_new();
    if (unseen == NULL)
        return RLHFSIM_NO_MEMORY;
    plan.checkpoint.every_steps = 0;
    enum rlhfsim_status status = forecast_run(&plan, &options, unseen, &measures);
    rlhfsim_diagnostics_free(unseen);
    if (status != RLHFSIM_OK)
        return status;
    *time_s = measures.total_s / (double)options.steps * (double)scenario->steps;
    *cost_usd = *time_s / HOUR_S * scenario->prices.node_hour_usd * scenario->cluster.nodes;
    return RLHFSIM_OK;
}
