/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/scenario/catalog.h"

#include "models/base/hash.h"
#include "models/base/text.h"
#include "models/scenario/catalog_records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct catalog *catalog_new(void) {
    struct catalog *catalog = calloc(1, sizeof *catalog);
    if (catalog != NULL)
        catalog->fingerprint = BASE_HASH_START;
    return catalog;
}

void catalog_free(struct catalog *catalog) {
    if (catalog == NULL)
        return;
    base_arena_release(&catalog->arena);
    free(catalog);
}

static bool is_named(const struct catalog_record *record, uint64_t hash, const char *name) {
    return record->hash == hash && strcmp(record->name, name) == 0;
}

struct catalog_record *catalog_find_record(const struct catalog *catalog, enum catalog_kind kind,
                                           const char *name) {
    uint64_t hash = base_hash_text(BASE_HASH_START, name);
    for (struct catalog_record *record = catalog->records[kind]; record != NULL;
         record = record->next)
        if (is_named(record, hash, name))
            return record;
    return NULL;
}

uint64_t catalog_fingerprint(const struct catalog *catalog) {
    return catalog->fingerprint;
}

/* ---- looking up ------------------------------------------------------------------------------ */

static const struct catalog_record *find_loose(const struct catalog *catalog,
                                               enum catalog_kind kind, const char *name) {
    char wanted[CATALOG_NAME_BYTES], known[CATALOG_NAME_BYTES];
    catalog_loose_name(name, wanted, sizeof wanted);
    for (const struct catalog_record *record = catalog->records[kind]; record != NULL;
         record = record->next) {
        catalog_loose_name(record->name, known, sizeof known);
        if (strcmp(known, wanted) == 0)
            return record;
    }
    return NULL;
}

static const struct catalog_record *find_alias(const struct catalog *catalog,
                                               enum catalog_kind kind, const char *name) {
    char wanted[CATALOG_NAME_BYTES];
    catalog_alias_name(kind, name, wanted, sizeof wanted);
    const struct catalog_record *record = catalog_find_record(catalog, CATALOG_ALIASES, wanted);
    const struct catalog_alias *alias = record == NULL ? NULL : record->item;
    return alias == NULL ? NULL : catalog_find_record(catalog, kind, alias->name);
}

/* The record of any spelling of a name. */
static const struct catalog_record *resolve(const struct catalog *catalog, enum catalog_kind kind,
                                            const char *name) {
    const struct catalog_record *record = catalog_find_record(catalog, kind, name);
    if (record != NULL || kind == CATALOG_PRICES || kind >= CATALOG_ALIASES)
        return record;
    record = find_loose(catalog, kind, name);
    return record != NULL ? record : find_alias(catalog, kind, name);
}

static const void *find_item(const struct catalog *catalog, enum catalog_kind kind,
                             const char *name) {
    const struct catalog_record *record = resolve(catalog, kind, name);
    return record == NULL ? NULL : record->item;
}

const struct hardware_gpu *catalog_gpu(const struct catalog *catalog, const char *name) {
    return find_item(catalog, CATALOG_GPUS, name);
}

const struct hardware_node *catalog_node(const struct catalog *catalog, const char *name) {
    const struct catalog_node_row *row = find_item(catalog, CATALOG_NODES, name);
    return row == NULL ? NULL : &row->node;
}

const struct catalog_offer *catalog_node_offer(const struct catalog *catalog, const char *name) {
    const struct catalog_node_row *row = find_item(catalog, CATALOG_NODES, name);
    return row == NULL ? NULL : &row->offer;
}

const struct llm_architecture *catalog_model(const struct catalog *catalog, const char *name) {
    return find_item(catalog, CATALOG_MODELS, name);
}

const struct catalog_law *catalog_law(const struct catalog *catalog, const char *name) {
    return find_item(catalog, CATALOG_KERNELS, name);
}

const struct catalog_framework *catalog_framework(const struct catalog *catalog, const char *name) {
    return find_item(catalog, CATALOG_FRAMEWORKS, name);
}

const struct catalog_weight_sync *catalog_weight_sync(const struct catalog *catalog,
                                                      const char *name) {
    return find_item(catalog, CATALOG_WEIGHT_SYNCS, name);
}

const struct catalog_fabric *catalog_fabric(const struct catalog *catalog, const char *name) {
    return find_item(catalog, CATALOG_FABRICS, name);
}

const struct catalog_band *catalog_band(const struct catalog *catalog, const char *placement,
                                        const char *metric, const char *left_out) {
    char name[CATALOG_NAME_BYTES];
    (void)snprintf(name, sizeof name, "%s/%s/%s", placement, metric, left_out);
    const struct catalog_record *record = catalog_find_record(catalog, CATALOG_BANDS, name);
    return record == NULL ? NULL : record->item;
}

const struct catalog_engine *catalog_engine(const struct catalog *catalog, const char *name) {
    return find_item(catalog, CATALOG_ENGINES, name);
}

const struct catalog_price *catalog_price(const struct catalog *catalog, const char *provider,
                                          const char *region, const char *item) {
    char name[CATALOG_NAME_BYTES];
    int length = snprintf(name, sizeof name, "%s/%s/%s", provider, region, item);
    return length < 0 || (size_t)length >= sizeof name ? NULL
                                                       : find_item(catalog, CATALOG_PRICES, name);
}

/* Whether a name begins with one of the words that ';' joins. */
static bool begins_with_one(const char *name, const char *words) {
    while (*words != '\0') {
        size_t length = strcspn(words, ";");
        if (length > 0 && strncmp(name, words, length) == 0)
            return true;
        words += length + (words[length] == ';' ? 1 : 0);
    }
    return false;
}

struct training_attention_rates catalog_attention(const struct catalog *catalog, const char *gpu,
                                                  const char *kernel) {
    for (const struct catalog_record *record = catalog->records[CATALOG_ATTENTION]; record != NULL;
         record = record->next) {
        const struct catalog_attention_row *row = record->item;
        if (strcmp(row->kernel, kernel) == 0 && begins_with_one(gpu, row->gpus))
            return row->rates;
    }
    return (struct training_attention_rates){0.0, 0.0};
}

const struct training_memory_row *catalog_memory(const struct catalog *catalog, size_t *count) {
    *count = catalog->memory_count;
    return catalog->memory;
}

const struct training_coefficient_row *catalog_coefficients(const struct catalog *catalog,
                                                            size_t *count) {
    *count = catalog->coefficient_count;
    return catalog->coefficients;
}

/* How well a trainer goes with a source and a GPU: the bytes of its name, and one more for the GPU;
 * 0 where it does not. */
static size_t trainer_fit(const struct catalog_trainer *trainer, const char *source,
                          const char *gpu) {
    size_t length = strlen(trainer->name);
    bool any = strcmp(trainer->gpu, "any") == 0;
    if (strncmp(source, trainer->name, length) != 0 || (!any && strcmp(trainer->gpu, gpu) != 0))
        return 0;
    return 2 * length + (any ? 0 : 1);
}

const struct catalog_trainer *catalog_trainer(const struct catalog *catalog, const char *source,
                                              const char *gpu) {
    const struct catalog_trainer *best = NULL;
    size_t most = 0;
    for (const struct catalog_record *record = catalog->records[CATALOG_TRAINERS]; record != NULL;
         record = record->next) {
        size_t fit = trainer_fit(record->item, source, gpu);
        if (fit <= most)
            continue;
        most = fit;
        best = record->item;
    }
    return best;
}

const struct catalog_stated *catalog_stated_at(const struct catalog *catalog, size_t index) {
    const struct catalog_record *record = catalog->records[CATALOG_STATED];
    while (record != NULL && index-- > 0)
        record = record->next;
    return record == NULL ? NULL : record->item;
}

const struct column_row *catalog_row(const struct catalog *catalog, enum catalog_kind kind,
                                     const char *name) {
    const struct catalog_record *record = resolve(catalog, kind, name);
    return record == NULL ? NULL : &record->row;
}

const char *catalog_name(const struct catalog *catalog, enum catalog_kind kind,
                         const char *spelling) {
    const struct catalog_record *record = resolve(catalog, kind, spelling);
    return record == NULL ? NULL : record->name;
}

const char *catalog_alias_at(const struct catalog *catalog, enum catalog_kind kind,
                             const char *name, size_t index) {
    for (const struct catalog_record *record = catalog->records[CATALOG_ALIASES]; record != NULL;
         record = record->next) {
        const struct catalog_alias *alias = record->item;
        if (alias->kind == kind && strcmp(alias->name, name) == 0 && index-- == 0)
            return alias->alias;
    }
    return NULL;
}

const char *catalog_name_at(const struct catalog *catalog, enum catalog_kind kind, size_t index) {
    const struct catalog_record *record = catalog->records[kind];
    for (; record != NULL && index > 0; index--)
        record = record->next;
    return record == NULL ? NULL : record->name;
}

const char *catalog_source(const struct catalog *catalog, enum catalog_kind kind,
                           const char *name) {
    const struct catalog_record *record = resolve(catalog, kind, name);
    return record == NULL ? NULL : record->source;
}

const char *catalog_provenance(const struct catalog *catalog, enum catalog_kind kind,
                               const char *name) {
    const struct catalog_record *record = resolve(catalog, kind, name);
    return record == NULL ? NULL : record->provenance;
}

/* Of an alias the name that it stands for. */
const char *catalog_nearest(const struct catalog *catalog, enum catalog_kind kind,
                            const char *name) {
    struct base_nearest nearest;
    base_nearest_start(&nearest, name);
    for (const struct catalog_record *record = catalog->records[kind]; record != NULL;
         record = record->next)
        base_nearest_offer(&nearest, record->name);
    for (const struct catalog_record *record = catalog->records[CATALOG_ALIASES]; record != NULL;
         record = record->next) {
        const struct catalog_alias *alias = record->item;
        if (alias->kind == kind && catalog_find_record(catalog, kind, alias->name) != NULL)
            base_nearest_offer(&nearest, alias->alias);
    }
    const char *near = base_nearest_name(&nearest);
    return near == NULL ? NULL : catalog_name(catalog, kind, near);
}
