/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/generation/batch.h"

#include "sim/contract.h"

#include <string.h>

/* ---- memory and beginning ----------------------------------------------------------------- */

static uint32_t most_running(const struct generation_plan *plan, uint32_t count) {
    uint32_t limit = (uint32_t)plan->max_sequences;
    return count < limit ? count : limit;
}

size_t generation_batch_bytes(const struct generation_plan *plan, uint32_t count) {
    const struct generation_batch *batch = NULL;
    size_t running = most_running(plan, count);
    return (running + 1) * sizeof *batch->costs + running * sizeof *batch->decoding.entries +
           count * (sizeof *batch->finish_s + 6 * sizeof(uint32_t)) +
           (size_t)plan->block_tokens * sizeof *batch->cache.counts;
}

void generation_batch_place(struct generation_batch *batch, const struct generation_plan *plan,
                            uint32_t count, void *block) {
    uint32_t running = most_running(plan, count);
    *batch = (struct generation_batch){.plan = plan};
    batch->finish_s = block;
    batch->costs = (struct generation_decode_cost *)(void *)(batch->finish_s + count);
    batch->decoding.entries = (struct generation_finish *)(void *)(batch->costs + running + 1);
    batch->decoding.positions = (uint32_t *)(void *)(batch->decoding.entries + running);
    batch->first = batch->decoding.positions + count;
    batch->generated = batch->first + count;
    batch->running_of_group = batch->generated + count;
    batch->preempted = batch->running_of_group + count;
    batch->admitted = batch->preempted + count;
    batch->cache.counts = batch->admitted + count;
    for (uint32_t n = 0; n <= running; n++)
        batch->costs[n].base_s = -1.0;
}

/* Finds the first request of every group; without prefix caching everyone is alone. */
static void find_groups(struct generation_batch *batch) {
    const struct generation_request *requests = batch->requests;
    for (uint32_t i = 0; i < batch->count; i++) {
        CONTRACT(requests[i].prompt_tokens >= 1 && requests[i].response_tokens >= 1,
                 "a request has at least one token in and one out");
        CONTRACT(generation_request_fits(batch->plan, (int64_t)requests[i].prompt_tokens +
                                                          requests[i].response_tokens),
                 "a request that the KV cache can never hold");
        batch->first[i] = i;
        if (!batch->plan->prefix_caching || i == 0 || requests[i].group != requests[i - 1].group)
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
        .requests = requests,
        .count = count,
        .finish_s = batch->finish_s,
        .first = batch->first,
        .generated = batch->generated,
        .running_of_group = batch->running_of_group,
        .preempted = batch->preempted,
        .admitted = batch->admitted,
        .cache = batch->cache,
        .decoding = batch->decoding,
        .partial = {.request = GENERATION_NO_REQUEST},
        .kept = GENERATION_NO_REQUEST,
        .costs = batch->costs,
    };
    CONTRACT(count >= 1, "a batch has at least one request");
    *batch = empty;
    find_groups(batch);
    memset(batch->generated, 0, count * sizeof *batch->generated);
    memset(batch->running_of_group, 0, count * sizeof *batch->running_of_group);
    generation_kv_cache_reset(&batch->cache, batch->plan->kv_blocks, batch->plan->block_tokens,
                              batch->cache.counts);
    generation_finish_queue_reset(&batch->decoding, batch->decoding.entries,
                                  batch->decoding.positions, count);
}

/* ---- blocks of a sequence and of its group ------------------------------------------------ */

/* Full blocks of the prompt, which belong to the group. */
static int64_t shared_blocks(const struct generation_batch *batch, uint32_t request) {
    return batch->requests[request].prompt_tokens / batch->plan->block_tokens;
}

/* Blocks of a sequence of `tokens` that are its own. */
static int64_t own_blocks(const struct generation_batch *batch, uint32_t request, int64_t tokens) {
    return generation_kv_cache_blocks(&batch->cache, tokens) - shared_blocks(batch, request);
}

static bool prompt_is_cached(const struct generation_batch *batch, uint32_t request) {
    uint32_t group = batch->first[request];
    return batch->running_of_group[group] > 0 || batch->kept == group;
}

static uint32_t head_of_queue(const struct generation_batch *batch) {
    if (batch->preempted_count > 0)
        return batch->preempted[batch->preempted_count - 1];
    return batch->next < batch->count ? batch->next : GENERATION_NO_REQUEST;
}

static void drop_kept_prompt(struct generation_batch *batch) {
    batch->cache.free_blocks += shared_blocks(batch, batch->kept);
    batch->kept = GENERATION_NO_REQUEST;
}

/* A sequence that holds the blocks of `tokens` stops running. */
static void release(struct generation_batch *batch, uint32_t request, int64_t tokens, bool ended) {
    uint32_t group = batch->first[request];
    uint32_t head = head_of_queue(batch);
    batch->cache.free_blocks += own_blocks(batch, request, tokens);
    batch->running--;
    if (--batch->running_of_group[group] > 0)
        return;
    /* does the next in the queue want this prompt? */
    if (ended && head != GENERATION_NO_REQUEST && batch->first[head] == group)
        batch->kept = group;
    else
        batch->cache.free_blocks += shared_blocks(batch, request);
}

/* ---- decoding, ending, preemption --------------------------------------------------------- */

static int64_t tokens_at_end(const struct generation_batch *batch, uint32_t request) {
    return (int64_t)batch->requests[request].prompt_tokens +
           batch->requests[request].response_tokens;
}

/* From now on the sequence, which has `generated` tokens, makes one every iteration. */
static void start_decoding(struct generation_batch *batch, uint32_t request) {
    uint32_t generated = batch->generated[request] + 1;
    int64_t tokens = (int64_t)batch->requests[request].prompt_tokens + generated;
    struct generation_finish finish = {
        .iteration = batch->iterations + (batch->requests[request].response_tokens - generated),
        .request = request};
    generation_finish_queue_push(&batch->decoding, finish);
    generation_kv_cache_join(&batch->cache, tokens);
    batch->context_tokens += tokens;
}

static void stop_decoding(struct generation_batch *batch, int64_t tokens) {
    generation_kv_cache_leave(&batch->cache, tokens);
    batch->context_tokens -= tokens;
}

/* Takes out those whose last token is made; true when there are any. */
static bool end_finished(struct generation_batch *batch) {
    struct generation_finish_queue *queue = &batch->decoding;
    uint32_t before = batch->ended;
    while (queue->count > 0 && queue->entries[0].iteration <= batch->iterations) {
        uint32_t request = queue->entries[0].request;
        int64_t tokens = tokens_at_end(batch, request);
        generation_finish_queue_remove(queue, request);
        stop_decoding(batch, tokens);
        release(batch, request, tokens, true);
        batch->finish_s[request] = batch->elapsed_s;
        if (++batch->ended == (batch->count + 1) / 2)
            batch->half_s = batch->elapsed_s;
    }
    return batch->ended > before;
}

static uint32_t youngest(struct generation_batch *batch) {
    for (;;) {
        INVARIANT(batch->admitted_count > 0, "nothing runs that could be preempted");
        uint32_t request = batch->admitted[batch->admitted_count - 1];
        if (request == batch->partial.request ||
            generation_finish_queue_has(&batch->decoding, request))
            return request;
        batch->admitted_count--;
    }
}

/* The tokens whose blocks a partial prompt holds: all that it computes and the one it yields. */
static int64_t partial_tokens(const struct generation_batch *batch) {
    return batch->partial.context + batch->partial.tokens + 1;
}

static void preempt_youngest(struct generation_batch *batch) {
    uint32_t request = youngest(batch);
    int64_t tokens;
    if (request == batch->partial.request) {
        tokens = partial_tokens(batch);
        batch->partial.request = GENERATION_NO_REQUEST;
    } else {
        struct generation_finish finish = generation_finish_queue_remove(&batch->decoding, request);
        uint32_t remaining = (uint32_t)(finish.iteration - batch->iterations);
        tokens = tokens_at_end(batch, request) - remaining;
        batch->generated[request] = batch->requests[request].response_tokens - remaining;
        stop_decoding(batch, tokens);
    }
    release(batch, request, tokens, false);
    batch->admitted_count--;
    batch->preempted[batch->preempted_count++] = request;
    batch->preemptions++;
}

static void make_room(struct generation_batch *batch) {
    while (generation_kv_cache_growth(&batch->cache, 1) > batch->cache.free_blocks) {
        if (batch->kept != GENERATION_NO_REQUEST)
            drop_kept_prompt(batch);
        else
            preempt_youngest(batch);
    }
}

/* ---- what an iteration does beside decoding ----------------------------------------------- */

struct step {
    int64_t budget;           /* tokens left */
    int64_t followers;        /* admitted to a cached prompt, nothing to prefill */
    int64_t follower_context; /* of those */
    int64_t prefill_tokens;
    double prefill_pairs;
    int64_t prompts_finished;
    uint32_t join_begin, join_end; /* of batch->admitted: decode from the next iteration on */
};

static bool step_is_empty(const struct step *step) {
    return step->followers == 0 && step->prefill_tokens == 0;
}

/* Computes as much of the prompt under way as the budget allows. */
static void continue_prompt(struct generation_batch *batch, struct step *step) {
    struct generation_partial *partial = &batch->partial;
    int64_t chunk = partial->tokens - partial->done;
    if (chunk > step->budget)
        chunk = step->budget;
    step->prefill_tokens += chunk;
    step->prefill_pairs +=
        llm_causal_pairs((double)chunk, (double)(partial->context + partial->done));
    step->budget -= chunk;
    partial->done += chunk;
    if (partial->done < partial->tokens)
        return;
    partial->request = GENERATION_NO_REQUEST;
    step->prompts_finished++;
}

/* Admits the head of the queue if its blocks are free. */
static bool admit(struct generation_batch *batch, struct step *step, uint32_t request,
                  int64_t free_blocks) {
    int64_t prompt = batch->requests[request].prompt_tokens;
    int64_t generated = batch->generated[request];
    bool cached = prompt_is_cached(batch, request);
    int64_t blocks = own_blocks(batch, request, prompt + generated + 1) +
                     (cached ? 0 : shared_blocks(batch, request));
    if (blocks > free_blocks)
        return false;
    batch->cache.free_blocks -= blocks;
    batch->running++;
    batch->running_of_group[batch->first[request]]++;
    if (cached && batch->kept == batch->first[request])
        batch->kept = GENERATION_NO_REQUEST;
    batch->admitted[batch->admitted_count++] = request;
    if (cached && generated == 0) {
        step->followers++;
        step->follower_context += prompt;
        step->budget--;
        return true;
    }
    batch->partial = (struct generation_partial){.request = request,
                                                 .context = cached ? prompt : 0,
                                                 .tokens = cached ? generated : prompt + generated};
    continue_prompt(batch, step);
    return true;
}

/* Spends the token budget that decoding leaves. */
static struct step schedule(struct generation_batch *batch) {
    struct step step = {.budget = batch->plan->max_batched_tokens - (int64_t)batch->decoding.count,
                        .join_begin = batch->admitted_count};
    if (batch->partial.request != GENERATION_NO_REQUEST) {
        step.join_begin--;
        if (step.budget > 0)
            continue_prompt(batch, &step);
    }
    int64_t growth = generation_kv_cache_growth(&batch->cache, 1);
    while (step.budget > 0 && batch->running < batch->plan->max_sequences) {
        uint32_t head = head_of_queue(batch);
        if (head == GENERATION_NO_REQUEST ||
            !admit(batch, &step, head, batch->cache.free_blocks - growth))
            break;
        if (batch->preempted_count > 0)
            batch->preempted_count--;
        else
            batch->next++;
    }
    step.join_end =
        batch->admitted_count - (batch->partial.request == GENERATION_NO_REQUEST ? 0 : 1);
    return step;
}

/* ---- time --------------------------------------------------------------------------------- */

static const struct generation_decode_cost *decode_cost(struct generation_batch *batch,
                                                        int64_t sequences) {
    struct generation_decode_cost *cost = &batch->costs[sequences];
    if (cost->base_s < 0.0)
        generation_decode_cost(batch->plan, sequences, cost);
    return cost;
}

/* Counts `iterations` of decoding `sequences` that read `context` tokens in all. */
static void count_decoding(struct generation_batch *batch, int64_t iterations, int64_t sequences,
                           double context) {
    batch->iterations += (uint64_t)iterations;
    batch->decode_steps += (uint64_t)(iterations * sequences);
    batch->decoded_tokens += (uint64_t)(iterations * sequences);
    batch->context_reads += context;
    batch->pairs += context;
}

/* Iterations up to the next end, or as many as the free blocks allow, in closed form. */
static void decode(struct generation_batch *batch) {
    int64_t n = batch->decoding.count;
    INVARIANT(n > 0, "nothing runs and nothing was admitted");
    int64_t until_end = (int64_t)(batch->decoding.entries[0].iteration - batch->iterations);
    int64_t iterations = generation_kv_cache_iterations(&batch->cache, until_end);
    const struct generation_decode_cost *cost = decode_cost(batch, n);
    double count = (double)iterations;
    double context =
        (double)batch->context_tokens * count + (double)n * (count * (count - 1.0) / 2.0);
    batch->elapsed_s += count * cost->base_s + cost->kv_token_s * context;
    count_decoding(batch, iterations, n, context);
    batch->expert_bytes += count * generation_expert_bytes(batch->plan, (double)n);
    generation_kv_cache_advance(&batch->cache, iterations);
    batch->context_tokens += n * iterations;
}

static double step_s(struct generation_batch *batch, const struct step *step, int64_t sequences,
                     double context) {
    if (step->prefill_tokens > 0)
        return generation_mixed_iteration_s(batch->plan, sequences, context,
                                            (double)step->prefill_tokens, step->prefill_pairs,
                                            step->prompts_finished);
    const struct generation_decode_cost *cost = decode_cost(batch, sequences);
    return cost->base_s + cost->kv_token_s * context;
}

/* One iteration with prompts or followers in it. */
static void mixed(struct generation_batch *batch, const struct step *step) {
    int64_t decoding = batch->decoding.count;
    int64_t sequences = decoding + step->followers;
    double context = (double)(batch->context_tokens + step->follower_context);
    batch->elapsed_s += step_s(batch, step, sequences, context);
    count_decoding(batch, 1, sequences, context);
    batch->expert_bytes +=
        generation_expert_bytes(batch->plan, (double)(sequences + step->prefill_tokens));
    batch->prefilled_tokens += (uint64_t)step->prefill_tokens;
    batch->decoded_tokens += (uint64_t)step->prompts_finished;
    batch->pairs += step->prefill_pairs;
    generation_kv_cache_advance(&batch->cache, 1);
    batch->context_tokens += decoding;
    for (uint32_t i = step->join_begin; i < step->join_end; i++)
        start_decoding(batch, batch->admitted[i]);
}

bool generation_batch_advance(struct generation_batch *batch) {
    bool changed;
    if (batch->ended == batch->count)
        return false;
    do {
        make_room(batch);
        struct step step = schedule(batch);
        /* chunks of a long prompt that change nothing else are of one span */
        changed = step_is_empty(&step) || step.join_begin < step.join_end;
        if (step_is_empty(&step))
            decode(batch);
        else
            mixed(batch, &step);
        changed |= end_finished(batch);
    } while (!changed);
    batch->spans++;
    return batch->ended < batch->count;
}

void generation_batch_outcome(const struct generation_batch *batch,
                              struct generation_outcome *outcome) {
    const struct generation_plan *plan = batch->plan;
    struct llm_batch work = {
        .sequences = (double)batch->count,
        .tokens = (double)(batch->prefilled_tokens + batch->decode_steps),
        .score_pairs = batch->pairs,
        .logit_tokens = (double)batch->decoded_tokens,
    };
    *outcome = (struct generation_outcome){
        .makespan_s = batch->elapsed_s,
        .tail_s = batch->elapsed_s - batch->half_s,
        .iterations = batch->iterations,
        .prefilled_tokens = batch->prefilled_tokens,
        .decoded_tokens = batch->decoded_tokens,
        .preemptions = batch->preemptions,
        .spans = batch->spans,
        .flops = llm_forward_flops(plan->architecture, LLM_HEAD_VOCABULARY, &work),
        .bytes = (double)batch->iterations * generation_weight_bytes(plan) + batch->expert_bytes +
                 batch->context_reads * generation_kv_token_bytes(plan),
    };
}
