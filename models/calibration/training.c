/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * training.csv from measured training steps: the rows of the catalog with values that were fitted
 * (training_calibrate.c), each with the steps that were in its scope and how far off these are.
 */

#include "models/calibration/training_calibrate.h"
#include "models/scenario/columns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- lines ----------------------------------------------------------------------------------- */

static bool add_line(struct calibration_run *run, const char *subject,
                     const struct training_errors *in_sample,
                     const struct training_errors *left_out) {
    bool unseen = left_out != NULL && left_out->rows > 0;
    struct rlhfsim_calibration_line line = {
        .subject = base_arena_text(&run->calibration->arena, subject, strlen(subject)),
        .points = in_sample->rows,
        .median_error = in_sample->median,
        .p90_error = in_sample->p90,
        .held_out_median_error = unseen ? left_out->median : (double)NAN,
        .held_out_p90_error = unseen ? left_out->p90 : (double)NAN};
    return line.subject != NULL && calibration_add_line(run->calibration, &line);
}

static bool add_groups(struct calibration_run *run, const struct training_group *groups,
                       size_t count) {
    bool good = true;
    for (size_t i = 0; good && i < count; i++)
        good = add_line(run, groups[i].name, &groups[i].in_sample, &groups[i].left_out);
    return good;
}

static bool add_lines(struct calibration_run *run, const struct training_calibration *c) {
    const struct training_errors *classes = c->classes_in_sample;
    return add_groups(run, c->tables, c->table_count) &&
           add_line(run, "dense, tables left out", &classes[TRAINING_DENSE], &c->by_table) &&
           add_line(run, "dense, projects left out", &classes[TRAINING_DENSE], &c->by_project) &&
           add_line(run, "experts, not fitted to", &classes[TRAINING_EXPERTS], NULL) &&
           add_line(run, "adapters, not fitted to", &classes[TRAINING_ADAPTERS], NULL);
}

/* ---- the file -------------------------------------------------------------------------------- */

static void put_cell(FILE *text, const char *cell) {
    fputs(",\"", text);
    for (; *cell != '\0'; cell++)
        fprintf(text, *cell == '"' ? "\"\"" : "%c", *cell);
    fputc('"', text);
}

/* Whether a dense step of a project is in a scope. */
static bool is_of(const struct training_calibration *c, const char *project, const char *scope) {
    for (size_t i = 0; i < c->row_count; i++)
        if (c->classes[i] == TRAINING_DENSE && strcmp(c->rows[i]->source, project) == 0 &&
            training_scope_fits(scope, &c->rows[i]->scope))
            return true;
    return false;
}

/* The projects whose steps are in a scope, as a cell: "a; b". */
static void put_projects(FILE *text, const struct training_calibration *c, const char *scope) {
    size_t named = 0;
    fputs(",\"", text);
    for (size_t g = 0; g < c->project_count; g++)
        if (is_of(c, c->projects[g].name, scope))
            fprintf(text, "%s%s", named++ == 0 ? "" : "; ", c->projects[g].name);
    fputs(named == 0 ? "no step speaks of it: its start\"" : "\"", text);
}

/* What the fit says of a coefficient: fixed_by, error, command, provenance, source. */
static void put_fit(const struct calibration_run *run, const struct training_calibration *c,
                    const char *scope) {
    FILE *text = run->text;
    struct training_errors errors = training_calibration_errors(c, scope);
    fprintf(text, ",%zu steps,", errors.rows);
    if (errors.rows > 0)
        fprintf(text, "median %.1f %% P90 %.1f %%", 100.0 * errors.median, 100.0 * errors.p90);
    fputc(',', text);
    calibration_put_command(run, text);
    fputs(errors.rows > 0 ? ",measured" : ",assumed", text);
    put_projects(text, c, scope);
}

static void put_row(const struct calibration_run *run, const struct training_calibration *c,
                    size_t index) {
    const char *name = catalog_name_at(run->catalog, CATALOG_TRAINING, index);
    const struct column_row *row = catalog_row(run->catalog, CATALOG_TRAINING, name);
    const struct training_coefficient_row *coefficient = &c->coefficients[index];
    FILE *text = run->text;
    fprintf(text, "%s,%s,", row->text[TRAINING_COEFFICIENT], row->text[TRAINING_SCOPE]);
    if (coefficient->fitted)
        fprintf(text, "%.4g", coefficient->value);
    else
        fputs(row->text[TRAINING_VALUE], text);
    fprintf(text, ",%s", row->text[TRAINING_START]);
    put_cell(text, row->text[TRAINING_UNIT]);
    fprintf(text, ",%s", row->text[TRAINING_FITTED]);
    put_cell(text, row->text[TRAINING_MEANING]);
    if (coefficient->fitted)
        put_fit(run, c, coefficient->scope);
    for (size_t i = coefficient->fitted ? TRAINING_NOTES : TRAINING_FIXED_BY; i < TRAINING_COLUMNS;
         i++)
        put_cell(text, row->text[i]);
    fputc('\n', text);
}

static void put_file(const struct calibration_run *run, const struct training_calibration *c) {
    size_t columns;
    const struct column *column = catalog_columns(CATALOG_TRAINING, &columns);
    for (size_t i = 0; i < columns; i++)
        fprintf(run->text, "%s%s", i == 0 ? "" : ",", column[i].name);
    fputc('\n', run->text);
    for (size_t i = 0; i < c->coefficient_count; i++)
        put_row(run, c, i);
}

static enum rlhfsim_status run_training(struct calibration_run *run) {
    struct training_calibration *calibration;
    enum rlhfsim_status status = training_calibration_run(run, &calibration);
    if (status == RLHFSIM_OK && !add_lines(run, calibration))
        status = RLHFSIM_NO_MEMORY;
    if (status == RLHFSIM_OK)
        put_file(run, calibration);
    training_calibration_free(calibration);
    return status;
}

const struct calibration_kind calibration_training = {"training", "training.csv", run_training};
