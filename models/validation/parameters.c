/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Parameter counts: a table of models with a config.json each. A row without one is looked up in
 * the catalog, whose rows are checked against their own count when they are read. Published counts
 * that hold more than the model (layers for multi-token prediction, scales, vision towers) are in
 * another column and are not compared.
 */

#include "models/base/text.h"
#include "models/llm/config_json.h"
#include "models/validation/kind.h"

#include <stdio.h>
#include <string.h>

static const struct validation_metric metric = {"computed_params", true, false};

struct columns {
    size_t name, config, parameters, source;
};

struct reading {
    struct validation_run *run;
    const char *path; /* of the table */
    struct columns columns;
};

static enum rlhfsim_status find_columns(struct reading *reading, const struct csv_table *table) {
    reading->columns = (struct columns){
        .name = validation_column(table, "name"),
        .config = validation_column(table, "config_json"),
        .parameters = validation_column(table, metric.name),
        .source = validation_column(table, "source"),
    };
    if (reading->columns.name != VALIDATION_NO_COLUMN &&
        reading->columns.parameters != VALIDATION_NO_COLUMN)
        return RLHFSIM_OK;
    return rlhfsim_diagnostics_add(
        reading->run->diagnostics, RLHFSIM_INVALID, reading->path, 1, 1, "column '%s' is missing",
        reading->columns.name == VALIDATION_NO_COLUMN ? "name" : metric.name);
}

/* ---- one model ------------------------------------------------------------------------------- */

#define PATH_SIZE 4096

/* `config` relative to the table's folder. */
static bool join(const char *table, const char *config, char path[PATH_SIZE]) {
    const char *slash = strrchr(table, '/');
    int folder = config[0] == '/' || slash == NULL ? 0 : (int)(slash - table) + 1;
    int length = snprintf(path, PATH_SIZE, "%.*s%s", folder, table, config);
    return length > 0 && length < PATH_SIZE;
}

/* The first error of a config.json as the reason why a row is skipped. */
static const char *reason_of(struct reading *reading, const struct rlhfsim_diagnostics *errors) {
    char text[512];
    const char *message = rlhfsim_diagnostics_count(errors) > 0
                              ? rlhfsim_diagnostics_get(errors, 0)->message
                              : "it cannot be read";
    (void)snprintf(text, sizeof text, "config_json: %.480s", message);
    return base_arena_text(&reading->run->validation->arena, text, strlen(text));
}

/* Reads the row's config.json; NULL with the architecture, else the reason to skip. */
static const char *read_config(struct reading *reading, const char *config,
                               struct llm_architecture *architecture, bool *no_memory) {
    char path[PATH_SIZE];
    const char *reason = NULL;
    if (!join(reading->path, config, path))
        return "config_json: the path is too long";
    struct rlhfsim_diagnostics *errors = rlhfsim_diagnostics_new();
    enum rlhfsim_status status =
        errors == NULL ? RLHFSIM_NO_MEMORY : llm_config_read(path, errors, architecture);
    *no_memory = status == RLHFSIM_NO_MEMORY;
    if (status != RLHFSIM_OK && !*no_memory) {
        reason = reason_of(reading, errors);
        *no_memory = reason == NULL;
    }
    rlhfsim_diagnostics_free(errors);
    return reason;
}

static const char *find_in_catalog(struct reading *reading, const char *name,
                                   struct llm_architecture *architecture) {
    const struct llm_architecture *row = catalog_model(reading->run->catalog, name);
    if (row == NULL)
        return "no config_json, and the catalog has no model of that name";
    *architecture = *row;
    return NULL;
}

/* Fills forecast or reason. */
static bool forecast(struct reading *reading, const struct csv_row *row,
                     struct validation_case *added) {
    struct llm_architecture architecture;
    bool no_memory = false;
    const char *config = validation_cell(row, reading->columns.config);
    added->skipped = *config != '\0' ? read_config(reading, config, &architecture, &no_memory)
                                     : find_in_catalog(reading, added->name, &architecture);
    added->provenance = "measured"; /* arithmetic on a published shape */
    if (added->skipped == NULL && !no_memory)
        added->forecast = (double)llm_parameters(&architecture, LLM_HEAD_VOCABULARY);
    return !no_memory;
}

static enum rlhfsim_status read_row(struct reading *reading, const struct csv_row *row) {
    const char *measured = validation_cell(row, reading->columns.parameters);
    const struct csv_cell *cell = &row->cells[reading->columns.parameters];
    char quoted[BASE_QUOTE_SIZE];
    int64_t number = 0;
    struct validation_case added = {
        .name = validation_cell(row, reading->columns.name),
        .source = validation_source_name(reading->run->validation,
                                         validation_cell(row, reading->columns.source))};
    if (added.source == NULL)
        return RLHFSIM_NO_MEMORY;
    if (*measured == '\0') {
        added.skipped = "no measured value";
    } else if (base_integer_read(measured, &number) != BASE_NUMBER_OK || number < 0) {
        return tree_error(reading->run->diagnostics, cell->place,
                          "%s is %s, expected a whole number", metric.name,
                          base_quote(measured, quoted));
    } else {
        added.metric = &metric;
        added.measured = (double)number;
        if (!forecast(reading, row, &added))
            return RLHFSIM_NO_MEMORY;
    }
    return validation_add(reading->run->validation, &added) ? RLHFSIM_OK : RLHFSIM_NO_MEMORY;
}

static enum rlhfsim_status read_models(struct validation_run *run, const char *path) {
    struct reading reading = {.run = run, .path = path};
    struct csv_table table;
    enum rlhfsim_status worst = validation_read_table(run, path, &table);
    if (worst == RLHFSIM_OK)
        worst = find_columns(&reading, &table);
    if (worst != RLHFSIM_OK)
        return worst;
    for (const struct csv_row *row = table.rows; row != NULL; row = row->next) {
        enum rlhfsim_status status = read_row(&reading, row);
        if (status == RLHFSIM_NO_MEMORY)
            return status;
        worst = status == RLHFSIM_OK ? worst : status;
    }
    return worst;
}

const struct validation_kind validation_parameters = {"parameters", read_models};
