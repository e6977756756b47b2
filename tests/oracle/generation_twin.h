/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TESTS_ORACLE_GENERATION_TWIN_H
#define TESTS_ORACLE_GENERATION_TWIN_H

/*
 * The rollout engine token by token: the rules of models/generation/batch.h once more, with arrays,
 * linear scans and blocks counted anew whenever they are asked for, one iteration at a time. Only
 * the time of one iteration is shared with the engine. Slow on purpose.
 */

#include "models/generation/plan.h"

#include <stddef.h>

struct generation_twin_result {
    double makespan_s, half_s; /* when all, and when half of the requests (rounded up) had ended */
    uint64_t iterations, prefilled_tokens, decoded_tokens, preemptions, swapped_blocks;
    double flops, bytes;
};

/* finish_s has room for `count`. False when memory is exhausted. */
bool generation_twin(const struct generation_plan *plan, const struct generation_request *requests,
                     size_t count, double *finish_s, struct generation_twin_result *result);

#endif
