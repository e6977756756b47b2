/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_SCENARIO_CATALOG_LOAD_H
#define MODELS_SCENARIO_CATALOG_LOAD_H

/* Directories of CSV files into a catalog. */

#include "models/scenario/catalog.h"

/* Reads gpus.csv, nodes.csv, models.csv, prices.csv, frameworks.csv, engines.csv and, where there
 * are, fabrics.csv, weight_sync.csv, stores.csv, aliases.csv, attention.csv, kernels.csv,
 * training.csv, trainers.csv, lengths.csv, memory.csv, stated.csv and bands.csv of `directory`; a
 * user's may lack some (`complete` false), but not all. All errors are reported, with the place of
 * the cell: RLHFSIM_INVALID, RLHFSIM_IO where reading a file fails, RLHFSIM_NO_MEMORY. */
enum rlhfsim_status catalog_load(struct catalog *catalog, const char *directory, bool complete,
                                 struct rlhfsim_diagnostics *diagnostics);

#endif
