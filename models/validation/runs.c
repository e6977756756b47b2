/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Whole runs that others measured: a folder with runs.csv and figures.csv (run_table.h). Each run
 * has a total weight of 1 in `overall` and in its source, whatever number of figures it has.
 */

#include "models/validation/run_outcome.h"

#include "models/results/output.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- comparisons ----------------------------------------------------------------------------- */

/* Metrics are named by the table: one const each lives in the arena. */
static const struct validation_metric *metric_of(struct validation_run *run, const char *name) {
    struct validation_metric *metric =
        base_arena_allocate(&run->validation->arena, sizeof *metric);
    if (metric == NULL)
        return NULL;
    *metric = (struct validation_metric){
        .name = base_arena_text(&run->validation->arena, name, strlen(name)), .in_overall = true};
    return metric->name == NULL ? NULL : metric;
}

static const char *keep(struct validation_run *run, const char *text) {
    return base_arena_text(&run->validation->arena, text, strlen(text));
}

/* "interpolated", or what was assumed. */
static const char *provenance_of(struct validation_run *run, const struct run_case *published) {
    if (published->complete.assumed_count == 0)
        return "interpolated";
    return run_assumptions_text(&run->validation->arena, &published->complete);
}

static double weight_of(const struct run_case *published) {
    size_t count = 0;
    for (const struct run_figure *figure = published->figures; figure != NULL;
         figure = figure->next)
        count++;
    return count == 0 ? 1.0 : 1.0 / (double)count;
}

static enum rlhfsim_status add_figure(struct validation_run *run, const struct run_case *published,
                                      const struct run_figure *figure,
                                      const struct run_outcome *outcome,
                                      struct validation_case *added) {
    const char *reason = published->reason;
    added->metric = metric_of(run, figure->metric);
    added->measured = figure->value;
    added->skipped = NULL;
    if (added->metric == NULL)
        return RLHFSIM_NO_MEMORY;
    if (reason == NULL) {
        added->forecast = run_figure_forecast(published, figure, outcome, &reason);
        reason = isnan(added->forecast) ? reason : NULL;
    }
    added->skipped = reason == NULL ? NULL : keep(run, reason);
    if (reason != NULL && added->skipped == NULL)
        return RLHFSIM_NO_MEMORY;
    return validation_add(run->validation, added) ? RLHFSIM_OK : RLHFSIM_NO_MEMORY;
}

static enum rlhfsim_status add_run(struct validation_run *run, const struct run_case *published) {
    struct run_outcome outcome = {0};
    struct validation_case added = {.source = keep(run, published->source),
                                    .name = keep(run, published->name),
                                    .provenance = provenance_of(run, published),
                                    .weight = weight_of(published)};
    enum rlhfsim_status status = RLHFSIM_OK;
    if (added.source == NULL || added.name == NULL || added.provenance == NULL)
        return RLHFSIM_NO_MEMORY;
    if (published->figures == NULL) {
        added.skipped = "no measured value";
        return validation_add(run->validation, &added) ? RLHFSIM_OK : RLHFSIM_NO_MEMORY;
    }
    if (published->reason == NULL)
        status = run_forecast(published, run->diagnostics, &outcome);
    for (const struct run_figure *figure = published->figures;
         figure != NULL && status == RLHFSIM_OK; figure = figure->next)
        status = add_figure(run, published, figure, &outcome, &added);
    return status;
}

/* ---- scenarios as files ---------------------------------------------------------------------- */

/* The run's key with what no file name should have replaced. */
static void name_file(const char *key, char name[static 200]) {
    size_t length = 0;
    for (; key[length] != '\0' && length < 190; length++) {
        char c = key[length];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     c == '.' || c == '-' || c == '_';
        name[length] = plain ? c : '-';
    }
    memcpy(name + length, ".yaml", sizeof ".yaml");
}

static int write_file(const char *directory, const char *name, const char *text) {
    struct results_output output = {0};
    int error = results_output_open(&output, directory, name);
    if (error == 0) {
        results_output_text(&output, text);
        error = results_output_close(&output);
    }
    if (error == 0)
        error = results_output_publish(&output);
    results_output_free(&output);
    return error;
}

static int write_scenarios(const struct run_table *table, const char *directory) {
    size_t made = 0;
    int error = results_directory_make(directory, &made);
    for (const struct run_case *run = table->cases; run != NULL && error == 0; run = run->next) {
        char name[200];
        if (run->scenario == NULL)
            continue;
        char *text = run_case_yaml(run);
        name_file(run->name, name);
        error = text == NULL ? ENOMEM : write_file(directory, name, text);
        free(text);
    }
    return error;
}

/* ---- the kind -------------------------------------------------------------------------------- */

static enum rlhfsim_status read_directory(struct validation_run *run, const char *path) {
    struct run_table table;
    enum rlhfsim_status status = run_table_read(run->catalog, path, run->diagnostics, &table);
    if (status != RLHFSIM_OK)
        return status;
    for (const struct run_case *published = table.cases;
         published != NULL && status == RLHFSIM_OK; published = published->next)
        status = add_run(run, published);
    int error = status == RLHFSIM_OK && run->scenario_directory != NULL
                    ? write_scenarios(&table, run->scenario_directory)
                    : 0;
    run_table_release(&table);
    if (error == 0)
        return status;
    return rlhfsim_diagnostics_add(run->diagnostics,
                                   error == ENOMEM ? RLHFSIM_NO_MEMORY : RLHFSIM_IO,
                                   run->scenario_directory, 0, 0,
                                   "the scenarios were not written: %s", strerror(error));
}

const struct validation_kind validation_runs = {"runs", read_directory};
