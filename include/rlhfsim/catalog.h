/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef RLHFSIM_CATALOG_H
#define RLHFSIM_CATALOG_H

/*
 * What the simulator knows: GPUs, nodes, models, prices, frameworks, fabrics, weight syncs and
 * published lengths of prompts and responses, laws of kernels and what software adds to training
 * from CSV files, each row with its source, and what is built in: algorithms, topologies, keys of
 * a scenario. Every kind is a table of named rows and columns with units.
 */

#include <rlhfsim/diagnostics.h>

#include <stdbool.h>
#include <stddef.h>

enum rlhfsim_catalog_kind {
    RLHFSIM_CATALOG_GPUS,
    RLHFSIM_CATALOG_NODES,
    RLHFSIM_CATALOG_MODELS,
    RLHFSIM_CATALOG_PRICES,
    RLHFSIM_CATALOG_ALGORITHMS,
    RLHFSIM_CATALOG_WEIGHT_SYNC,
    RLHFSIM_CATALOG_FRAMEWORKS,
    RLHFSIM_CATALOG_ENGINES,
    RLHFSIM_CATALOG_LENGTHS,
    RLHFSIM_CATALOG_KEYS, /* of a scenario */
    RLHFSIM_CATALOG_FABRICS,
    RLHFSIM_CATALOG_WEIGHT_SYNCS,
    RLHFSIM_CATALOG_TOPOLOGIES,
    RLHFSIM_CATALOG_STORES,
    RLHFSIM_CATALOG_KERNELS,  /* laws of kernel times, "GPU/KERNEL" */
    RLHFSIM_CATALOG_TRAINING, /* what software takes in training, "COEFFICIENT/SCOPE" */
    RLHFSIM_CATALOG_KINDS
};

/* "gpus", "nodes", "models", "prices", "algorithms", "weight-sync", "frameworks", "engines",
 * "lengths", "keys", "fabrics", "weight-sync-rows", "topologies", "stores",
 * "kernels", "training". */
RLHFSIM_API const char *rlhfsim_catalog_kind_name(enum rlhfsim_catalog_kind kind);

struct rlhfsim_catalog_column {
    const char *name;
    const char *unit; /* "GiB", "TFLOPS"; NULL where there is none */
};

/* The columns of a kind by index; false past the last one. The first is the name (of a price its
 * provider), the last are provenance, source and notes where the kind has them. */
RLHFSIM_API bool rlhfsim_catalog_column(enum rlhfsim_catalog_kind kind, size_t index,
                                        struct rlhfsim_catalog_column *column);

struct rlhfsim_catalog;

/* Reads the catalog of the installation, then further directories whose rows replace those of the
 * same name. RLHFSIM_OK with *catalog owned by the caller; otherwise NULL, with the errors of the
 * files: RLHFSIM_INVALID, RLHFSIM_IO, RLHFSIM_NO_MEMORY. */
RLHFSIM_API enum rlhfsim_status rlhfsim_catalog_load(const char *directory,
                                                     const char *const *user_directories,
                                                     size_t user_directory_count,
                                                     struct rlhfsim_diagnostics *diagnostics,
                                                     struct rlhfsim_catalog **catalog);
RLHFSIM_API void rlhfsim_catalog_free(struct rlhfsim_catalog *catalog);

/* The names of the rows in their order, NULL past the last one; a price is named
 * "PROVIDER/REGION/ITEM". All strings live as long as the catalog. */
RLHFSIM_API const char *rlhfsim_catalog_name(const struct rlhfsim_catalog *catalog,
                                             enum rlhfsim_catalog_kind kind, size_t index);

/* The name of the row that a spelling stands for: without regard to case, spaces, '-', '_' and an
 * owner in front, or by an alias. NULL when there is none; then _nearest gives the known name next
 * to it (NULL when nothing is near). */
RLHFSIM_API const char *rlhfsim_catalog_find(const struct rlhfsim_catalog *catalog,
                                             enum rlhfsim_catalog_kind kind, const char *spelling);
RLHFSIM_API const char *rlhfsim_catalog_nearest(const struct rlhfsim_catalog *catalog,
                                                enum rlhfsim_catalog_kind kind,
                                                const char *spelling);

enum rlhfsim_catalog_type {
    RLHFSIM_CATALOG_TEXT,
    RLHFSIM_CATALOG_NUMBER,
    RLHFSIM_CATALOG_FLAG,
    RLHFSIM_CATALOG_UNKNOWN /* no source gives the figure */
};

struct rlhfsim_catalog_cell {
    enum rlhfsim_catalog_type type;
    const char *text; /* as written; "" for one that is not known */
    double number;    /* in the unit of the column */
    bool flag;
};

/* The cell of a row (by its name, exactly) and a column. False when there is no such cell. */
RLHFSIM_API bool rlhfsim_catalog_cell(const struct rlhfsim_catalog *catalog,
                                      enum rlhfsim_catalog_kind kind, const char *name,
                                      size_t column, struct rlhfsim_catalog_cell *cell);

/* Other spellings of a row, as aliases.csv has them, by index; NULL past the last one. */
RLHFSIM_API const char *rlhfsim_catalog_alias(const struct rlhfsim_catalog *catalog,
                                              enum rlhfsim_catalog_kind kind, const char *name,
                                              size_t index);

#endif
