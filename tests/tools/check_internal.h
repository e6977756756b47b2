/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TESTS_TOOLS_CHECK_INTERNAL_H
#define TESTS_TOOLS_CHECK_INTERNAL_H

/* What the files of the output checker share. */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define CHECK_POOLS 4

struct check_pool {
    const char *name;
    int gpus;
};

struct check {
    const char *directory;
    FILE *report;
    size_t faults;
    json_t *summary;
    size_t spans;      /* rows of timeline.csv */
    size_t pool_count; /* of a split: then phases may overlap */
    struct check_pool pools[CHECK_POOLS];
    int gpus; /* 1 + the largest number of a "gpuN" seen */
};

void check_fault(struct check *check, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

FILE *check_open(struct check *check, const char *name); /* NULL and a fault, or the open file */

/* The value at a dotted path of summary.json; NULL where there is none. */
json_t *check_summary_get(const struct check *check, const char *path);
/* True when the figure at `path` has one value in all replicates. */
bool check_exact_figure(const struct check *check, const char *path, double *value);
/* Faults when `path` is such a figure and differs from what the files say. */
void check_agrees(struct check *check, const char *path, double from_files);

bool check_near(double a, double b, double relative, double absolute);
bool check_is_phase(const char *name);
extern const char *const check_phases[]; /* in the contract's order, ends with NULL */

/* The N of "gpuN"; -1 for any other name. */
int check_gpu_number(const char *resource);

/* ---- tables ----------------------------------------------------------------------------------*/

struct check_table {
    const char *name;
    size_t columns, rows;
    char *text;    /* all cells, each terminated */
    size_t *cells; /* row by row: where in `text` */
};

/* Reads a CSV file that begins with exactly this header ("a,b,c"). False with faults. */
bool check_table_read(struct check *check, const char *name, const char *header,
                      struct check_table *table);
void check_table_free(struct check_table *table);
const char *check_cell(const struct check_table *table, size_t row, size_t column);

/* The cells as numbers, with a fault and 0 where they are none. Seconds have at most 9 decimals and
 * are read exactly, as nanoseconds. */
double check_number(struct check *check, const struct check_table *table, size_t row,
                    size_t column);
int64_t check_integer(struct check *check, const struct check_table *table, size_t row,
                      size_t column);
int64_t check_nanoseconds(struct check *check, const struct check_table *table, size_t row,
                          size_t column);

/* ---- the files, one by one -------------------------------------------------------------------*/

bool check_summary(struct check *check, bool *feasible); /* false: unreadable */
void check_timelines(struct check *check);               /* phases.csv and timeline.csv */
void check_memory(struct check *check);
void check_cost(struct check *check);
void check_trace(struct check *check);

#endif
