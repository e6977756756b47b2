/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_SCENARIO_TAGS_H
#define MODELS_SCENARIO_TAGS_H

/*
 * tags.NAME: free names with texts, carried to every item of cost. Names are letters, digits, '_',
 * '-', '.' and '/'; a text is one line without ';', so that "team=nlp;run=7" can be read back.
 */

#include "models/scenario/tree.h"

/* Writes the tags of a mapping in the order written into `buffer`. False after an error. */
bool scenario_tags_read(const struct tree_node *tags, struct rlhfsim_diagnostics *diagnostics,
                        char *buffer, size_t size);

#endif
