/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/calibration/runs_fit.h"

#include "sim/contract.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the coefficients ------------------------------------------------------------------------ */

#define VERL "verl verl-megatron"
#define OLD_VERL "verl-0.3 verl-0.3-megatron"
#define NEMO "nemo-rl nemo-rl-0.3 nemo-rl-dtensor"
#define FSDP "verl verl-0.3 nemo-rl-dtensor"
#define MEGATRON "nemo-rl nemo-rl-0.3 verl-megatron verl-0.3-megatron"
/* Without runs of their own: like verl, with FSDP or with Megatron. */
#define OTHERS_FSDP "openrlhf trl deepspeed-chat easyr1 areal"
#define OTHERS_MEGATRON "slime realhf"
#define OTHERS OTHERS_FSDP " " OTHERS_MEGATRON
#define OTHERS_VLLM "openrlhf trl easyr1 areal slime"

static const struct runs_coefficient coefficients[] = {
    {FRAMEWORK_MATMUL_SHARE, FSDP, OTHERS_FSDP, 1.5},
    {FRAMEWORK_MATMUL_SHARE, "nemo-rl nemo-rl-0.3", "", 1.5},
    {FRAMEWORK_MATMUL_SHARE, "verl-megatron verl-0.3-megatron", OTHERS_MEGATRON, 1.5},
    {FRAMEWORK_MATMUL_SHARE, "prime-rl", "", 1.5},
    {FRAMEWORK_MICROBATCH_HOST_MS, VERL " " OLD_VERL, OTHERS, 500.0},
    {FRAMEWORK_MICROBATCH_HOST_MS, NEMO, "", 500.0},
    {FRAMEWORK_MICROBATCH_HOST_MS, "prime-rl", "", 500.0},
    {FRAMEWORK_LAYER_HOST_MS, FSDP " " MEGATRON " prime-rl", OTHERS, 5.0},
    {FRAMEWORK_EXPERT_LAYER_MS, MEGATRON, OTHERS " verl verl-0.3 nemo-rl-dtensor", 50.0},
    {FRAMEWORK_EXPERT_LAYER_MS, "prime-rl", "", 50.0},
    {FRAMEWORK_STEP_HOST_S, FSDP " " MEGATRON, OTHERS " prime-rl", 50.0},
    {FRAMEWORK_TRANSITION_S_PER_SQRT_GB, VERL " " OLD_VERL, OTHERS_VLLM, 10.0},
    {FRAMEWORK_TRANSITION_S_PER_SQRT_GB, NEMO, "prime-rl", 10.0},
    {FRAMEWORK_ITERATION_HOST_MS, VERL " " NEMO, OTHERS_VLLM " prime-rl", 50.0},
    {FRAMEWORK_SEQUENCE_HOST_US, VERL " " NEMO, OTHERS_VLLM " prime-rl", 200.0},
    {FRAMEWORK_ITERATION_HOST_MS, OLD_VERL, "deepspeed-chat realhf", 100.0},
    {FRAMEWORK_SEQUENCE_HOST_US, OLD_VERL, "deepspeed-chat realhf", 300.0},
};

#define COUNT (sizeof coefficients / sizeof *coefficients)

_Static_assert(COUNT <= RUNS_COEFFICIENTS, "room for all");

size_t runs_coefficient_count(void) {
    return COUNT;
}

const struct runs_coefficient *runs_coefficient_at(size_t index) {
    CONTRACT(index < COUNT, "no such coefficient");
    return &coefficients[index];
}

/* A word of a list with spaces between. */
static bool names(const char *list, const char *word) {
    size_t length = strlen(word);
    for (const char *found = list; (found = strstr(found, word)) != NULL; found += length)
        if ((found == list || found[-1] == ' ') && (found[length] == ' ' || found[length] == '\0'))
            return true;
    return false;
}

/* ---- runs ------------------------------------------------------------------------------------ */

#define REMEMBERED 3

struct memory {
    double values[RUNS_COEFFICIENTS];
    struct run_outcome outcome;
    bool filled;
};

struct runs_case {
    const struct run_case *run;
    struct rlhfsim_diagnostics *diagnostics;
    struct training_software *software;    /* of its scenario or trainer */
    struct catalog_framework *framework;   /* NULL of a trainer alone */
    double product_share, attention_share; /* what training.csv says: matmul_share comes on top */
    double iteration_host_s, sequence_host_s; /* of the engine as it serves */
    bool used[RUNS_COEFFICIENTS];             /* coefficients of its preset */
    struct memory memories[REMEMBERED];       /* outcomes of the latest values */
    size_t next;
};

const struct run_case *runs_fit_run(const struct runs_point *point) {
    return point->of->run;
}

static void set_share(const struct runs_case *c, double share) {
    c->software->matmul_share = share * c->product_share;
    c->software->attention_share = share * c->attention_share;
}

static void set_of_framework(struct catalog_framework *framework, enum framework_column column,
                             double value) {
    if (framework == NULL)
        return;
    if (column == FRAMEWORK_STEP_HOST_S)
        framework->step_host_s = value;
    else if (column == FRAMEWORK_TRANSITION_S_PER_SQRT_GB)
        framework->transition_s_per_sqrt_gb = value;
}

/* The engine's process takes at least what serving takes, as resolve_engine.c of models/scenario
 * has it. */
static void set_of_engine(const struct runs_case *c, enum framework_column column, double value) {
    if (c->framework == NULL)
        return;
    struct generation_software *engine = &c->run->scenario->rollout.engine;
    if (column == FRAMEWORK_ITERATION_HOST_MS)
        engine->iteration_host_s = fmax(c->iteration_host_s, 1e-3 * value);
    else
        engine->sequence_host_s = fmax(c->sequence_host_s, 1e-6 * value);
}

/* In the unit of the column. */
static void set_column(const struct runs_case *c, enum framework_column column, double value) {
    if (column == FRAMEWORK_MATMUL_SHARE)
        set_share(c, value);
    else if (column == FRAMEWORK_MICROBATCH_HOST_MS)
        c->software->microbatch_host_s = 1e-3 * value;
    else if (column == FRAMEWORK_LAYER_HOST_MS)
        c->software->layer_host_s = 1e-3 * value;
    else if (column == FRAMEWORK_EXPERT_LAYER_MS)
        c->software->expert_layer_s = 1e-3 * value;
    else if (column == FRAMEWORK_ITERATION_HOST_MS || column == FRAMEWORK_SEQUENCE_HOST_US)
        set_of_engine(c, column, value);
    else
        set_of_framework(c->framework, column, value);
}

static bool matches(const struct runs_case *c, const struct memory *memory, const double *values) {
    bool same = memory->filled;
    for (size_t i = 0; i < COUNT && same; i++)
        same = !c->used[i] || memory->values[i] == values[i];
    return same;
}

/* NULL where the forecast failed, for which there is a status. */
static const struct run_outcome *outcome_of(struct runs_fit *fit, struct runs_case *c) {
    for (size_t i = 0; i < REMEMBERED; i++)
        if (matches(c, &c->memories[i], fit->values))
            return &c->memories[i].outcome;
    struct memory *memory = &c->memories[c->next];
    c->next = (c->next + 1) % REMEMBERED;
    for (size_t i = 0; i < COUNT; i++)
        if (c->used[i])
            set_column(c, coefficients[i].column, fit->values[i]);
    memcpy(memory->values, fit->values, sizeof memory->values);
    enum rlhfsim_status status = run_forecast(c->run, c->diagnostics, &memory->outcome);
    memory->filled = status == RLHFSIM_OK;
    fit->status = status == RLHFSIM_OK ? fit->status : status;
    return memory->filled ? &memory->outcome : NULL;
}

static double residual_of(struct runs_fit *fit, const struct runs_point *point) {
    const char *reason;
    const struct run_outcome *outcome = outcome_of(fit, point->of);
    double forecast = outcome == NULL
                          ? (double)NAN
                          : run_figure_forecast(point->of->run, point->figure, outcome, &reason);
    return forecast > 0.0 ? log(forecast / point->figure->value) : 0.0;
}

/* ---- what tells something -------------------------------------------------------------------- */

/* Times; a rate only where there is no time of the step. */
static bool tells(const struct run_case *run, const struct run_figure *figure) {
    static const char *const rates[] = {"tokens_per_s", "tokens_per_s_per_gpu"};
    size_t length = strlen(figure->metric);
    bool timed = run_case_has(run, "step_s") || run_case_has(run, "microbatch_s");
    if (!(figure->value > 0.0))
        return false;
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        if (strcmp(figure->metric, rates[i]) == 0)
            return !timed;
    return length > 2 && strcmp(figure->metric + length - 2, "_s") == 0 &&
           strcmp(figure->metric, "reward_s") != 0;
}

/* The preset whose row a run has. */
static const char *preset_of(const struct run_case *run) {
    return run->scenario != NULL ? run->scenario->framework.name : run_case_cell(run, "framework");
}

static void take_engine(const struct catalog *catalog, struct runs_case *c) {
    const struct catalog_engine *row =
        catalog_engine(catalog, c->run->scenario->rollout.engine.name);
    CONTRACT(row != NULL, "a loaded scenario has an engine of the catalog");
    c->iteration_host_s = row->software.iteration_host_s;
    c->sequence_host_s = row->software.sequence_host_s;
}

static void make_case(const struct catalog *catalog, const struct run_case *run,
                      struct rlhfsim_diagnostics *diagnostics, struct runs_case *c) {
    const struct catalog_framework *own = catalog_framework(catalog, preset_of(run));
    bool whole = run->scenario != NULL;
    *c = (struct runs_case){.run = run,
                            .diagnostics = diagnostics,
                            .software = whole ? &run->scenario->framework.training
                                              : &run->trainer->plan.software,
                            .framework = whole ? &run->scenario->framework : NULL};
    double share = own == NULL ? 1.0 : own->training.matmul_share;
    c->product_share = c->software->matmul_share / share;
    c->attention_share = c->software->attention_share / share;
    if (whole)
        take_engine(catalog, c);
    for (size_t i = 0; i < COUNT; i++)
        c->used[i] = names(coefficients[i].presets, preset_of(run));
}

static size_t points_in(const struct run_case *run) {
    size_t count = 0;
    for (const struct run_figure *figure = run->figures; figure != NULL; figure = figure->next)
        count += tells(run, figure);
    return count;
}

static bool is_fitted_to(const struct run_case *run) {
    return run->reason == NULL && run->exact && points_in(run) > 0;
}

static void make_points(struct runs_fit *fit, struct runs_case *c) {
    double weight = 1.0 / sqrt((double)points_in(c->run));
    for (const struct run_figure *figure = c->run->figures; figure != NULL; figure = figure->next)
        if (tells(c->run, figure))
            fit->points[fit->point_count++] = (struct runs_point){c, figure, weight, 0.0, 0.0};
}

/* The value that the catalog has for the first preset. */
static double start_of(const struct catalog *catalog, const struct runs_coefficient *coefficient) {
    char name[48];
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(coefficient->presets, " "),
                   coefficient->presets);
    const struct column_row *row = catalog_row(catalog, CATALOG_FRAMEWORKS, name);
    double value = row == NULL ? 0.0 : row->number[coefficient->column];
    return fmin(fmax(value, 1e-4 * coefficient->high), 0.99 * coefficient->high);
}

enum rlhfsim_status runs_fit_make(const struct catalog *catalog, const struct run_table *table,
                                  struct rlhfsim_diagnostics *diagnostics, struct runs_fit *fit) {
    size_t cases = 0, points = 0;
    for (const struct run_case *run = table->cases; run != NULL; run = run->next) {
        cases += is_fitted_to(run);
        points += is_fitted_to(run) ? points_in(run) : 0;
    }
    *fit = (struct runs_fit){.cases = calloc(cases + 1, sizeof(struct runs_case)),
                             .points = calloc(points + 1, sizeof(struct runs_point)),
                             .slopes = calloc((points + 1) * COUNT, sizeof(double))};
    if (fit->cases == NULL || fit->points == NULL || fit->slopes == NULL) {
        runs_fit_release(fit);
        return RLHFSIM_NO_MEMORY;
    }
    for (const struct run_case *run = table->cases; run != NULL; run = run->next) {
        if (!is_fitted_to(run))
            continue;
        make_case(catalog, run, diagnostics, &fit->cases[fit->case_count]);
        make_points(fit, &fit->cases[fit->case_count++]);
    }
    for (size_t i = 0; i < COUNT; i++)
        fit->values[i] = fit->starts[i] = start_of(catalog, &coefficients[i]);
    return RLHFSIM_OK;
}

void runs_fit_release(struct runs_fit *fit) {
    free(fit->cases);
    free(fit->points);
    free(fit->slopes);
    *fit = (struct runs_fit){0};
}

size_t runs_fit_runs(const struct runs_fit *fit, size_t coefficient) {
    size_t count = 0;
    for (size_t i = 0; i < fit->case_count; i++)
        count += fit->cases[i].used[coefficient];
    return count;
}

/* ---- residuals ------------------------------------------------------------------------------- */

enum rlhfsim_status runs_fit_residuals(struct runs_fit *fit) {
    fit->status = RLHFSIM_OK;
    for (size_t i = 0; i < fit->point_count; i++)
        fit->points[i].residual = residual_of(fit, &fit->points[i]);
    return fit->status;
}

enum rlhfsim_status runs_fit_shifts(struct runs_fit *fit, size_t coefficient) {
    fit->status = RLHFSIM_OK;
    for (size_t i = 0; i < fit->point_count; i++) {
        struct runs_point *point = &fit->points[i];
        bool changed = point->of->used[coefficient];
        point->shifted = changed ? residual_of(fit, point) : point->residual;
    }
    return fit->status;
}
