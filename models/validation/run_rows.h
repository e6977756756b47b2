/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_VALIDATION_RUN_ROWS_H
#define MODELS_VALIDATION_RUN_ROWS_H

/*
 * A row of a table of published runs as a scenario: a list of settings of ordinary keys, which is
 * loaded through the same checks as a file, or written as one.
 *
 * What a row does not state is not made up, but for keys that cannot change what is asked of it:
 * for memory alone (`only_memory`) numbers of prompts and samples, means of lengths (the caps
 * count) and how nodes are wired may be filled in so that the work divides.
 */

#include "models/scenario/scenario.h"
#include "models/validation/kind.h"

#define RUN_SETTINGS 64
#define RUN_SETTING_SIZE 256
#define RUN_REASON_SIZE 192

struct run_settings {
    char at[RUN_SETTINGS][RUN_SETTING_SIZE]; /* "training.tp=2", in the order of the format */
    size_t count;
    char reason[RUN_REASON_SIZE]; /* why there is no scenario; "" where there is one */
};

/* The columns of the table that are read, by name; a table without one of them leaves it empty. */
void run_row_read(const struct catalog *catalog, const struct csv_table *table,
                  const struct csv_row *row, bool only_memory, struct run_settings *settings);

/* Loads the settings. RLHFSIM_OK with *scenario NULL and the first mistake in `reason` where they
 * are no legal scenario; RLHFSIM_NO_MEMORY. */
enum rlhfsim_status run_scenario_load(const struct catalog *catalog, struct run_settings *settings,
                                      struct rlhfsim_scenario **scenario);

/* The settings as the text of a scenario file; the caller frees it with free(). NULL without
 * memory. */
char *run_settings_yaml(const struct run_settings *settings);

#endif
