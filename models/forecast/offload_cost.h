/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_FORECAST_OFFLOAD_COST_H
#define MODELS_FORECAST_OFFLOAD_COST_H

/*
 * What offload costs in time: the first steps are simulated once more with everything on the GPUs,
 * whether it would fit there or not, with the same random numbers. The difference is the optimizer
 * on the host in place of the GPU, weights and activations on their way over PCIe, and what of it
 * hides behind the passes does not count.
 */

#include "models/forecast/run.h"

/* Mean seconds a step; `known` is false where nothing is offloaded. A status of forecast_run on
 * failure. */
enum rlhfsim_status forecast_offload_cost(const struct forecast_plan *plan,
                                          const struct rlhfsim_forecast_options *how,
                                          struct rlhfsim_diagnostics *diagnostics, bool *known,
                                          double *seconds);

#endif
