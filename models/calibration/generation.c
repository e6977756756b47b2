/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * engines.csv from measured serving points. What kernels reach in an engine (efficiencies, traffic)
 * is one set for all engines; what an engine's process and launches add (host times, launches in a
 * graph, layers with experts, layers without a graph, collectives) is six numbers an engine. All of
 * them are found together, as the least robust squares of log(forecast / measured), every one held
 * weakly near what it would be of physics alone, so that the catalog's present rows play no part
 * and the same points give the same file. A served point counts by its time a token, a run by its
 * tokens a second.
 *
 * An engine with few points keeps its own six numbers. Every model in turn is forecast by a fit to
 * all points of other models; where an engine has no others, its numbers are those of physics.
 */

#include "models/calibration/fit.h"
#include "models/calibration/serving_points.h"
#include "models/scenario/columns.h"
#include "models/validation/statistics.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_POINTS 12
#define ROUNDS 3
#define HELD_OUT_ROUNDS 2 /* they begin at the fit to all points */
#define RESIDUAL_SCALE 0.05
/* A factor of e from the start costs as much as this residual at one point. */
#define PRIOR 0.3
/* Odd points (queues, caches that are not said) are not to steer the fit. */
#define MOST_RESIDUAL 1.0
#define ENGINES_LIMIT 12

struct place {
    size_t offset; /* in struct generation_software */
    enum engine_column column;
    double unit;  /* SI of one in the file */
    double start; /* as in the file */
    double most;
};

#define PLACE(field, column, unit, start, most) \
    { offsetof(struct generation_software, field), column, unit, start, most }

/* One set for all. Kernels of engines reach what they reach alone; grouped products of few rows
 * half of it, products of 4 bits three quarters; half of the small kernels' traffic stays in
 * caches. */
static const struct place shared[] = {
    PLACE(product_efficiency, ENGINE_PRODUCT_EFFICIENCY, 1.0, 1.0, (double)INFINITY),
    PLACE(kv_efficiency, ENGINE_KV_EFFICIENCY, 1.0, 1.0, (double)INFINITY),
    PLACE(compute_efficiency, ENGINE_COMPUTE_EFFICIENCY, 1.0, 0.9, (double)INFINITY),
    PLACE(fp4_efficiency, ENGINE_FP4_EFFICIENCY, 1.0, 0.75, (double)INFINITY),
    PLACE(expert_efficiency, ENGINE_EXPERT_EFFICIENCY, 1.0, 0.5, (double)INFINITY),
    PLACE(activation_share, ENGINE_ACTIVATION_SHARE, 1.0, 0.5, 1.0),
    PLACE(exchange_factor, ENGINE_EXCHANGE_FACTOR, 1.0, 1.0, (double)INFINITY)};

/* Of an engine. A host takes some tenths of a millisecond an iteration and ten microseconds a
 * sequence; launches and collectives take what they take alone. */
static const struct place own[] = {
    PLACE(iteration_host_s, ENGINE_ITERATION_HOST_MS, 1e-3, 0.3, (double)INFINITY),
    PLACE(sequence_host_s, ENGINE_SEQUENCE_HOST_US, 1e-6, 10.0, (double)INFINITY),
    PLACE(launch_factor, ENGINE_LAUNCH_FACTOR, 1.0, 1.0, (double)INFINITY),
    PLACE(expert_layer_s, ENGINE_EXPERT_LAYER_US, 1e-6, 30.0, (double)INFINITY),
    PLACE(eager_layer_s, ENGINE_EAGER_LAYER_US, 1e-6, 80.0, (double)INFINITY),
    PLACE(collective_factor, ENGINE_COLLECTIVE_FACTOR, 1.0, 1.0, (double)INFINITY)};

#define SHARED (sizeof shared / sizeof *shared)
#define OWN (sizeof own / sizeof *own)
#define COEFFICIENTS_LIMIT (SHARED + OWN * ENGINES_LIMIT)

/* ---- coefficients ---------------------------------------------------------------------------- */

/* Engines that are fitted, and the values: the shared ones, then those of each engine. */
struct fitting {
    struct serving_points *points;
    const struct catalog_engine *engines[ENGINES_LIMIT];
    size_t engine_count;
    double values[COEFFICIENTS_LIMIT];
    /* of the fit under way */
    const double *tried;
    struct serving_point **seen;
    size_t seen_count;
};

static size_t coefficients_of(const struct fitting *fitting) {
    return SHARED + OWN * fitting->engine_count;
}

static const struct place *place_of(size_t coefficient) {
    return coefficient < SHARED ? &shared[coefficient] : &own[(coefficient - SHARED) % OWN];
}

/* The index of an engine; engine_count where it is not fitted. */
static size_t engine_index(const struct fitting *fitting, const struct catalog_engine *engine) {
    size_t i = 0;
    while (i < fitting->engine_count && fitting->engines[i] != engine)
        i++;
    return i;
}

static void put(struct generation_software *software, const struct place *place, double value) {
    memcpy((char *)software + place->offset, &value, sizeof value);
}

/* The engine with the values; its own six stay where it is not fitted. */
static struct generation_software software_of(const struct fitting *fitting,
                                              const struct catalog_engine *engine,
                                              const double *values) {
    struct generation_software software = engine->software;
    size_t index = engine_index(fitting, engine);
    for (size_t i = 0; i < SHARED; i++)
        put(&software, &shared[i], values[i]);
    for (size_t i = 0; index < fitting->engine_count && i < OWN; i++)
        put(&software, &own[i], values[SHARED + index * OWN + i]);
    return software;
}

/* ---- fits ------------------------------------------------------------------------------------ */

static double point_error(const struct fitting *fitting, const struct serving_point *point,
                          const double *values, bool exactly) {
    struct generation_software software = software_of(fitting, point->engine, values);
    return serving_point_error(point, &software, exactly);
}

static void set_values(void *context, const double *values) {
    ((struct fitting *)context)->tried = values;
}

static double residual(void *context, size_t index) {
    const struct fitting *fitting = context;
    double error = point_error(fitting, fitting->seen[index], fitting->tried, false);
    return fmax(-MOST_RESIDUAL, fmin(MOST_RESIDUAL, error));
}

static bool depends(void *context, size_t index, size_t coefficient) {
    const struct fitting *fitting = context;
    const struct serving_point *point = fitting->seen[index];
    const struct place *place = place_of(coefficient);
    const struct generation_plan *plan = &point->serving.plan;
    if (coefficient >= SHARED &&
        (coefficient - SHARED) / OWN != engine_index(fitting, point->engine))
        return false;
    if (place->column == ENGINE_FP4_EFFICIENCY)
        return plan->format == GENERATION_FP4;
    if (place->column == ENGINE_EXPERT_EFFICIENCY || place->column == ENGINE_EXPERT_LAYER_US)
        return point->serving.architecture.moe_layers > 0;
    if (place->column == ENGINE_EXCHANGE_FACTOR)
        return plan->dp > 1;
    return place->column != ENGINE_COLLECTIVE_FACTOR || plan->tp > 1;
}

/* Fits to the points of all models but one (NULL: none); `values` is where it begins. */
static bool fit(struct fitting *fitting, const char *without, int rounds, double *values) {
    struct fit_coefficient coefficients[COEFFICIENTS_LIMIT];
    fitting->seen_count = 0;
    for (size_t i = 0; i < fitting->points->count; i++) {
        struct serving_point *point = &fitting->points->at[i];
        if (engine_index(fitting, point->engine) < fitting->engine_count &&
            (without == NULL || strcmp(point->model, without) != 0))
            fitting->seen[fitting->seen_count++] = point;
    }
    for (size_t i = 0; i < coefficients_of(fitting); i++) {
        const struct place *place = place_of(i);
        coefficients[i] =
            (struct fit_coefficient){place->start * place->unit, 0.0, place->most * place->unit};
    }
    struct fit_problem problem = {.points = fitting->seen_count,
                                  .coefficients = coefficients_of(fitting),
                                  .coefficient = coefficients,
                                  .scale = RESIDUAL_SCALE,
                                  .prior = PRIOR,
                                  .set = set_values,
                                  .residual = residual,
                                  .depends = depends,
                                  .context = fitting};
    return problem.points < problem.coefficients || fit_solve(&problem, rounds, values);
}

static void start(const struct fitting *fitting, double *values) {
    for (size_t i = 0; i < coefficients_of(fitting); i++)
        values[i] = place_of(i)->start * place_of(i)->unit;
}

/* As they will be read from the file. */
static void round_values(struct fitting *fitting) {
    for (size_t i = 0; i < coefficients_of(fitting); i++) {
        char text[32];
        double unit = place_of(i)->unit;
        (void)snprintf(text, sizeof text, "%.4g", fitting->values[i] / unit);
        fitting->values[i] = strtod(text, NULL) * unit;
    }
}

static struct generation_software fitted_software(const void *context,
                                                  const struct catalog_engine *engine) {
    const struct fitting *fitting = context;
    return software_of(fitting, engine, fitting->values);
}

/* Runs are profiled as they would go of physics alone, and again as the first fit has them. */
static bool fit_all(struct fitting *fitting) {
    start(fitting, fitting->values);
    for (int pass = 0; pass < 2; pass++)
        if (!serving_points_profile(fitting->points, fitted_software, fitting) ||
            !fit(fitting, NULL, ROUNDS, fitting->values))
            return false;
    round_values(fitting);
    for (size_t i = 0; i < fitting->points->count; i++) {
        struct serving_point *point = &fitting->points->at[i];
        point->error = expm1(point_error(fitting, point, fitting->values, true));
        point->held_out = (double)NAN;
    }
    return true;
}

/* An engine that has no point of another model has nothing to begin at but the start. */
static void forget_unseen(const struct fitting *fitting, const char *without, double *values) {
    for (size_t e = 0; e < fitting->engine_count; e++) {
        bool seen = false;
        for (size_t i = 0; i < fitting->points->count && !seen; i++)
            seen = fitting->points->at[i].engine == fitting->engines[e] &&
                   strcmp(fitting->points->at[i].model, without) != 0;
        for (size_t i = 0; !seen && i < OWN; i++)
            values[SHARED + e * OWN + i] = own[i].start * own[i].unit;
    }
}

static bool hold_out(struct fitting *fitting) {
    struct serving_points *points = fitting->points;
    for (size_t i = 0; i < points->count; i++) {
        double values[COEFFICIENTS_LIMIT];
        const char *model = points->at[i].model;
        if (!isnan(points->at[i].held_out))
            continue;
        memcpy(values, fitting->values, sizeof values);
        forget_unseen(fitting, model, values);
        if (!fit(fitting, model, HELD_OUT_ROUNDS, values))
            return false;
        for (size_t k = i; k < points->count; k++)
            if (strcmp(points->at[k].model, model) == 0)
                points->at[k].held_out = expm1(point_error(fitting, &points->at[k], values, false));
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

/* The sources of an engine's points, each once. */
static void put_sources(FILE *stream, const struct serving_points *points,
                        const struct catalog_engine *engine) {
    const char *said = "";
    for (size_t i = 0; i < points->count; i++) {
        bool seen = points->at[i].engine != engine;
        for (size_t k = 0; k < i && !seen; k++)
            seen = points->at[k].engine == engine &&
                   strcmp(points->at[k].source, points->at[i].source) == 0;
        if (!seen && *points->at[i].source != '\0')
            fprintf(stream, "%s%s", said, points->at[i].source);
        said = seen ? said : "; ";
    }
}

static bool put_source(const struct fitting *fitting, const struct catalog_engine *engine,
                       const struct rlhfsim_calibration_line *line) {
    struct calibration_run *run = fitting->points->run;
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        return false;
    fprintf(stream,
            "rlhfsim calibrate generation: %zu points; median error %.1f %%; P90 %.1f %%; models "
            "left out %.1f and %.1f %%; ",
            line->points, 100.0 * line->median_error, 100.0 * line->p90_error,
            100.0 * line->held_out_median_error, 100.0 * line->held_out_p90_error);
    put_sources(stream, fitting->points, engine);
    bool good = fclose(stream) == 0;
    if (good)
        put_cell(run->text, text);
    free(text);
    return good;
}

/* The coefficient in a column, or NULL. */
static const struct place *fitted_column(size_t column, bool is_fitted) {
    for (size_t i = 0; i < SHARED; i++)
        if ((size_t)shared[i].column == column)
            return &shared[i];
    for (size_t i = 0; is_fitted && i < OWN; i++)
        if ((size_t)own[i].column == column)
            return &own[i];
    return NULL;
}

/* `line` is NULL for an engine that keeps its row, but for what all share. */
static bool put_row(const struct fitting *fitting, const struct catalog_engine *engine,
                    const struct rlhfsim_calibration_line *line) {
    struct calibration_run *run = fitting->points->run;
    const struct column_row *row =
        catalog_row(run->catalog, CATALOG_ENGINES, engine->software.name);
    struct generation_software software = software_of(fitting, engine, fitting->values);
    size_t count;
    bool good = true;
    (void)catalog_columns(CATALOG_ENGINES, &count);
    for (size_t i = 0; i < count; i++) {
        const struct place *place = fitted_column(i, line != NULL);
        double value = 0.0;
        fputs(i == 0 ? "" : ",", run->text);
        if (place != NULL) {
            memcpy(&value, (const char *)&software + place->offset, sizeof value);
            fprintf(run->text, "%.4g", value / place->unit);
        } else if (line != NULL && i == ENGINE_PROVENANCE) {
            fputs("measured", run->text);
        } else if (line != NULL && i == ENGINE_SOURCE) {
            good = good && put_source(fitting, engine, line);
        } else {
            put_cell(run->text, row->text[i]);
        }
    }
    putc('\n', run->text);
    return good;
}

/* ---- reports --------------------------------------------------------------------------------- */

/* Points of an engine or of a model, or all of them. */
struct group {
    const struct catalog_engine *engine; /* NULL: any */
    const char *model;
    const char *subject;
};

static bool belongs(const struct serving_point *point, const struct group *group) {
    return (group->engine == NULL || point->engine == group->engine) &&
           (group->model == NULL || strcmp(point->model, group->model) == 0);
}

static bool summarise(const struct fitting *fitting, const struct group *group, double *sorted,
                      struct rlhfsim_calibration_line *line) {
    struct calibration_run *run = fitting->points->run;
    *line = (struct rlhfsim_calibration_line){
        .subject =
            base_arena_text(&run->calibration->arena, group->subject, strlen(group->subject))};
    for (int held_out = 0; held_out < 2; held_out++) {
        size_t count = 0;
        for (size_t i = 0; i < fitting->points->count; i++) {
            const struct serving_point *point = &fitting->points->at[i];
            if (belongs(point, group) &&
                engine_index(fitting, point->engine) < fitting->engine_count)
                sorted[count++] = fabs(held_out == 1 ? point->held_out : point->error);
        }
        validation_sort(sorted, count);
        line->points = count;
        *(held_out == 1 ? &line->held_out_median_error : &line->median_error) =
            count == 0 ? (double)NAN : validation_quantile(sorted, count, 0.5);
        *(held_out == 1 ? &line->held_out_p90_error : &line->p90_error) =
            count == 0 ? (double)NAN : validation_quantile(sorted, count, 0.9);
    }
    return line->subject != NULL;
}

static bool report_models(const struct fitting *fitting, double *sorted) {
    struct calibration_run *run = fitting->points->run;
    struct rlhfsim_calibration_line line;
    for (size_t i = 0; i < fitting->points->count; i++) {
        const char *model = fitting->points->at[i].model;
        bool seen = false;
        for (size_t k = 0; k < i && !seen; k++)
            seen = strcmp(fitting->points->at[k].model, model) == 0;
        struct group group = {NULL, model, model};
        if (seen)
            continue;
        if (!summarise(fitting, &group, sorted, &line) ||
            (line.points > 0 && !calibration_add_line(run->calibration, &line)))
            return false;
    }
    struct group all = {NULL, NULL, "all"};
    return summarise(fitting, &all, sorted, &line) && calibration_add_line(run->calibration, &line);
}

/* Writes the rows, in the order of the catalog. */
static bool report_engines(const struct fitting *fitting, double *sorted) {
    struct calibration_run *run = fitting->points->run;
    const char *name;
    put_header(run->text);
    for (size_t i = 0; (name = catalog_name_at(run->catalog, CATALOG_ENGINES, i)) != NULL; i++) {
        const struct catalog_engine *engine = catalog_engine(run->catalog, name);
        bool fitted = engine_index(fitting, engine) < fitting->engine_count;
        struct group group = {engine, NULL, name};
        struct rlhfsim_calibration_line line;
        if (fitted && (!summarise(fitting, &group, sorted, &line) ||
                       !calibration_add_line(run->calibration, &line)))
            return false;
        if (!put_row(fitting, engine, fitted ? &line : NULL))
            return false;
    }
    return true;
}

/* ---- all ------------------------------------------------------------------------------------- */

static void choose_engines(struct fitting *fitting) {
    const struct catalog *catalog = fitting->points->run->catalog;
    const char *name;
    for (size_t i = 0; (name = catalog_name_at(catalog, CATALOG_ENGINES, i)) != NULL; i++) {
        const struct catalog_engine *engine = catalog_engine(catalog, name);
        size_t count = 0;
        for (size_t k = 0; k < fitting->points->count; k++)
            count += fitting->points->at[k].engine == engine;
        if (count >= LEAST_POINTS && fitting->engine_count < ENGINES_LIMIT)
            fitting->engines[fitting->engine_count++] = engine;
    }
}

static bool calibrate(struct fitting *fitting) {
    size_t count = fitting->points->count;
    double *sorted = calloc(count, sizeof *sorted);
    fitting->seen = calloc(count, sizeof *fitting->seen);
    bool good = sorted != NULL && fitting->seen != NULL && fit_all(fitting) && hold_out(fitting) &&
                report_engines(fitting, sorted) && report_models(fitting, sorted);
    free(fitting->seen);
    free(sorted);
    return good;
}

static enum rlhfsim_status calibrate_generation(struct calibration_run *run) {
    struct serving_points points;
    enum rlhfsim_status status = serving_points_read(run, &points);
    struct fitting fitting = {.points = &points};
    if (status == RLHFSIM_OK)
        choose_engines(&fitting);
    if (status == RLHFSIM_OK && fitting.engine_count == 0)
        status =
            rlhfsim_diagnostics_add(run->diagnostics, RLHFSIM_INVALID, run->paths[0], 0, 0,
                                    "no engine has the %d rows that it is fitted to", LEAST_POINTS);
    if (status == RLHFSIM_OK && !calibrate(&fitting))
        status = RLHFSIM_NO_MEMORY;
    serving_points_free(&points);
    return status;
}

const struct calibration_kind calibration_generation = {"generation", "engines.csv",
                                                        calibrate_generation};
