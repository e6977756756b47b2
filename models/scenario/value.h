/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_SCENARIO_VALUE_H
#define MODELS_SCENARIO_VALUE_H

/* One value of a scenario file against its entry in the schema. */

#include "models/scenario/values.h"

/* Reads `node` as the value of `entry` (any type but tags and later). False after adding what is
 * wrong with it. */
bool scenario_value_read(const struct scenario_schema_entry *entry, const struct tree_node *node,
                         struct rlhfsim_diagnostics *diagnostics, struct scenario_value *value);

/* What a node is, for a message: "4", "'four'", "a list", "a mapping". */
const char *scenario_value_describe(const struct tree_node *node, char *buffer, size_t size);

#endif
