/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * bands.csv from a folder of published runs: by kind of placement and metric the quantiles of
 * measured / forecast. Each source is forecast with coefficients that were fitted without it
 * (runs_fit.h), from those of the catalog. Quantiles are of type 7, each figure counts as one.
 *
 * A row with `left_out` is the band that the other sources give for that one. What it holds of that
 * source's figures is `inside` of `tried`; the row without has their sums: the band's own test.
 */

#include "models/calibration/kind.h"
#include "models/calibration/runs.h"
#include "models/calibration/runs_fit.h"
#include "models/validation/run_bands.h"
#include "models/validation/run_table.h"
#include "models/validation/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIGURES_A_BAND 10 /* a P10 of fewer would be the least of them */
#define SOURCES 24

struct point {
    const char *source, *placement;
    enum scenario_band_metric metric; /* SCENARIO_BANDS: it tells no band */
    double own, other; /* ln (measured / forecast seconds): the catalog's coefficients, and those
                          without the source */
};

struct work {
    struct calibration_run *run;
    struct runs_fit fit;
    struct point *points;
    double *room; /* for as many */
    const char *sources[SOURCES];
    size_t source_count;
};

/* ---- points ---------------------------------------------------------------------------------- */

/* A residual is ln (forecast / measured) of what was printed, which may be a rate. */
static double seconds_off(const struct runs_point *point, bool rate) {
    return rate ? point->residual : -point->residual;
}

static void make_points(struct work *work) {
    for (size_t i = 0; i < work->fit.point_count; i++) {
        const struct runs_point *from = &work->fit.points[i];
        const struct run_case *run = runs_fit_run(from);
        struct point *point = &work->points[i];
        bool rate;
        *point = (struct point){.source = run->source,
                                .placement = run_case_cell(run, "placement"),
                                .metric = run_band_metric(from->figure->metric, &rate)};
        point->own = seconds_off(from, rate);
        size_t at = 0;
        while (at < work->source_count && strcmp(work->sources[at], run->source) != 0)
            at++;
        if (at == work->source_count && at < SOURCES)
            work->sources[work->source_count++] = run->source;
    }
}

static enum rlhfsim_status leave_out(struct work *work, const char *source) {
    double values[RUNS_COEFFICIENTS];
    bool rate;
    memcpy(values, work->fit.values, sizeof values);
    enum rlhfsim_status status = runs_fit_leave_out(&work->fit, source);
    for (size_t i = 0; i < work->fit.point_count; i++) {
        if (strcmp(work->points[i].source, source) != 0)
            continue;
        (void)run_band_metric(work->fit.points[i].figure->metric, &rate);
        work->points[i].other = seconds_off(&work->fit.points[i], rate);
    }
    memcpy(work->fit.values, values, sizeof values);
    return status;
}

/* ---- a band ---------------------------------------------------------------------------------- */

struct band {
    const char *placement;
    enum scenario_band_metric metric;
};

static bool belongs(const struct point *point, const struct band *band) {
    return point->metric == band->metric && strcmp(point->placement, band->placement) == 0;
}

static size_t figures_of(const struct work *work, const struct band *band, const char *source) {
    size_t count = 0;
    for (size_t i = 0; i < work->fit.point_count; i++)
        count += belongs(&work->points[i], band) && strcmp(work->points[i].source, source) == 0;
    return count;
}

/* Of all sources but one (NULL: of all), sorted in `room`. */
static size_t gather(struct work *work, const struct band *band, const char *left_out) {
    size_t count = 0;
    for (size_t i = 0; i < work->fit.point_count; i++)
        if (belongs(&work->points[i], band) &&
            (left_out == NULL || strcmp(work->points[i].source, left_out) != 0))
            work->room[count++] = work->points[i].other;
    validation_sort(work->room, count);
    return count;
}

/* What the band of the other sources holds of a source's figures; *tried is 0 without a band. */
static size_t inside_of(struct work *work, const struct band *band, const char *source,
                        size_t *tried) {
    size_t count = gather(work, band, source), inside = 0;
    *tried = count < FIGURES_A_BAND ? 0 : figures_of(work, band, source);
    if (*tried == 0)
        return 0;
    double low = validation_quantile(work->room, count, 0.1);
    double high = validation_quantile(work->room, count, 0.9);
    for (size_t i = 0; i < work->fit.point_count; i++) {
        const struct point *point = &work->points[i];
        inside += belongs(point, band) && strcmp(point->source, source) == 0 &&
                  point->other >= low && point->other <= high;
    }
    return inside;
}

static double median_size(struct work *work, const struct band *band) {
    size_t count = gather(work, band, NULL);
    for (size_t i = 0; i < count; i++)
        work->room[i] = fabs(work->room[i]);
    validation_sort(work->room, count);
    return validation_quantile(work->room, count, 0.5);
}

/* ---- the file -------------------------------------------------------------------------------- */

static void put_quantiles(struct work *work, size_t count) {
    for (int i = 0; i < 3; i++) {
        if (count < FIGURES_A_BAND)
            fputc(',', work->run->text);
        else
            fprintf(work->run->text, ",%.4g",
                    exp(validation_quantile(work->room, count, 0.1 + 0.4 * i)));
    }
}

static void put_row(struct work *work, const struct band *band, const char *left_out, size_t tried,
                    size_t inside) {
    FILE *text = work->run->text;
    double error = left_out == NULL ? median_size(work, band) : (double)NAN;
    size_t count = gather(work, band, left_out), sources = 0;
    for (size_t i = 0; i < work->source_count; i++)
        sources += (left_out == NULL || strcmp(work->sources[i], left_out) != 0) &&
                   figures_of(work, band, work->sources[i]) > 0;
    fprintf(text, "%s,%s,%s,%zu,%zu", band->placement, scenario_band_name(band->metric),
            left_out == NULL ? "" : left_out, count, sources);
    put_quantiles(work, count);
    fputc(',', text);
    if (left_out == NULL)
        fprintf(text, "%.4g", error);
    fprintf(text, ",%zu,%zu,measured,", tried, inside);
    calibration_put_command(work->run, text);
    fprintf(text, ",%s\n", count < FIGURES_A_BAND ? "too few figures for a band" : "");
}

static void put_band(struct work *work, const struct band *band) {
    size_t tried_of[SOURCES], inside[SOURCES], tried = 0, held = 0;
    for (size_t i = 0; i < work->source_count; i++) {
        inside[i] = inside_of(work, band, work->sources[i], &tried_of[i]);
        tried += tried_of[i];
        held += inside[i];
    }
    put_row(work, band, NULL, tried, held);
    for (size_t i = 0; i < work->source_count; i++)
        if (figures_of(work, band, work->sources[i]) > 0)
            put_row(work, band, work->sources[i], tried_of[i], inside[i]);
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Errors of a band's figures, |forecast / measured - 1|, sorted in `room`. */
static size_t errors(struct work *work, const struct band *band, bool own) {
    size_t count = 0;
    for (size_t i = 0; i < work->fit.point_count; i++)
        if (belongs(&work->points[i], band))
            work->room[count++] =
                fabs(exp(-(own ? work->points[i].own : work->points[i].other)) - 1.0);
    validation_sort(work->room, count);
    return count;
}

static bool add_line(struct work *work, const struct band *band) {
    char subject[64];
    struct rlhfsim_calibration_line line = {.points = errors(work, band, true)};
    line.median_error = validation_quantile(work->room, line.points, 0.5);
    line.p90_error = validation_quantile(work->room, line.points, 0.9);
    (void)errors(work, band, false);
    line.held_out_median_error = validation_quantile(work->room, line.points, 0.5);
    line.held_out_p90_error = validation_quantile(work->room, line.points, 0.9);
    (void)snprintf(subject, sizeof subject, "%s %s", band->placement,
                   scenario_band_name(band->metric));
    line.subject = base_arena_text(&work->run->calibration->arena, subject, strlen(subject));
    return line.subject != NULL && calibration_add_line(work->run->calibration, &line);
}

/* ---- the kind -------------------------------------------------------------------------------- */

static bool put_file(struct work *work) {
    static const char *const placements[] = {"colocated", "split", "async"};
    size_t columns;
    const struct column *column = catalog_columns(CATALOG_BANDS, &columns);
    bool good = true;
    for (size_t i = 0; i < columns; i++)
        fprintf(work->run->text, "%s%s", i == 0 ? "" : ",", column[i].name);
    fputc('\n', work->run->text);
    for (size_t i = 0; i < sizeof placements / sizeof *placements; i++)
        for (int metric = 0; metric < SCENARIO_BANDS && good; metric++) {
            struct band band = {placements[i], (enum scenario_band_metric)metric};
            if (gather(work, &band, NULL) == 0)
                continue;
            put_band(work, &band);
            good = add_line(work, &band);
        }
    return good;
}

static enum rlhfsim_status measure(struct work *work) {
    work->points = calloc(work->fit.point_count + 1, sizeof *work->points);
    work->room = calloc(work->fit.point_count + 1, sizeof *work->room);
    if (work->points == NULL || work->room == NULL)
        return RLHFSIM_NO_MEMORY;
    enum rlhfsim_status status = runs_fit_slopes(&work->fit);
    if (status == RLHFSIM_OK)
        make_points(work);
    for (size_t i = 0; i < work->source_count && status == RLHFSIM_OK; i++)
        status = leave_out(work, work->sources[i]);
    if (status != RLHFSIM_OK)
        return status;
    return put_file(work) ? RLHFSIM_OK : RLHFSIM_NO_MEMORY;
}

static enum rlhfsim_status run_bands(struct calibration_run *run) {
    struct run_table table;
    struct work work = {.run = run};
    if (run->path_count != 1)
        return rlhfsim_diagnostics_add(run->diagnostics, RLHFSIM_INVALID, run->paths[1], 0, 0,
                                       "is a second folder, expected one");
    enum rlhfsim_status status =
        run_table_read(run->catalog, run->paths[0], run->diagnostics, &table);
    if (status != RLHFSIM_OK)
        return status;
    status = runs_count_skips(run, &table);
    if (status == RLHFSIM_OK)
        status = runs_fit_make(run->catalog, &table, run->diagnostics, &work.fit);
    if (status == RLHFSIM_OK && work.fit.point_count < FIGURES_A_BAND)
        status = rlhfsim_diagnostics_add(run->diagnostics, RLHFSIM_INVALID, run->paths[0], 0, 0,
                                         "too few runs with known lengths for a band");
    if (status == RLHFSIM_OK)
        status = measure(&work);
    runs_fit_release(&work.fit);
    free(work.points);
    free(work.room);
    run_table_release(&table);
    return status;
}

const struct calibration_kind calibration_bands = {"bands", "bands.csv", run_bands};
