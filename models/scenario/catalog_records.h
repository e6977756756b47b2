/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_SCENARIO_CATALOG_RECORDS_H
#define MODELS_SCENARIO_CATALOG_RECORDS_H

/* How a catalog keeps its rows; for those that fill it and those that look up in it. */

#include "models/base/arena.h"
#include "models/scenario/catalog_rows.h"

struct catalog_record {
    struct catalog_record *next;
    uint64_t hash; /* of the name: most comparisons end here */
    char name[CATALOG_NAME_BYTES];
    const char *provenance, *source;
    struct tree_place place; /* of the row */
    struct column_row row;
    void *item; /* see catalog_rows.h */
};

struct catalog {
    struct base_arena arena;
    struct catalog_record *records[CATALOG_KIND_COUNT]; /* in the order of the files */
    struct training_coefficient_row *coefficients;      /* of training.csv, in one piece */
    size_t coefficient_count;
    struct training_memory_row *memory; /* of memory.csv, in one piece */
    size_t memory_count;
    uint64_t fingerprint;
};

/* The record of exactly that name; NULL where there is none. */
struct catalog_record *catalog_find_record(const struct catalog *catalog, enum catalog_kind kind,
                                           const char *name);

#endif
