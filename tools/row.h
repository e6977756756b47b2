/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TOOLS_ROW_H
#define TOOLS_ROW_H

/*
 * The lines of sweep.csv: `point` (from 0), each varied key with its value as written, `status`
 * (ok, infeasible, illegal), `reason`, then the middles (P50) of figures of the summary under their
 * paths; a figure that is not known is empty. CSV as of RFC 4180 with lines that end in LF. A text
 * that a spreadsheet would take for a formula has an apostrophe in front. A line is one line: no
 * cell holds a line end.
 */

#include "grid.h"

#include <rlhfsim/rlhfsim.h>

enum row_status { ROW_OK, ROW_INFEASIBLE, ROW_ILLEGAL, ROW_STATUSES };

const char *row_status_name(enum row_status status);

/* The header, and a point's line; NULL when memory is exhausted, else the caller frees it. `reason`
 * and `summary` may be NULL. */
char *row_header(const struct grid *grid);
char *row_print(const struct grid *grid, size_t point, enum row_status status, const char *reason,
                const struct rlhfsim_summary *summary);

/* What a line says: its point, whether it has as many cells as the header, its status. False for a
 * line that is none of a sweep's with that header. */
bool row_read(const char *header, const char *line, size_t *point, enum row_status *status);

#endif
