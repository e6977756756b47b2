/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/scenario/catalog_load.h"

#include "models/base/file.h"
#include "models/base/hash.h"
#include "models/base/text.h"
#include "models/scenario/catalog_kernels.h"
#include "models/scenario/catalog_records.h"
#include "models/scenario/csv_table.h"
#include "models/scenario/node_fabric.h"

#include <stdio.h>
#include <string.h>

/* One file that is being read. */
struct load {
    struct catalog *catalog;
    enum catalog_kind kind;
    const char *file; /* in the arena */
    struct rlhfsim_diagnostics *diagnostics;
};

/* A new record at the end. */
static struct catalog_record *append_record(struct load *load) {
    struct catalog_record **link = &load->catalog->records[load->kind];
    while (*link != NULL)
        link = &(*link)->next;
    return *link = base_arena_allocate(&load->catalog->arena, sizeof **link);
}

static enum rlhfsim_status keep_row(struct load *load, const struct column_row *row, void *item) {
    char name[CATALOG_NAME_BYTES];
    size_t provenance = catalog_provenance_column(load->kind);
    catalog_row_name(load->kind, row, name, sizeof name);
    struct catalog_record *earlier = catalog_find_record(load->catalog, load->kind, name);
    /* The address of the file's name tells files apart. */
    if (earlier != NULL && earlier->place.file == load->file)
        return tree_error(load->diagnostics, row->place[0],
                          "%s '%s' is written twice, first on line %d",
                          catalog_kind_name(load->kind), name, earlier->place.line);
    struct catalog_record *record = earlier != NULL ? earlier : append_record(load);
    if (record == NULL)
        return RLHFSIM_NO_MEMORY;
    base_text_copy(record->name, sizeof record->name, name);
    record->hash = base_hash_text(BASE_HASH_START, record->name);
    bool alias = load->kind == CATALOG_ALIASES;
    record->provenance = alias ? NULL : catalog_provenance_name((int)row->number[provenance]);
    record->source = row->text[alias ? ALIAS_SOURCE : provenance + 1];
    record->place = row->place[0];
    record->row = *row;
    record->item = item;
    return RLHFSIM_OK;
}

static enum rlhfsim_status read_row(struct load *load, const struct csv_row *cells,
                                    const size_t position[COLUMN_LIMIT]) {
    struct column_row row;
    if (!catalog_read_row(load->kind, cells, position, load->diagnostics, &row))
        return RLHFSIM_INVALID;
    void *item = base_arena_allocate(&load->catalog->arena, catalog_row_size(load->kind));
    if (item == NULL)
        return RLHFSIM_NO_MEMORY;
    if (!catalog_row_fill(load->kind, &row, load->diagnostics, item))
        return RLHFSIM_INVALID;
    return keep_row(load, &row, item);
}

static enum rlhfsim_status read_rows(struct load *load, const struct csv_table *table) {
    size_t position[COLUMN_LIMIT] = {0};
    enum rlhfsim_status worst = RLHFSIM_OK;
    if (!catalog_match_header(load->kind, table, load->file, load->diagnostics, position))
        return RLHFSIM_INVALID;
    for (const struct csv_row *row = table->rows; row != NULL; row = row->next) {
        enum rlhfsim_status status = read_row(load, row, position);
        if (status == RLHFSIM_NO_MEMORY)
            return status;
        worst = status == RLHFSIM_OK ? worst : status;
    }
    return worst;
}

static enum rlhfsim_status read_file(struct load *load) {
    struct base_file file;
    struct csv_table table;
    enum rlhfsim_status status = base_file_read(load->file, load->diagnostics, &file);
    if (status != RLHFSIM_OK)
        return status;
    status = csv_table_read(&load->catalog->arena, load->file, file.text, file.length,
                            load->diagnostics, &table);
    load->catalog->fingerprint = base_hash_bytes(
        base_hash_number(load->catalog->fingerprint, (uint64_t)load->kind), file.text, file.length);
    base_file_release(&file);
    /* After a syntax error the rows before it are still checked. */
    if (status != RLHFSIM_NO_MEMORY && table.header != NULL) {
        enum rlhfsim_status rows = read_rows(load, &table);
        status = rows == RLHFSIM_OK ? status : rows;
    }
    return status;
}

/* The fabrics of all nodes, which a later directory may have changed. */
static enum rlhfsim_status fill_fabrics(struct load *load) {
    enum rlhfsim_status worst = RLHFSIM_OK;
    for (struct catalog_record *record = load->catalog->records[CATALOG_NODES]; record != NULL;
         record = record->next) {
        struct catalog_node_row *item = record->item;
        struct column_row row = record->row;
        if (!node_fabric_fill(load->catalog, &row, &item->node, load->diagnostics))
            worst = RLHFSIM_INVALID;
    }
    return worst;
}

/* Frameworks that name a row of weight_sync.csv, which a later directory may have changed. */
static enum rlhfsim_status fill_weight_syncs(struct load *load) {
    enum rlhfsim_status worst = RLHFSIM_OK;
    for (struct catalog_record *record = load->catalog->records[CATALOG_FRAMEWORKS]; record != NULL;
         record = record->next) {
        struct catalog_framework *framework = record->item;
        const char *name = framework->weight_sync_name;
        const struct catalog_weight_sync *row = catalog_weight_sync(load->catalog, name);
        if (row != NULL && network_weight_sync_find(name) == NULL) {
            framework->weight_sync = row->type;
            framework->weight_sync_cost = row->cost;
        } else if (!catalog_find_mechanism(name, record->row.place[FRAMEWORK_WEIGHT_SYNC],
                                           "weight_sync", load->diagnostics,
                                           &framework->weight_sync)) {
            worst = RLHFSIM_INVALID;
        }
    }
    return worst;
}

/* A node without its GPU could not be used, and who wrote the row wants to know. */
static enum rlhfsim_status check_nodes(struct load *load) {
    enum rlhfsim_status worst = RLHFSIM_OK;
    for (const struct catalog_record *record = load->catalog->records[CATALOG_NODES];
         record != NULL; record = record->next) {
        const struct catalog_node_row *row = record->item;
        if (catalog_find_record(load->catalog, CATALOG_GPUS, row->node.gpu) != NULL)
            continue;
        const char *near = catalog_nearest(load->catalog, CATALOG_GPUS, row->node.gpu);
        worst = tree_error(load->diagnostics, record->place,
                           "node '%s' has GPU '%s', which is not "
                           "in gpus.csv%s%s%s",
                           record->name, row->node.gpu, near == NULL ? "" : "; did you mean '",
                           near == NULL ? "" : near, near == NULL ? "" : "'?");
    }
    return worst;
}

/* Nor could a framework generate with an engine that is not there. */
static enum rlhfsim_status check_frameworks(struct load *load) {
    enum rlhfsim_status worst = RLHFSIM_OK;
    for (const struct catalog_record *record = load->catalog->records[CATALOG_FRAMEWORKS];
         record != NULL; record = record->next) {
        const struct catalog_framework *framework = record->item;
        const char *engine = framework->engine;
        if (*engine == '\0' || catalog_find_record(load->catalog, CATALOG_ENGINES, engine) != NULL)
            continue;
        const char *near = catalog_nearest(load->catalog, CATALOG_ENGINES, engine);
        worst = tree_error(load->diagnostics, record->row.place[FRAMEWORK_ENGINE],
                           "engine '%s' is not in engines.csv%s%s%s", engine,
                           near == NULL ? "" : "; did you mean '", near == NULL ? "" : near,
                           near == NULL ? "" : "'?");
    }
    return worst;
}

/* A law of a GPU that is not there would do nothing. */
static enum rlhfsim_status check_laws(struct load *load) {
    enum rlhfsim_status worst = RLHFSIM_OK;
    for (const struct catalog_record *record = load->catalog->records[CATALOG_KERNELS];
         record != NULL; record = record->next) {
        const struct catalog_law *law = record->item;
        if (catalog_find_record(load->catalog, CATALOG_GPUS, law->gpu) != NULL)
            continue;
        const char *near = catalog_nearest(load->catalog, CATALOG_GPUS, law->gpu);
        worst = tree_error(load->diagnostics, record->place, "GPU '%s' is not in gpus.csv%s%s%s",
                           law->gpu, near == NULL ? "" : "; did you mean '",
                           near == NULL ? "" : near, near == NULL ? "" : "'?");
    }
    return worst;
}

/* Every GPU gets its laws, again after every directory. */
static void join_laws(struct catalog *catalog) {
    for (struct catalog_record *record = catalog->records[CATALOG_GPUS]; record != NULL;
         record = record->next) {
        struct hardware_gpu *gpu = record->item;
        gpu->kernels.sustained_share = record->row.number[GPU_SUSTAINED_SHARE];
        catalog_kernels_join(catalog, gpu);
    }
}

/* Nor would an alias do anything for who wrote it, were its name not there. */
static enum rlhfsim_status check_aliases(struct load *load) {
    enum rlhfsim_status worst = RLHFSIM_OK;
    for (const struct catalog_record *record = load->catalog->records[CATALOG_ALIASES];
         record != NULL; record = record->next) {
        const struct catalog_alias *alias = record->item;
        if (catalog_find_record(load->catalog, alias->kind, alias->name) != NULL)
            continue;
        const char *near = catalog_nearest(load->catalog, alias->kind, alias->name);
        worst = tree_error(load->diagnostics, record->row.place[ALIAS_NAME],
                           "alias '%s' stands for %s '%s', which is not in %s%s%s%s", alias->alias,
                           catalog_kind_name(alias->kind), alias->name,
                           catalog_file_name(alias->kind), near == NULL ? "" : "; did you mean '",
                           near == NULL ? "" : near, near == NULL ? "" : "'?");
    }
    return worst;
}

/* Rows that were replaced by a later file are gone from the list. */
static enum rlhfsim_status gather_coefficients(struct catalog *catalog) {
    size_t count = 0;
    for (const struct catalog_record *r = catalog->records[CATALOG_TRAINING]; r != NULL;
         r = r->next)
        count++;
    catalog->coefficient_count = 0;
    catalog->coefficients =
        base_arena_allocate(&catalog->arena, (count + 1) * sizeof *catalog->coefficients);
    if (catalog->coefficients == NULL)
        return RLHFSIM_NO_MEMORY;
    for (const struct catalog_record *r = catalog->records[CATALOG_TRAINING]; r != NULL;
         r = r->next)
        catalog->coefficients[catalog->coefficient_count++] =
            *(const struct training_coefficient_row *)r->item;
    return RLHFSIM_OK;
}

static enum rlhfsim_status gather_memory(struct catalog *catalog) {
    size_t count = 0;
    for (const struct catalog_record *r = catalog->records[CATALOG_MEMORY]; r != NULL; r = r->next)
        count++;
    catalog->memory_count = 0;
    catalog->memory = base_arena_allocate(&catalog->arena, (count + 1) * sizeof *catalog->memory);
    if (catalog->memory == NULL)
        return RLHFSIM_NO_MEMORY;
    for (const struct catalog_record *r = catalog->records[CATALOG_MEMORY]; r != NULL; r = r->next)
        catalog->memory[catalog->memory_count++] = *(const struct training_memory_row *)r->item;
    return RLHFSIM_OK;
}

static char *join_path(struct base_arena *arena, const char *directory, const char *name) {
    size_t length = strlen(directory);
    const char *slash = length > 0 && directory[length - 1] == '/' ? "" : "/";
    size_t size = length + strlen(name) + 2;
    char *path = base_arena_allocate(arena, size);
    if (path != NULL)
        (void)snprintf(path, size, "%s%s%s", directory, slash, name);
    return path;
}

/* The graver of two: no memory, then a file that cannot be read, then one with mistakes. */
static enum rlhfsim_status graver(enum rlhfsim_status a, enum rlhfsim_status b) {
    if (a == RLHFSIM_NO_MEMORY || b == RLHFSIM_NO_MEMORY)
        return RLHFSIM_NO_MEMORY;
    return a == RLHFSIM_OK || (a == RLHFSIM_INVALID && b == RLHFSIM_IO) ? b : a;
}

static enum rlhfsim_status no_file(const char *directory, struct rlhfsim_diagnostics *diagnostics) {
    char names[512] = "";
    size_t used = 0;
    for (int kind = 0; kind < CATALOG_KIND_COUNT && used < sizeof names; kind++) {
        const char *lead = kind == 0 ? "" : kind + 1 == CATALOG_KIND_COUNT ? " or " : ", ";
        int length = snprintf(names + used, sizeof names - used, "%s%s", lead,
                              catalog_file_name((enum catalog_kind)kind));
        used += length > 0 ? (size_t)length : 0;
    }
    return rlhfsim_diagnostics_add(diagnostics, RLHFSIM_INVALID, directory, 0, 0,
                                   "no catalog file here, expected %s", names);
}

enum rlhfsim_status catalog_load(struct catalog *catalog, const char *directory, bool complete,
                                 struct rlhfsim_diagnostics *diagnostics) {
    enum rlhfsim_status status = RLHFSIM_OK;
    struct load load = {.catalog = catalog, .diagnostics = diagnostics};
    int files = 0;
    for (int kind = 0; kind < CATALOG_KIND_COUNT && status != RLHFSIM_NO_MEMORY; kind++) {
        load.kind = (enum catalog_kind)kind;
        load.file = join_path(&catalog->arena, directory, catalog_file_name(load.kind));
        if (load.file == NULL)
            return RLHFSIM_NO_MEMORY;
        bool optional = !complete || load.kind >= CATALOG_FABRICS; /* those that came later */
        if (optional && !base_file_exists(load.file))
            continue;
        files++;
        status = graver(status, read_file(&load));
    }
    if (files == 0)
        return no_file(directory, diagnostics);
    if (status == RLHFSIM_OK)
        status = graver(graver(check_nodes(&load), check_aliases(&load)),
                        graver(check_laws(&load), check_frameworks(&load)));
    if (status == RLHFSIM_OK)
        status = graver(fill_fabrics(&load), fill_weight_syncs(&load));
    if (status == RLHFSIM_OK)
        join_laws(catalog);
    if (status == RLHFSIM_OK)
        status = gather_coefficients(catalog);
    return status == RLHFSIM_OK ? gather_memory(catalog) : status;
}
