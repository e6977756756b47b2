/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Whole runs that others measured: a folder with runs.csv and figures.csv (run_table.h). Each run
 * has a total weight of 1 in `overall` and in its source, whatever number of figures it has.
 */

#include "models/validation/run_ranges.h"

#include "models/results/output.h"
#include "models/validation/run_bands.h"
#include "models/validation/run_table.h"
#include "models/validation/sync_rows.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sync {
    struct sync *next;
    const char *name;    /* begins with the run's */
    const char *skipped; /* the reason; NULL: there is a forecast */
    const char *provenance;
    double seconds;
};

struct comparing {
    struct validation_run *run;
    struct sync *syncs; /* of the runs that are one weight sync */
};

/* ---- comparisons ----------------------------------------------------------------------------- */

/* Metrics are named by the table: one const each lives in the arena. */
static const struct validation_metric *metric_of(struct validation_run *run, const char *name) {
    struct validation_metric *metric = base_arena_allocate(&run->validation->arena, sizeof *metric);
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

/* Weight syncs are read by sync_rows.c, which cuts long names. */
#define SYNC_NAME_SIZE 60

static const struct sync *find_sync(const struct comparing *comparing,
                                    const struct run_case *published) {
    size_t length = strlen(published->name);
    size_t compared = length < SYNC_NAME_SIZE ? length : SYNC_NAME_SIZE;
    const struct sync *sync = comparing->syncs;
    while (sync != NULL &&
           (strncmp(sync->name, published->name, compared) != 0 || sync->name[compared] != ' '))
        sync = sync->next;
    return sync;
}

static enum rlhfsim_status add_sync(const struct comparing *comparing,
                                    const struct run_case *published, const struct sync *sync,
                                    struct validation_case *added) {
    enum rlhfsim_status status = RLHFSIM_OK;
    for (const struct run_figure *figure = published->figures;
         figure != NULL && status == RLHFSIM_OK; figure = figure->next) {
        bool timed = strcmp(figure->metric, "weight_sync_s") == 0;
        added->metric = metric_of(comparing->run, figure->metric);
        added->measured = figure->value;
        added->forecast = sync->seconds;
        added->provenance = sync->provenance;
        added->skipped = timed ? sync->skipped : "a weight sync alone has its time only";
        if (added->metric == NULL || !validation_add(comparing->run->validation, added))
            status = RLHFSIM_NO_MEMORY;
    }
    return status;
}

/* What a forecast of a run says. */
struct said {
    struct run_outcome outcome;
    struct run_ranges ranges;
};

/* False without memory. */
static bool add_range(struct validation_run *run, const struct run_case *published,
                      const struct run_figure *figure, const struct said *said,
                      struct validation_case *added) {
    struct run_range range;
    char group[96];
    bool rate;
    const char *placement = run_case_cell(published, "placement");
    if (!scenario_is_band_placement(placement) ||
        !run_range_of(run->catalog, published, figure, added->forecast, &said->ranges, &range))
        return true;
    (void)snprintf(group, sizeof group, "%s %s %s",
                   said->ranges.incomplete ? VALIDATION_INCOMPLETE : VALIDATION_COMPLETE, placement,
                   scenario_band_name(run_band_metric(figure->metric, &rate)));
    added->range = (struct validation_range){keep(run, group), range.low, range.high, range.input};
    return added->range.group != NULL;
}

static enum rlhfsim_status add_figure(struct validation_run *run, const struct run_case *published,
                                      const struct run_figure *figure, const struct said *said,
                                      struct validation_case *added) {
    const char *reason = published->reason;
    added->metric = metric_of(run, figure->metric);
    added->measured = figure->value;
    added->skipped = NULL;
    added->range = (struct validation_range){.group = NULL};
    if (added->metric == NULL)
        return RLHFSIM_NO_MEMORY;
    if (reason == NULL) {
        added->forecast = run_figure_forecast(published, figure, &said->outcome, &reason);
        reason = isnan(added->forecast) ? reason : NULL;
    }
    if (reason == NULL && !add_range(run, published, figure, said, added))
        return RLHFSIM_NO_MEMORY;
    added->skipped = reason == NULL ? NULL : keep(run, reason);
    if (reason != NULL && added->skipped == NULL)
        return RLHFSIM_NO_MEMORY;
    return validation_add(run->validation, added) ? RLHFSIM_OK : RLHFSIM_NO_MEMORY;
}

static enum rlhfsim_status forecast(struct validation_run *run, const struct run_case *published,
                                    struct said *said) {
    enum rlhfsim_status status = run_forecast(published, run->diagnostics, &said->outcome);
    return status == RLHFSIM_OK
               ? run_ranges_forecast(run->catalog, published, run->diagnostics, &said->ranges)
               : status;
}

static enum rlhfsim_status add_run(const struct comparing *comparing,
                                   const struct run_case *published) {
    struct validation_run *run = comparing->run;
    struct said said = {.ranges = {.count = 0}};
    const struct sync *sync = strcmp(run_case_cell(published, "algorithm"), "weight_sync") == 0
                                  ? find_sync(comparing, published)
                                  : NULL;
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
    if (sync != NULL)
        return add_sync(comparing, published, sync, &added);
    if (published->reason == NULL)
        status = forecast(run, published, &said);
    for (const struct run_figure *figure = published->figures;
         figure != NULL && status == RLHFSIM_OK; figure = figure->next)
        status = add_figure(run, published, figure, &said, &added);
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

static bool keep_sync(void *subject, const struct sync_row *row) {
    struct comparing *comparing = subject;
    struct sync *sync = base_arena_allocate(&comparing->run->validation->arena, sizeof *sync);
    if (sync == NULL)
        return false;
    *sync = (struct sync){.next = comparing->syncs, .name = row->name, .skipped = row->skipped};
    if (row->skipped == NULL) {
        sync->seconds = sync_row_seconds(row, &row->row->cost);
        sync->provenance =
            catalog_provenance(comparing->run->catalog, CATALOG_WEIGHT_SYNCS, row->row->name);
    }
    comparing->syncs = sync;
    return true;
}

static enum rlhfsim_status read_syncs(struct comparing *comparing, const char *directory) {
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/figures.csv", directory);
    if (length < 0 || (size_t)length >= sizeof path)
        return RLHFSIM_OK; /* run_table_read says so */
    return sync_rows_read(comparing->run, path, keep_sync, comparing);
}

static enum rlhfsim_status read_directory(struct validation_run *run, const char *path) {
    struct run_table table;
    struct comparing comparing = {run, NULL};
    enum rlhfsim_status status = run_table_read(run->catalog, path, run->diagnostics, &table);
    if (status != RLHFSIM_OK)
        return status;
    status = read_syncs(&comparing, path);
    for (const struct run_case *published = table.cases; published != NULL && status == RLHFSIM_OK;
         published = published->next)
        status = add_run(&comparing, published);
    int error = status == RLHFSIM_OK && run->scenario_directory != NULL
                    ? write_scenarios(&table, run->scenario_directory)
                    : 0;
    run_table_release(&table);
    if (error == 0)
        return status;
    return rlhfsim_diagnostics_add(
        run->diagnostics, error == ENOMEM ? RLHFSIM_NO_MEMORY : RLHFSIM_IO, run->scenario_directory,
        0, 0, "the scenarios were not written: %s", strerror(error));
}

const struct validation_kind validation_runs = {"runs", read_directory};
