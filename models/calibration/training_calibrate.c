/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/calibration/training_calibrate.h"

#include "models/validation/statistics.h"
#include "models/validation/training_forecast.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIT_STEPS 40
#define REFIT_STEPS 8 /* from the fit to all rows to that without some */
#define DIGITS "%.4g" /* of a fitted value: more is noise */

/* ---- reading --------------------------------------------------------------------------------- */

struct reading {
    struct calibration_run *run;
    struct training_calibration *calibration;
    struct training_columns columns;
    size_t room;
};

static enum training_class class_of(const struct training_row *row) {
    if (row->plan.lora_rank > 0)
        return TRAINING_ADAPTERS;
    return row->architecture.experts > 0 ? TRAINING_EXPERTS : TRAINING_DENSE;
}

static bool make_room(struct reading *reading) {
    struct training_calibration *c = reading->calibration;
    if (c->row_count < reading->room)
        return true;
    size_t room = reading->room == 0 ? 256 : 2 * reading->room;
    struct training_row **rows = realloc(c->rows, room * sizeof *rows);
    c->rows = rows == NULL ? c->rows : rows;
    enum training_class *classes = realloc(c->classes, room * sizeof *classes);
    c->classes = classes == NULL ? c->classes : classes;
    if (rows == NULL || classes == NULL)
        return false;
    reading->room = room;
    return true;
}

/* The table that a `source` cell names: what is behind the project up to a "/", "@" or "(". */
static const char *table_name(struct base_arena *arena, const char *cell) {
    size_t length = strcspn(cell, " @");
    if (cell[length] == ' ')
        length += 1 + strcspn(cell + length + 1, "/@(");
    while (length > 0 && cell[length - 1] == ' ')
        length--;
    return base_arena_text(arena, cell, length);
}

static enum rlhfsim_status count_skip(struct reading *reading, const char *reason) {
    struct rlhfsim_calibration *report = reading->run->calibration;
    const char *kept = base_arena_text(&report->arena, reason, strlen(reason));
    return kept != NULL && calibration_count_skip(report, kept) ? RLHFSIM_OK : RLHFSIM_NO_MEMORY;
}

static enum rlhfsim_status keep_row(struct reading *reading, const struct csv_row *cells) {
    struct training_calibration *c = reading->calibration;
    struct training_cells stated;
    struct training_row *row = base_arena_allocate(&c->arena, sizeof *row);
    if (row == NULL || !make_room(reading))
        return RLHFSIM_NO_MEMORY;
    training_cells_read(&reading->columns, cells, &stated);
    training_row_read(reading->run->catalog, &stated, row);
    if (row->reason[0] != '\0')
        return count_skip(reading, row->reason);
    const char *source = stated.text[TRAINING_SOURCE_TEXT];
    row->source = base_arena_text(&c->arena, source, strcspn(source, " @"));
    row->name = table_name(&c->arena, source);
    c->classes[c->row_count] = class_of(row);
    c->rows[c->row_count++] = row;
    return row->source == NULL || row->name == NULL ? RLHFSIM_NO_MEMORY : RLHFSIM_OK;
}

static enum rlhfsim_status read_path(struct reading *reading, const char *path) {
    struct csv_table table;
    struct rlhfsim_diagnostics *diagnostics = reading->run->diagnostics;
    enum rlhfsim_status status =
        validation_read_csv(&reading->calibration->arena, path, diagnostics, &table);
    if (status == RLHFSIM_OK)
        status = training_columns_find(&table, path, diagnostics, &reading->columns);
    for (const struct csv_row *row = table.rows; row != NULL && status == RLHFSIM_OK;
         row = row->next)
        status = keep_row(reading, row);
    return status;
}

static enum rlhfsim_status copy_coefficients(const struct catalog *catalog,
                                             struct training_calibration *c) {
    const struct training_coefficient_row *rows =
        catalog_coefficients(catalog, &c->coefficient_count);
    c->coefficients = calloc(c->coefficient_count + 1, sizeof *c->coefficients);
    if (c->coefficients == NULL)
        return RLHFSIM_NO_MEMORY;
    if (c->coefficient_count > 0)
        memcpy(c->coefficients, rows, c->coefficient_count * sizeof *rows);
    return RLHFSIM_OK;
}

/* ---- errors ---------------------------------------------------------------------------------- */

/* Of those of the residuals that `chosen` says; `room` for all. */
static struct training_errors errors_of(const double *residuals, const bool *chosen, size_t count,
                                        double *room) {
    struct training_errors errors = {0};
    for (size_t i = 0; i < count; i++)
        if (chosen[i])
            room[errors.rows++] = exp(residuals[i]) - 1.0;
    validation_sort(room, errors.rows);
    errors.bias = validation_quantile(room, errors.rows, 0.5);
    for (size_t i = 0; i < errors.rows; i++)
        room[i] = fabs(room[i]);
    validation_sort(room, errors.rows);
    errors.median = validation_quantile(room, errors.rows, 0.5);
    errors.p90 = validation_quantile(room, errors.rows, 0.9);
    return errors;
}

/* What a calibration works with besides what it keeps. */
struct bench {
    struct training_calibration *calibration;
    struct training_fit fit; /* over the dense rows */
    size_t *place;           /* of each dense row among all rows */
};

static void bench_free(struct bench *bench) {
    free(bench->fit.rows);
    free(bench->place);
}

static bool bench_make(struct bench *bench, struct training_calibration *calibration) {
    size_t rows = calibration->row_count + 1;
    calibration->residuals = calloc(rows, sizeof *calibration->residuals);
    calibration->room = calloc(rows, sizeof *calibration->room);
    calibration->chosen = calloc(rows, sizeof *calibration->chosen);
    *bench =
        (struct bench){.calibration = calibration, .place = calloc(rows, sizeof *bench->place)};
    bench->fit = (struct training_fit){.rows = calloc(rows, sizeof *bench->fit.rows),
                                       .coefficients = calibration->coefficients,
                                       .coefficient_count = calibration->coefficient_count,
                                       .left_out = -1,
                                       .steps = FIT_STEPS};
    if (bench->fit.rows == NULL || bench->place == NULL || calibration->residuals == NULL ||
        calibration->room == NULL || calibration->chosen == NULL)
        return false;
    for (size_t i = 0; i < calibration->row_count; i++) {
        if (calibration->classes[i] != TRAINING_DENSE)
            continue;
        bench->place[bench->fit.row_count] = i;
        bench->fit.rows[bench->fit.row_count++].row = calibration->rows[i];
    }
    return true;
}

/* ---- groups ---------------------------------------------------------------------------------- */

typedef const char *group_name_func(const struct training_row *row);

static const char *project_of(const struct training_row *row) {
    return row->source;
}

static const char *table_of(const struct training_row *row) {
    return row->name;
}

/* The groups of all rows in the order of their first one; NULL without memory. */
static struct training_group *list_groups(const struct training_calibration *c,
                                          group_name_func *name_of, size_t *count) {
    struct training_group *groups = calloc(c->row_count + 1, sizeof *groups);
    *count = 0;
    for (size_t i = 0; groups != NULL && i < c->row_count; i++) {
        size_t g = 0;
        while (g < *count && strcmp(groups[g].name, name_of(c->rows[i])) != 0)
            g++;
        if (g == *count)
            groups[(*count)++].name = name_of(c->rows[i]);
    }
    return groups;
}

/* Rows of a group and of a class; any class where it is TRAINING_CLASSES. */
static void choose(struct bench *bench, group_name_func *name_of, const char *name,
                   enum training_class class) {
    struct training_calibration *c = bench->calibration;
    for (size_t i = 0; i < c->row_count; i++)
        c->chosen[i] = (name == NULL || strcmp(name_of(c->rows[i]), name) == 0) &&
                       (class == TRAINING_CLASSES || c->classes[i] == class);
}

static struct training_errors errors_now(struct bench *bench) {
    const struct training_calibration *c = bench->calibration;
    return errors_of(c->residuals, c->chosen, c->row_count, c->room);
}

/* Forecasts of all rows with the present coefficients. */
static void forecast_all(struct bench *bench) {
    struct training_calibration *c = bench->calibration;
    struct training_fit_row one;
    struct training_fit all = bench->fit;
    all.rows = &one;
    all.row_count = 1;
    for (size_t i = 0; i < c->row_count; i++) {
        one = (struct training_fit_row){.row = c->rows[i]};
        training_fit_residuals(&all);
        c->residuals[i] = one.residual;
    }
}

/* From the values of all rows, but for what only the group left out knows: that starts anew. */
static enum rlhfsim_status refit(struct bench *bench, const double *values) {
    struct training_fit *fit = &bench->fit;
    for (size_t i = 0; i < fit->coefficient_count; i++) {
        struct training_coefficient_row *row = &fit->coefficients[i];
        row->value = row->fitted && training_fit_speaks(fit, i) == 0 ? row->start : values[i];
    }
    fit->steps = REFIT_STEPS;
    return training_fit_run(fit, false);
}

/* Fits without each group in turn, and pools what the fits say of it. */
static enum rlhfsim_status leave_out(struct bench *bench, group_name_func *name_of,
                                     struct training_group *groups, size_t count,
                                     const double *values, struct training_errors *pooled) {
    struct training_fit *fit = &bench->fit;
    enum rlhfsim_status status = RLHFSIM_OK;
    for (size_t i = 0; i < fit->row_count; i++)
        for (size_t g = 0; g < count; g++)
            if (strcmp(groups[g].name, name_of(fit->rows[i].row)) == 0)
                fit->rows[i].group = (int)g;
    for (size_t g = 0; g < count && status == RLHFSIM_OK; g++) {
        choose(bench, name_of, groups[g].name, TRAINING_DENSE);
        if (errors_now(bench).rows == 0)
            continue;
        fit->left_out = (int)g;
        status = refit(bench, values);
        for (size_t i = 0; i < fit->row_count; i++)
            if (fit->rows[i].group == (int)g)
                bench->calibration->residuals[bench->place[i]] = fit->rows[i].residual;
        groups[g].left_out = errors_now(bench);
    }
    choose(bench, name_of, NULL, TRAINING_DENSE);
    *pooled = errors_now(bench);
    fit->left_out = -1;
    return status;
}

/* ---- the calibration ------------------------------------------------------------------------- */

static void round_values(struct training_calibration *c) {
    for (size_t i = 0; i < c->coefficient_count; i++) {
        char text[32];
        (void)snprintf(text, sizeof text, DIGITS, c->coefficients[i].value);
        if (c->coefficients[i].fitted)
            c->coefficients[i].value = strtod(text, NULL);
    }
}

static void measure_in_sample(struct bench *bench) {
    struct training_calibration *c = bench->calibration;
    forecast_all(bench);
    for (int class = 0; class < TRAINING_CLASSES; class ++) {
        choose(bench, project_of, NULL, (enum training_class) class);
        c->classes_in_sample[class] = errors_now(bench);
    }
    for (size_t g = 0; g < c->project_count; g++) {
        choose(bench, project_of, c->projects[g].name, TRAINING_CLASSES);
        c->projects[g].in_sample = errors_now(bench);
    }
    for (size_t g = 0; g < c->table_count; g++) {
        choose(bench, table_of, c->tables[g].name, TRAINING_CLASSES);
        c->tables[g].in_sample = errors_now(bench);
    }
}

static void take_values(const struct training_calibration *c, double *values) {
    for (size_t i = 0; i < c->coefficient_count; i++)
        values[i] = c->coefficients[i].value;
}

static void put_values(struct training_calibration *c, const double *values) {
    for (size_t i = 0; i < c->coefficient_count; i++)
        c->coefficients[i].value = values[i];
}

static enum rlhfsim_status leave_all_out(struct bench *bench, const double *values) {
    struct training_calibration *c = bench->calibration;
    enum rlhfsim_status status =
        leave_out(bench, project_of, c->projects, c->project_count, values, &c->by_project);
    if (status == RLHFSIM_OK)
        status = leave_out(bench, table_of, c->tables, c->table_count, values, &c->by_table);
    return status;
}

static enum rlhfsim_status calibrate(struct bench *bench) {
    struct training_calibration *c = bench->calibration;
    double *values = calloc(c->coefficient_count + 1, sizeof *values);
    c->projects = list_groups(c, project_of, &c->project_count);
    c->tables = list_groups(c, table_of, &c->table_count);
    bool made = values != NULL && c->projects != NULL && c->tables != NULL;
    enum rlhfsim_status status = made ? training_fit_run(&bench->fit, true) : RLHFSIM_NO_MEMORY;
    if (status == RLHFSIM_OK) {
        take_values(c, values);
        status = leave_all_out(bench, values);
        put_values(c, values);
    }
    free(values);
    if (status == RLHFSIM_OK) {
        round_values(c);
        measure_in_sample(bench);
    }
    return status;
}

static enum rlhfsim_status read_and_calibrate(struct calibration_run *run,
                                              struct training_calibration *c) {
    struct reading reading = {.run = run, .calibration = c};
    struct bench bench;
    enum rlhfsim_status status = copy_coefficients(run->catalog, c);
    for (size_t i = 0; i < run->path_count && status == RLHFSIM_OK; i++)
        status = read_path(&reading, run->paths[i]);
    if (status != RLHFSIM_OK)
        return status;
    status = bench_make(&bench, c) ? RLHFSIM_OK : RLHFSIM_NO_MEMORY;
    if (status == RLHFSIM_OK && bench.fit.row_count == 0)
        status = rlhfsim_diagnostics_add(run->diagnostics, RLHFSIM_INVALID, run->paths[0], 0, 0,
                                         "no step of a dense model can be forecast: there is "
                                         "nothing to fit to");
    if (status == RLHFSIM_OK)
        status = calibrate(&bench);
    bench_free(&bench);
    return status;
}

enum rlhfsim_status training_calibration_run(struct calibration_run *run,
                                             struct training_calibration **calibration) {
    struct training_calibration *c = calloc(1, sizeof *c);
    *calibration = NULL;
    if (c == NULL)
        return RLHFSIM_NO_MEMORY;
    enum rlhfsim_status status = read_and_calibrate(run, c);
    if (status == RLHFSIM_OK)
        *calibration = c;
    else
        training_calibration_free(c);
    return status;
}

struct training_errors training_calibration_errors(const struct training_calibration *calibration,
                                                   const char *scope) {
    for (size_t i = 0; i < calibration->row_count; i++)
        calibration->chosen[i] = calibration->classes[i] == TRAINING_DENSE &&
                                 training_scope_fits(scope, &calibration->rows[i]->scope);
    return errors_of(calibration->residuals, calibration->chosen, calibration->row_count,
                     calibration->room);
}

void training_calibration_free(struct training_calibration *calibration) {
    if (calibration == NULL)
        return;
    base_arena_release(&calibration->arena);
    free(calibration->rows);
    free(calibration->classes);
    free(calibration->residuals);
    free(calibration->room);
    free(calibration->chosen);
    free(calibration->coefficients);
    free(calibration->projects);
    free(calibration->tables);
    free(calibration);
}
