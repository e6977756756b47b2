/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_SCENARIO_MODEL_FILE_H
#define MODELS_SCENARIO_MODEL_FILE_H

/* Models that a scenario names by the path of a config.json: where the file is, and whether it is
 * still the same. */

#include "models/scenario/catalog.h"
#include "models/scenario/tree.h"

#define SCENARIO_PATH_BYTES 8192

/* Whether the name of a model is a path, where the catalog does not have it: it has a '/' or ends
 * in ".json". */
bool scenario_model_file_named(const char *name);

/* The path of the file: the name as it is when absolute or from `--set` (its place says so), else
 * from the folder of the scenario file. False when it does not fit. */
bool scenario_model_file_locate(const char *scenario_path, const char *name,
                                struct tree_place place, char *buffer, size_t size);

/* `hash` with the text of the file that `node`, the value of a model's key, names; as it was where
 * the value names no file that can be read. NULL is no value. */
uint64_t scenario_model_file_hash(uint64_t hash, const char *scenario_path,
                                  const struct catalog *catalog, const struct tree_node *node);

/* The same for every model of a scenario's tree. */
uint64_t scenario_model_files_hash(uint64_t hash, const char *scenario_path,
                                   const struct catalog *catalog, const struct tree_node *root);

#endif
