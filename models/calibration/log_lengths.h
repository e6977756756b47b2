/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_CALIBRATION_LOG_LENGTHS_H
#define MODELS_CALIBRATION_LOG_LENGTHS_H

/*
 * A scenario with the mean lengths of a log: the laws of prompts and responses are stretched until
 * the mean that is seen, after the cut, is the log's. Where the cut leaves no such mean, and for
 * prompts of a trace, the scenario's stay. A note says which.
 */

#include "models/calibration/log_measure.h"

/* Changes the scenario. *known: the responses have the log's mean. False without memory. */
bool log_lengths_take(const struct log_measure *measure, struct log_steps *notes,
                      struct rlhfsim_scenario *scenario, bool *known);

#endif
