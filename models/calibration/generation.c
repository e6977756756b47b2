/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * engines.csv from measured serving points: what each engine's process and launches add (host
 * times, launches in a graph, layers with experts, layers without a graph, collectives), six
 * numbers an engine. What kernels reach (efficiencies, traffic) is one set for all engines and
 * stays as the catalog has it. Residuals are logarithms of forecast over measured; a served point
 * counts by its time a token, a run by its tokens a second. An engine with few points keeps its
 * row.
 *
 * Errors are given on all points of an engine, and on those of each model by a fit without it.
 */

#include "models/calibration/fit.h"
#include "models/calibration/kind.h"
#include "models/scenario/columns.h"
#include "models/validation/generation_row.h"
#include "models/validation/kind.h"
#include "models/validation/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_POINTS 12
/* Of a queue: what comes after is the same again. */
#define MOST_WAVES 2
#define ROUNDS 3
#define RESIDUAL_SCALE 0.05
/* A factor of e from the catalog's value costs as much as this residual at one point. */
#define PRIOR 0.3
/* Odd points (queues, caches that are not said) are not to steer the fit. */
#define MOST_RESIDUAL 1.0

struct point {
    struct serving_case serving;
    const struct catalog_engine *engine;
    char model[96];
    double measured;
    double error; /* of the fit, and of one without the model */
    double held_out;
};

struct points {
    struct point *at;
    size_t count, room;
    struct calibration_run *run;
};

/* The coefficients of an engine, and where they stand in its row. */
static const struct {
    enum engine_column column;
    double unit; /* SI of one in the file */
    double least;
} fitted[] = {{ENGINE_ITERATION_HOST_MS, 1e-3, 0.05}, {ENGINE_SEQUENCE_HOST_US, 1e-6, 1.0},
              {ENGINE_LAUNCH_FACTOR, 1.0, 0.1},       {ENGINE_EXPERT_LAYER_US, 1e-6, 1.0},
              {ENGINE_EAGER_LAYER_US, 1e-6, 1.0},     {ENGINE_COLLECTIVE_FACTOR, 1.0, 0.1}};

#define FITTED (sizeof fitted / sizeof fitted[0])

static double *coefficient(struct generation_software *software, size_t index) {
    double *const places[FITTED] = {&software->iteration_host_s, &software->sequence_host_s,
                                    &software->launch_factor,    &software->expert_layer_s,
                                    &software->eager_layer_s,    &software->collective_factor};
    return places[index];
}

/* ---- points ---------------------------------------------------------------------------------- */

static bool make_room(struct points *points) {
    if (points->count < points->room)
        return true;
    size_t room = points->room == 0 ? 256 : 2 * points->room;
    struct point *at = realloc(points->at, room * sizeof *at);
    if (at == NULL)
        return false;
    points->at = at;
    points->room = room;
    return true;
}

/* The time a token of a served row, else its rate; 0 without either. */
static double measured_of(const struct generation_columns *columns, const struct csv_row *row) {
    const char *tpot = validation_cell(row, columns->tpot_ms);
    const char *rate = validation_cell(row, columns->output_tokens_per_s);
    return *tpot != '\0' ? strtod(tpot, NULL) : strtod(rate, NULL);
}

static bool add_point(struct points *points, const struct generation_columns *columns,
                      const struct csv_row *row) {
    if (!make_room(points))
        return false;
    struct point *point = &points->at[points->count];
    *point = (struct point){.measured = measured_of(columns, row)};
    const char *reason =
        generation_row_read(points->run->catalog, columns, row, &point->serving, &point->engine);
    if (reason == NULL && !(point->measured > 0.0))
        reason = "no measured value";
    if (reason != NULL)
        return calibration_count_skip(points->run->calibration, reason);
    int64_t waves = (int64_t)MOST_WAVES * point->serving.plan.max_sequences;
    if (point->serving.mode == SERVING_QUEUED && point->serving.requests > waves)
        point->serving.requests = waves;
    memcpy(point->model, point->serving.architecture.name, sizeof point->model);
    points->count++;
    return true;
}

static enum rlhfsim_status read_table(struct points *points, struct validation_run *reader,
                                      const char *path) {
    struct csv_table table;
    struct generation_columns columns;
    enum rlhfsim_status status = validation_read_table(reader, path, &table);
    if (status == RLHFSIM_OK)
        status = generation_columns_find(&table, path, reader->diagnostics, &columns);
    if (status != RLHFSIM_OK)
        return status;
    for (const struct csv_row *row = table.rows; row != NULL; row = row->next)
        if (!add_point(points, &columns, row))
            return RLHFSIM_NO_MEMORY;
    return RLHFSIM_OK;
}

static enum rlhfsim_status read_tables(struct calibration_run *run, struct points *points) {
    struct validation_run reader = {validation_new(), run->catalog, run->diagnostics, NULL};
    enum rlhfsim_status status = reader.validation == NULL ? RLHFSIM_NO_MEMORY : RLHFSIM_OK;
    for (size_t i = 0; i < run->path_count && status == RLHFSIM_OK; i++)
        status = read_table(points, &reader, run->paths[i]);
    rlhfsim_validation_free(reader.validation);
    return status;
}

/* ---- fits ------------------------------------------------------------------------------------ */

/* The points of one engine that a fit sees. */
struct subset {
    struct point **at;
    size_t count;
    const double *values;
};

static double log_ratio(const struct point *point, const double *values) {
    struct serving_case serving = point->serving;
    struct serving_forecast forecast;
    for (size_t i = 0; i < FITTED; i++)
        *coefficient(&serving.plan.software, i) = values[i];
    serving_case_bind(&serving);
    if (!serving_case_forecast(&serving, &forecast))
        return 0.0;
    double value =
        serving.mode == SERVING_CLIENTS ? 1e3 * forecast.tpot_s : forecast.output_tokens_per_s;
    return log(value / point->measured);
}

static void set_values(void *context, const double *values) {
    ((struct subset *)context)->values = values;
}

static double residual(void *context, size_t index) {
    const struct subset *subset = context;
    return fmax(-MOST_RESIDUAL, fmin(MOST_RESIDUAL, log_ratio(subset->at[index], subset->values)));
}

static bool fit(struct subset *subset, const struct generation_software *start, double *values) {
    struct fit_coefficient coefficients[FITTED];
    struct generation_software software = *start;
    for (size_t i = 0; i < FITTED; i++) {
        values[i] = fmax(*coefficient(&software, i), fitted[i].least * fitted[i].unit);
        coefficients[i] = (struct fit_coefficient){values[i], 0.0, (double)INFINITY};
    }
    struct fit_problem problem = {.points = subset->count,
                                  .coefficients = FITTED,
                                  .coefficient = coefficients,
                                  .scale = RESIDUAL_SCALE,
                                  .prior = PRIOR,
                                  .set = set_values,
                                  .residual = residual,
                                  .context = subset};
    return fit_solve(&problem, ROUNDS, values);
}

/* Points of an engine, all of them or those of other models than `without`. */
static void choose(struct points *points, const struct catalog_engine *engine, const char *without,
                   struct subset *subset) {
    subset->count = 0;
    for (size_t i = 0; i < points->count; i++) {
        struct point *point = &points->at[i];
        if (point->engine == engine && (without == NULL || strcmp(point->model, without) != 0))
            subset->at[subset->count++] = point;
    }
}

/* Every model in turn is forecast by a fit that has not seen it; where nothing is left to fit, by
 * the catalog. */
static bool hold_out(struct points *points, const struct catalog_engine *engine,
                     struct subset *subset) {
    for (size_t i = 0; i < points->count; i++) {
        double values[FITTED];
        const char *model = points->at[i].model;
        if (points->at[i].engine != engine || !isnan(points->at[i].held_out))
            continue;
        choose(points, engine, model, subset);
        bool enough = subset->count >= LEAST_POINTS;
        struct generation_software software = engine->software;
        for (size_t k = 0; k < FITTED; k++)
            values[k] = *coefficient(&software, k);
        if (enough && !fit(subset, &engine->software, values))
            return false;
        for (size_t k = i; k < points->count; k++)
            if (points->at[k].engine == engine && strcmp(points->at[k].model, model) == 0)
                points->at[k].held_out = expm1(log_ratio(&points->at[k], values));
    }
    return true;
}

/* ---- the file -------------------------------------------------------------------------------- */

static void put_cell(FILE *stream, const char *text) {
    if (strpbrk(text, ",\"\n") == NULL) {
        fputs(text, stream);
        return;
    }
    putc('"', stream);
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '"')
            putc('"', stream);
        putc(*c, stream);
    }
    putc('"', stream);
}

static void put_header(FILE *stream) {
    size_t count;
    const struct column *columns = catalog_columns(CATALOG_ENGINES, &count);
    for (size_t i = 0; i < count; i++)
        fprintf(stream, "%s%s", i == 0 ? "" : ",", columns[i].name);
    putc('\n', stream);
}

static void put_row(struct calibration_run *run, const char *name, const double *values,
                    const struct rlhfsim_calibration_line *line) {
    const struct column_row *row = catalog_row(run->catalog, CATALOG_ENGINES, name);
    size_t count;
    (void)catalog_columns(CATALOG_ENGINES, &count);
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;
        while (k < FITTED && (size_t)fitted[k].column != i)
            k++;
        fputs(i == 0 ? "" : ",", run->text);
        if (values != NULL && k < FITTED) {
            fprintf(run->text, "%.4g", values[k] / fitted[k].unit);
        } else if (values != NULL && i == ENGINE_PROVENANCE) {
            fputs("measured", run->text);
        } else if (values != NULL && i == ENGINE_SOURCE) {
            calibration_put_command(run, run->text);
            fprintf(run->text, ": %zu points; median error %.1f %%; P90 %.1f %%", line->points,
                    100.0 * line->median_error, 100.0 * line->p90_error);
        } else {
            put_cell(run->text, row->text[i]);
        }
    }
    putc('\n', run->text);
}

/* ---- one engine ------------------------------------------------------------------------------ */

static void summarise(struct points *points, const struct catalog_engine *engine, double *sorted,
                      struct rlhfsim_calibration_line *line) {
    for (int held_out = 0; held_out < 2; held_out++) {
        size_t count = 0;
        for (size_t i = 0; i < points->count; i++)
            if (points->at[i].engine == engine)
                sorted[count++] =
                    fabs(held_out == 1 ? points->at[i].held_out : points->at[i].error);
        validation_sort(sorted, count);
        double median = validation_quantile(sorted, count, 0.5);
        double p90 = validation_quantile(sorted, count, 0.9);
        line->points = count;
        *(held_out == 1 ? &line->held_out_median_error : &line->median_error) = median;
        *(held_out == 1 ? &line->held_out_p90_error : &line->p90_error) = p90;
    }
}

static bool calibrate_engine(struct points *points, const struct catalog_engine *engine,
                             struct subset *subset, double *sorted) {
    struct calibration_run *run = points->run;
    const char *name = engine->software.name;
    struct rlhfsim_calibration_line line = {
        .subject = base_arena_text(&run->calibration->arena, name, strlen(name))};
    double values[FITTED];
    choose(points, engine, NULL, subset);
    if (subset->count < LEAST_POINTS) {
        put_row(run, name, NULL, NULL);
        return true;
    }
    if (line.subject == NULL || !fit(subset, &engine->software, values))
        return false;
    for (size_t i = 0; i < subset->count; i++) {
        subset->at[i]->error = expm1(log_ratio(subset->at[i], values));
        subset->at[i]->held_out = (double)NAN;
    }
    if (!hold_out(points, engine, subset))
        return false;
    summarise(points, engine, sorted, &line);
    put_row(run, name, values, &line);
    return calibration_add_line(run->calibration, &line);
}

static enum rlhfsim_status calibrate_engines(struct calibration_run *run, struct points *points) {
    struct subset subset = {.at = calloc(points->count, sizeof *subset.at)};
    double *sorted = calloc(points->count, sizeof *sorted);
    bool good = subset.at != NULL && sorted != NULL;
    const char *name;
    put_header(run->text);
    for (size_t i = 0; good && (name = catalog_name_at(run->catalog, CATALOG_ENGINES, i)) != NULL;
         i++)
        good = calibrate_engine(points, catalog_engine(run->catalog, name), &subset, sorted);
    free(sorted);
    free(subset.at);
    return good ? RLHFSIM_OK : RLHFSIM_NO_MEMORY;
}

static enum rlhfsim_status calibrate_generation(struct calibration_run *run) {
    struct points points = {.run = run};
    enum rlhfsim_status status = read_tables(run, &points);
    if (status == RLHFSIM_OK && points.count == 0)
        status = rlhfsim_diagnostics_add(run->diagnostics, RLHFSIM_INVALID, run->paths[0], 0, 0,
                                         "no row that generation could be fitted to");
    if (status == RLHFSIM_OK)
        status = calibrate_engines(run, &points);
    free(points.at);
    return status;
}

const struct calibration_kind calibration_generation = {"generation", "engines.csv",
                                                        calibrate_generation};
