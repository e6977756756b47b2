/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_CALIBRATION_KIND_H
#define MODELS_CALIBRATION_KIND_H

/*
 * A kind of calibration is one file that ends in one const table: its name, the file that it makes,
 * and how. Points and reports are kept here until they are printed.
 */

#include "models/base/arena.h"
#include "models/scenario/catalog.h"

#include <rlhfsim/calibration.h>

#include <stdio.h>

struct calibration_line {
    struct calibration_line *next;
    struct rlhfsim_calibration_line line;
};

struct calibration_skip {
    struct calibration_skip *next;
    const char *reason;
    size_t count;
};

struct calibration_run {
    struct rlhfsim_calibration *calibration;
    const struct catalog *catalog;
    struct rlhfsim_diagnostics *diagnostics;
    const char *const *paths;
    size_t path_count;
    FILE *text; /* of the file that is made */
};

struct calibration_kind {
    const char *name, *file;
    /* Reads, fits, adds lines and writes the text. RLHFSIM_OK, or a status with errors added. */
    enum rlhfsim_status (*run)(struct calibration_run *run);
};

struct rlhfsim_calibration {
    struct base_arena arena; /* of the lines and their texts */
    const struct calibration_kind *kind;
    struct calibration_line *lines;
    struct calibration_skip *skips;
    char *text;
    size_t text_size;
};

extern const struct calibration_kind calibration_memory;
extern const struct calibration_kind calibration_kernels;
extern const struct calibration_kind calibration_training;
extern const struct calibration_kind calibration_runs;
extern const struct calibration_kind calibration_bands;
extern const struct calibration_kind calibration_collectives;
extern const struct calibration_kind calibration_weight_sync;
extern const struct calibration_kind calibration_generation;

/* Each false without memory. A reason is a static text. */
bool calibration_add_line(struct rlhfsim_calibration *calibration,
                          const struct rlhfsim_calibration_line *line);
bool calibration_count_skip(struct rlhfsim_calibration *calibration, const char *reason);

/* Writes a file, whole or not at all; its directory is made if it is missing. */
enum rlhfsim_status calibration_write_text(const char *text, const char *path,
                                           struct rlhfsim_diagnostics *diagnostics);

/* The last part of each path, as the command that made the text: "rlhfsim calibrate KIND A B". */
void calibration_put_command(const struct calibration_run *run, FILE *stream);

#endif
