/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TOOLS_TABLE_H
#define TOOLS_TABLE_H

/*
 * The table of a sweep, or of a shard of it, and where it goes: to stdout, or into a folder as
 * sweep.csv; a shard's folder also gets sweep.shard, which says what it is a shard of (identity.h).
 */

#include "identity.h"

#include <rlhfsim/diagnostics.h>

#define TABLE_FILE "sweep.csv"
#define TABLE_SHARD_FILE "sweep.shard"

struct table {
    struct identity identity;
    char *header; /* both with their line ends */
    char **rows;  /* by point; NULL for those that are not in it */
};

/* Room for the rows of all points; false when memory is exhausted. The header is taken over. */
bool table_start(struct table *table, const struct identity *identity, char *header);
void table_end(struct table *table);

/* Prints the rows in the order of the points; `directory` NULL is stdout, otherwise the folder
 * exists and what it got is said on stdout. */
enum rlhfsim_status table_deliver(const struct table *table, const char *directory,
                                  struct rlhfsim_diagnostics *diagnostics);

#endif
