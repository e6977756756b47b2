/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Peak memory, and whether a run fits: tables of training steps with a column mem_gb
 * (training_cells.c), and tables of memory cases of RLHF runs (memory_cases.c). A peak that was
 * measured is a run that fitted; one that its authors estimated is not. Within 5 % of the limit no
 * yes or no is forecast but a probability: of the metric `fits` a forecast of 0 or 1 is a verdict,
 * wrong where it is not what was measured, and one in between is marginal.
 */

#include "models/validation/memory_cases.h"
#include "models/validation/memory_rows.h"

#include <math.h>
#include <string.h>

static const struct validation_metric fits = {"fits", false, true};
static const struct validation_metric unknown_peak = {"peak_bytes", true, false};
static const struct validation_metric peaks[] = {
    [TRAINING_ALLOCATED] = {"peak_allocated_bytes", true, false},
    [TRAINING_RESERVED] = {"peak_reserved_bytes", true, false},
    [TRAINING_DEVICE] = {"peak_device_bytes", true, false},
};

static bool is_estimate(const char *notes) {
    return strstr(notes, "analytical") != NULL;
}

static enum rlhfsim_status add(struct validation_run *run, const struct memory_case *found,
                               const struct validation_metric *metric, double measured,
                               double forecast) {
    struct validation_case added = {.source = found->source,
                                    .name = found->name,
                                    .metric = metric,
                                    .measured = measured,
                                    .forecast = forecast,
                                    .provenance = found->provenance};
    if (found->reason[0] == '\0' && metric != &fits)
        added.skipped = found->peak_reason;
    if (found->reason[0] != '\0') {
        added.skipped =
            base_arena_text(&run->validation->arena, found->reason, strlen(found->reason));
        if (added.skipped == NULL)
            return RLHFSIM_NO_MEMORY;
    }
    return validation_add(run->validation, &added) ? RLHFSIM_OK : RLHFSIM_NO_MEMORY;
}

enum rlhfsim_status memory_case_add(struct validation_run *run, const struct memory_case *found) {
    const struct memory_measured *measured = &found->measured;
    enum rlhfsim_status status = RLHFSIM_OK;
    if (!measured->peak && !measured->outcome)
        return add(run, found, NULL, (double)NAN, (double)NAN);
    if (measured->peak)
        status = add(run, found, found->counted ? &peaks[found->counts] : &unknown_peak,
                     measured->bytes, found->peak_bytes);
    if (status == RLHFSIM_OK && measured->outcome)
        status = add(run, found, &fits, measured->fits ? 1.0 : 0.0, found->fits);
    return status;
}

/* ---- tables of training steps ---------------------------------------------------------------- */

struct reading {
    struct validation_run *run;
    const struct csv_table *table;
    struct training_columns columns;
};

void memory_step_read(const struct catalog *catalog, const struct csv_table *table,
                      const struct training_columns *columns, const struct csv_row *row,
                      struct training_row *plan, struct memory_measured *measured) {
    struct training_cells stated;
    const char *unit = validation_cell(row, validation_column(table, "mem_unit"));
    training_cells_read(columns, row, &stated);
    if (*unit == '\0' && strstr(stated.text[TRAINING_NOTE_TEXT], "GiB") != NULL)
        unit = "GiB";
    memory_measured_read(validation_cell(row, validation_column(table, "mem_gb")), unit, measured);
    if (is_estimate(stated.text[TRAINING_NOTE_TEXT]))
        measured->outcome = false;
    *plan = (struct training_row){0};
    memory_row_read(catalog, &stated, plan);
}

static enum rlhfsim_status add_row(struct reading *reading, const struct csv_row *cells) {
    struct rlhfsim_validation *validation = reading->run->validation;
    struct training_cells stated;
    struct training_row row;
    struct memory_forecast forecast;
    char name[256];
    struct memory_case found = {.provenance = "interpolated"};
    training_cells_read(&reading->columns, cells, &stated);
    training_row_name(&stated, name, sizeof name);
    found.source = validation_source_name(validation, stated.text[TRAINING_SOURCE_TEXT]);
    found.name = base_arena_text(&validation->arena, name, strlen(name));
    if (found.source == NULL || found.name == NULL)
        return RLHFSIM_NO_MEMORY;
    memory_step_read(reading->run->catalog, reading->table, &reading->columns, cells, &row,
                     &found.measured);
    memcpy(found.reason, row.reason, sizeof found.reason);
    if (!found.measured.peak && !found.measured.outcome)
        memcpy(found.reason, "no measured value", sizeof "no measured value");
    if (found.reason[0] == '\0') {
        memory_row_forecast(reading->run->catalog, &row, &forecast);
        found.peak_bytes = forecast.counted_bytes;
        found.counted = true;
        found.counts = row.counts;
        found.fits = forecast.fit_probability;
    }
    return memory_case_add(reading->run, &found);
}

static enum rlhfsim_status read_steps(struct validation_run *run, const char *path,
                                      const struct csv_table *table) {
    struct reading reading = {.run = run, .table = table};
    enum rlhfsim_status status =
        training_columns_find(table, path, run->diagnostics, &reading.columns);
    for (const struct csv_row *row = table->rows; row != NULL && status == RLHFSIM_OK;
         row = row->next)
        status = add_row(&reading, row);
    return status;
}

/* ---- the kind -------------------------------------------------------------------------------- */

static enum rlhfsim_status read_memory(struct validation_run *run, const char *path) {
    struct csv_table table;
    enum rlhfsim_status status = validation_read_table(run, path, &table);
    if (status != RLHFSIM_OK)
        return status;
    if (validation_column(&table, "outcome") != VALIDATION_NO_COLUMN)
        return memory_cases_read(run, path, &table);
    if (validation_column(&table, "mem_gb") != VALIDATION_NO_COLUMN)
        return read_steps(run, path, &table);
    return rlhfsim_diagnostics_add(run->diagnostics, RLHFSIM_INVALID, path, 1, 1,
                                   "expected a column 'mem_gb' (training steps) or 'outcome' "
                                   "(memory cases)");
}

const struct validation_kind validation_memory = {"memory", read_memory};
