/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_SCENARIO_CATALOG_ROWS_H
#define MODELS_SCENARIO_CATALOG_ROWS_H

/* One row of a catalog file into what the models compute with: SI units, efficiencies as shares. */

#include "models/scenario/columns.h"

struct catalog_node_row {
    struct hardware_node node;
    struct catalog_offer offer;
};

/* A law of one kernel, of a GPU. */
struct catalog_law {
    char gpu[64];
    enum hardware_kernel kernel;
    struct hardware_kernel_laws laws; /* this one filled */
};

struct catalog_length {
    char name[64];
};

struct catalog_alias {
    enum catalog_kind kind; /* of what it stands for */
    char alias[96], name[96];
};

/* NULL where there is none of that name ("GPU/KERNEL"). */
const struct catalog_law *catalog_law(const struct catalog *catalog, const char *name);

/* What a kind's rows become: its size, and the function that fills it and adds the errors that only
 * show between cells (false). */
size_t catalog_row_size(enum catalog_kind kind);
bool catalog_row_fill(enum catalog_kind kind, const struct column_row *row,
                      struct rlhfsim_diagnostics *diagnostics, void *item);

/* The mechanism of that name. False after an error at `place`, which calls the text `column`. */
bool catalog_find_mechanism(const char *name, struct tree_place place, const char *column,
                            struct rlhfsim_diagnostics *diagnostics,
                            const struct network_weight_sync_type **result);

/* Room for the name of any row. */
#define CATALOG_NAME_BYTES 192

/* The name of a row into `buffer`: its first cell; of a price "PROVIDER/REGION/ITEM"; of a
 * coefficient and a trainer the first two, "NAME/SCOPE"; of an alias
 * what catalog_alias_name gives. */
void catalog_row_name(enum catalog_kind kind, const struct column_row *row, char *buffer,
                      size_t size);

/* Where the provenance stands, and behind it the source; ALIAS_COLUMNS for aliases, which have a
 * source only. */
size_t catalog_provenance_column(enum catalog_kind kind);

/* What is compared of a name: no case, no spaces, '-' or '_', no owner in front ("Qwen/Qwen2.5-7B"
 * and "qwen 2.5 7b" are one). */
void catalog_loose_name(const char *name, char *buffer, size_t size);

/* "GPU/a100", the name of the row of an alias. */
void catalog_alias_name(enum catalog_kind kind, const char *alias, char *buffer, size_t size);

#endif
