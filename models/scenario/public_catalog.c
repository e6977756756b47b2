/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The public view of the catalog: files and built-in tables as one set of kinds. */
#include <rlhfsim/catalog.h>

#include "models/base/diagnostics.h"
#include "models/base/locale.h"
#include "models/base/text.h"
#include "models/scenario/builtin.h"
#include "models/scenario/catalog_kernels.h"
#include "models/scenario/catalog_load.h"
#include "models/scenario/catalog_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct rlhfsim_catalog {
    struct catalog *files;
    struct base_arena arena;
    struct builtin_row *rows[RLHFSIM_CATALOG_KINDS]; /* of the built-in kinds */
};

struct kind_row {
    const char *name;
    enum catalog_kind file; /* CATALOG_KIND_COUNT: built in */
};

static const struct kind_row kinds[RLHFSIM_CATALOG_KINDS] = {
    [RLHFSIM_CATALOG_GPUS] = {"gpus", CATALOG_GPUS},
    [RLHFSIM_CATALOG_NODES] = {"nodes", CATALOG_NODES},
    [RLHFSIM_CATALOG_MODELS] = {"models", CATALOG_MODELS},
    [RLHFSIM_CATALOG_PRICES] = {"prices", CATALOG_PRICES},
    [RLHFSIM_CATALOG_ALGORITHMS] = {"algorithms", CATALOG_KIND_COUNT},
    [RLHFSIM_CATALOG_WEIGHT_SYNC] = {"weight-sync", CATALOG_KIND_COUNT},
    [RLHFSIM_CATALOG_FRAMEWORKS] = {"frameworks", CATALOG_FRAMEWORKS},
    [RLHFSIM_CATALOG_ENGINES] = {"engines", CATALOG_ENGINES},
    [RLHFSIM_CATALOG_LENGTHS] = {"lengths", CATALOG_LENGTHS},
    [RLHFSIM_CATALOG_KEYS] = {"keys", CATALOG_KIND_COUNT},
    [RLHFSIM_CATALOG_FABRICS] = {"fabrics", CATALOG_FABRICS},
    [RLHFSIM_CATALOG_TOPOLOGIES] = {"topologies", CATALOG_KIND_COUNT},
    [RLHFSIM_CATALOG_STORES] = {"stores", CATALOG_STORES},
    [RLHFSIM_CATALOG_KERNELS] = {"kernels", CATALOG_KERNELS},
    [RLHFSIM_CATALOG_TRAINING] = {"training", CATALOG_TRAINING},
    [RLHFSIM_CATALOG_WEIGHT_SYNCS] = {"weight-sync-rows", CATALOG_WEIGHT_SYNCS},
};

static bool built_in(enum rlhfsim_catalog_kind kind) {
    return kinds[kind].file == CATALOG_KIND_COUNT;
}

const char *rlhfsim_catalog_kind_name(enum rlhfsim_catalog_kind kind) {
    return kinds[kind].name;
}

/* Of a GPU, where its kernel times come from stands before the provenance of the row. */
static bool is_kernels_column(enum rlhfsim_catalog_kind kind, size_t index) {
    return kind == RLHFSIM_CATALOG_GPUS && index == GPU_PROVENANCE;
}

static size_t file_column(enum rlhfsim_catalog_kind kind, size_t index) {
    return kind == RLHFSIM_CATALOG_GPUS && index > GPU_PROVENANCE ? index - 1 : index;
}

bool rlhfsim_catalog_column(enum rlhfsim_catalog_kind kind, size_t place,
                            struct rlhfsim_catalog_column *column) {
    size_t count = 0, index = file_column(kind, place);
    if (is_kernels_column(kind, place)) {
        *column = (struct rlhfsim_catalog_column){.name = "kernels"};
        return true;
    }
    const struct column *columns =
        built_in(kind) ? NULL : catalog_columns(kinds[kind].file, &count);
    const char *name = built_in(kind)  ? builtin_column(kind, index)
                       : index < count ? columns[index].name
                                       : NULL;
    if (name == NULL)
        return false;
    column->name = name;
    column->unit = built_in(kind) ? NULL : columns[index].unit;
    return true;
}

/* ---- loading --------------------------------------------------------------------------------- */

static enum rlhfsim_status load_files(struct rlhfsim_catalog *catalog, const char *directory,
                                      const char *const *user_directories, size_t count,
                                      struct rlhfsim_diagnostics *diagnostics) {
    enum rlhfsim_status status = catalog_load(catalog->files, directory, true, diagnostics);
    for (size_t i = 0; i < count; i++) {
        enum rlhfsim_status next =
            catalog_load(catalog->files, user_directories[i], false, diagnostics);
        status = rlhfsim_status_exit(next) > rlhfsim_status_exit(status) ? next : status;
    }
    return base_diagnostics_lost(diagnostics) ? RLHFSIM_NO_MEMORY : status;
}

static enum rlhfsim_status load(struct rlhfsim_catalog *catalog, const char *directory,
                                const char *const *user_directories, size_t count,
                                struct rlhfsim_diagnostics *diagnostics) {
    struct base_locale locale;
    catalog->files = catalog_new();
    if (catalog->files == NULL || !base_locale_enter(&locale))
        return RLHFSIM_NO_MEMORY;
    enum rlhfsim_status status =
        load_files(catalog, directory, user_directories, count, diagnostics);
    base_locale_leave(&locale);
    for (int kind = 0; kind < RLHFSIM_CATALOG_KINDS; kind++)
        catalog->rows[kind] = builtin_rows(&catalog->arena, (enum rlhfsim_catalog_kind)kind);
    return catalog->arena.failed ? RLHFSIM_NO_MEMORY : status;
}

enum rlhfsim_status rlhfsim_catalog_load(const char *directory, const char *const *user_directories,
                                         size_t user_directory_count,
                                         struct rlhfsim_diagnostics *diagnostics,
                                         struct rlhfsim_catalog **catalog) {
    *catalog = calloc(1, sizeof **catalog);
    if (*catalog == NULL)
        return RLHFSIM_NO_MEMORY;
    enum rlhfsim_status status =
        load(*catalog, directory, user_directories, user_directory_count, diagnostics);
    if (status == RLHFSIM_OK)
        return status;
    rlhfsim_catalog_free(*catalog);
    *catalog = NULL;
    return status;
}

void rlhfsim_catalog_free(struct rlhfsim_catalog *catalog) {
    if (catalog == NULL)
        return;
    catalog_free(catalog->files);
    base_arena_release(&catalog->arena);
    free(catalog);
}

/* ---- names ----------------------------------------------------------------------------------- */

const char *rlhfsim_catalog_name(const struct rlhfsim_catalog *catalog,
                                 enum rlhfsim_catalog_kind kind, size_t index) {
    if (!built_in(kind))
        return catalog_name_at(catalog->files, kinds[kind].file, index);
    const struct builtin_row *row = catalog->rows[kind];
    for (; row != NULL && index > 0; index--)
        row = row->next;
    return row == NULL ? NULL : row->text[0];
}

static const struct builtin_row *find_builtin(const struct rlhfsim_catalog *catalog,
                                              enum rlhfsim_catalog_kind kind, const char *name) {
    const struct builtin_row *row = catalog->rows[kind];
    while (row != NULL && strcmp(row->text[0], name) != 0)
        row = row->next;
    return row;
}

const char *rlhfsim_catalog_find(const struct rlhfsim_catalog *catalog,
                                 enum rlhfsim_catalog_kind kind, const char *spelling) {
    char wanted[CATALOG_NAME_BYTES], known[CATALOG_NAME_BYTES];
    if (!built_in(kind))
        return catalog_name(catalog->files, kinds[kind].file, spelling);
    catalog_loose_name(spelling, wanted, sizeof wanted);
    for (const struct builtin_row *row = catalog->rows[kind]; row != NULL; row = row->next) {
        catalog_loose_name(row->text[0], known, sizeof known);
        if (strcmp(wanted, known) == 0)
            return row->text[0];
    }
    return NULL;
}

const char *rlhfsim_catalog_nearest(const struct rlhfsim_catalog *catalog,
                                    enum rlhfsim_catalog_kind kind, const char *spelling) {
    struct base_nearest nearest;
    if (!built_in(kind))
        return catalog_nearest(catalog->files, kinds[kind].file, spelling);
    base_nearest_start(&nearest, spelling);
    for (const struct builtin_row *row = catalog->rows[kind]; row != NULL; row = row->next)
        base_nearest_offer(&nearest, row->text[0]);
    return base_nearest_name(&nearest);
}

const char *rlhfsim_catalog_alias(const struct rlhfsim_catalog *catalog,
                                  enum rlhfsim_catalog_kind kind, const char *name, size_t index) {
    return built_in(kind) ? NULL : catalog_alias_at(catalog->files, kinds[kind].file, name, index);
}

/* ---- cells ----------------------------------------------------------------------------------- */

static void fill_cell(const struct column *column, const char *text, double number,
                      struct rlhfsim_catalog_cell *cell) {
    bool numeric = column->type == COLUMN_NUMBER || column->type == COLUMN_INTEGER;
    *cell = (struct rlhfsim_catalog_cell){.type = RLHFSIM_CATALOG_TEXT, .text = text};
    if (numeric && isnan(number)) {
        cell->type = RLHFSIM_CATALOG_UNKNOWN;
    } else if (numeric) {
        cell->type = RLHFSIM_CATALOG_NUMBER;
        cell->number = number;
    } else if (column->type == COLUMN_BOOLEAN) {
        cell->type = RLHFSIM_CATALOG_FLAG;
        cell->flag = number > 0.0;
    }
}

static bool builtin_cell(const struct rlhfsim_catalog *catalog, enum rlhfsim_catalog_kind kind,
                         const char *name, size_t column, struct rlhfsim_catalog_cell *cell) {
    const struct builtin_row *row = find_builtin(catalog, kind, name);
    if (row == NULL || builtin_column(kind, column) == NULL)
        return false;
    *cell = (struct rlhfsim_catalog_cell){.type = RLHFSIM_CATALOG_TEXT, .text = row->text[column]};
    return true;
}

bool rlhfsim_catalog_cell(const struct rlhfsim_catalog *catalog, enum rlhfsim_catalog_kind kind,
                          const char *name, size_t place, struct rlhfsim_catalog_cell *cell) {
    size_t count, column = file_column(kind, place);
    if (built_in(kind))
        return builtin_cell(catalog, kind, name, column, cell);
    const struct column *columns = catalog_columns(kinds[kind].file, &count);
    const struct column_row *row = catalog_row(catalog->files, kinds[kind].file, name);
    if (row == NULL || column >= count)
        return false;
    if (is_kernels_column(kind, place)) {
        *cell = (struct rlhfsim_catalog_cell){
            .type = RLHFSIM_CATALOG_TEXT,
            .text = catalog_kernels_provenance(catalog->files, row->text[GPU_NAME])};
        return true;
    }
    double number = row->number[column];
    /* The default of an empty cell is known. */
    if (kind == RLHFSIM_CATALOG_GPUS && column == GPU_SUSTAINED_SHARE)
        number = catalog_gpu(catalog->files, name)->kernels.sustained_share;
    fill_cell(&columns[column], row->text[column], number, cell);
    return true;
}
