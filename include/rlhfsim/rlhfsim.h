/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef RLHFSIM_H
#define RLHFSIM_H

/*
 * The public API: load a scenario, forecast it, read the summary. Errors are statuses and
 * diagnostics; the library never exits, prints or jumps. It keeps no global state: two forecasts
 * may run in two threads, each with its own objects.
 */

#include <rlhfsim/advice.h>
#include <rlhfsim/calibration.h>
#include <rlhfsim/catalog.h>
#include <rlhfsim/comparison.h>
#include <rlhfsim/diagnostics.h>
#include <rlhfsim/facts.h>
#include <rlhfsim/forecast.h>
#include <rlhfsim/pipeline.h>
#include <rlhfsim/scenario.h>
#include <rlhfsim/status.h>
#include <rlhfsim/summary.h>
#include <rlhfsim/validation.h>

#endif
