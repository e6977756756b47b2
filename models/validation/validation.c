/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/base/file.h"
#include "models/base/locale.h"
#include "models/scenario/catalog_load.h"
#include "models/validation/kind.h"

#include <string.h>

static const struct validation_kind *const kinds[] = {
    &validation_parameters,  &validation_kernels,     &validation_training, &validation_generation,
    &validation_collectives, &validation_weight_sync, &validation_memory,   &validation_runs};

const char *rlhfsim_validation_kind(size_t index) {
    return index < sizeof kinds / sizeof *kinds ? kinds[index]->name : NULL;
}

static const struct validation_kind *find_kind(const char *name) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i]->name, name) == 0)
            return kinds[i];
    return NULL;
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* Of two columns of one name it would be chance which one counts. */
static bool columns_differ(const struct csv_table *table, struct rlhfsim_diagnostics *diagnostics) {
    bool good = true;
    for (size_t i = 1; i < table->columns; i++)
        for (size_t j = 0; j < i; j++)
            if (*table->header[i].text != '\0' &&
                strcmp(table->header[i].text, table->header[j].text) == 0)
                good =
                    tree_error(diagnostics, table->header[i].place, "column '%s' is written twice",
                               table->header[i].text) == RLHFSIM_OK;
    return good;
}

enum rlhfsim_status validation_read_csv(struct base_arena *arena, const char *path,
                                        struct rlhfsim_diagnostics *diagnostics,
                                        struct csv_table *table) {
    struct base_file file;
    const char *kept = base_arena_text(arena, path, strlen(path));
    *table = (struct csv_table){0};
    if (kept == NULL)
        return RLHFSIM_NO_MEMORY;
    enum rlhfsim_status status = base_file_read(kept, diagnostics, &file);
    if (status != RLHFSIM_OK)
        return status;
    status = csv_table_read(arena, kept, file.text, file.length, diagnostics, table);
    base_file_release(&file);
    if (status == RLHFSIM_OK && table->header == NULL)
        return rlhfsim_diagnostics_add(diagnostics, RLHFSIM_INVALID, path, 0, 0,
                                       "expected a CSV table, with a header line");
    if (status == RLHFSIM_OK && !columns_differ(table, diagnostics))
        return RLHFSIM_INVALID;
    return status;
}

enum rlhfsim_status validation_read_table(struct validation_run *run, const char *path,
                                          struct csv_table *table) {
    return validation_read_csv(&run->validation->arena, path, run->diagnostics, table);
}

size_t validation_column(const struct csv_table *table, const char *name) {
    for (size_t i = 0; i < table->columns; i++)
        if (strcmp(table->header[i].text, name) == 0)
            return i;
    return VALIDATION_NO_COLUMN;
}

const char *validation_cell(const struct csv_row *row, size_t column) {
    return column == VALIDATION_NO_COLUMN ? "" : row->cells[column].text;
}

/* ---- the run --------------------------------------------------------------------------------- */

static enum rlhfsim_status load_catalog(const struct rlhfsim_validation_options *options,
                                        struct catalog *catalog,
                                        struct rlhfsim_diagnostics *diagnostics) {
    enum rlhfsim_status status =
        catalog_load(catalog, options->catalog_directory, true, diagnostics);
    for (size_t i = 0; i < options->user_directory_count && status == RLHFSIM_OK; i++)
        status = catalog_load(catalog, options->user_directories[i], false, diagnostics);
    return status;
}

static enum rlhfsim_status read_paths(struct validation_run *run,
                                      const struct validation_kind *kind, const char *const *paths,
                                      size_t count) {
    enum rlhfsim_status worst = RLHFSIM_OK;
    for (size_t i = 0; i < count; i++) {
        enum rlhfsim_status status = kind->read(run, paths[i]);
        if (status == RLHFSIM_NO_MEMORY)
            return status;
        worst = status == RLHFSIM_OK ? worst : status;
    }
    return worst;
}

static enum rlhfsim_status validate(const struct validation_kind *kind, const char *const *paths,
                                    size_t path_count,
                                    const struct rlhfsim_validation_options *options,
                                    struct rlhfsim_diagnostics *diagnostics,
                                    struct rlhfsim_validation **validation) {
    struct catalog *catalog = catalog_new();
    struct validation_run run = {validation_new(), catalog, diagnostics,
                                 options->scenario_directory};
    enum rlhfsim_status status =
        catalog == NULL || run.validation == NULL ? RLHFSIM_NO_MEMORY : RLHFSIM_OK;
    if (status == RLHFSIM_OK)
        status = load_catalog(options, catalog, diagnostics);
    if (status == RLHFSIM_OK)
        status = read_paths(&run, kind, paths, path_count);
    if (status == RLHFSIM_OK)
        *validation = run.validation;
    else
        rlhfsim_validation_free(run.validation);
    catalog_free(catalog);
    return status;
}

enum rlhfsim_status rlhfsim_validation_run(const char *kind, const char *const *paths,
                                           size_t path_count,
                                           const struct rlhfsim_validation_options *options,
                                           struct rlhfsim_diagnostics *diagnostics,
                                           struct rlhfsim_validation **validation) {
    const struct validation_kind *found = find_kind(kind);
    struct base_locale locale;
    *validation = NULL;
    if (found == NULL)
        return rlhfsim_diagnostics_add(diagnostics, RLHFSIM_INVALID, NULL, 0, 0,
                                       "there is no validation of '%s'", kind);
    if (!base_locale_enter(&locale))
        return RLHFSIM_NO_MEMORY;
    enum rlhfsim_status status =
        validate(found, paths, path_count, options, diagnostics, validation);
    base_locale_leave(&locale);
    return status;
}
