/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Clients. While a request makes its `out` tokens every one of the n slots takes a new prompt once,
 * so out iterations decode n sequences and n prompts of `in` tokens are computed among them. With
 * mixed iterations a prompt costs what its chunks add to decoding; with prompts first, its whole
 * iteration. One of the clients waits for its first token at any time, so n - 1 decode:
 *
 *     TPOT = decode(n - 1) + n / out x (what a prompt adds)
 *     TTFT = prompt + TPOT x out / n        (bunched arrivals: a share of the queue)
 *
 * With prompts first, answers of one length stay bunched: all n end together, and their n prompts
 * are computed before any of them decodes, in b batches of the budget. A request waits for all of
 * them, before its first token or after it:
 *
 *     TTFT = W (b + 1) / (2 b),   TPOT = decode(n) + (W - TTFT) / out,   W = n prompts
 *
 * Clients beyond what the cache holds wait, and do not decode.
 *
 * Queued. trtllm-bench chooses its batch and budget: as many sequences as the cache holds whole,
 * at most 4,096, and for every one the tokens of its prompt that fall to an iteration; it does not
 * evict, and its requests are run whole here.
 */

#include "models/validation/serving.h"

#include "models/generation/batch.h"

#include <math.h>
#include <stdlib.h>

#define MOST_SEQUENCES 4096
#define MOST_BUDGET 32768
#define LEAST_BUDGET 2048

void serving_case_bind(struct serving_case *serving) {
    serving->plan.cluster = &serving->cluster;
    serving->plan.architecture = &serving->architecture;
}

static int64_t round_up(double value, int64_t step) {
    return (int64_t)ceil(value / (double)step) * step;
}

static int64_t blocks_of(const struct serving_case *serving, int64_t tokens) {
    int64_t block = serving->plan.software.block_tokens;
    return (tokens + block - 1) / block;
}

/* Whole sequences that the cache holds. */
static int64_t held(const struct serving_case *serving) {
    return serving->plan.kv_blocks /
           blocks_of(serving, serving->input_tokens + serving->output_tokens);
}

static void size_benchmark(struct serving_case *serving) {
    struct generation_plan *plan = &serving->plan;
    double in = (double)serving->input_tokens, out = (double)serving->output_tokens;
    int64_t limit = (int64_t)MOST_SEQUENCES * plan->dp, room = held(serving);
    plan->max_sequences = (int)(room < limit ? room : limit);
    int64_t graph = (plan->max_sequences + plan->dp * plan->pp - 1) / (plan->dp * plan->pp);
    if (graph < plan->software.graph_limit)
        plan->software.graph_limit = graph;
    double tokens = (double)plan->max_sequences / plan->dp * (1.0 + in / out);
    int64_t budget = round_up(fmin(tokens, MOST_BUDGET), 256);
    plan->max_batched_tokens = (budget < LEAST_BUDGET ? LEAST_BUDGET : budget) * plan->dp;
}

bool serving_case_size(struct serving_case *serving) {
    struct generation_plan *plan = &serving->plan;
    serving_case_bind(serving);
    double held_bytes = generation_held_weight_bytes(plan) + serving->reserved_bytes;
    double memory = serving->cluster.gpu.memory_bytes, share = serving->memory_fraction;
    double room = serving->of_free ? share * (memory - held_bytes) : share * memory - held_bytes;
    double blocks = floor(room / generation_held_block_bytes(plan));
    plan->kv_blocks = (int64_t)fmax(0.0, blocks) * plan->dp;
    plan->max_sequences = (int)serving->requests;
    if (held(serving) < plan->dp)
        return false;
    if (serving->mode == SERVING_QUEUED)
        size_benchmark(serving);
    return true;
}

/* ---- clients ------------------------------------------------------------------------------ */

/* Seconds of computing one prompt beside n decoding sequences, and how much of that is added to
 * decoding. */
static double prompt_s(const struct serving_case *serving, int64_t n, double context,
                       double *added_s) {
    const struct generation_plan *plan = &serving->plan;
    bool mixed = plan->software.prefill == GENERATION_PREFILL_MIXED;
    double window = (double)generation_window(plan), total_s = 0.0, decode_s = 0.0;
    int64_t budget = plan->max_batched_tokens - (mixed ? n : 0), done = 0;
    struct generation_decode_cost cost = {0};
    double sum = (double)n * context, near = (double)n * fmin(context, window);
    if (n > 0)
        generation_decode_cost(plan, n, &cost);
    while (done < serving->input_tokens) {
        int64_t rest = serving->input_tokens - done;
        int64_t chunk = plan->software.chunked_prefill && rest > budget ? budget : rest;
        struct generation_step step = {
            .sequences = mixed ? n : 0,
            .context_tokens = mixed ? sum : 0.0,
            .window_tokens = mixed ? near : 0.0,
            .prefill_tokens = (double)chunk,
            .prefill_pairs = llm_causal_pairs((double)chunk, (double)done),
            .window_pairs = llm_window_pairs((double)chunk, (double)done, window),
            .prompts_finished = chunk == rest};
        total_s += generation_iteration_s(plan, &step);
        if (mixed && n > 0)
            decode_s += cost.base_s + cost.kv_token_s * sum + cost.window_token_s * near;
        done += chunk;
    }
    *added_s = total_s - decode_s;
    return total_s;
}

static double decoding_s(const struct serving_case *serving, int64_t n) {
    double context = (double)serving->input_tokens + (double)serving->output_tokens / 2.0;
    double near = fmin(context, (double)generation_window(&serving->plan));
    struct generation_decode_cost cost;
    generation_decode_cost(&serving->plan, n, &cost);
    return cost.base_s + (double)n * (cost.kv_token_s * context + cost.window_token_s * near);
}

static void forecast_bunch(const struct serving_case *serving, int64_t slots,
                           struct serving_forecast *forecast) {
    double in = (double)serving->input_tokens, out = (double)serving->output_tokens, added_s;
    double prompts_s = (double)slots * prompt_s(serving, 0, 0.0, &added_s);
    double batches = ceil((double)slots * in / (double)serving->plan.max_batched_tokens);
    forecast->ttft_s = prompts_s * (batches + 1.0) / (2.0 * batches);
    forecast->tpot_s = decoding_s(serving, slots) + (prompts_s - forecast->ttft_s) / out;
    forecast->output_tokens_per_s =
        (double)slots * out / (forecast->ttft_s + (out - 1.0) * forecast->tpot_s);
}

static void forecast_clients(const struct serving_case *serving,
                             struct serving_forecast *forecast) {
    const struct generation_plan *plan = &serving->plan;
    double in = (double)serving->input_tokens, out = (double)serving->output_tokens;
    double context = in + out / 2.0, added_s;
    int64_t slots = held(serving) < serving->requests ? held(serving) : serving->requests;
    if (plan->software.prefill == GENERATION_PREFILL_FIRST) {
        forecast_bunch(serving, slots, forecast);
        return;
    }
    int64_t n = slots > 1 ? slots - 1 : 1;
    double first_s = prompt_s(serving, slots - 1, context, &added_s);
    double others = (double)(slots - 1) / out; /* prompts that an answer's tokens wait for, each */
    forecast->tpot_s = decoding_s(serving, n) + others * added_s;
    forecast->ttft_s = first_s;
    if (slots > 1)
        forecast->ttft_s += forecast->tpot_s * out / (double)slots;
    forecast->output_tokens_per_s =
        (double)slots * out / (forecast->ttft_s + (out - 1.0) * forecast->tpot_s);
    if (serving->requests > slots) /* the others wait for a slot */
        forecast->ttft_s += (double)(serving->requests - slots) / (double)slots *
                            (forecast->ttft_s + out * forecast->tpot_s);
}

/* ---- runs --------------------------------------------------------------------------------- */

void serving_case_requests(const struct serving_case *serving,
                           struct generation_request *requests) {
    for (uint32_t i = 0; i < (uint32_t)serving->requests; i++)
        requests[i] =
            (struct generation_request){.prompt_tokens = (uint32_t)serving->input_tokens,
                                        .response_tokens = (uint32_t)serving->output_tokens,
                                        .group = i};
}

static double run_s(struct generation_batch *batch, const struct generation_request *requests,
                    uint32_t count) {
    generation_batch_begin(batch, requests, count);
    do
        (void)generation_batch_plan(batch);
    while (generation_batch_finish(batch));
    return batch->elapsed_s;
}

static bool forecast_run(const struct serving_case *serving, struct serving_forecast *forecast) {
    uint32_t count = (uint32_t)serving->requests;
    struct generation_batch batch;
    struct generation_request *requests = malloc(count * sizeof *requests);
    void *block = malloc(generation_batch_bytes(&serving->plan, count));
    bool good = requests != NULL && block != NULL;
    if (good) {
        serving_case_requests(serving, requests);
        generation_batch_place(&batch, &serving->plan, count, block);
        forecast->output_tokens_per_s =
            (double)count * (double)serving->output_tokens / run_s(&batch, requests, count);
    }
    free(block);
    free(requests);
    return good;
}

bool serving_case_forecast(const struct serving_case *serving, struct serving_forecast *forecast) {
    *forecast = (struct serving_forecast){(double)NAN, (double)NAN, (double)NAN};
    if (serving->mode != SERVING_CLIENTS)
        return forecast_run(serving, forecast);
    forecast_clients(serving, forecast);
    return true;
}
