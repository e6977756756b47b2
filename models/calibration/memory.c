/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * memory.csv from measured peaks: the rows of the catalog with values that were fitted
 * (memory_fit.c). Errors are told project by project, in the fit of all and in one that has not
 * seen the project.
 */

#include "models/calibration/kind.h"
#include "models/calibration/memory_fit.h"
#include "models/scenario/columns.h"
#include "models/validation/memory_cases.h"
#include "models/validation/memory_steps.h"
#include "models/validation/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct peaks {
    struct calibration_run *run;
    struct memory_fit fit;
    size_t room;
    double *errors, *left_out; /* by row: of the fit of all, and of one without its project */
};

/* ---- rows ------------------------------------------------------------------------------------ */

static bool make_room(struct peaks *peaks) {
    struct memory_fit *fit = &peaks->fit;
    if (fit->row_count < peaks->room)
        return true;
    size_t room = peaks->room == 0 ? 64 : 2 * peaks->room;
    struct memory_fit_row **rows = realloc(fit->rows, room * sizeof *rows);
    if (rows == NULL)
        return false;
    fit->rows = rows;
    peaks->room = room;
    return true;
}

/* Reasons name what a row lacks; here their first words do. */
static const char *reason_of(const struct training_row *row, const struct memory_measured *m) {
    if (!m->peak)
        return "no measured peak";
    return strncmp(row->reason, "not stated", 10) == 0 ? "a field that memory needs is not stated"
                                                       : "the row is of no plan that is known";
}

static enum rlhfsim_status add_peak(struct peaks *peaks, const char *source,
                                    const struct training_row *row,
                                    const struct memory_measured *measured) {
    struct rlhfsim_calibration *calibration = peaks->run->calibration;
    if (!measured->peak || row->reason[0] != '\0')
        return calibration_count_skip(calibration, reason_of(row, measured)) ? RLHFSIM_OK
                                                                             : RLHFSIM_NO_MEMORY;
    struct memory_fit_row *kept = base_arena_allocate(&calibration->arena, sizeof *kept);
    const char *name = base_arena_text(&calibration->arena, source, strcspn(source, " @"));
    if (kept == NULL || name == NULL || !make_room(peaks))
        return RLHFSIM_NO_MEMORY;
    kept->source = name;
    kept->row = *row;
    kept->row.scope.gpu = kept->row.cluster.gpu.name; /* the row that was read is gone by then */
    kept->row.scope.tags = kept->row.tags;
    kept->measured_bytes = measured->bytes;
    peaks->fit.rows[peaks->fit.row_count++] = kept;
    return RLHFSIM_OK;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static enum rlhfsim_status read_steps(struct peaks *peaks, const char *path,
                                      const struct csv_table *table) {
    struct training_columns columns;
    struct calibration_run *run = peaks->run;
    enum rlhfsim_status status = training_columns_find(table, path, run->diagnostics, &columns);
    for (const struct csv_row *row = table->rows; row != NULL && status == RLHFSIM_OK;
         row = row->next) {
        struct training_row plan;
        struct memory_measured measured;
        const char *source = validation_cell(row, validation_column(table, "source"));
        memory_step_read(run->catalog, table, &columns, row, &plan, &measured);
        status = add_peak(peaks, source, &plan, &measured);
    }
    return status;
}

static enum rlhfsim_status read_cases(struct peaks *peaks, const struct csv_table *table) {
    struct calibration_run *run = peaks->run;
    enum rlhfsim_status status = RLHFSIM_OK;
    for (const struct csv_row *row = table->rows; row != NULL && status == RLHFSIM_OK;
         row = row->next) {
        struct training_row plan;
        struct memory_measured measured;
        const char *source = validation_cell(row, validation_column(table, "source_key"));
        if (memory_case_trainer(run->catalog, table, row, &plan, &measured))
            status = add_peak(peaks, source, &plan, &measured);
        else if (!calibration_count_skip(run->calibration, "of a run with a rollout engine"))
            status = RLHFSIM_NO_MEMORY;
    }
    return status;
}

static enum rlhfsim_status read_path(struct peaks *peaks, struct validation_run *reading,
                                     const char *path) {
    struct csv_table table;
    enum rlhfsim_status status = validation_read_table(reading, path, &table);
    if (status != RLHFSIM_OK)
        return status;
    if (validation_column(&table, "outcome") != VALIDATION_NO_COLUMN)
        return read_cases(peaks, &table);
    if (validation_column(&table, "mem_gb") != VALIDATION_NO_COLUMN)
        return read_steps(peaks, path, &table);
    return rlhfsim_diagnostics_add(reading->diagnostics, RLHFSIM_INVALID, path, 1, 1,
                                   "expected a column 'mem_gb' (training steps) or 'outcome' "
                                   "(memory cases)");
}

static enum rlhfsim_status read_all(struct peaks *peaks) {
    struct calibration_run *run = peaks->run;
    struct validation_run reading = {validation_new(), run->catalog, run->diagnostics, NULL};
    enum rlhfsim_status status = reading.validation == NULL ? RLHFSIM_NO_MEMORY : RLHFSIM_OK;
    for (size_t i = 0; i < run->path_count && status == RLHFSIM_OK; i++)
        status = read_path(peaks, &reading, run->paths[i]);
    rlhfsim_validation_free(reading.validation);
    if (status == RLHFSIM_OK && peaks->fit.row_count == 0)
        status = rlhfsim_diagnostics_add(run->diagnostics, RLHFSIM_INVALID, NULL, 0, 0,
                                         "no peak to fit to in the files");
    return status;
}

/* ---- errors ---------------------------------------------------------------------------------- */

static bool is_first(const struct memory_fit *fit, size_t index) {
    for (size_t i = 0; i < index; i++)
        if (strcmp(fit->rows[i]->source, fit->rows[index]->source) == 0)
            return false;
    return true;
}

static void take_errors(const struct memory_fit *fit, const char *source, double *errors) {
    for (size_t i = 0; i < fit->row_count; i++)
        if (source == NULL || strcmp(fit->rows[i]->source, source) == 0)
            errors[i] = fabs(expm1(fit->rows[i]->residual));
}

/* Every project out once, then the fit of all. */
static void fit_all(struct peaks *peaks) {
    struct memory_fit *fit = &peaks->fit;
    for (size_t i = 0; i < fit->row_count; i++) {
        if (!is_first(fit, i))
            continue;
        fit->left_out = fit->rows[i]->source;
        memory_fit_run(fit);
        take_errors(fit, fit->left_out, peaks->left_out);
    }
    fit->left_out = NULL;
    memory_fit_run(fit);
    take_errors(fit, NULL, peaks->errors);
}

static size_t quantiles(const struct peaks *peaks, const char *source, const double *errors,
                        double *sorted, double *median, double *p90) {
    size_t count = 0;
    for (size_t i = 0; i < peaks->fit.row_count; i++)
        if (source == NULL || strcmp(peaks->fit.rows[i]->source, source) == 0)
            sorted[count++] = errors[i];
    validation_sort(sorted, count);
    *median = validation_quantile(sorted, count, 0.5);
    *p90 = validation_quantile(sorted, count, 0.9);
    return count;
}

/* `source` NULL: all. */
static void line_of(const struct peaks *peaks, const char *source, double *sorted,
                    struct rlhfsim_calibration_line *line) {
    *line = (struct rlhfsim_calibration_line){.subject = source == NULL ? "all peaks" : source};
    line->points =
        quantiles(peaks, source, peaks->errors, sorted, &line->median_error, &line->p90_error);
    (void)quantiles(peaks, source, peaks->left_out, sorted, &line->held_out_median_error,
                    &line->held_out_p90_error);
}

static bool add_lines(const struct peaks *peaks, double *sorted) {
    struct rlhfsim_calibration_line line;
    bool good = true;
    for (size_t i = 0; i < peaks->fit.row_count && good; i++) {
        if (!is_first(&peaks->fit, i))
            continue;
        line_of(peaks, peaks->fit.rows[i]->source, sorted, &line);
        good = calibration_add_line(peaks->run->calibration, &line);
    }
    line_of(peaks, NULL, sorted, &line);
    return good && calibration_add_line(peaks->run->calibration, &line);
}

/* ---- the file -------------------------------------------------------------------------------- */

static void put_row(const struct peaks *peaks, size_t index,
                    const struct rlhfsim_calibration_line *all) {
    const struct calibration_run *run = peaks->run;
    const char *name = catalog_name_at(run->catalog, CATALOG_MEMORY, index);
    const struct column_row *row = catalog_row(run->catalog, CATALOG_MEMORY, name);
    const struct training_memory_row *coefficient = &peaks->fit.coefficients[index];
    for (size_t i = 0; i < TRAINING_COLUMNS; i++) {
        fprintf(run->text, "%s", i == 0 ? "" : ",");
        if (coefficient->fitted && i == TRAINING_VALUE)
            fprintf(run->text, "%.4g", coefficient->value);
        else if (coefficient->fitted && i == TRAINING_FIXED_BY)
            fprintf(run->text, "%zu printed peaks", all->points);
        else if (coefficient->fitted && i == TRAINING_ERROR)
            fprintf(run->text,
                    "in sample median %.1f %% P90 %.1f %%; project left out %.1f %% and %.1f %%",
                    100.0 * all->median_error, 100.0 * all->p90_error,
                    100.0 * all->held_out_median_error, 100.0 * all->held_out_p90_error);
        else if (coefficient->fitted && i == TRAINING_COMMAND)
            calibration_put_command(run, run->text);
        else
            fputs(row->text[i], run->text);
    }
    fputc('\n', run->text);
}

static void put_file(const struct peaks *peaks, const struct rlhfsim_calibration_line *all) {
    size_t columns;
    const struct column *column = catalog_columns(CATALOG_MEMORY, &columns);
    for (size_t i = 0; i < columns; i++)
        fprintf(peaks->run->text, "%s%s", i == 0 ? "" : ",", column[i].name);
    fputc('\n', peaks->run->text);
    for (size_t i = 0; i < peaks->fit.coefficient_count; i++)
        put_row(peaks, i, all);
}

/* ---- the kind -------------------------------------------------------------------------------- */

static enum rlhfsim_status fit_and_write(struct peaks *peaks) {
    size_t count = peaks->fit.row_count;
    double *numbers = calloc(3 * count, sizeof *numbers);
    struct rlhfsim_calibration_line all;
    enum rlhfsim_status status = numbers == NULL ? RLHFSIM_NO_MEMORY : RLHFSIM_OK;
    if (status == RLHFSIM_OK) {
        peaks->errors = numbers;
        peaks->left_out = numbers + count;
        fit_all(peaks);
        line_of(peaks, NULL, numbers + 2 * count, &all);
        if (!add_lines(peaks, numbers + 2 * count))
            status = RLHFSIM_NO_MEMORY;
        else
            put_file(peaks, &all);
    }
    free(numbers);
    return status;
}

static enum rlhfsim_status run_memory(struct calibration_run *run) {
    struct peaks peaks = {.run = run};
    const struct training_memory_row *rows =
        catalog_memory(run->catalog, &peaks.fit.coefficient_count);
    size_t size = (peaks.fit.coefficient_count + 1) * sizeof *rows;
    enum rlhfsim_status status = RLHFSIM_NO_MEMORY;
    peaks.fit.coefficients = malloc(size);
    if (peaks.fit.coefficients != NULL) {
        memcpy(peaks.fit.coefficients, rows, peaks.fit.coefficient_count * sizeof *rows);
        status = read_all(&peaks);
    }
    if (status == RLHFSIM_OK)
        status = fit_and_write(&peaks);
    free(peaks.fit.coefficients);
    free(peaks.fit.rows);
    return status;
}

const struct calibration_kind calibration_memory = {"memory", "memory.csv", run_memory};
