/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_GENERATION_FLOOR_H
#define MODELS_GENERATION_FLOOR_H

/*
 * What no number of replicas gets below: a sequence alone on an engine. Its prompt, then one token
 * an iteration of a batch of one over a context that grows from P + 1 to P + R - 1,
 *
 *     T = prefill(P) + (R - 1) base(1) + kv ((R - 1) P + R (R - 1) / 2).
 *
 * A rollout with that sequence in it takes at least as long, and the more GPUs, the closer it gets.
 */

#include "models/generation/plan.h"

double generation_alone_s(const struct generation_plan *plan,
                          const struct generation_request *request);

#endif
