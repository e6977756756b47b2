/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_SCENARIO_TREE_H
#define MODELS_SCENARIO_TREE_H

/*
 * A YAML document as a tree that remembers where each key and value stands. Values are text,
 * lists or mappings; what a text means (number, quantity, name) is decided by who reads it.
 *
 * YAML is read strictly: exactly one document, no tags, no merge keys, no duplicate keys, depth,
 * number of nodes and expanded size limited, so that no small file can ask for much memory or time.
 */

#include "models/base/arena.h"

#include <rlhfsim/diagnostics.h>

#include <stdbool.h>

struct tree_place {
    const char *file;
    int line, column; /* from 1 */
};

enum tree_kind { TREE_TEXT, TREE_LIST, TREE_MAPPING };

struct tree_node {
    enum tree_kind kind;
    struct tree_place place;
    bool quoted;              /* TREE_TEXT: written in quotes or as a block */
    bool broken;              /* an error was reported here already; there is no value to judge */
    const char *text;         /* TREE_TEXT: never NULL, no NUL inside */
    size_t expanded;          /* nodes below and including this one, aliases written out */
    struct tree_entry *first; /* TREE_MAPPING and TREE_LIST: in the order written */
};

struct tree_entry {
    struct tree_entry *next;
    struct tree_place place; /* of the key; in a list, of the value */
    const char *key;         /* NULL in a list */
    struct tree_node *value;
};

#define TREE_DEPTH_LIMIT 32
#define TREE_NODE_LIMIT 200000
#define TREE_ANCHOR_LIMIT 256

/* Where a text starts: `column` is that of its first character (for `--set`, behind the "="). */
struct tree_source {
    const char *file; /* must live as long as the arena */
    const char *text; /* strict UTF-8, see base/utf8.h */
    size_t length;
    int column;
};

/* Reads one document. RLHFSIM_OK with *root in the arena; where there is nothing but space and
 * comments *root is an empty text. RLHFSIM_INVALID with every error that could be found; *root is
 * then the rest of the tree, to look for further errors, or NULL after a syntax error or a limit,
 * which end the reading. RLHFSIM_NO_MEMORY. */
enum rlhfsim_status tree_read(struct base_arena *arena, const struct tree_source *source,
                              struct rlhfsim_diagnostics *diagnostics, struct tree_node **root);

/* The entry of a key in a mapping, NULL where there is none (or no mapping). */
struct tree_entry *tree_find(const struct tree_node *mapping, const char *key);

/* Whether a value is left out: an empty plain text, `~` or `null`. */
bool tree_is_empty(const struct tree_node *node);

/* A copy of a mapping whose entries may be changed; the values are shared. NULL without memory. */
struct tree_node *tree_copy_mapping(struct base_arena *arena, const struct tree_node *mapping);

/* Sets a key of a mapping: the value and place of an entry are replaced, or an entry is added at
 * the end. NULL without memory. */
struct tree_entry *tree_put(struct base_arena *arena, struct tree_node *mapping, const char *key,
                            struct tree_place place, struct tree_node *value);

/* Adds an error at a place. */
enum rlhfsim_status tree_error(struct rlhfsim_diagnostics *diagnostics, struct tree_place place,
                               const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
