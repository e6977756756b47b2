/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/generation/fixed_batch.h"

#include "models/generation/scheduler.h"
#include "sim/contract.h"

/* A batch that is padded: so many sequences, each of so many tokens in and out. */
struct shape {
    int64_t sequences, prompt, answer;
};

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* What was made of an answer before is computed again with the prompt. */
static int64_t prompt_of(const struct generation_request *request) {
    return (int64_t)request->prompt_tokens + request->generated_tokens;
}

static int64_t answer_of(const struct generation_request *request) {
    return (int64_t)generation_answer(request) - request->generated_tokens;
}

/* The blocks that a batch of so many takes when all answers reach the limit. */
static bool fits(const struct generation_batch *batch, int64_t sequences, int64_t prompt,
                 int64_t answer) {
    int64_t limit = larger(answer, batch->plan->response_limit);
    return sequences * generation_kv_cache_blocks(&batch->cache, prompt + limit) <=
           batch->plan->kv_blocks;
}

/* Takes requests from the queue while they fit; the first one always runs. */
static struct shape take(struct generation_batch *batch) {
    struct shape shape = {0};
    while (batch->next < batch->count && shape.sequences < batch->plan->max_sequences) {
        const struct generation_request *request = &batch->requests[batch->next];
        int64_t prompt = larger(shape.prompt, prompt_of(request));
        int64_t answer = larger(shape.answer, answer_of(request));
        if (shape.sequences > 0 && !fits(batch, shape.sequences + 1, prompt, answer))
            break;
        shape = (struct shape){shape.sequences + 1, prompt, answer};
        batch->next++;
    }
    if (batch->plan->software.batching == GENERATION_PADDED_TO_LIMIT)
        shape.answer = larger(shape.answer, batch->plan->response_limit);
    return shape;
}

static void prompts(struct generation_batch *batch, const struct shape *shape) {
    double n = (double)shape->sequences, tokens = (double)shape->prompt;
    struct generation_step step = {.prefill_tokens = n * tokens,
                                   .prefill_pairs = n * llm_causal_pairs(tokens, 0.0),
                                   .window_pairs =
                                       n * llm_window_pairs(tokens, 0.0, (double)batch->window),
                                   .prompts_finished = shape->sequences};
    batch->elapsed_s += generation_iteration_s(batch->plan, &step);
    batch->iterations++;
    batch->prefilled_tokens += (uint64_t)(shape->sequences * shape->prompt);
    batch->pairs += step.prefill_pairs;
    batch->window_pairs += batch->window > 0 ? step.window_pairs : 0.0;
    batch->padded_logits += (uint64_t)shape->sequences;
    batch->expert_bytes += generation_expert_bytes(batch->plan, step.prefill_tokens);
}

static void answers(struct generation_batch *batch, const struct shape *shape) {
    double n = (double)shape->sequences, steps = (double)(shape->answer - 1);
    double tokens = (double)shape->prompt, near = 0.0;
    struct generation_decode_cost cost;
    double context = n * (steps * tokens + steps * (steps + 1.0) / 2.0);
    if (batch->window > 0)
        near = n * llm_window_pairs(steps, tokens, (double)batch->window);
    generation_decode_cost(batch->plan, shape->sequences, &cost);
    batch->elapsed_s +=
        steps * cost.base_s + cost.kv_token_s * context + cost.window_token_s * near;
    batch->iterations += (uint64_t)(shape->answer - 1);
    batch->decode_steps += (uint64_t)(shape->sequences * (shape->answer - 1));
    batch->padded_logits += (uint64_t)(shape->sequences * (shape->answer - 1));
    batch->context_reads += context;
    batch->window_reads += near;
    batch->pairs += context;
    batch->window_pairs += near;
    batch->expert_bytes += steps * generation_expert_bytes(batch->plan, n);
}

double generation_fixed_batch_plan(struct generation_batch *batch) {
    struct shape shape = take(batch);
    INVARIANT(shape.sequences > 0, "an empty batch");
    prompts(batch, &shape);
    answers(batch, &shape);
    batch->spans++;
    return batch->elapsed_s;
}

void generation_fixed_batch_finish(struct generation_batch *batch) {
    for (; batch->ended < batch->next; batch->ended++) {
        const struct generation_request *request = &batch->requests[batch->ended];
        batch->finish_s[batch->ended] = batch->elapsed_s;
        batch->generated[batch->ended] = request->response_tokens;
        if (request->response_tokens > 0)
            batch->decoded_tokens += request->response_tokens - request->generated_tokens;
        if (batch->ended + 1 == (batch->count + 1) / 2)
            batch->half_s = batch->elapsed_s;
    }
}
