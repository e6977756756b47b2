/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_SCENARIO_CALIBRATION_H
#define MODELS_SCENARIO_CALIBRATION_H

/*
 * What a user's own steps say of the forecast: four factors, each of all times of one part of a
 * step, from the file that `rlhfsim calibrate log` writes.
 *
 *     rollout   iterations of the inference engine
 *     training  passes and updates of the trainer, whatever the model
 *     sync      weight syncs
 *     host      the driver's work of a step, putting the engine to sleep and waking it
 *
 * The file is CSV: part, factor, fitted, phases, steps, log, scenario. The first three count, the
 * others say where the factor is from. A part without a row keeps 1.
 */

#include <rlhfsim/diagnostics.h>

#include <stdbool.h>
#include <stdint.h>

#define SCENARIO_PART_MAP(XX) \
    XX(ROLLOUT, "rollout")    \
    XX(TRAINING, "training")  \
    XX(SYNC, "sync")          \
    XX(HOST, "host")

enum scenario_part {
#define SCENARIO_PART_ENUM(name, text) SCENARIO_PART_##name,
    SCENARIO_PART_MAP(SCENARIO_PART_ENUM)
#undef SCENARIO_PART_ENUM
        SCENARIO_PARTS
};

const char *scenario_part_name(enum scenario_part part);

/* All zero: there is none. */
struct scenario_calibration {
    double factor[SCENARIO_PARTS]; /* 0: no row */
    bool fitted[SCENARIO_PARTS];   /* else kept at 1 for want of a measurement */
    char text[256];                /* "rollout x 1.08, training x 0.93 from train.log" */
};

#define SCENARIO_FACTOR_LEAST 1e-3
#define SCENARIO_FACTOR_MOST 1e3

/* Reads a file. RLHFSIM_OK; RLHFSIM_INVALID with the errors added, RLHFSIM_IO, RLHFSIM_NO_MEMORY;
 * *calibration is then undefined. */
enum rlhfsim_status scenario_calibration_read(const char *path,
                                              struct rlhfsim_diagnostics *diagnostics,
                                              struct scenario_calibration *calibration);

/* Adds the factors to a fingerprint; one that has none leaves it as it is. */
uint64_t scenario_calibration_hash(uint64_t hash, const struct scenario_calibration *calibration);

#endif
