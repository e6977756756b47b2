/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/validation/run_variant.h"

#include <stdlib.h>
#include <string.h>

static enum rlhfsim_status forecast(const struct catalog *catalog, struct run_case *run,
                                    struct rlhfsim_diagnostics *diagnostics,
                                    struct run_variant *variant) {
    enum rlhfsim_status status = RLHFSIM_OK;
    run->trainer = NULL;
    run->scenario = NULL;
    run_row_read(catalog, &run->complete.table, &run->complete.row, false, &run->settings);
    if (run->settings.reason[0] == '\0')
        status = run_scenario_load(catalog, &run->settings, &run->scenario);
    variant->forecast = status == RLHFSIM_OK && run->scenario != NULL;
    if (variant->forecast && variant->only_fitting)
        variant->forecast = run_fits(run, &status);
    if (variant->forecast)
        status = run_forecast(run, diagnostics, &variant->outcome);
    rlhfsim_scenario_free(run->scenario);
    return status;
}

enum rlhfsim_status run_variant_forecast(const struct catalog *catalog, const struct run_case *run,
                                         struct rlhfsim_diagnostics *diagnostics,
                                         struct run_variant *variant) {
    size_t columns = run->complete.table.columns;
    struct run_case *copy = malloc(sizeof *copy);
    struct csv_cell *cells = calloc(columns, sizeof *cells);
    enum rlhfsim_status status = RLHFSIM_NO_MEMORY;
    variant->forecast = false;
    if (copy != NULL && cells != NULL) {
        *copy = *run;
        memcpy(cells, run->complete.row.cells, columns * sizeof *cells);
        copy->complete.row.cells = cells;
        for (size_t i = 0; i < variant->count; i++)
            cells[validation_column(&copy->complete.table, variant->cells[i].column)].text =
                variant->cells[i].value;
        status = forecast(catalog, copy, diagnostics, variant);
    }
    free(cells);
    free(copy);
    return status;
}
