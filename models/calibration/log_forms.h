/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_CALIBRATION_LOG_FORMS_H
#define MODELS_CALIBRATION_LOG_FORMS_H

/* The two forms of a file: console output (log_console.c) and tables (log_table.c). Private to
 * log_read.c. */

#include "models/calibration/log_steps.h"

enum rlhfsim_status log_console_read(struct log_steps *steps, FILE *stream, const char *path,
                                     struct rlhfsim_diagnostics *diagnostics);
enum rlhfsim_status log_table_read(struct log_steps *steps, FILE *stream, const char *path,
                                   struct rlhfsim_diagnostics *diagnostics);

#endif
