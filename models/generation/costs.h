/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_GENERATION_COSTS_H
#define MODELS_GENERATION_COSTS_H

/*
 * What decoding costs by the number of sequences, worked out when it is first asked for. Replicas
 * of one plan may share a table (one thread at a time): it holds nothing but values of pure
 * functions of the plan.
 */

#include "models/generation/iteration.h"

struct generation_cost {
    struct generation_decode_cost decode;
    double expert_bytes; /* of an iteration of so many tokens, see generation/iteration.h */
    bool known;
};

/* Entries of a table for batches of so many requests: more than max_sequences never run. */
size_t generation_costs_count(const struct generation_plan *plan, size_t requests);

/* A table with nothing known, NULL when memory is exhausted. */
struct generation_cost *generation_costs_new(const struct generation_plan *plan, size_t requests);
void generation_costs_free(struct generation_cost *costs);

/* Of `sequences` >= 1 that decode; all calls with one table have the same plan. */
const struct generation_cost *generation_costs_at(struct generation_cost *costs,
                                                  const struct generation_plan *plan,
                                                  int64_t sequences);

#endif
