/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * The public forecast: plan, verdict on memory, replicates, what limits, and the summary of it all.
 *
 * Files show one replicate whole, the one whose length is the median: it is simulated once more
 * with the recorder on, so that what the files add up to is the summary's P50.
 */

#include <rlhfsim/forecast.h>

#include "models/forecast/capacity.h"
#include "models/forecast/durations.h"
#include "models/forecast/footprint.h"
#include "models/forecast/layout.h"
#include "models/forecast/limits.h"
#include "models/forecast/offload_cost.h"
#include "models/forecast/plan.h"
#include "models/forecast/planning.h"
#include "models/forecast/run.h"
#include "models/forecast/scaling.h"
#include "models/forecast/summarise.h"
#include "models/forecast/verdict.h"
#include "models/results/files.h"
#include "models/results/summary.h"
#include "models/scenario/steps.h"
#include "sim/contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rlhfsim_forecast {
    struct rlhfsim_summary summary;
    struct forecast_verdict verdict;
    struct rlhfsim_layout layout;
    struct forecast_phases phases;
};

/* ---- what is known without a run ---------------------------------------------------------- */

static const char *static_provenance(const char *word) {
    static const char *const words[] = {"measured", "interpolated", "extrapolated", "assumed",
                                        "unvalidated"};
    for (size_t i = 0; word != NULL && i < sizeof words / sizeof words[0]; i++)
        if (strcmp(word, words[i]) == 0)
            return words[i];
    return "assumed";
}

static void add_provenance(struct rlhfsim_summary *summary, const char *key, const char *word) {
    results_summary_add_provenance(summary, key, static_provenance(word));
}

/* The user's own factors: those that a log has fixed are measured. */
static void fill_calibration(struct rlhfsim_summary *summary,
                             const struct scenario_calibration *calibration) {
    static const char *const keys[] = {
#define CALIBRATION_KEY(name, text) "calibration." text,
        SCENARIO_PART_MAP(CALIBRATION_KEY)
#undef CALIBRATION_KEY
    };
    snprintf(summary->calibration, sizeof summary->calibration, "%s", calibration->text);
    for (size_t part = 0; part < SCENARIO_PARTS; part++)
        if (calibration->fitted[part])
            add_provenance(summary, keys[part], "measured");
}

static void fill_provenance(struct rlhfsim_summary *summary,
                            const struct rlhfsim_scenario *scenario) {
    add_provenance(summary, "cluster.gpu", scenario->gpu_provenance);
    add_provenance(summary, "kernels", scenario->kernels_provenance);
    add_provenance(summary, "cluster.node", scenario->node_provenance);
    add_provenance(summary, "framework", scenario->framework_provenance);
    add_provenance(summary, "rollout.response_tokens", scenario->length_provenance);
    add_provenance(summary, "prices", scenario->price_provenance);
    bool stored =
        scenario->checkpoint.every_steps > 0 || scenario->checkpoint.load != SCENARIO_LOAD_NONE;
    if (stored && scenario->checkpoint.store_provenance != NULL)
        add_provenance(summary, "checkpoint.store", scenario->checkpoint.store_provenance);
    else if (stored) /* what the time of a checkpoint rests on */
        add_provenance(summary, "cluster.node.storage_gb_per_s", scenario->node_provenance);
    /* No time of adapters is in the fits: their products run at the share of the others. */
    if (scenario->models[ALGORITHM_ROLE_ACTOR].lora_rank > 0)
        add_provenance(summary, "models.actor.lora_rank", "assumed");
    if (scenario->models[ALGORITHM_ROLE_CRITIC].lora_rank > 0)
        add_provenance(summary, "models.critic.lora_rank", "assumed");
    /* No published run says how long a reward model's passes took. */
    if (scenario->models[ALGORITHM_ROLE_REWARD].present)
        add_provenance(summary, "models.reward", "unvalidated");
    fill_calibration(summary, &scenario->calibration);
}

static struct rlhfsim_forecast *forecast_new(const struct forecast_plan *plan) {
    const struct rlhfsim_scenario *scenario = plan->scenario;
    struct rlhfsim_forecast *forecast = calloc(1, sizeof *forecast);
    if (forecast == NULL)
        return NULL;
    snprintf(forecast->summary.name, sizeof forecast->summary.name, "%s", scenario->name);
    forecast->summary.steps.rollout = scenario->algorithm.type->has_rollout ? scenario->steps : 0;
    forecast->summary.steps.optimizer = scenario_optimizer_steps(scenario);
    forecast->summary.events = -1;
    forecast_verdict_make(plan, &forecast->summary, &forecast->verdict);
    fill_provenance(&forecast->summary, scenario);
    forecast_layout_make(plan, &forecast->layout);
    forecast_phases_make(plan, &forecast->phases);
    return forecast;
}

static enum rlhfsim_status fill_limit(const struct forecast_plan *plan,
                                      const struct forecast_measures *measures,
                                      const struct rlhfsim_forecast_options *options,
                                      struct rlhfsim_diagnostics *diagnostics,
                                      struct rlhfsim_summary *summary) {
    struct forecast_limit limit;
    enum rlhfsim_status status = forecast_limit_find(plan, measures, options, diagnostics, &limit);
    if (status != RLHFSIM_OK)
        return status;
    snprintf(summary->limit.resource, sizeof summary->limit.resource, "%s", limit.resource);
    summary->limit.gain_fraction = results_figure_exact(limit.gain_fraction);
    return RLHFSIM_OK;
}

static enum rlhfsim_status fill_scaling(const struct forecast_plan *plan,
                                        const struct rlhfsim_forecast_options *options,
                                        struct rlhfsim_diagnostics *diagnostics,
                                        struct rlhfsim_summary *summary) {
    struct forecast_scaling scaling;
    enum rlhfsim_status status = forecast_scaling_find(plan, options, diagnostics, &scaling);
    if (status != RLHFSIM_OK || !scaling.known)
        return status;
    summary->scaling.faster_fraction = results_figure_exact(scaling.time_fraction);
    summary->scaling.dearer_fraction = results_figure_exact(scaling.cost_fraction);
    snprintf(summary->scaling.phase, sizeof summary->scaling.phase, "%s",
             algorithm_phase_name(scaling.phase));
    summary->scaling.phase_share = results_figure_exact(scaling.phase_share);
    summary->scaling.phase_shorter_fraction = results_figure_exact(scaling.phase_fraction);
    return RLHFSIM_OK;
}

static enum rlhfsim_status fill_offload(const struct forecast_plan *plan,
                                        const struct rlhfsim_forecast_options *options,
                                        struct rlhfsim_diagnostics *diagnostics,
                                        struct rlhfsim_summary *summary) {
    bool known;
    double seconds;
    enum rlhfsim_status status =
        forecast_offload_cost(plan, options, diagnostics, &known, &seconds);
    if (status == RLHFSIM_OK && known)
        summary->time.offload_s = results_figure_exact(seconds);
    return status;
}

/* ---- running ------------------------------------------------------------------------------ */

static const char *activity_name(uint32_t activity) {
    return activity == FORECAST_ACTIVITY_BACKGROUND
               ? "background"
               : algorithm_phase_name((enum algorithm_phase)activity);
}

static struct results_names names_of(const struct rlhfsim_scenario *scenario) {
    return (struct results_names){activity_name, forecast_owner_name, forecast_category_name,
                                  scenario->tags};
}

/* All replicates; a single one is recorded at once. */
static enum rlhfsim_status run_replicates(const struct forecast_plan *plan,
                                          const struct rlhfsim_forecast_options *options,
                                          struct results_files *files,
                                          struct rlhfsim_diagnostics *diagnostics,
                                          struct forecast_measures *measures) {
    enum rlhfsim_status status = RLHFSIM_OK;
    for (int r = 0; r < options->replicates && status == RLHFSIM_OK; r++) {
        struct forecast_run_options run = {
            .replicate = (uint32_t)r,
            .steps = plan->scenario->steps,
            .files = options->replicates == 1 ? files : NULL,
            .progress = options->progress,
            .progress_subject = options->progress_subject,
            .progress_from = (double)r / options->replicates,
            .progress_to = (double)(r + 1) / options->replicates,
        };
        status = forecast_run(plan, &run, diagnostics, &measures[r]);
    }
    return status;
}

/* The replicate of median length (the lower of two in the middle; of equal ones the first). */
static size_t median_replicate(const struct forecast_measures *measures, size_t replicates) {
    for (size_t r = 0; r < replicates; r++) {
        size_t before = 0;
        for (size_t other = 0; other < replicates; other++)
            before += measures[other].total_s < measures[r].total_s ||
                      (measures[other].total_s == measures[r].total_s && other < r);
        if (before == (replicates - 1) / 2)
            return r;
    }
    CONTRACT(false, "one of the replicates is in the middle");
    return 0;
}

static enum rlhfsim_status record_replicate(const struct forecast_plan *plan, size_t replicate,
                                            const struct rlhfsim_forecast_options *options,
                                            struct results_files *files,
                                            struct rlhfsim_diagnostics *diagnostics) {
    struct forecast_measures measures;
    struct forecast_run_options run = {
        .replicate = (uint32_t)replicate,
        .steps = plan->scenario->steps,
        .files = files,
        .progress = options->progress,
        .progress_subject = options->progress_subject,
        .progress_from = 1.0,
        .progress_to = 1.0,
    };
    return forecast_run(plan, &run, diagnostics, &measures);
}

static enum rlhfsim_status run_feasible(const struct forecast_plan *plan,
                                        const struct rlhfsim_forecast_options *options,
                                        struct results_files **files,
                                        struct rlhfsim_diagnostics *diagnostics,
                                        struct rlhfsim_summary *summary) {
    size_t replicates = (size_t)options->replicates;
    struct forecast_measures *measures = calloc(replicates, sizeof *measures);
    struct cost_ledger ledger;
    if (measures == NULL)
        return RLHFSIM_NO_MEMORY;
    enum rlhfsim_status status = run_replicates(plan, options, *files, diagnostics, measures);
    size_t shown = status == RLHFSIM_OK ? median_replicate(measures, replicates) : 0;
    if (status == RLHFSIM_OK && *files != NULL && replicates > 1)
        status = record_replicate(plan, shown, options, *files, diagnostics);
    if (status == RLHFSIM_OK)
        status = forecast_summarise(plan, measures, replicates, shown, summary);
    if (status == RLHFSIM_OK && !options->skip_limit)
        status = fill_limit(plan, &measures[shown], options, diagnostics, summary);
    if (status == RLHFSIM_OK && !options->skip_limit)
        status = fill_scaling(plan, options, diagnostics, summary);
    if (status == RLHFSIM_OK && !options->skip_limit)
        status = fill_offload(plan, options, diagnostics, summary);
    if (status == RLHFSIM_OK && *files != NULL) {
        forecast_ledger(plan, &measures[shown], &ledger);
        status = results_files_commit(*files, &ledger, summary, diagnostics);
        *files = NULL;
    }
    free(measures);
    return status;
}

/* The memory of one step, saved where any is, shows where it breaks; time and price stay unknown.
 */
static enum rlhfsim_status run_infeasible(const struct forecast_plan *plan,
                                          const struct rlhfsim_forecast_options *options,
                                          struct results_files **files,
                                          struct rlhfsim_diagnostics *diagnostics,
                                          struct rlhfsim_forecast *forecast) {
    struct forecast_run_options run = {.steps = 1,
                                       .files = *files,
                                       .progress = options->progress,
                                       .progress_subject = options->progress_subject};
    struct forecast_measures measures;
    struct forecast_plan saving = *plan;
    if (*files == NULL)
        return RLHFSIM_INFEASIBLE;
    saving.checkpoint.every_steps = plan->checkpoint.every_steps > 0 ? 1 : 0;
    enum rlhfsim_status status = forecast_run(&saving, &run, diagnostics, &measures);
    if (status != RLHFSIM_OK)
        return status;
    status = results_files_commit(*files, NULL, &forecast->summary, diagnostics);
    *files = NULL;
    return status == RLHFSIM_OK ? RLHFSIM_INFEASIBLE : status;
}

static bool gives_forecast(enum rlhfsim_status status) {
    return status == RLHFSIM_OK || status == RLHFSIM_INFEASIBLE;
}

enum rlhfsim_status rlhfsim_forecast_check(const struct rlhfsim_scenario *scenario,
                                           struct rlhfsim_diagnostics *diagnostics,
                                           struct rlhfsim_forecast **forecast) {
    struct forecast_plan plan;
    forecast_plan_make(scenario, &plan);
    *forecast = NULL;
    if (forecast_durations_check(&plan, diagnostics) != RLHFSIM_OK ||
        forecast_capacity_check(&plan, diagnostics) != RLHFSIM_OK)
        return RLHFSIM_INVALID;
    *forecast = forecast_new(&plan);
    if (*forecast == NULL)
        return RLHFSIM_NO_MEMORY;
    return forecast_plan_fits(&plan) ? RLHFSIM_OK : RLHFSIM_INFEASIBLE;
}

enum rlhfsim_status rlhfsim_forecast_run(const struct rlhfsim_scenario *scenario,
                                         const struct rlhfsim_forecast_options *options,
                                         struct rlhfsim_diagnostics *diagnostics,
                                         struct rlhfsim_forecast **forecast) {
    CONTRACT(options->replicates >= 1, "a forecast needs a replicate");
    struct results_names names = names_of(scenario);
    struct results_files *files = NULL;
    struct forecast_plan plan;
    enum rlhfsim_status status = RLHFSIM_OK;
    forecast_plan_make(scenario, &plan);
    *forecast = NULL;
    if (forecast_durations_check(&plan, diagnostics) != RLHFSIM_OK ||
        forecast_capacity_check(&plan, diagnostics) != RLHFSIM_OK)
        return RLHFSIM_INVALID;
    *forecast = forecast_new(&plan);
    if (*forecast == NULL)
        return RLHFSIM_NO_MEMORY;
    if (options->output_directory != NULL)
        status = results_files_open(options->output_directory, &names, diagnostics, &files);
    if (status == RLHFSIM_OK)
        status = forecast_plan_fits(&plan) || options->ignore_memory
                     ? run_feasible(&plan, options, &files, diagnostics, &(*forecast)->summary)
                     : run_infeasible(&plan, options, &files, diagnostics, *forecast);
    if (files != NULL)
        results_files_discard(files);
    if (!gives_forecast(status)) {
        rlhfsim_forecast_free(*forecast);
        *forecast = NULL;
    }
    return status;
}

void rlhfsim_forecast_free(struct rlhfsim_forecast *forecast) {
    free(forecast);
}

const struct rlhfsim_summary *rlhfsim_forecast_summary(const struct rlhfsim_forecast *forecast) {
    return &forecast->summary;
}

const char *rlhfsim_forecast_shortage(const struct rlhfsim_forecast *forecast) {
    return forecast->verdict.reason[0] != '\0' ? forecast->verdict.reason : NULL;
}

bool rlhfsim_forecast_memory_row(const struct rlhfsim_forecast *forecast, size_t index,
                                 struct rlhfsim_memory_row *row) {
    if (index >= forecast->verdict.row_count)
        return false;
    *row = forecast->verdict.rows[index];
    return true;
}

const struct rlhfsim_layout *rlhfsim_forecast_layout(const struct rlhfsim_forecast *forecast) {
    return &forecast->layout;
}

bool rlhfsim_forecast_phase(const struct rlhfsim_forecast *forecast, size_t index,
                            struct rlhfsim_phase_memory *memory) {
    if (index >= forecast->phases.count)
        return false;
    *memory = forecast->phases.at[index].memory;
    return true;
}

bool rlhfsim_forecast_phase_category(const struct rlhfsim_forecast *forecast, size_t phase,
                                     size_t category, const char **name, double *bytes) {
    if (phase >= forecast->phases.count || category >= FORECAST_CATEGORY_COUNT)
        return false;
    *name = forecast_category_name((uint32_t)category);
    *bytes = forecast->phases.at[phase].categories[category];
    return true;
}
