/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_RESULTS_CSV_H
#define MODELS_RESULTS_CSV_H

/*
 * One CSV file, field by field (RFC 4180, lines end in LF). A text field with a comma, a quote or a
 * line break is quoted.
 *
 * Text that a spreadsheet would take for a formula (it begins with = + - @, a tab or a carriage
 * return) gets an apostrophe in front: scenarios are passed around, and their names and tags must
 * not run in the sheet of whoever opens a result. Numbers are never touched.
 */

#include "models/results/output.h"
#include "sim/time.h"

#include <stdint.h>

struct results_csv {
    struct results_output *output;
    bool in_row; /* the next field needs a comma in front */
};

void results_csv_text(struct results_csv *csv, const char *text);
void results_csv_integer(struct results_csv *csv, int64_t value);
void results_csv_number(struct results_csv *csv, double value); /* finite */
void results_csv_seconds(struct results_csv *csv, sim_time time);
void results_csv_end(struct results_csv *csv); /* of the row */

#endif
