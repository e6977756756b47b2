/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_CALIBRATION_LOG_LENGTHS_H
#define MODELS_CALIBRATION_LOG_LENGTHS_H

/*
 * The scenario with the mean lengths of a log. A length whose law has a mean takes the log's, its
 * other quantile (p99 or p90) in proportion; a law from a file, one whose mean is that before the
 * cut, or one that does not allow the mean keeps the scenario's. A note says which.
 */

#include "models/calibration/log_measure.h"

/* Frees *scenario and puts another in its place where lengths change. *known: the responses have
 * the log's mean. RLHFSIM_OK or RLHFSIM_NO_MEMORY. */
enum rlhfsim_status log_lengths_take(const struct rlhfsim_source *source,
                                     const struct log_measure *measure, struct log_steps *notes,
                                     struct rlhfsim_scenario **scenario, bool *known);

#endif
