/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/generation/plan.h"

bool generation_request_fits(const struct generation_plan *plan, int64_t tokens) {
    return (tokens + plan->block_tokens - 1) / plan->block_tokens <= plan->kv_blocks;
}
