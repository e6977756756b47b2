/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * The public forecast: plan, verdict on memory, replicates, what limits, and the summary of it all.
 * The first replicate is the one that is recorded in files; the others only widen P10 and P90.
 */

#include <rlhfsim/forecast.h>

#include "models/forecast/limits.h"
#include "models/forecast/plan.h"
#include "models/forecast/run.h"
#include "models/results/files.h"
#include "models/results/summary.h"
#include "sim/contract.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY_ROW_LIMIT (FORECAST_OWNER_COUNT * FORECAST_CATEGORY_COUNT)

struct rlhfsim_forecast {
    struct rlhfsim_summary summary;
    char reason[256]; /* why it does not fit; empty when it does */
    size_t memory_row_count;
    struct rlhfsim_memory_row memory_rows[MEMORY_ROW_LIMIT];
};

/* ---- memory: the verdict ------------------------------------------------------------------ */

enum shortage { SHORTAGE_NONE, SHORTAGE_GPU, SHORTAGE_HOST, SHORTAGE_ENGINE };

static enum shortage shortage_of(const struct forecast_plan *plan) {
    const struct hardware_cluster *cluster = &plan->scenario->cluster;
    if (forecast_gpu_peak(plan).bytes > cluster->gpu.memory_bytes)
        return SHORTAGE_GPU;
    if (forecast_host_peak(plan).bytes > cluster->node.host_memory_bytes)
        return SHORTAGE_HOST;
    return plan->kv_missing_bytes > 0.0 ? SHORTAGE_ENGINE : SHORTAGE_NONE;
}

static int compare_rows(const void *a, const void *b) {
    const struct rlhfsim_memory_row *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    int owners = strcmp(x->owner, y->owner);
    return owners != 0 ? owners : strcmp(x->category, y->category);
}

static void fill_rows(struct rlhfsim_forecast *forecast,
                      double held[FORECAST_OWNER_COUNT][FORECAST_CATEGORY_COUNT], double copies) {
    for (uint32_t owner = 0; owner < FORECAST_OWNER_COUNT; owner++) {
        for (uint32_t category = 0; category < FORECAST_CATEGORY_COUNT; category++) {
            if (held[owner][category] <= 0.0)
                continue;
            forecast->memory_rows[forecast->memory_row_count++] = (struct rlhfsim_memory_row){
                forecast_owner_name(owner), forecast_category_name(category),
                held[owner][category] * copies};
        }
    }
    qsort(forecast->memory_rows, forecast->memory_row_count, sizeof *forecast->memory_rows,
          compare_rows);
}

static void explain_shortage(struct rlhfsim_forecast *forecast, const struct forecast_plan *plan,
                             enum shortage shortage, double missing_bytes) {
    const char *phase = forecast->summary.memory.phase;
    size_t size = sizeof forecast->reason;
    switch (shortage) {
    case SHORTAGE_NONE:
        break;
    case SHORTAGE_GPU:
        snprintf(forecast->reason, size, "every GPU lacks %.2f GB in phase %s", missing_bytes / 1e9,
                 phase);
        break;
    case SHORTAGE_HOST:
        snprintf(forecast->reason, size, "the host memory of every node lacks %.2f GB in phase %s",
                 missing_bytes / 1e9, phase);
        break;
    case SHORTAGE_ENGINE:
        snprintf(
            forecast->reason, size,
            "the engine's share (rollout.memory_fraction %g of a GPU) lacks %.2f GB for the KV "
            "cache of one sequence of %lld tokens",
            plan->scenario->rollout.memory_fraction, plan->kv_missing_bytes / 1e9,
            (long long)(plan->prompt_limit + plan->response_limit));
        break;
    }
}

/* The fullest GPU, or the host where that is what does not fit. */
static void fill_memory(struct rlhfsim_forecast *forecast, const struct forecast_plan *plan) {
    const struct hardware_cluster *cluster = &plan->scenario->cluster;
    struct rlhfsim_summary *summary = &forecast->summary;
    enum shortage shortage = shortage_of(plan);
    bool host = shortage == SHORTAGE_HOST;
    struct forecast_memory_peak peak = host ? forecast_host_peak(plan) : forecast_gpu_peak(plan);
    struct forecast_memory_state state = plan->memory[peak.step];
    enum algorithm_phase phase = plan->steps[peak.step].phase;
    summary->memory.known = true;
    summary->memory.fits = shortage == SHORTAGE_NONE;
    summary->memory.peak_bytes = results_figure_exact(peak.bytes);
    summary->memory.host_peak_bytes = results_figure_exact(forecast_host_peak(plan).bytes);
    summary->memory.capacity_bytes =
        host ? cluster->node.host_memory_bytes : cluster->gpu.memory_bytes;
    snprintf(summary->memory.phase, sizeof summary->memory.phase, "%s",
             algorithm_phase_name(phase));
    snprintf(summary->memory.device, sizeof summary->memory.device, "%s",
             host ? "node0/host" : "gpu0");
    fill_rows(forecast, host ? state.host : state.gpu, host ? cluster->gpus_per_node : 1.0);
    explain_shortage(forecast, plan, shortage, peak.bytes - summary->memory.capacity_bytes);
}

/* ---- what is known without a run ---------------------------------------------------------- */

static const char *static_provenance(const char *word) {
    static const char *const words[] = {"measured", "interpolated", "extrapolated", "assumed"};
    for (size_t i = 0; word != NULL && i < sizeof words / sizeof words[0]; i++)
        if (strcmp(word, words[i]) == 0)
            return words[i];
    return "assumed";
}

static void add_provenance(struct rlhfsim_summary *summary, const char *key, const char *word) {
    results_summary_add_provenance(summary, key, static_provenance(word));
}

static void fill_provenance(struct rlhfsim_summary *summary,
                            const struct rlhfsim_scenario *scenario) {
    add_provenance(summary, "cluster.gpu", scenario->gpu_provenance);
    add_provenance(summary, "cluster.node", scenario->node_provenance);
    add_provenance(summary, "framework", scenario->framework_provenance);
    add_provenance(summary, "rollout.response_tokens", scenario->length_provenance);
    add_provenance(summary, "prices", scenario->price_provenance);
}

static int64_t optimizer_steps(const struct rlhfsim_scenario *scenario) {
    return scenario->steps * scenario->algorithm.epochs * scenario->algorithm.prompts_per_step *
           scenario->algorithm.samples_per_prompt / scenario->algorithm.minibatch_samples;
}

static struct rlhfsim_forecast *forecast_new(const struct forecast_plan *plan) {
    const struct rlhfsim_scenario *scenario = plan->scenario;
    struct rlhfsim_forecast *forecast = calloc(1, sizeof *forecast);
    if (forecast == NULL)
        return NULL;
    snprintf(forecast->summary.name, sizeof forecast->summary.name, "%s", scenario->name);
    forecast->summary.steps.rollout = scenario->algorithm.type->has_rollout ? scenario->steps : 0;
    forecast->summary.steps.optimizer = optimizer_steps(scenario);
    forecast->summary.events = -1;
    fill_memory(forecast, plan);
    fill_provenance(&forecast->summary, scenario);
    return forecast;
}

/* ---- the figures of the replicates -------------------------------------------------------- */

static void fill_ledger(const struct forecast_plan *plan, const struct forecast_measures *measures,
                        struct cost_ledger *ledger) {
    const struct rlhfsim_scenario *scenario = plan->scenario;
    struct cost_usage usage = {
        .duration_s = measures->total_s,
        .nodes = scenario->cluster.nodes,
        .storage_byte_s = measures->storage_byte_s,
        .storage_peak_bytes = measures->stored_bytes, /* it only grows */
        .network_bytes = (double)scenario->checkpoint.exported * plan->checkpoint.bytes,
        .log_bytes = measures->samples * scenario->logging.bytes_per_sample *
                     scenario->logging.sampling_rate,
    };
    cost_ledger_fill(&scenario->prices, &usage, ledger);
}

struct figure_context {
    const struct forecast_plan *plan;
    const struct forecast_measures *measures; /* by replicate */
    struct cost_ledger *ledgers;              /* likewise */
    size_t replicates;
    double *values; /* scratch */
};

typedef double(figure_func)(const struct figure_context *context, size_t replicate, size_t index);

static struct results_figure figure(const struct figure_context *context, figure_func *value,
                                    size_t index) {
    for (size_t r = 0; r < context->replicates; r++)
        context->values[r] = value(context, r, index);
    return results_figure_of(context->values, context->replicates);
}

static double gpus_of(const struct figure_context *context) {
    return context->plan->gpus;
}

static double peak_of(const struct figure_context *context) {
    const struct rlhfsim_scenario *scenario = context->plan->scenario;
    return scenario->cluster.gpu.peak_flops_per_s[scenario->training.precision];
}

/* Each takes the replicate's measures as m and an index i where there are several of a kind. */
#define FIGURE(name, expression)                                                           \
    static double name(const struct figure_context *context, size_t replicate, size_t i) { \
        const struct forecast_measures *m = &context->measures[replicate];                 \
        const struct cost_ledger *ledger = &context->ledgers[replicate];                   \
        (void)m, (void)ledger, (void)i;                                                    \
        return expression;                                                                 \
    }

static double ratio(double a, double b) {
    return b > 0.0 ? a / b : 0.0;
}

FIGURE(total_s, m->total_s)
FIGURE(step_s, m->total_s / (double)m->steps)
FIGURE(phase_s, m->phase_s[i] / (double)m->steps)
FIGURE(phase_share, m->phase_s[i] / m->total_s)
FIGURE(token_rate, m->tokens / m->total_s / gpus_of(context))
FIGURE(sample_rate, m->samples / m->total_s)
FIGURE(mfu_training, ratio(m->training_flops, m->training_gpu_s *peak_of(context)))
FIGURE(mfu_overall, m->flops / (m->total_s * gpus_of(context) * peak_of(context)))
FIGURE(mean_response, m->response_tokens / m->responses)
FIGURE(p99_response, m->response_p99)
FIGURE(share_cut, m->cut / m->responses)
FIGURE(tail_idle_s, m->tail_idle_s / (double)m->steps)
FIGURE(gpu_hours, m->total_s *gpus_of(context) / 3600.0)
FIGURE(idle_fraction, fmax(0.0, 1.0 - m->busy_gpu_s / (m->total_s * gpus_of(context))))
FIGURE(total_usd, ledger->total_usd)
FIGURE(formula_usd, ledger->formula_usd)
FIGURE(item_usd, ledger->items[i].amount_usd)

static void fill_time(const struct figure_context *context, struct rlhfsim_summary *summary) {
    summary->time.total_s = figure(context, total_s, 0);
    summary->time.step_s = figure(context, step_s, 0);
    summary->critical_path_count = 0;
    for (size_t phase = 0; phase < ALGORITHM_PHASE_COUNT; phase++) {
        summary->time.phases_s[phase] = figure(context, phase_s, phase);
        if (context->measures[0].phase_s[phase] > 0.0)
            summary->critical_path[summary->critical_path_count++] = (struct results_path_share){
                (enum algorithm_phase)phase, figure(context, phase_share, phase)};
    }
    summary->gpu_hours = figure(context, gpu_hours, 0);
    summary->idle_fraction = figure(context, idle_fraction, 0);
    summary->events = (int64_t)context->measures[0].events;
}

static void fill_rates(const struct figure_context *context, struct rlhfsim_summary *summary) {
    summary->throughput.tokens_per_s_per_gpu = figure(context, token_rate, 0);
    summary->throughput.samples_per_s = figure(context, sample_rate, 0);
    summary->throughput.mfu_training = figure(context, mfu_training, 0);
    summary->throughput.mfu_overall = figure(context, mfu_overall, 0);
    summary->rollout.mean_response_tokens = figure(context, mean_response, 0);
    summary->rollout.p99_response_tokens = figure(context, p99_response, 0);
    summary->rollout.share_cut = figure(context, share_cut, 0);
    summary->rollout.tail_idle_s = figure(context, tail_idle_s, 0);
    summary->staleness.mean_versions = results_figure_exact(0.0); /* synchronous */
}

static void fill_cost(const struct figure_context *context, struct rlhfsim_summary *summary) {
    summary->cost.total_usd = figure(context, total_usd, 0);
    summary->cost.formula_usd = figure(context, formula_usd, 0);
    for (size_t i = 0; i < context->ledgers[0].count; i++)
        results_summary_add_item(summary, context->ledgers[0].items[i].item,
                                 figure(context, item_usd, i));
}

static enum rlhfsim_status fill_limit(const struct figure_context *context,
                                      struct rlhfsim_diagnostics *diagnostics,
                                      struct rlhfsim_summary *summary) {
    struct forecast_limit limit;
    enum rlhfsim_status status =
        forecast_limit_find(context->plan, &context->measures[0], diagnostics, &limit);
    if (status != RLHFSIM_OK)
        return status;
    snprintf(summary->limit.resource, sizeof summary->limit.resource, "%s", limit.resource);
    summary->limit.gain_fraction = results_figure_exact(limit.gain_fraction);
    return RLHFSIM_OK;
}

/* ---- running ------------------------------------------------------------------------------ */

static const char *activity_name(uint32_t activity) {
    return algorithm_phase_name((enum algorithm_phase)activity);
}

static struct results_names names_of(const struct rlhfsim_scenario *scenario) {
    return (struct results_names){activity_name, forecast_owner_name, forecast_category_name,
                                  scenario->tags};
}

/* All replicates; the first one with the files. */
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
            .files = r == 0 ? files : NULL,
            .progress = options->progress,
            .progress_subject = options->progress_subject,
            .progress_from = (double)r / options->replicates,
            .progress_to = (double)(r + 1) / options->replicates,
        };
        status = forecast_run(plan, &run, diagnostics, &measures[r]);
    }
    return status;
}

static enum rlhfsim_status summarise(struct figure_context *context,
                                     struct rlhfsim_diagnostics *diagnostics,
                                     struct rlhfsim_summary *summary) {
    for (size_t r = 0; r < context->replicates; r++)
        fill_ledger(context->plan, &context->measures[r], &context->ledgers[r]);
    fill_time(context, summary);
    fill_rates(context, summary);
    fill_cost(context, summary);
    return fill_limit(context, diagnostics, summary);
}

static enum rlhfsim_status run_feasible(const struct forecast_plan *plan,
                                        const struct rlhfsim_forecast_options *options,
                                        struct results_files **files,
                                        struct rlhfsim_diagnostics *diagnostics,
                                        struct rlhfsim_forecast *forecast) {
    size_t replicates = (size_t)options->replicates;
    struct forecast_measures *measures = calloc(replicates, sizeof *measures);
    struct cost_ledger *ledgers = calloc(replicates, sizeof *ledgers);
    double *values = calloc(replicates, sizeof *values);
    enum rlhfsim_status status = RLHFSIM_NO_MEMORY;
    if (measures == NULL || ledgers == NULL || values == NULL)
        goto done;
    status = run_replicates(plan, options, *files, diagnostics, measures);
    if (status != RLHFSIM_OK)
        goto done;
    struct figure_context context = {plan, measures, ledgers, replicates, values};
    status = summarise(&context, diagnostics, &forecast->summary);
    if (status == RLHFSIM_OK && *files != NULL) {
        status = results_files_commit(*files, &ledgers[0], &forecast->summary, diagnostics);
        *files = NULL;
    }
done:
    free(values);
    free(ledgers);
    free(measures);
    return status;
}

/* The memory of one step shows where it breaks; time and price stay unknown. */
static enum rlhfsim_status run_infeasible(const struct forecast_plan *plan,
                                          struct results_files **files,
                                          struct rlhfsim_diagnostics *diagnostics,
                                          struct rlhfsim_forecast *forecast) {
    struct forecast_run_options run = {.steps = 1, .files = *files};
    struct forecast_measures measures;
    if (*files == NULL)
        return RLHFSIM_INFEASIBLE;
    enum rlhfsim_status status = forecast_run(plan, &run, diagnostics, &measures);
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
    (void)diagnostics;
    forecast_plan_make(scenario, &plan);
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
    *forecast = forecast_new(&plan);
    if (*forecast == NULL)
        return RLHFSIM_NO_MEMORY;
    if (options->output_directory != NULL)
        status = results_files_open(options->output_directory, &names, diagnostics, &files);
    if (status == RLHFSIM_OK)
        status = forecast_plan_fits(&plan) || options->ignore_memory
                     ? run_feasible(&plan, options, &files, diagnostics, *forecast)
                     : run_infeasible(&plan, &files, diagnostics, *forecast);
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
    return forecast->reason[0] != '\0' ? forecast->reason : NULL;
}

bool rlhfsim_forecast_memory_row(const struct rlhfsim_forecast *forecast, size_t index,
                                 struct rlhfsim_memory_row *row) {
    if (index >= forecast->memory_row_count)
        return false;
    *row = forecast->memory_rows[index];
    return true;
}
