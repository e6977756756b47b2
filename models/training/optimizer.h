/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_TRAINING_OPTIMIZER_H
#define MODELS_TRAINING_OPTIMIZER_H

/*
 * Adam with fp32 master weights, bound by the traffic of the states through HBM; offloaded, by the
 * host. Norms of gradients are added up over all stages before any of them goes on, so that the
 * slowest stage counts.
 */

#include "models/training/pass.h"

/* One optimizer step of a trained model, of its slowest stage: traffic through HBM, or over
 * PCIe and host memory when offloaded (the CPU's time is counted in compute_s, PCIe as
 * communication that is not in `bytes`); ZeRO-1 and 2 gather the new weights, which is in the time
 * where the plan does not overlap it with the next forward. */
void training_optimizer(const struct training_plan *plan, struct training_cost *cost);

/* The same for one stage, without the software's jitter. */
void training_stage_optimizer(const struct training_plan *plan, int stage,
                              struct training_cost *cost);

/* Bringing offloaded parameters to the GPU (or back) over PCIe, each GPU its own shard. 0 for a
 * plan that does not offload them. */
double training_parameter_transfer_s(const struct training_plan *plan);

#endif
