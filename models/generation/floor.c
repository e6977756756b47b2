/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/generation/floor.h"

#include "models/generation/iteration.h"

#include <math.h>

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* The prompt in as many iterations as the budget makes of it. */
static double prefill_s(const struct generation_plan *plan, int64_t prompt) {
    bool whole =
        !plan->software.chunked_prefill || plan->software.batching != GENERATION_CONTINUOUS;
    int64_t budget = whole ? prompt : smaller(prompt, plan->max_batched_tokens);
    double seconds = 0.0, window = (double)generation_window(plan);
    for (int64_t done = 0; done < prompt; done += budget) {
        int64_t chunk = smaller(budget, prompt - done);
        struct generation_step step = {
            .prefill_tokens = (double)chunk,
            .prefill_pairs = llm_causal_pairs((double)chunk, (double)done),
            .window_pairs = llm_window_pairs((double)chunk, (double)done, window),
            .prompts_finished = chunk == prompt - done};
        seconds += generation_iteration_s(plan, &step);
    }
    return seconds;
}

/* Sum over j from 1 to `steps` of min(tokens + j, window): pairs of tokens behind a context. */
static double near_tokens(double tokens, double steps, double window) {
    return window > 0.0 ? llm_window_pairs(steps, tokens, window) : 0.0;
}

double generation_alone_s(const struct generation_plan *plan,
                          const struct generation_request *request) {
    double prompt = (double)request->prompt_tokens, answer = fmax(1.0, request->response_tokens);
    struct generation_decode_cost cost;
    if (plan->software.batching == GENERATION_PADDED_TO_LIMIT)
        answer = fmax(answer, (double)plan->response_limit);
    generation_decode_cost(plan, 1, &cost);
    return prefill_s(plan, request->prompt_tokens) + (answer - 1.0) * cost.base_s +
           cost.kv_token_s * llm_causal_pairs(answer - 1.0, prompt) +
           cost.window_token_s * near_tokens(prompt, answer - 1.0, (double)generation_window(plan));
}
