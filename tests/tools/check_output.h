/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TESTS_TOOLS_CHECK_OUTPUT_H
#define TESTS_TOOLS_CHECK_OUTPUT_H

/*
 * Holds a folder that `run --out` wrote against the contract and against itself, from outside: it
 * reads the files with libcsv and jansson and shares no line with what writes them.
 *
 * summary.json: every key, of its kind. An infeasible run (time.total_s is null) has memory.csv
 *   beside it and nothing else; any other run has all six files.
 * phases.csv: phases follow one another, steps too; busy + idle = end - start; the sums are the
 *   summary's time.total_s, time.phases_s and idle_fraction.
 * timeline.csv: a GPU does one thing at a time; every span lies in a row of phases.csv with its
 *   step and phase; the spans of the GPUs add up to that row's busy_s.
 * memory.csv: nothing negative, nothing repeated, time never goes back; the step function's maxima
 *   are the summary's peaks.
 * cost.csv: amount = quantity x unit price; the sums are the summary's.
 * trace.json: every event has ph, pid, tid and a finite ts; spans on one thread nest or do not
 *   overlap; there are as many as rows in timeline.csv.
 *
 * The files are of the first replicate: they are compared with those figures of the summary that
 * are the same in all replicates.
 */

#include <stddef.h>
#include <stdio.h>

/* Writes a line to `report` for every fault (the first 50) and returns how many there are. */
size_t check_output(const char *directory, FILE *report);

#endif
