/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * frameworks.csv from folders of published runs: the rows of the catalog with the columns that
 * were fitted (runs_fit.c) in place of theirs. Every source is left out in turn, and then forecast
 * with what the others say. Errors are of runs: the median of a source's, each figure counting for
 * the part of its run.
 */

#include "models/calibration/runs.h"
#include "models/calibration/kind.h"
#include "models/calibration/runs_fit.h"
#include "models/validation/run_table.h"
#include "models/validation/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIT_STEPS 12

#define GROUPS 24

struct group {
    const char *source;
    size_t points;
    double median, p90, held_out_median, held_out_p90;
};

struct work {
    struct calibration_run *run;
    struct runs_fit fit;
    struct validation_weighted *room;
    struct group groups[GROUPS];
    size_t group_count;
};

/* ---- errors ---------------------------------------------------------------------------------- */

/* Of one source's points, or of all; returns how many. */
static size_t errors_of(struct work *work, const char *source, double *median, double *p90) {
    size_t count = 0;
    for (size_t i = 0; i < work->fit.point_count; i++) {
        const struct runs_point *point = &work->fit.points[i];
        if (source != NULL && strcmp(runs_fit_run(point)->source, source) != 0)
            continue;
        work->room[count++] = (struct validation_weighted){fabs(exp(point->residual) - 1.0),
                                                           point->weight * point->weight};
    }
    validation_weighted_sort(work->room, count);
    *median = validation_weighted_quantile(work->room, count, 0.5);
    *p90 = validation_weighted_quantile(work->room, count, 0.9);
    return count;
}

static void find_groups(struct work *work) {
    for (size_t i = 0; i < work->fit.point_count; i++) {
        const char *source = runs_fit_run(&work->fit.points[i])->source;
        size_t at = 0;
        while (at < work->group_count && strcmp(work->groups[at].source, source) != 0)
            at++;
        if (at == work->group_count && at < GROUPS)
            work->groups[work->group_count++] = (struct group){.source = source};
    }
}

/* Fits without the source, from what was fitted to all, and forecasts it. Its residuals are kept
 * in `left_out`. */
static enum rlhfsim_status leave_out(struct work *work, struct group *group, double *left_out) {
    double values[RUNS_COEFFICIENTS];
    memcpy(values, work->fit.values, sizeof values);
    enum rlhfsim_status status = runs_fit_leave_out(&work->fit, group->source);
    if (status == RLHFSIM_OK)
        (void)errors_of(work, group->source, &group->held_out_median, &group->held_out_p90);
    for (size_t i = 0; i < work->fit.point_count; i++)
        if (strcmp(runs_fit_run(&work->fit.points[i])->source, group->source) == 0)
            left_out[i] = work->fit.points[i].residual;
    memcpy(work->fit.values, values, sizeof values);
    return status;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static bool add_line(struct work *work, const struct group *group) {
    struct rlhfsim_calibration_line line = {
        .subject =
            base_arena_text(&work->run->calibration->arena, group->source, strlen(group->source)),
        .points = group->points,
        .median_error = group->median,
        .p90_error = group->p90,
        .held_out_median_error = group->held_out_median,
        .held_out_p90_error = group->held_out_p90};
    return line.subject != NULL && calibration_add_line(work->run->calibration, &line);
}

static enum rlhfsim_status add_lines(struct work *work) {
    struct group all = {.source = "all runs"};
    double *left_out = calloc(work->fit.point_count + 1, sizeof *left_out);
    enum rlhfsim_status status = left_out == NULL ? RLHFSIM_NO_MEMORY : RLHFSIM_OK;
    all.points = errors_of(work, NULL, &all.median, &all.p90);
    for (size_t i = 0; i < work->group_count; i++)
        work->groups[i].points =
            errors_of(work, work->groups[i].source, &work->groups[i].median, &work->groups[i].p90);
    for (size_t i = 0; i < work->group_count && status == RLHFSIM_OK; i++) {
        status = leave_out(work, &work->groups[i], left_out);
        if (status == RLHFSIM_OK && !add_line(work, &work->groups[i]))
            status = RLHFSIM_NO_MEMORY;
    }
    if (status == RLHFSIM_OK) {
        for (size_t i = 0; i < work->fit.point_count; i++)
            work->fit.points[i].residual = left_out[i];
        (void)errors_of(work, NULL, &all.held_out_median, &all.held_out_p90);
        status = add_line(work, &all) ? RLHFSIM_OK : RLHFSIM_NO_MEMORY;
    }
    free(left_out);
    return status;
}

/* ---- the file -------------------------------------------------------------------------------- */

static bool names(const char *list, const char *word) {
    size_t length = strlen(word);
    for (const char *found = list; (found = strstr(found, word)) != NULL; found += length)
        if ((found == list || found[-1] == ' ') && (found[length] == ' ' || found[length] == '\0'))
            return true;
    return false;
}

/* The coefficient that a cell takes its value from; RUNS_COEFFICIENTS for none. */
static size_t coefficient_of(const char *preset, size_t column) {
    for (size_t i = 0; i < runs_coefficient_count(); i++) {
        const struct runs_coefficient *c = runs_coefficient_at(i);
        if ((size_t)c->column == column && (names(c->presets, preset) || names(c->inherit, preset)))
            return i;
    }
    return RUNS_COEFFICIENTS;
}

static void put_cell(FILE *text, const char *cell) {
    bool quoted = strpbrk(cell, ",\"\n") != NULL;
    if (!quoted) {
        fputs(cell, text);
        return;
    }
    fputc('"', text);
    for (; *cell != '\0'; cell++)
        fprintf(text, *cell == '"' ? "\"\"" : "%c", *cell);
    fputc('"', text);
}

static void put_row(struct work *work, const char *name, size_t columns) {
    const struct column_row *row = catalog_row(work->run->catalog, CATALOG_FRAMEWORKS, name);
    FILE *text = work->run->text;
    for (size_t i = 0; i < columns; i++) {
        size_t coefficient = coefficient_of(name, i);
        if (i > 0)
            fputc(',', text);
        if (coefficient < RUNS_COEFFICIENTS &&
            runs_fit_runs(&work->fit, coefficient) >= RUNS_A_COEFFICIENT)
            fprintf(text, "%.3g", work->fit.values[coefficient]);
        else
            put_cell(text, row->text[i]);
    }
    fputc('\n', text);
}

static void put_file(struct work *work) {
    size_t columns;
    const struct column *column = catalog_columns(CATALOG_FRAMEWORKS, &columns);
    const char *name;
    for (size_t i = 0; i < columns; i++)
        fprintf(work->run->text, "%s%s", i == 0 ? "" : ",", column[i].name);
    fputc('\n', work->run->text);
    for (size_t i = 0; (name = catalog_name_at(work->run->catalog, CATALOG_FRAMEWORKS, i)) != NULL;
         i++)
        put_row(work, name, columns);
}

/* ---- the kind -------------------------------------------------------------------------------- */

enum rlhfsim_status runs_count_skips(struct calibration_run *run, const struct run_table *table) {
    for (const struct run_case *row = table->cases; row != NULL; row = row->next) {
        const char *reason = row->reason;
        if (reason == NULL && !row->exact)
            reason = "lengths or GPU are assumed";
        if (reason == NULL)
            continue;
        const char *kept = base_arena_text(&run->calibration->arena, reason, strlen(reason));
        if (kept == NULL || !calibration_count_skip(run->calibration, kept))
            return RLHFSIM_NO_MEMORY;
    }
    return RLHFSIM_OK;
}

static enum rlhfsim_status fit_and_write(struct work *work) {
    work->room = calloc(work->fit.point_count + 1, sizeof *work->room);
    if (work->room == NULL)
        return RLHFSIM_NO_MEMORY;
    find_groups(work);
    enum rlhfsim_status status = runs_fit_solve(&work->fit, FIT_STEPS);
    if (status == RLHFSIM_OK)
        put_file(work);
    if (status == RLHFSIM_OK)
        status = runs_fit_residuals(&work->fit);
    return status == RLHFSIM_OK ? add_lines(work) : status;
}

static enum rlhfsim_status run_runs(struct calibration_run *run) {
    struct run_table table;
    struct work *work = calloc(1, sizeof *work);
    if (work == NULL)
        return RLHFSIM_NO_MEMORY;
    work->run = run;
    enum rlhfsim_status status =
        run_table_read(run->catalog, run->paths[0], run->diagnostics, &table);
    bool read = status == RLHFSIM_OK;
    if (read)
        status = runs_count_skips(run, &table);
    if (status == RLHFSIM_OK)
        status = runs_fit_make(run->catalog, &table, run->diagnostics, &work->fit);
    if (status == RLHFSIM_OK && work->fit.point_count < runs_coefficient_count())
        status = rlhfsim_diagnostics_add(run->diagnostics, RLHFSIM_INVALID, run->paths[0], 0, 0,
                                         "too few runs with known lengths to fit anything");
    if (status == RLHFSIM_OK)
        status = fit_and_write(work);
    runs_fit_release(&work->fit);
    free(work->room);
    free(work);
    if (read)
        run_table_release(&table);
    return status;
}

const struct calibration_kind calibration_runs = {"runs", "frameworks.csv", run_runs};
