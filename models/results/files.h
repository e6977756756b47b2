/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_RESULTS_FILES_H
#define MODELS_RESULTS_FILES_H

/*
 * The files of `run --out DIR`. While a run goes on they are streamed to temporary files beside
 * their final names; results_files_commit renames them all, results_files_discard removes them, so
 * that a file appears whole or not at all. No file holds the wall time, date, host or path.
 *
 * A folder never mixes two runs: an infeasible run, which has no time-lines, removes those that an
 * earlier run left in the same directory. A run that is discarded or fails leaves an earlier run's
 * results as they were, and removes the directories it has made.
 *
 * CSV is RFC 4180: CRLF is not required by readers and not written; fields with a comma, a quote
 * or a line break are quoted (csv.h says what happens to formulas); numbers are printed so that
 * they read back to the same value.
 */

#include "models/algorithms/phase.h"
#include "models/cost/ledger.h"
#include "models/results/summary.h"
#include "sim/recorder.h"

#include <rlhfsim/diagnostics.h>

struct results_files;

/* Names of the model's own tables that the engine only has numbers for. The strings outlive the
 * files. */
struct results_names {
    const char *(*activity)(uint32_t activity); /* phase column of timeline.csv */
    const char *(*owner)(uint32_t owner);       /* model column; "" for none */
    const char *(*category)(uint32_t category); /* of memories */
    const char *tags;                           /* of the scenario */
};

/* Creates the directory (and those above it) if needed and opens the temporary files. RLHFSIM_OK
 * with *files to be committed or discarded; RLHFSIM_IO or RLHFSIM_NO_MEMORY with the error added
 * and *files NULL. */
enum rlhfsim_status results_files_open(const char *directory, const struct results_names *names,
                                       struct rlhfsim_diagnostics *diagnostics,
                                       struct results_files **files);

/* Attaches the sinks of timeline.csv, memory.csv and trace.json to a simulation, which must not
 * run on after the files are committed or discarded. */
enum sim_status results_files_attach(struct results_files *files, struct sim *sim);

/* One row of phases.csv: a phase of one step, with the mean busy and idle seconds of a GPU in it
 * (busy + idle = end - start). */
void results_files_phase(struct results_files *files, int64_t step, enum algorithm_phase phase,
                         sim_time start, sim_time end, double busy_s, double idle_s);

/* Writes cost.csv and summary.json and renames all into place, summary.json last; or, for an
 * infeasible run (`ledger` NULL), memory.csv and summary.json only. The files are closed and freed
 * either way; RLHFSIM_IO (any error since they were opened, a full disk for one) and
 * RLHFSIM_NO_MEMORY leave none of them behind. */
enum rlhfsim_status results_files_commit(struct results_files *files,
                                         const struct cost_ledger *ledger,
                                         const struct rlhfsim_summary *summary,
                                         struct rlhfsim_diagnostics *diagnostics);

/* Removes every trace of the run. NULL is fine. */
void results_files_discard(struct results_files *files);

#endif
