/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_RESULTS_TABLES_H
#define MODELS_RESULTS_TABLES_H

/* The columns of the CSV files of a run: a header, then a row for each thing that happens. */

#include "models/results/files.h"
#include "models/results/output.h"

/* timeline.csv: what kept a resource busy, in the order in which it ended. */
void results_timeline_header(struct results_output *output);
void results_timeline_row(struct results_output *output, const struct results_names *names,
                          const struct sim *sim, const struct sim_span *span);

/* memory.csv: what a device holds for an owner and category from now on. Several rows may have one
 * time; what the device holds at that time is what it holds after the last of them. */
void results_memory_header(struct results_output *output);
void results_memory_row(struct results_output *output, const struct results_names *names,
                        const struct sim *sim, const struct sim_memory_change_record *change);

/* phases.csv: the phases of every step in the order in which they ended. */
void results_phases_header(struct results_output *output);
void results_phases_row(struct results_output *output, int64_t step, enum algorithm_phase phase,
                        sim_time start, sim_time end, double busy_s, double idle_s);

/* cost.csv: the whole ledger. */
void results_cost_table(struct results_output *output, const struct results_names *names,
                        const struct cost_ledger *ledger);

#endif
