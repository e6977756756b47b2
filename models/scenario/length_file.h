/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_SCENARIO_LENGTH_FILE_H
#define MODELS_SCENARIO_LENGTH_FILE_H

/*
 * The CSV files of lengths that a scenario names: histograms (from, to, weight), traces (prompt,
 * response and, where known, group) and drifts (step, mean). A path is taken as that of a
 * config.json is (model_file.h). Each reader returns false after the errors, at their line and
 * column of the file; what it made belongs to the caller.
 */

#include "models/scenario/draft.h"

bool scenario_read_histogram(struct scenario_draft *draft, enum scenario_key key,
                             struct generation_length_bins **bins);
bool scenario_read_trace(struct scenario_draft *draft, enum scenario_key key,
                         struct generation_trace **trace);
/* Into the table of the drift, which scenario_release_lengths frees. */
bool scenario_read_drift(struct scenario_draft *draft, enum scenario_key key,
                         struct generation_length_drift *drift);

/* What the lengths of a scenario own. */
void scenario_release_lengths(struct rlhfsim_scenario *scenario);

/* `hash` with the texts of the files that a scenario's tree names for its lengths. */
uint64_t scenario_length_files_hash(uint64_t hash, const char *scenario_path,
                                    const struct tree_node *root);
/* Whether the value of a key names such a file, or may have one below it. */
bool scenario_length_file_named(const char *key);
/* The same as above for the value of one key: as it was where it names no such file. */
uint64_t scenario_length_file_hash(uint64_t hash, const char *scenario_path, const char *key,
                                   const struct tree_node *value);

#endif
