/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/generation/scheduler.h"

#include "sim/contract.h"

#include <string.h>

/* ---- blocks of a sequence and of its group ------------------------------------------------ */

/* Full blocks of the prompt, which belong to the group. */
static int64_t shared_blocks(const struct generation_batch *batch, uint32_t request) {
    return batch->requests[request].prompt_tokens / batch->cache.block_tokens;
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
    if (batch->next < batch->count)
        return batch->next;
    return batch->returned_count > 0 ? batch->returned[batch->returned_first]
                                     : GENERATION_NO_REQUEST;
}

static void leave_queue(struct generation_batch *batch) {
    if (batch->preempted_count > 0) {
        batch->preempted_count--;
    } else if (batch->next < batch->count) {
        batch->next++;
    } else {
        batch->returned_first = (batch->returned_first + 1) % batch->count;
        batch->returned_count--;
    }
}

static void drop_kept_prompt(struct generation_batch *batch) {
    batch->cache.free_blocks += shared_blocks(batch, batch->kept);
    batch->kept = GENERATION_NO_REQUEST;
}

/* A sequence that holds the blocks of `tokens` stops running. Returns the blocks set free. */
static int64_t release(struct generation_batch *batch, uint32_t request, int64_t tokens,
                       bool ended) {
    uint32_t group = batch->first[request];
    uint32_t head = head_of_queue(batch);
    int64_t blocks = own_blocks(batch, request, tokens);
    batch->running--;
    if (--batch->running_of_group[group] == 0) {
        /* does the next in the queue want this prompt? */
        if (ended && head != GENERATION_NO_REQUEST && batch->first[head] == group)
            batch->kept = group;
        else
            blocks += shared_blocks(batch, request);
    }
    batch->cache.free_blocks += blocks;
    return blocks;
}

/* ---- windows ------------------------------------------------------------------------------ */

static int64_t within_window(const struct generation_batch *batch, int64_t tokens) {
    return tokens < batch->window ? tokens : batch->window;
}

static void join_window(struct generation_batch *batch, uint32_t request, int64_t tokens) {
    batch->window_tokens += within_window(batch, tokens);
    if (tokens < batch->window)
        generation_finish_queue_push(
            &batch->growing,
            (struct generation_finish){batch->clock + (uint64_t)(batch->window - tokens), request});
}

static void leave_window(struct generation_batch *batch, uint32_t request, int64_t tokens) {
    batch->window_tokens -= within_window(batch, tokens);
    if (batch->window > 0 && generation_finish_queue_has(&batch->growing, request))
        (void)generation_finish_queue_remove(&batch->growing, request);
}

void generation_leave_growing(struct generation_batch *batch) {
    struct generation_finish_queue *growing = &batch->growing;
    while (growing->count > 0 && growing->entries[0].iteration <= batch->clock)
        (void)generation_finish_queue_remove(growing, growing->entries[0].request);
}

/* ---- turns -------------------------------------------------------------------------------- */

/* Times of 0 and more are in the order of their bits. */
static uint64_t key_of_time(double time_s) {
    uint64_t key;
    memcpy(&key, &time_s, sizeof key);
    return key;
}

static double time_of_key(uint64_t key) {
    double time_s;
    memcpy(&time_s, &key, sizeof time_s);
    return time_s;
}

double generation_next_return_s(const struct generation_batch *batch) {
    return time_of_key(batch->away.entries[0].iteration);
}

/* An environment works on the last answer. */
static void go_away(struct generation_batch *batch, uint32_t request) {
    const struct generation_turn *turn = &batch->requests[request].turns[batch->turn[request]++];
    int64_t tokens = (int64_t)batch->requests[request].prompt_tokens + batch->end[request];
    batch->held[request] = batch->plan->keep_turns;
    if (batch->plan->keep_turns)
        batch->running--;
    else
        (void)release(batch, request, tokens, false);
    batch->end[request] +=
        turn->observation_tokens + (turn->response_tokens > 0 ? turn->response_tokens : 1);
    generation_finish_queue_push(
        &batch->away,
        (struct generation_finish){key_of_time(batch->elapsed_s + turn->latency_s), request});
}

void generation_take_returned(struct generation_batch *batch) {
    while (batch->away.count > 0 && generation_next_return_s(batch) <= batch->elapsed_s) {
        uint32_t request = batch->away.entries[0].request;
        const struct generation_request *r = &batch->requests[request];
        generation_finish_queue_remove(&batch->away, request);
        batch->generated[request] += r->turns[batch->turn[request] - 1].observation_tokens;
        batch->returned[(batch->returned_first + batch->returned_count++) % batch->count] = request;
    }
}

/* Tokens whose blocks a sequence keeps between turns: all but the observation. */
static int64_t held_tokens(const struct generation_batch *batch, uint32_t request) {
    const struct generation_request *r = &batch->requests[request];
    int64_t observed = generation_finish_queue_has(&batch->away, request)
                           ? 0
                           : r->turns[batch->turn[request] - 1].observation_tokens;
    return (int64_t)r->prompt_tokens + batch->generated[request] - observed;
}

static void drop_held(struct generation_batch *batch, uint32_t request) {
    int64_t tokens = held_tokens(batch, request);
    batch->held[request] = false;
    batch->running++; /* release counts it out */
    (void)release(batch, request, tokens, false);
}

/* Who comes back last of those that hold blocks, the one with the higher number of several; those
 * that are in the queue again come after all that are away. */
static uint32_t last_held(const struct generation_batch *batch, uint32_t but) {
    uint32_t found = GENERATION_NO_REQUEST;
    uint64_t latest = 0;
    for (uint32_t i = 0; i < batch->away.count; i++) {
        struct generation_finish away = batch->away.entries[i];
        bool later = found == GENERATION_NO_REQUEST || away.iteration > latest ||
                     (away.iteration == latest && away.request > found);
        if (!batch->held[away.request] || away.request == but || !later)
            continue;
        found = away.request;
        latest = away.iteration;
    }
    for (uint32_t i = batch->returned_count; i > 0 && found == GENERATION_NO_REQUEST; i--) {
        uint32_t request = batch->returned[(batch->returned_first + i - 1) % batch->count];
        if (batch->held[request] && request != but)
            found = request;
    }
    return found;
}

/* ---- decoding, ending, preemption --------------------------------------------------------- */

static int64_t tokens_at_end(const struct generation_batch *batch, uint32_t request) {
    return (int64_t)batch->requests[request].prompt_tokens + batch->end[request];
}

void generation_start_decoding(struct generation_batch *batch, uint32_t request) {
    uint32_t generated = batch->generated[request] + 1;
    int64_t tokens = (int64_t)batch->requests[request].prompt_tokens + generated;
    struct generation_finish finish = {
        .iteration = batch->clock + (batch->end[request] - generated), .request = request};
    generation_finish_queue_push(&batch->decoding, finish);
    generation_kv_cache_join(&batch->cache, tokens);
    batch->context_tokens += tokens;
    if (batch->window > 0)
        join_window(batch, request, tokens);
}

static void stop_decoding(struct generation_batch *batch, uint32_t request, int64_t tokens) {
    generation_kv_cache_leave(&batch->cache, tokens);
    batch->context_tokens -= tokens;
    if (batch->window > 0)
        leave_window(batch, request, tokens);
}

/* Tokens of the answer of the turn under way; 0: none that counts. */
static uint32_t turn_tokens(const struct generation_batch *batch, uint32_t request) {
    const struct generation_request *r = &batch->requests[request];
    uint32_t turn = batch->turn[request];
    return turn == 0 ? r->response_tokens : r->turns[turn - 1].response_tokens;
}

static void end_request(struct generation_batch *batch, uint32_t request) {
    (void)release(batch, request, tokens_at_end(batch, request), true);
    batch->finish_s[request] = batch->elapsed_s;
    if (++batch->ended == (batch->count + 1) / 2)
        batch->half_s = batch->elapsed_s;
}

void generation_end_finished(struct generation_batch *batch) {
    struct generation_finish_queue *queue = &batch->decoding;
    while (queue->count > 0 && queue->entries[0].iteration <= batch->clock) {
        uint32_t request = queue->entries[0].request;
        generation_finish_queue_remove(queue, request);
        stop_decoding(batch, request, tokens_at_end(batch, request));
        batch->generated[request] = batch->end[request];
        if (turn_tokens(batch, request) == 0) {
            batch->decoded_tokens--; /* what it sampled is no part of an answer */
            batch->empty_answers++;
        }
        if (batch->turn[request] < batch->requests[request].turn_count)
            go_away(batch, request);
        else
            end_request(batch, request);
    }
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

/* Returns the blocks that are copied to the host. A prompt under way has nothing worth keeping. */
static int64_t preempt_youngest(struct generation_batch *batch) {
    uint32_t request = youngest(batch);
    int64_t tokens, blocks;
    bool partial = request == batch->partial.request;
    if (partial) {
        tokens = partial_tokens(batch);
        batch->partial.request = GENERATION_NO_REQUEST;
    } else {
        struct generation_finish finish = generation_finish_queue_remove(&batch->decoding, request);
        uint32_t remaining = (uint32_t)(finish.iteration - batch->clock);
        tokens = tokens_at_end(batch, request) - remaining;
        batch->generated[request] = batch->end[request] - remaining;
        batch->swapped[request] = batch->plan->software.preemption == GENERATION_SWAP;
        stop_decoding(batch, request, tokens);
    }
    blocks = release(batch, request, tokens, false);
    batch->admitted_count--;
    batch->preempted[batch->preempted_count++] = request;
    batch->preemptions++;
    return batch->swapped[request] ? blocks : 0;
}

int64_t generation_make_room(struct generation_batch *batch) {
    int64_t blocks = 0;
    while (generation_kv_cache_growth(&batch->cache, 1) > batch->cache.free_blocks) {
        uint32_t held = last_held(batch, GENERATION_NO_REQUEST);
        if (batch->kept != GENERATION_NO_REQUEST)
            drop_kept_prompt(batch);
        else if (held != GENERATION_NO_REQUEST)
            drop_held(batch, held);
        else
            blocks += preempt_youngest(batch);
    }
    return blocks;
}

/* ---- admission ---------------------------------------------------------------------------- */

/* Computes as much of the prompt under way as the budget allows; all of it where prompts are not
 * cut. */
static void continue_prompt(struct generation_batch *batch,
                            struct generation_admission *admission) {
    struct generation_partial *partial = &batch->partial;
    int64_t chunk = partial->tokens - partial->done;
    if (batch->plan->software.chunked_prefill && chunk > admission->budget)
        chunk = admission->budget;
    double tokens = (double)chunk, context = (double)(partial->context + partial->done);
    admission->prefill_tokens += chunk;
    admission->prefill_pairs += llm_causal_pairs(tokens, context);
    if (batch->window > 0)
        admission->window_pairs += llm_window_pairs(tokens, context, (double)batch->window);
    admission->budget -= chunk;
    partial->done += chunk;
    if (partial->done < partial->tokens)
        return;
    partial->request = GENERATION_NO_REQUEST;
    admission->prompts_finished++;
}

/* Whether the budget has room to compute so many tokens, now or in part. */
static bool budget_allows(const struct generation_batch *batch,
                          const struct generation_admission *admission, int64_t tokens) {
    if (batch->plan->software.chunked_prefill || tokens <= admission->budget)
        return true;
    return tokens > batch->plan->max_batched_tokens && admission->prefill_tokens == 0;
}

/* Decodes in this iteration, after `context` tokens that are in the cache. */
static void follow(struct generation_batch *batch, struct generation_admission *admission,
                   int64_t context) {
    admission->followers++;
    admission->follower_context += context;
    if (batch->window > 0)
        admission->follower_window += within_window(batch, context);
    admission->budget--;
}

/* What the head of the queue takes. */
struct claim {
    bool cached;             /* its prompt is there */
    bool follows;            /* nothing is to be computed before it decodes */
    int64_t context, tokens; /* in the cache; to be computed after them */
    int64_t blocks;
};

static struct claim claim_of(const struct generation_batch *batch, uint32_t request) {
    int64_t prompt = batch->requests[request].prompt_tokens;
    int64_t all = prompt + batch->generated[request];
    bool cached = prompt_is_cached(batch, request);
    struct claim claim = {.cached = cached,
                          .follows = batch->swapped[request] || (cached && all == prompt),
                          .context = cached ? prompt : 0,
                          .blocks = own_blocks(batch, request, all + 1) +
                                    (cached ? 0 : shared_blocks(batch, request))};
    if (batch->held[request]) {
        claim.context = held_tokens(batch, request) - 1; /* the last one sampled was not fed */
        claim.blocks -= own_blocks(batch, request, claim.context + 1);
    }
    claim.tokens = all - claim.context;
    return claim;
}

/* Takes the claimed blocks and runs; what is away with blocks makes way. */
static bool take_blocks(struct generation_batch *batch, uint32_t request, int64_t growth,
                        struct claim *claim) {
    for (*claim = claim_of(batch, request); claim->blocks > batch->cache.free_blocks - growth;
         *claim = claim_of(batch, request)) {
        uint32_t held = last_held(batch, request);
        if (held == GENERATION_NO_REQUEST)
            return false;
        drop_held(batch, held);
    }
    return true;
}

static void run(struct generation_batch *batch, uint32_t request, const struct claim *claim) {
    batch->cache.free_blocks -= claim->blocks;
    batch->running++;
    if (!batch->held[request])
        batch->running_of_group[batch->first[request]]++;
    batch->held[request] = false;
    if (claim->cached && batch->kept == batch->first[request])
        batch->kept = GENERATION_NO_REQUEST;
    batch->admitted[batch->admitted_count++] = request;
}

/* Admits the head of the queue if its blocks are free and its tokens are allowed. */
static bool admit(struct generation_batch *batch, struct generation_admission *admission,
                  uint32_t request, int64_t growth) {
    struct claim claim = claim_of(batch, request);
    if (!claim.follows && !budget_allows(batch, admission, claim.tokens))
        return false;
    if (!take_blocks(batch, request, growth, &claim) ||
        (!claim.follows && !budget_allows(batch, admission, claim.tokens)))
        return false;
    run(batch, request, &claim);
    if (claim.follows) {
        admission->swapped_blocks += batch->swapped[request] ? claim.blocks : 0;
        batch->swapped[request] = false;
        follow(batch, admission,
               (int64_t)batch->requests[request].prompt_tokens + batch->generated[request]);
        return true;
    }
    batch->partial = (struct generation_partial){
        .request = request, .context = claim.context, .tokens = claim.tokens};
    continue_prompt(batch, admission);
    return true;
}

/* Whether an entry of the admitted ones, met from the top, is of a sequence that runs. */
static bool is_current(const struct generation_batch *batch, uint32_t request) {
    bool runs =
        request == batch->partial.request || generation_finish_queue_has(&batch->decoding, request);
    return runs && !batch->listed[request];
}

/* Leaves one entry for each running sequence. */
static void sweep(struct generation_batch *batch) {
    uint32_t kept = 2 * batch->count;
    memset(batch->listed, 0, batch->count * sizeof *batch->listed);
    for (uint32_t i = batch->admitted_count; i > 0; i--) {
        uint32_t request = batch->admitted[i - 1];
        if (!is_current(batch, request))
            continue;
        batch->listed[request] = true;
        batch->admitted[--kept] = request;
    }
    batch->admitted_count = 2 * batch->count - kept;
    memmove(batch->admitted, batch->admitted + kept,
            batch->admitted_count * sizeof *batch->admitted);
}

struct generation_admission generation_admit(struct generation_batch *batch) {
    /* an iteration admits each request once at most */
    if (batch->admitted_count > batch->count)
        sweep(batch);
    bool mixed = batch->plan->software.prefill == GENERATION_PREFILL_MIXED;
    struct generation_admission admission = {.budget = batch->plan->max_batched_tokens -
                                                       (mixed ? (int64_t)batch->decoding.count : 0),
                                             .join_begin = batch->admitted_count};
    if (batch->partial.request != GENERATION_NO_REQUEST) {
        admission.join_begin--;
        if (admission.budget > 0)
            continue_prompt(batch, &admission);
    }
    int64_t growth = generation_kv_cache_growth(&batch->cache, 1);
    while (admission.budget > 0 && batch->running < batch->plan->max_sequences) {
        uint32_t head = head_of_queue(batch);
        if (head == GENERATION_NO_REQUEST || !admit(batch, &admission, head, growth))
            break;
        leave_queue(batch);
    }
    admission.join_end =
        batch->admitted_count - (batch->partial.request == GENERATION_NO_REQUEST ? 0 : 1);
    return admission;
}
