/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/scenario/calibration.h"

#include "models/base/file.h"
#include "models/base/hash.h"
#include "models/base/text.h"
#include "models/scenario/csv_table.h"
#include "models/scenario/scenario.h"
#include "sim/contract.h"

#include <stdio.h>
#include <string.h>

static const char *const parts[] = {
#define PART_NAME(name, text) text,
    SCENARIO_PART_MAP(PART_NAME)
#undef PART_NAME
};

const char *scenario_part_name(enum scenario_part part) {
    CONTRACT((unsigned)part < SCENARIO_PARTS, "not a part");
    return parts[part];
}

double scenario_factor(const struct rlhfsim_scenario *scenario, enum scenario_part part) {
    double factor = scenario->calibration.factor[part];
    return factor > 0.0 ? factor : 1.0;
}

uint64_t scenario_calibration_hash(uint64_t hash, const struct scenario_calibration *calibration) {
    if (calibration->text[0] == '\0')
        return hash;
    hash = base_hash_bytes(hash, calibration->factor, sizeof calibration->factor);
    return base_hash_text(hash, calibration->text);
}

/* ---- reading --------------------------------------------------------------------------------- */

enum column { PART, FACTOR, FITTED, PHASES, STEPS, LOG, SCENARIO, COLUMNS };
static const char *const columns[COLUMNS] = {"part",  "factor", "fitted",  "phases",
                                             "steps", "log",    "scenario"};

struct reading {
    const char *path;
    struct rlhfsim_diagnostics *diagnostics;
    struct csv_table table;
    size_t position[COLUMNS]; /* SIZE_MAX: not there */
    struct scenario_calibration *calibration;
    const char *log;
};

/* The index of a name, or `count` with the error of it and the nearest one. */
static size_t find(const struct reading *reading, const struct csv_cell *cell, const char *what,
                   const char *const *names, size_t count) {
    char quoted[BASE_QUOTE_SIZE];
    struct base_nearest nearest;
    base_nearest_start(&nearest, cell->text);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], cell->text) == 0)
            return i;
        base_nearest_offer(&nearest, names[i]);
    }
    const char *near = base_nearest_name(&nearest);
    (void)tree_error(reading->diagnostics, cell->place, "a calibration has no %s %s%s%s%s", what,
                     base_quote(cell->text, quoted), near == NULL ? "" : "; did you mean '",
                     near == NULL ? "" : near, near == NULL ? "" : "'?");
    return count;
}

static bool match_header(struct reading *reading) {
    bool good = true;
    for (size_t i = 0; i < COLUMNS; i++)
        reading->position[i] = SIZE_MAX;
    for (size_t i = 0; i < reading->table.columns; i++) {
        size_t column = find(reading, &reading->table.header[i], "column", columns, COLUMNS);
        if (column < COLUMNS && reading->position[column] != SIZE_MAX)
            (void)tree_error(reading->diagnostics, reading->table.header[i].place,
                             "column %s is there twice", columns[column]);
        good = good && column < COLUMNS && reading->position[column] == SIZE_MAX;
        if (column < COLUMNS)
            reading->position[column] = i;
    }
    for (size_t i = PART; i <= FITTED && good; i++)
        if (reading->position[i] == SIZE_MAX) {
            (void)rlhfsim_diagnostics_add(reading->diagnostics, RLHFSIM_INVALID, reading->path, 1,
                                          1, "column %s is missing", columns[i]);
            good = false;
        }
    return good;
}

static const struct csv_cell *cell_of(const struct reading *reading, const struct csv_row *row,
                                      enum column column) {
    return &row->cells[reading->position[column]];
}

static bool read_factor(const struct reading *reading, const struct csv_cell *cell,
                        double *factor) {
    char quoted[BASE_QUOTE_SIZE];
    if (base_number_read(cell->text, factor) == BASE_NUMBER_OK &&
        *factor >= SCENARIO_FACTOR_LEAST && *factor <= SCENARIO_FACTOR_MOST)
        return true;
    (void)tree_error(reading->diagnostics, cell->place,
                     "factor is %s, expected a number from %g to %g",
                     base_quote(cell->text, quoted), SCENARIO_FACTOR_LEAST, SCENARIO_FACTOR_MOST);
    return false;
}

static void read_row(struct reading *reading, const struct csv_row *row) {
    static const char *const words[] = {"no", "yes"};
    struct scenario_calibration *calibration = reading->calibration;
    const struct csv_cell *name = cell_of(reading, row, PART);
    const struct csv_cell *word = cell_of(reading, row, FITTED);
    double factor;
    size_t part = find(reading, name, "part", parts, SCENARIO_PARTS);
    size_t fitted = find(reading, word, "answer in column fitted", words, 2);
    bool good = read_factor(reading, cell_of(reading, row, FACTOR), &factor);
    if (part < SCENARIO_PARTS && calibration->factor[part] > 0.0) {
        (void)tree_error(reading->diagnostics, name->place, "part %s is there twice", parts[part]);
        return;
    }
    if (part == SCENARIO_PARTS || fitted == 2 || !good)
        return;
    calibration->factor[part] = factor;
    calibration->fitted[part] = fitted == 1;
    if (reading->position[LOG] != SIZE_MAX && reading->log[0] == '\0')
        reading->log = cell_of(reading, row, LOG)->text;
}

/* What the summary says. */
static void describe(const struct reading *reading) {
    struct scenario_calibration *calibration = reading->calibration;
    char *text = calibration->text;
    size_t size = sizeof calibration->text, used = 0;
    for (size_t part = 0; part < SCENARIO_PARTS; part++)
        if (calibration->fitted[part]) {
            (void)snprintf(text + used, size - used, "%s%s x %.4g", used == 0 ? "" : ", ",
                           parts[part], calibration->factor[part]);
            used = strlen(text);
        }
    (void)snprintf(text + used, size - used, "%s%s", used == 0 ? "nothing fitted" : "",
                   reading->log[0] == '\0' ? "" : " from ");
    used = strlen(text);
    base_text_copy(text + used, size - used, reading->log);
}

static enum rlhfsim_status read_table(struct reading *reading, size_t errors_before) {
    if (match_header(reading))
        for (const struct csv_row *row = reading->table.rows; row != NULL; row = row->next)
            read_row(reading, row);
    if (reading->table.rows == NULL &&
        rlhfsim_diagnostics_count(reading->diagnostics) == errors_before)
        return rlhfsim_diagnostics_add(reading->diagnostics, RLHFSIM_INVALID, reading->path, 0, 0,
                                       "has no factor, expected the file of rlhfsim calibrate log");
    describe(reading);
    return rlhfsim_diagnostics_count(reading->diagnostics) > errors_before ? RLHFSIM_INVALID
                                                                           : RLHFSIM_OK;
}

enum rlhfsim_status scenario_calibration_read(const char *path,
                                              struct rlhfsim_diagnostics *diagnostics,
                                              struct scenario_calibration *calibration) {
    struct base_arena arena = {0};
    struct base_file file;
    struct reading reading = {
        .path = path, .diagnostics = diagnostics, .calibration = calibration, .log = ""};
    size_t errors_before = rlhfsim_diagnostics_count(diagnostics);
    *calibration = (struct scenario_calibration){0};
    enum rlhfsim_status status = base_file_read(path, diagnostics, &file);
    if (status != RLHFSIM_OK)
        return status;
    status = csv_table_read(&arena, path, file.text, file.length, diagnostics, &reading.table);
    if (status == RLHFSIM_OK)
        status = read_table(&reading, errors_before);
    base_arena_release(&arena);
    base_file_release(&file);
    return status;
}
