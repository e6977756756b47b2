/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Training steps: tables with the columns of training_cells.c. Each row is a plan on a machine
 * (training_rows.h), timed as any scenario's training step is; what software adds is in
 * training.csv of the catalog, by GPU generation and family of software.
 */

#include "models/validation/kind.h"
#include "models/validation/training_forecast.h"
#include "models/validation/training_rows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct validation_metric metric = {"step_s", true, false};

struct reading {
    struct validation_run *run;
    struct training_columns columns;
};

/* Neither a time nor a rate is written, not even one that is none: then it is no matter what else
 * the row lacks. */
static bool measures_nothing(const struct training_cells *cells) {
    return isnan(cells->number[TRAINING_STEP_S]) && isnan(cells->number[TRAINING_TOKENS_PER_S]) &&
           cells->broken == NULL;
}

/* All of a row but its size and batch, as far as a step depends on it. */
static const char *layout_of(struct base_arena *arena, const struct training_cells *cells) {
    static const enum training_number numbers[] = {
        TRAINING_SEQ_LEN, TRAINING_MICROBATCH, TRAINING_TP, TRAINING_PP,
        TRAINING_CP,      TRAINING_EP,         TRAINING_VPP};
    char text[512];
    int used =
        snprintf(text, sizeof text, "%.80s|%.60s|%.60s|%.40s|%.60s", cells->text[TRAINING_MODEL],
                 cells->text[TRAINING_GPU], cells->text[TRAINING_SHARDING],
                 cells->text[TRAINING_PRECISION], cells->text[TRAINING_RECOMPUTATION]);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && used > 0; i++)
        used +=
            snprintf(text + used, sizeof text - (size_t)used, "|%.0f", cells->number[numbers[i]]);
    return base_arena_text(arena, text, strlen(text));
}

static void set_scale(struct validation_run *run, const struct training_cells *cells,
                      const struct training_row *row, struct validation_case *added) {
    added->scale =
        (struct validation_scale){.layout = layout_of(&run->validation->arena, cells),
                                  .processors = (double)hardware_cluster_gpus(&row->cluster),
                                  .work = row->sequence_tokens * row->microbatch_sequences *
                                          (double)row->microbatches * (double)row->plan.dp};
}

static enum rlhfsim_status add_row(struct reading *reading, const struct csv_row *cells) {
    struct rlhfsim_validation *validation = reading->run->validation;
    struct training_cells stated;
    struct training_row row;
    char name[256];
    training_cells_read(&reading->columns, cells, &stated);
    training_row_read(reading->run->catalog, &stated, &row);
    training_row_name(&stated, name, sizeof name);
    struct validation_case added = {
        .source = validation_source_name(validation, stated.text[TRAINING_SOURCE_TEXT]),
        .name = base_arena_text(&validation->arena, name, strlen(name)),
        .metric = isnan(row.measured_s) ? NULL : &metric,
        .measured = row.measured_s};
    if (added.source == NULL || added.name == NULL)
        return RLHFSIM_NO_MEMORY;
    if (row.reason[0] == '\0') {
        training_forecast_software(reading->run->catalog, &row);
        added.forecast = training_forecast_s(&row);
        set_scale(reading->run, &stated, &row, &added);
        if (isnan(added.forecast) || added.scale.layout == NULL)
            return RLHFSIM_NO_MEMORY;
        added.provenance = training_forecast_provenance(reading->run->catalog, &row);
    } else {
        const char *reason = measures_nothing(&stated) ? "no measured value" : row.reason;
        added.skipped = base_arena_text(&validation->arena, reason, strlen(reason));
        if (added.skipped == NULL)
            return RLHFSIM_NO_MEMORY;
    }
    return validation_add(validation, &added) ? RLHFSIM_OK : RLHFSIM_NO_MEMORY;
}

static enum rlhfsim_status read_steps(struct validation_run *run, const char *path) {
    struct reading reading = {.run = run};
    struct csv_table table;
    enum rlhfsim_status status = validation_read_table(run, path, &table);
    if (status == RLHFSIM_OK)
        status = training_columns_find(&table, path, run->diagnostics, &reading.columns);
    for (const struct csv_row *row = table.rows; row != NULL && status == RLHFSIM_OK;
         row = row->next)
        status = add_row(&reading, row);
    return status;
}

const struct validation_kind validation_training = {"training", read_steps};
