/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/generation/costs.h"

#include <stdlib.h>

size_t generation_costs_count(const struct generation_plan *plan, size_t requests) {
    size_t limit = (size_t)plan->max_sequences;
    return (requests < limit ? requests : limit) + 1;
}

struct generation_cost *generation_costs_new(const struct generation_plan *plan, size_t requests) {
    return calloc(generation_costs_count(plan, requests), sizeof(struct generation_cost));
}

void generation_costs_free(struct generation_cost *costs) {
    free(costs);
}

const struct generation_cost *generation_costs_at(struct generation_cost *costs,
                                                  const struct generation_plan *plan,
                                                  int64_t sequences) {
    struct generation_cost *cost = &costs[sequences];
    if (cost->known)
        return cost;
    generation_decode_cost(plan, sequences, &cost->decode);
    cost->expert_bytes = generation_expert_bytes(plan, (double)sequences);
    cost->known = true;
    return cost;
}
