/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_SCENARIO_YAML_ERROR_H
#define MODELS_SCENARIO_YAML_ERROR_H

/* Says what libyaml found wrong in words that help the writer of the file. */

#include "models/scenario/tree.h"

#include <yaml.h>

/* The place of a mark of the parser in the user's text. */
struct tree_place yaml_place(const struct tree_source *source, const yaml_mark_t *mark);

/* Adds the parser's error. RLHFSIM_NO_MEMORY where that was the error, else RLHFSIM_INVALID. */
enum rlhfsim_status yaml_error_add(const yaml_parser_t *parser, const struct tree_source *source,
                                   struct rlhfsim_diagnostics *diagnostics);

#endif
