/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TOOLS_GRID_H
#define TOOLS_GRID_H

/*
 * The points of a sweep: every combination of the values of its keys. `--vary KEY=SPEC` gives one
 * key its values, in a comma-separated list of
 *
 *     VALUE             as behind --set KEY=
 *     FROM:TO:xFACTOR   FROM, FROM x FACTOR, ... up to TO, TO included when it is hit
 *     FROM:TO:+STEP     FROM, FROM + STEP, ... up to TO, likewise
 *
 * The numbers of a range are decimal and so is what is computed from them: 0:1:+0.1 is 0, 0.1, ...,
 * 0.9, 1. The first key is the slowest: with two keys of n and m values, point i has value i / m of
 * the first and value i % m of the second.
 */

#include <rlhfsim/scenario.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GRID_POINTS_MOST 1000000

struct grid_axis {
    char *key;
    char **values; /* as written; of ranges as computed */
    int *columns;  /* where in the argument each of them stands, or its range */
    size_t count, room;
};

struct grid {
    struct grid_axis *axes;
    size_t axis_count;
    size_t point_count; /* the product; 1 without an axis */
};

/* Room for `axes` axes; false when memory is exhausted. */
bool grid_start(struct grid *grid, size_t axes);
void grid_end(struct grid *grid);

/* Adds the axis of an argument "KEY=SPEC". The key exists in scenarios and is no axis yet, and
 * every value is of its type; else RLHFSIM_INVALID with every error added: file "--vary", line 1,
 * column in the argument. RLHFSIM_NO_MEMORY. */
enum rlhfsim_status grid_add(struct grid *grid, const char *argument,
                             struct rlhfsim_diagnostics *diagnostics);

/* RLHFSIM_INVALID where a key has a value twice, as written or in another spelling ("1 GB" and
 * "1000 MB"), with an error that names both; RLHFSIM_NO_MEMORY. */
enum rlhfsim_status grid_refuse_repeats(const struct grid *grid,
                                        const struct rlhfsim_source *source,
                                        struct rlhfsim_diagnostics *diagnostics);

/* The value that the axis has at the point. */
const char *grid_value(const struct grid *grid, size_t point, size_t axis);

#endif
