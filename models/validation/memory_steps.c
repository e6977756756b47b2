/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/validation/memory_steps.h"

#include <string.h>

static bool is_estimate(const char *notes) {
    return strstr(notes, "analytical") != NULL;
}

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

enum rlhfsim_status memory_steps_read(struct validation_run *run, const char *path,
                                      const struct csv_table *table) {
    struct reading reading = {.run = run, .table = table};
    enum rlhfsim_status status =
        training_columns_find(table, path, run->diagnostics, &reading.columns);
    for (const struct csv_row *row = table->rows; row != NULL && status == RLHFSIM_OK;
         row = row->next)
        status = add_row(&reading, row);
    return status;
}
