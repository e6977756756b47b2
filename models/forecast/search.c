/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Searches over legal values. Memory does not shrink with every GPU more (a rank more may mean
 * another division), so the least number is found by trying all in order, not by halving. A larger
 * micro-batch always holds more: there halving is right, over the divisors of a rank's samples or
 * the tokens of a budget.
 */

#include "models/forecast/footprint.h"
#include "models/forecast/microbatch.h"
#include "models/forecast/variant.h"
#include "models/forecast/verdict.h"

#include <rlhfsim/advice.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_NODES 1024

/* Looks at the settings; true where they fit. */
static bool look(struct forecast_variant *variant, const char *settings,
                 struct rlhfsim_search *search, enum rlhfsim_status *status) {
    *status = forecast_variant_try(variant, settings);
    search->tried++;
    search->illegal += *status == RLHFSIM_OK && variant->scenario == NULL;
    if (*status != RLHFSIM_OK || !forecast_variant_fits(variant))
        return false;
    search->found = true;
    search->gpus = variant->plan.gpus;
    search->peak_bytes = forecast_gpu_peak(&variant->plan).bytes;
    search->capacity_bytes = variant->scenario->cluster.gpu.memory_bytes;
    search->fit_probability = forecast_verdict_probability(&variant->plan);
    (void)snprintf(search->settings, sizeof search->settings, "%s", settings);
    return true;
}

/* The scenario as it stands, for what a search starts from. */
static enum rlhfsim_status start(const struct rlhfsim_source *source,
                                 struct rlhfsim_diagnostics *diagnostics,
                                 struct forecast_variant **variant) {
    struct rlhfsim_scenario *scenario;
    *variant = forecast_variant_new(source);
    if (*variant == NULL)
        return RLHFSIM_NO_MEMORY;
    enum rlhfsim_status status = rlhfsim_source_scenario(source, NULL, 0, diagnostics, &scenario);
    rlhfsim_scenario_free(scenario);
    return status == RLHFSIM_OK ? forecast_variant_try(*variant, "") : status;
}

enum rlhfsim_status rlhfsim_search_min_gpus(const struct rlhfsim_source *source,
                                            struct rlhfsim_diagnostics *diagnostics,
                                            struct rlhfsim_search *search) {
    struct forecast_variant *variant;
    enum rlhfsim_status status = start(source, diagnostics, &variant);
    struct forecast_plan *plan = malloc(sizeof *plan); /* as it stands */
    *search = (struct rlhfsim_search){0};
    if (plan == NULL)
        status = RLHFSIM_NO_MEMORY;
    int node = status == RLHFSIM_OK ? variant->scenario->cluster.node.gpus : 0;
    struct rlhfsim_scenario *scenario = status == RLHFSIM_OK ? variant->scenario : NULL;
    if (status == RLHFSIM_OK) {
        *plan = variant->plan;
        variant->scenario = NULL; /* the plan has it */
    }
    for (int i = 1; i < node + MOST_NODES && status == RLHFSIM_OK && !search->found; i++) {
        char settings[sizeof search->settings];
        int gpus = i <= node ? i : (i - node + 1) * node;
        if (forecast_variant_gpus(plan, gpus, settings, sizeof settings))
            (void)look(variant, settings, search, &status);
    }
    rlhfsim_scenario_free(scenario);
    free(plan);
    forecast_variant_free(variant);
    return status;
}

/* ---- micro-batches --------------------------------------------------------------------------- */

/* The `index`-th divisor of `whole`, from 1 up; 0 past the last one. */
static int64_t divisor(int64_t whole, size_t index) {
    for (int64_t d = 1; d <= whole; d++)
        if (whole % d == 0 && index-- == 0)
            return d;
    return 0;
}

static size_t divisors(int64_t whole) {
    size_t count = 0;
    for (int64_t d = 1; d <= whole; d++)
        count += whole % d == 0;
    return count;
}

static enum rlhfsim_status search_samples(struct forecast_variant *variant, int64_t rank_samples,
                                          struct rlhfsim_search *search) {
    size_t first = 0, end = divisors(rank_samples); /* below `first` all fit */
    enum rlhfsim_status status = RLHFSIM_OK;
    while (first < end && status == RLHFSIM_OK) {
        char settings[96];
        size_t middle = first + (end - first) / 2;
        int64_t samples = divisor(rank_samples, middle);
        (void)snprintf(settings, sizeof settings, "training.microbatch_samples=%" PRId64, samples);
        if (look(variant, settings, search, &status)) {
            search->samples = samples;
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return status;
}

static enum rlhfsim_status search_tokens(struct forecast_variant *variant, int64_t least,
                                         int64_t most, struct rlhfsim_search *search) {
    int64_t first = least, end = most + 1;
    enum rlhfsim_status status = RLHFSIM_OK;
    while (first < end && status == RLHFSIM_OK) {
        char settings[96];
        int64_t tokens = first + (end - first) / 2;
        (void)snprintf(settings, sizeof settings, "training.microbatch_tokens=%" PRId64, tokens);
        if (look(variant, settings, search, &status)) {
            search->tokens = tokens;
            first = tokens + 1;
        } else {
            end = tokens;
        }
    }
    return status;
}

enum rlhfsim_status rlhfsim_search_max_microbatch(const struct rlhfsim_source *source,
                                                  struct rlhfsim_diagnostics *diagnostics,
                                                  struct rlhfsim_search *search) {
    struct forecast_variant *variant;
    enum rlhfsim_status status = start(source, diagnostics, &variant);
    *search = (struct rlhfsim_search){0};
    if (status == RLHFSIM_OK) {
        const struct rlhfsim_scenario *scenario = variant->scenario;
        int64_t samples = scenario->algorithm.minibatch_samples / variant->plan.dp;
        int64_t longest = variant->plan.prompt_limit + variant->plan.response_limit;
        int64_t dp = variant->plan.dp; /* passes without gradients take all samples of a step */
        int64_t step = (forecast_fullest_step(scenario) + dp - 1) / dp;
        int64_t all = (samples > step ? samples : step) * longest *
                      scenario->algorithm.type->sequences_per_sample;
        status = scenario->training.microbatch_tokens > 0
                     ? search_tokens(variant, longest, all, search)
                     : search_samples(variant, samples, search);
    }
    forecast_variant_free(variant);
    return status;
}
