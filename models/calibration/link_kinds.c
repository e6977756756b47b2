/* SPDX-License-Identifier: GPL-3.0-or-later */

/* fabrics.csv and weight_sync.csv from measured collectives and weight syncs, with errors of each
 * row: of the fit, and of what was left out of it (of collectives whole sources, from 1 MiB on; of
 * weight syncs each one in turn). */

#include "models/calibration/fabric_table.h"
#include "models/calibration/kind.h"
#include "models/calibration/weight_sync.h"
#include "models/validation/statistics.h"

#include <math.h>
#include <stdlib.h>

#define MIB 1048576.0

/* ---- errors ---------------------------------------------------------------------------------- */

/* Errors of one row, gathered. */
struct errors {
    double *values;
    size_t count;
};

static bool errors_start(struct errors *errors, size_t most) {
    *errors = (struct errors){calloc(most + 1, sizeof *errors->values), 0};
    return errors->values != NULL;
}

static void errors_add(struct errors *errors, double forecast, double measured) {
    if (!isnan(forecast))
        errors->values[errors->count++] = fabs(forecast / measured - 1.0);
}

/* Median and P90 of what was gathered, which is then forgotten. */
static void errors_take(struct errors *errors, double *median, double *p90) {
    validation_sort(errors->values, errors->count);
    *median = validation_quantile(errors->values, errors->count, 0.5);
    *p90 = validation_quantile(errors->values, errors->count, 0.9);
    errors->count = 0;
}

static enum rlhfsim_status nothing_to_fit(const struct calibration_run *run) {
    return rlhfsim_diagnostics_add(run->diagnostics, RLHFSIM_INVALID, run->paths[0], 0, 0,
                                   "there is no row that anything could be fitted to");
}

/* ---- collectives ----------------------------------------------------------------------------- */

struct collective_reading {
    struct collective_fit fit;
    struct rlhfsim_calibration *calibration;
};

static bool take_collective(void *subject, const struct collective_row *row) {
    struct collective_reading *reading = subject;
    if (row->skipped != NULL)
        return calibration_count_skip(reading->calibration, row->skipped);
    return collective_fit_add(&reading->fit, row);
}

static bool add_fabric(struct calibration_run *run, const struct collective_fit *fit, size_t fabric,
                       struct errors *errors) {
    struct rlhfsim_calibration_line line = {.subject = fit->fabrics[fabric].name};
    for (size_t i = 0; i < fit->case_count; i++)
        if (collective_case_uses(&fit->cases[i], fabric))
            errors_add(errors, fit->cases[i].forecast_s, fit->cases[i].row.measured_s);
    line.points = errors->count;
    if (line.points == 0)
        return true;
    errors_take(errors, &line.median_error, &line.p90_error);
    for (size_t i = 0; i < fit->case_count; i++)
        if (collective_case_uses(&fit->cases[i], fabric) && fit->cases[i].row.bytes >= MIB)
            errors_add(errors, fit->cases[i].left_out_s, fit->cases[i].row.measured_s);
    errors_take(errors, &line.held_out_median_error, &line.held_out_p90_error);
    return calibration_add_line(run->calibration, &line);
}

static enum rlhfsim_status fit_collectives(struct calibration_run *run,
                                           struct collective_reading *reading) {
    struct collective_fit *fit = &reading->fit;
    struct errors errors;
    if (fit->case_count == 0)
        return nothing_to_fit(run);
    if (!errors_start(&errors, fit->case_count))
        return RLHFSIM_NO_MEMORY;
    collective_fit_leave_out(fit);
    bool good = true;
    for (size_t i = 0; good && i < fit->fabric_count; i++)
        good = add_fabric(run, fit, i, &errors);
    fabric_table_write(fit, run->catalog, run->text);
    free(errors.values);
    return good ? RLHFSIM_OK : RLHFSIM_NO_MEMORY;
}

static enum rlhfsim_status run_collectives(struct calibration_run *run) {
    struct collective_reading reading = {.calibration = run->calibration};
    struct validation_run reader = {validation_new(), run->catalog, run->diagnostics, NULL};
    enum rlhfsim_status status = RLHFSIM_NO_MEMORY;
    if (reader.validation != NULL && collective_fit_start(&reading.fit, run->catalog))
        status = RLHFSIM_OK;
    for (size_t i = 0; i < run->path_count && status == RLHFSIM_OK; i++)
        status = collective_rows_read(&reader, run->paths[i], take_collective, &reading);
    if (status == RLHFSIM_OK)
        status = fit_collectives(run, &reading);
    collective_fit_release(&reading.fit);
    rlhfsim_validation_free(reader.validation);
    return status;
}

const struct calibration_kind calibration_collectives = {"collectives", "fabrics.csv",
                                                         run_collectives};

/* ---- weight syncs ---------------------------------------------------------------------------- */

struct sync_reading {
    struct sync_fit fit;
    struct rlhfsim_calibration *calibration;
};

static bool take_sync(void *subject, const struct sync_row *row) {
    struct sync_reading *reading = subject;
    if (row->skipped != NULL)
        return calibration_count_skip(reading->calibration, row->skipped);
    return sync_fit_add(&reading->fit, row);
}

static bool add_sync(struct calibration_run *run, const struct sync_fit *fit,
                     const struct catalog_weight_sync *row, struct errors *errors) {
    struct rlhfsim_calibration_line line = {.subject = row->name};
    for (size_t i = 0; i < fit->count; i++)
        if (fit->cases[i].row.row == row)
            errors_add(errors, fit->cases[i].fitted_s, fit->cases[i].row.measured_s);
    line.points = errors->count;
    if (line.points == 0)
        return true;
    errors_take(errors, &line.median_error, &line.p90_error);
    for (size_t i = 0; i < fit->count; i++)
        if (fit->cases[i].row.row == row)
            errors_add(errors, fit->cases[i].left_out_s, fit->cases[i].row.measured_s);
    errors_take(errors, &line.held_out_median_error, &line.held_out_p90_error);
    return calibration_add_line(run->calibration, &line);
}

static enum rlhfsim_status fit_syncs(struct calibration_run *run, struct sync_fit *fit) {
    struct errors errors;
    const char *name;
    bool good = true;
    if (fit->count == 0)
        return nothing_to_fit(run);
    if (!errors_start(&errors, fit->count))
        return RLHFSIM_NO_MEMORY;
    sync_fit_leave_out(fit);
    for (size_t i = 0;
         good && (name = catalog_name_at(run->catalog, CATALOG_WEIGHT_SYNCS, i)) != NULL; i++)
        good = add_sync(run, fit, catalog_weight_sync(run->catalog, name), &errors);
    sync_fit_write(fit, run->catalog, run->text);
    free(errors.values);
    return good ? RLHFSIM_OK : RLHFSIM_NO_MEMORY;
}

static enum rlhfsim_status run_syncs(struct calibration_run *run) {
    struct sync_reading reading = {.calibration = run->calibration};
    struct validation_run reader = {validation_new(), run->catalog, run->diagnostics, NULL};
    enum rlhfsim_status status = reader.validation == NULL ? RLHFSIM_NO_MEMORY : RLHFSIM_OK;
    for (size_t i = 0; i < run->path_count && status == RLHFSIM_OK; i++)
        status = sync_rows_read(&reader, run->paths[i], take_sync, &reading);
    if (status == RLHFSIM_OK)
        status = fit_syncs(run, &reading.fit);
    sync_fit_release(&reading.fit);
    rlhfsim_validation_free(reader.validation);
    return status;
}

const struct calibration_kind calibration_weight_sync = {"weight-sync", "weight_sync.csv",
                                                         run_syncs};
