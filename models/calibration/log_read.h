/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_CALIBRATION_LOG_READ_H
#define MODELS_CALIBRATION_LOG_READ_H

/* Files of measured steps; log_steps.h has their forms. */

#include "models/calibration/log_steps.h"

/* Adds the steps of a file. RLHFSIM_OK; RLHFSIM_INVALID with the errors added, also where the file
 * has no step with a timer; RLHFSIM_IO, RLHFSIM_NO_MEMORY. */
enum rlhfsim_status log_read(struct log_steps *steps, const char *path,
                             struct rlhfsim_diagnostics *diagnostics);

#endif
