/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_CALIBRATION_RUNS_H
#define MODELS_CALIBRATION_RUNS_H

#include "models/calibration/kind.h"
#include "models/validation/run_table.h"

/* Notes why runs of a table tell nothing. RLHFSIM_OK or RLHFSIM_NO_MEMORY. */
enum rlhfsim_status runs_count_skips(struct calibration_run *run, const struct run_table *table);

#endif
