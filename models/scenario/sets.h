/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_SCENARIO_SETS_H
#define MODELS_SCENARIO_SETS_H

/*
 * `--set a.b.c=VALUE`: what the user changes without touching the file. VALUE is YAML on one line;
 * it replaces or adds the key in the tree, which is then checked as if it stood in the file, except
 * that errors point into the argument: file "--set", line 1, column in the argument.
 */

#include "models/scenario/tree.h"

/* The file that places in a `--set` name, to be compared by address. */
extern const char scenario_set_file[];

/* Applies the arguments in order to *root, a mapping or an empty document; shared values (aliases)
 * are copied before they change. RLHFSIM_OK; RLHFSIM_INVALID with every error added, the others
 * applied; RLHFSIM_NO_MEMORY. */
enum rlhfsim_status scenario_sets_apply(struct base_arena *arena, const char *const *sets,
                                        size_t count, struct rlhfsim_diagnostics *diagnostics,
                                        struct tree_node **root);

#endif
