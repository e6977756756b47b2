/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/generation/batch.h"

#include "models/generation/fixed_batch.h"
#include "models/generation/scheduler.h"
#include "sim/contract.h"

#include <math.h>
#include <string.h>

static bool is_fixed(const struct generation_batch *batch) {
    return batch->plan->software.batching != GENERATION_CONTINUOUS;
}

/* ---- memory and beginning ----------------------------------------------------------------- */

static uint32_t most_running(const struct generation_plan *plan, uint32_t count) {
    uint32_t limit = (uint32_t)plan->max_sequences;
    return count < limit ? count : limit;
}

size_t generation_batch_bytes(const struct generation_plan *plan, uint32_t count) {
    const struct generation_batch *batch = NULL;
    size_t running = most_running(plan, count);
    return generation_costs_count(plan, count) * sizeof *batch->costs +
           (2 * running + count) * sizeof *batch->decoding.entries +
           count * (sizeof *batch->finish_s + 12 * sizeof(uint32_t) + 3 * sizeof(bool)) +
           (size_t)plan->software.block_tokens * sizeof *batch->cache.counts;
}

void generation_batch_place(struct generation_batch *batch, const struct generation_plan *plan,
                            uint32_t count, void *block) {
    uint32_t running = most_running(plan, count);
    size_t sizes = generation_costs_count(plan, count);
    *batch = (struct generation_batch){.plan = plan};
    batch->finish_s = block;
    batch->costs = (struct generation_cost *)(void *)(batch->finish_s + count);
    batch->decoding.entries = (struct generation_finish *)(void *)(batch->costs + sizes);
    batch->growing.entries = batch->decoding.entries + running;
    batch->away.entries = batch->growing.entries + running;
    batch->decoding.positions = (uint32_t *)(void *)(batch->away.entries + count);
    batch->growing.positions = batch->decoding.positions + count;
    batch->away.positions = batch->growing.positions + count;
    batch->first = batch->away.positions + count;
    batch->generated = batch->first + count;
    batch->running_of_group = batch->generated + count;
    batch->preempted = batch->running_of_group + count;
    batch->admitted = batch->preempted + count;
    batch->end = batch->admitted + 2 * (size_t)count;
    batch->turn = batch->end + count;
    batch->returned = batch->turn + count;
    batch->cache.counts = batch->returned + count;
    batch->swapped = (bool *)(batch->cache.counts + plan->software.block_tokens);
    batch->held = batch->swapped + count;
    batch->listed = batch->held + count;
    memset(batch->costs, 0, sizes * sizeof *batch->costs);
}

static void check_request(const struct generation_batch *batch,
                          const struct generation_request *request) {
    CONTRACT(request->prompt_tokens >= 1, "a request has at least one token in");
    CONTRACT(request->generated_tokens < generation_answer(request), "an answer that is over");
    CONTRACT(generation_request_fits(batch->plan, generation_request_tokens(request)),
             "a request that the KV cache can never hold");
    CONTRACT(request->turn_count == 0 || !is_fixed(batch), "turns in a fixed batch");
}

/* Finds the first request of every group; without prefix caching everyone is alone. */
static void find_groups(struct generation_batch *batch) {
    const struct generation_request *requests = batch->requests;
    for (uint32_t i = 0; i < batch->count; i++) {
        check_request(batch, &requests[i]);
        batch->first[i] = i;
        batch->generated[i] = requests[i].generated_tokens;
        batch->end[i] = generation_answer(&requests[i]);
        if (!batch->plan->software.prefix_caching || i == 0 ||
            requests[i].group != requests[i - 1].group)
            continue;
        CONTRACT(requests[i].prompt_tokens == requests[i - 1].prompt_tokens,
                 "requests of one group have the same prompt");
        batch->first[i] = batch->first[i - 1];
    }
}

void generation_batch_begin(struct generation_batch *batch,
                            const struct generation_request *requests, uint32_t count) {
    struct generation_batch empty = {
        .plan = batch->plan,
        .observe = batch->observe,
        .observer = batch->observer,
        .requests = requests,
        .count = count,
        .window = generation_window(batch->plan),
        .swap_block_s = generation_swap_block_s(batch->plan),
        .finish_s = batch->finish_s,
        .first = batch->first,
        .generated = batch->generated,
        .running_of_group = batch->running_of_group,
        .end = batch->end,
        .turn = batch->turn,
        .swapped = batch->swapped,
        .held = batch->held,
        .listed = batch->listed,
        .returned = batch->returned,
        .away = batch->away,
        .preempted = batch->preempted,
        .admitted = batch->admitted,
        .cache = batch->cache,
        .decoding = batch->decoding,
        .growing = batch->growing,
        .partial = {.request = GENERATION_NO_REQUEST},
        .kept = GENERATION_NO_REQUEST,
        .costs = batch->costs,
    };
    CONTRACT(count >= 1, "a batch has at least one request");
    *batch = empty;
    find_groups(batch);
    memset(batch->running_of_group, 0, count * sizeof *batch->running_of_group);
    for (uint32_t i = 0; i < count; i++)
        batch->finish_s[i] = (double)NAN;
    memset(batch->turn, 0, count * sizeof *batch->turn);
    memset(batch->swapped, 0, count * sizeof *batch->swapped);
    memset(batch->held, 0, count * sizeof *batch->held);
    generation_kv_cache_reset(&batch->cache, batch->plan->kv_blocks,
                              batch->plan->software.block_tokens, batch->cache.counts);
    generation_finish_queue_reset(&batch->decoding, batch->decoding.entries,
                                  batch->decoding.positions, count);
    generation_finish_queue_reset(&batch->away, batch->away.entries, batch->away.positions, count);
    generation_finish_queue_reset(&batch->growing, batch->growing.entries, batch->growing.positions,
                                  count);
}

/* ---- time --------------------------------------------------------------------------------- */

static const struct generation_decode_cost *decode_cost(struct generation_batch *batch,
                                                        int64_t sequences) {
    return &generation_costs_at(batch->costs, batch->plan, sequences)->decode;
}

/* Sum of a context that starts at `sum` and grows by `growth` an iteration. */
static double series(int64_t sum, int64_t growth, int64_t iterations) {
    double count = (double)iterations;
    return (double)sum * count + (double)growth * (count * (count - 1.0) / 2.0);
}

/* Seconds of the first iterations of the span that is planned, in closed form. */
static double span_s(const struct generation_batch *batch, int64_t iterations) {
    const struct generation_decode_cost *cost = &batch->span.cost;
    double seconds =
        (double)iterations * cost->base_s +
        cost->kv_token_s * series(batch->context_tokens, batch->decoding.count, iterations);
    if (batch->window == 0)
        return seconds;
    return seconds +
           cost->window_token_s * series(batch->window_tokens, batch->growing.count, iterations);
}

/* Counts `iterations` of decoding `sequences` that read `context` tokens in all. */
static void count_decoding(struct generation_batch *batch, int64_t iterations, int64_t sequences,
                           double context, double window) {
    batch->iterations += (uint64_t)iterations;
    batch->decode_steps += (uint64_t)(iterations * sequences);
    batch->decoded_tokens += (uint64_t)(iterations * sequences);
    batch->context_reads += context;
    batch->window_reads += window;
    batch->pairs += context;
    batch->window_pairs += window;
}

/* All that decode make a token, `iterations` times. */
static void move_on(struct generation_batch *batch, int64_t iterations) {
    generation_kv_cache_advance(&batch->cache, iterations);
    batch->clock += (uint64_t)iterations;
    batch->context_tokens += batch->decoding.count * iterations;
    if (batch->window == 0)
        return;
    batch->window_tokens += batch->growing.count * iterations;
    generation_leave_growing(batch);
}

/* ---- spans -------------------------------------------------------------------------------- */

/* Iterations up to the next end, or to the window, or as many as the free blocks allow. */
static void plan_decoding(struct generation_batch *batch) {
    int64_t n = batch->decoding.count;
    INVARIANT(n > 0, "nothing runs and nothing was admitted");
    int64_t iterations = (int64_t)(batch->decoding.entries[0].iteration - batch->clock);
    if (batch->growing.count > 0 &&
        (int64_t)(batch->growing.entries[0].iteration - batch->clock) < iterations)
        iterations = (int64_t)(batch->growing.entries[0].iteration - batch->clock);
    batch->span = (struct generation_span){
        .iterations = generation_kv_cache_iterations(&batch->cache, iterations),
        .start_s = batch->elapsed_s,
        .cost = *decode_cost(batch, n),
    };
    batch->elapsed_s += span_s(batch, batch->span.iterations);
    if (batch->away.count > 0)
        (void)generation_batch_cut(batch, generation_next_return_s(batch));
}

static void observe(struct generation_batch *batch, const struct generation_step *step,
                    int64_t iterations) {
    if (batch->observe != NULL)
        batch->observe(batch->observer, step, iterations);
}

static void finish_decoding(struct generation_batch *batch) {
    int64_t n = batch->decoding.count, iterations = batch->span.iterations;
    double context = series(batch->context_tokens, n, iterations);
    double window = series(batch->window_tokens, batch->growing.count, iterations);
    struct generation_step step = {.sequences = n,
                                   .context_tokens = context / (double)iterations,
                                   .window_tokens = window / (double)iterations};
    observe(batch, &step, iterations);
    count_decoding(batch, iterations, n, context, window);
    batch->expert_bytes +=
        (double)iterations * generation_costs_at(batch->costs, batch->plan, n)->expert_bytes;
    move_on(batch, iterations);
    batch->span.iterations = 0;
}

/* One iteration with prompts or followers in it. */
static void mixed(struct generation_batch *batch, const struct generation_admission *admission) {
    bool decodes = batch->plan->software.prefill == GENERATION_PREFILL_MIXED;
    struct generation_step step = {
        .sequences = admission->followers + (decodes ? (int64_t)batch->decoding.count : 0),
        .context_tokens =
            (double)(admission->follower_context + (decodes ? batch->context_tokens : 0)),
        .window_tokens =
            (double)(admission->follower_window + (decodes ? batch->window_tokens : 0)),
        .prefill_tokens = (double)admission->prefill_tokens,
        .prefill_pairs = admission->prefill_pairs,
        .window_pairs = admission->window_pairs,
        .prompts_finished = admission->prompts_finished};
    if (admission->prefill_tokens > 0) {
        batch->elapsed_s += generation_iteration_s(batch->plan, &step);
    } else {
        const struct generation_decode_cost *cost = decode_cost(batch, step.sequences);
        batch->elapsed_s += cost->base_s + cost->kv_token_s * step.context_tokens +
                            cost->window_token_s * step.window_tokens;
    }
    observe(batch, &step, 1);
    count_decoding(batch, 1, step.sequences, step.context_tokens, step.window_tokens);
    batch->expert_bytes +=
        generation_expert_bytes(batch->plan, (double)(step.sequences + admission->prefill_tokens));
    batch->prefilled_tokens += (uint64_t)admission->prefill_tokens;
    batch->decoded_tokens += (uint64_t)admission->prompts_finished;
    batch->pairs += admission->prefill_pairs;
    batch->window_pairs += admission->window_pairs;
    if (decodes)
        move_on(batch, 1);
    for (uint32_t i = admission->join_begin; i < admission->join_end; i++)
        generation_start_decoding(batch, batch->admitted[i]);
}

static void count_swaps(struct generation_batch *batch, int64_t blocks) {
    if (blocks == 0)
        return;
    batch->swapped_blocks += (uint64_t)blocks;
    batch->elapsed_s += (double)blocks * batch->swap_block_s;
}

/* Has a sequence made its last token? */
static bool some_finished(const struct generation_batch *batch) {
    return batch->decoding.count > 0 && batch->decoding.entries[0].iteration <= batch->clock;
}

double generation_batch_plan(struct generation_batch *batch) {
    CONTRACT(batch->ended < batch->count && batch->span.iterations == 0, "nothing to plan");
    bool changed;
    if (is_fixed(batch))
        return generation_fixed_batch_plan(batch);
    do {
        generation_take_returned(batch);
        count_swaps(batch, generation_make_room(batch));
        struct generation_admission admission = generation_admit(batch);
        count_swaps(batch, admission.swapped_blocks);
        /* chunks of a long prompt that change nothing else are of one span */
        bool empty = generation_admission_is_empty(&admission);
        bool waits = empty && batch->decoding.count == 0 && batch->away.count > 0;
        changed = !waits && (empty || admission.join_begin < admission.join_end);
        if (waits)
            batch->elapsed_s = generation_next_return_s(batch);
        else if (empty)
            plan_decoding(batch);
        else
            mixed(batch, &admission);
    } while (!changed && !some_finished(batch));
    batch->spans++;
    return batch->elapsed_s;
}

/*
 * The first j with start + span(j) >= time. A span of j iterations takes a j + b j (j - 1) / 2, so
 * the root of b/2 j^2 + (a - b/2) j - T, in the form that loses no digits where b is small, is near
 * it; rounding is settled by trying its neighbours.
 */
double generation_batch_cut(struct generation_batch *batch, double time_s) {
    struct generation_span *span = &batch->span;
    if (span->iterations <= 1 || time_s >= batch->elapsed_s)
        return batch->elapsed_s;
    double wanted = fmax(0.0, time_s - span->start_s), first = span_s(batch, 1);
    double step = span_s(batch, 2) - 2.0 * first; /* what each iteration takes more */
    double linear = first - step / 2.0;
    double root = 2.0 * wanted / (linear + sqrt(linear * linear + 2.0 * step * wanted));
    int64_t iterations = (int64_t)fmin(fmax(1.0, ceil(root)), (double)span->iterations);
    while (iterations > 1 && span_s(batch, iterations - 1) >= wanted)
        iterations--;
    while (iterations < span->iterations && span_s(batch, iterations) < wanted)
        iterations++;
    span->iterations = iterations;
    batch->elapsed_s = span->start_s + span_s(batch, iterations);
    return batch->elapsed_s;
}

bool generation_batch_finish(struct generation_batch *batch) {
    if (is_fixed(batch))
        generation_fixed_batch_finish(batch);
    if (batch->span.iterations > 0)
        finish_decoding(batch);
    generation_end_finished(batch);
    return batch->ended < batch->count;
}

/* ---- results ------------------------------------------------------------------------------ */

bool generation_batch_has_ended(const struct generation_batch *batch, uint32_t request) {
    return !isnan(batch->finish_s[request]);
}

uint32_t generation_batch_generated(const struct generation_batch *batch, uint32_t request) {
    if (!generation_finish_queue_has(&batch->decoding, request))
        return batch->generated[request];
    uint64_t end = batch->decoding.entries[batch->decoding.positions[request]].iteration;
    return batch->end[request] - (uint32_t)(end - batch->clock);
}

/* Model FLOPs; layers with a window have the pairs within it only. */
static double model_flops(const struct generation_batch *batch) {
    const struct llm_architecture *model = batch->plan->architecture;
    struct llm_batch work = {
        .sequences = (double)batch->count,
        .tokens = (double)(batch->prefilled_tokens + batch->decode_steps),
        .score_pairs = batch->pairs,
        .logit_tokens = (double)(batch->decoded_tokens + batch->empty_answers),
    };
    if (is_fixed(batch))
        work.logit_tokens = (double)batch->padded_logits;
    if (batch->window > 0) {
        double windowed = (double)model->window_layers / (double)model->layers;
        work.score_pairs = (1.0 - windowed) * batch->pairs + windowed * batch->window_pairs;
    }
    return llm_forward_flops(model, LLM_HEAD_VOCABULARY, &work);
}

void generation_batch_outcome(const struct generation_batch *batch,
                              struct generation_outcome *outcome) {
    const struct generation_plan *plan = batch->plan;
    *outcome = (struct generation_outcome){
        .makespan_s = batch->elapsed_s,
        .tail_s = 2 * batch->ended < batch->count ? 0.0 : batch->elapsed_s - batch->half_s,
        .unfinished = batch->count - batch->ended,
        .iterations = batch->iterations,
        .prefilled_tokens = batch->prefilled_tokens,
        .decoded_tokens = batch->decoded_tokens,
        .preemptions = batch->preemptions,
        .swapped_blocks = batch->swapped_blocks,
        .spans = batch->spans,
        .flops = model_flops(batch),
        .bytes = (double)batch->iterations * generation_weight_bytes(plan) + batch->expert_bytes +
                 batch->context_reads * generation_kv_token_bytes(plan) +
                 batch->window_reads * generation_window_token_bytes(plan),
    };
}
