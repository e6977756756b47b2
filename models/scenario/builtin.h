/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_SCENARIO_BUILTIN_H
#define MODELS_SCENARIO_BUILTIN_H

/*
 * What the catalog lists although no file has it: the const tables of algorithms, of mechanisms of
 * weight sync, and of the keys of a scenario, as rows of text.
 */

#include "models/base/arena.h"

#include <rlhfsim/catalog.h>

#define BUILTIN_COLUMN_LIMIT 8

struct builtin_row {
    struct builtin_row *next;
    const char *text[BUILTIN_COLUMN_LIMIT]; /* the first is the name */
};

/* The columns of a built-in kind, by index; NULL past the last one and for the kinds of files. */
const char *builtin_column(enum rlhfsim_catalog_kind kind, size_t index);

/* The rows of a built-in kind in the arena; NULL for the kinds of files and without memory, which
 * the arena remembers. */
struct builtin_row *builtin_rows(struct base_arena *arena, enum rlhfsim_catalog_kind kind);

#endif
