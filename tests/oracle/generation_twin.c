/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/oracle/generation_twin.h"

#include "models/generation/iteration.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum state { WAITING, PREFILLING, DECODING, AWAY, ENDED };

struct sequence {
    struct generation_request request;
    uint64_t group;
    enum state state;
    int64_t generated; /* response tokens so far */
    int64_t cached;    /* tokens of it whose keys and values exist */
    bool swapped;      /* they are on the host */
    uint32_t turn;     /* turns that are over */
    int64_t observed;  /* tokens of `generated` that came with the last turn */
    bool held;         /* keeps its blocks while it is away or queued again */
    long double back_s;
    uint64_t admission;    /* larger: admitted later */
    bool follower, yields; /* in this iteration */
};

struct twin {
    const struct generation_plan *plan;
    struct sequence *sequences;
    size_t count;
    size_t *queue; /* queue[0] is the head */
    size_t queued;
    bool keeps;
    uint64_t kept_group;
    uint64_t admissions;
    long double elapsed_s;
    struct generation_twin_result *result;
    double *finish_s;
    size_t ended;
};

static int64_t at_least_one(uint32_t tokens) {
    return tokens == 0 ? 1 : tokens;
}

/* Tokens that are sampled in the first turn: an empty answer is one that is thrown away. */
static int64_t answer(const struct sequence *sequence) {
    return at_least_one(sequence->request.response_tokens);
}

/* Tokens beyond the prompt at the end of the turn under way, and whether its answer is empty. */
static int64_t turn_end(const struct sequence *s) {
    int64_t tokens = answer(s);
    for (uint32_t i = 0; i < s->turn; i++)
        tokens += s->request.turns[i].observation_tokens +
                  at_least_one(s->request.turns[i].response_tokens);
    return tokens;
}

static bool answers_nothing(const struct sequence *s) {
    return (s->turn == 0 ? s->request.response_tokens
                         : s->request.turns[s->turn - 1].response_tokens) == 0;
}

static bool runs(const struct sequence *sequence) {
    return sequence->state == PREFILLING || sequence->state == DECODING;
}

static int64_t divide_up(int64_t a, int64_t b) {
    return a / b + (a % b != 0 ? 1 : 0);
}

/* Runs, or is away with its blocks. */
static bool holds(const struct sequence *sequence) {
    return runs(sequence) || sequence->held;
}

static bool group_runs(const struct twin *twin, uint64_t group) {
    for (size_t i = 0; i < twin->count; i++)
        if (twin->sequences[i].group == group && holds(&twin->sequences[i]))
            return true;
    return false;
}

static bool prompt_exists(const struct twin *twin, uint64_t group) {
    return (twin->keeps && twin->kept_group == group) || group_runs(twin, group);
}

/* Blocks of everyone that runs, each with its prompt, its tokens and `more`; full blocks of a
 * prompt once a group. A prompt under way holds the blocks of all its tokens and one more. */
static int64_t count_blocks(const struct twin *twin, int64_t more) {
    int64_t block = twin->plan->software.block_tokens, blocks = 0;
    uint64_t last_group = UINT64_MAX;
    for (size_t i = 0; i < twin->count; i++) {
        const struct sequence *s = &twin->sequences[i];
        int64_t shared = s->request.prompt_tokens / block;
        bool kept = twin->keeps && twin->kept_group == s->group;
        int64_t tokens = s->request.prompt_tokens + s->generated;
        if (s->held)
            blocks += divide_up(tokens - s->observed, block) - shared;
        else if (runs(s))
            blocks += divide_up(tokens + (s->state == PREFILLING ? 1 : more), block) - shared;
        if ((holds(s) || kept) && s->group != last_group) {
            blocks += shared;
            last_group = s->group; /* groups are contiguous */
        }
    }
    return blocks;
}

static int64_t blocks_needed(const struct twin *twin) {
    return count_blocks(twin, 1);
}

static int64_t blocks_held(const struct twin *twin) {
    return count_blocks(twin, 0);
}

/* Blocks go to the host or come back before the kernels start. */
static void swap(struct twin *twin, int64_t blocks) {
    const struct generation_plan *plan = twin->plan;
    twin->elapsed_s += (long double)blocks * (long double)generation_held_block_bytes(plan) /
                       (long double)plan->cluster->gpu.host_bandwidth_bytes_per_s;
    twin->result->swapped_blocks += (uint64_t)blocks;
}

static void queue_in_front(struct twin *twin, size_t i) {
    memmove(twin->queue + 1, twin->queue, twin->queued * sizeof *twin->queue);
    twin->queue[0] = i;
    twin->queued++;
}

static void leave_queue(struct twin *twin) {
    twin->queued--;
    memmove(twin->queue, twin->queue + 1, twin->queued * sizeof *twin->queue);
}

static size_t youngest(const struct twin *twin) {
    size_t found = twin->count;
    for (size_t i = 0; i < twin->count; i++)
        if (runs(&twin->sequences[i]) &&
            (found == twin->count ||
             twin->sequences[i].admission > twin->sequences[found].admission))
            found = i;
    return found;
}

/* The one of those that hold blocks who comes back last (the higher number of several), else who
 * stands last in the queue. */
static bool drop_last_held(struct twin *twin, size_t but) {
    size_t found = twin->count;
    for (size_t i = 0; i < twin->count; i++) {
        const struct sequence *s = &twin->sequences[i];
        if (s->held && i != but && s->state == AWAY &&
            (found == twin->count || s->back_s >= twin->sequences[found].back_s))
            found = i;
    }
    for (size_t k = twin->queued; k > 0 && found == twin->count; k--)
        if (twin->sequences[twin->queue[k - 1]].held && twin->queue[k - 1] != but)
            found = twin->queue[k - 1];
    if (found == twin->count)
        return false;
    twin->sequences[found].held = false;
    return true;
}

static void make_room(struct twin *twin) {
    while (blocks_needed(twin) > twin->plan->kv_blocks) {
        if (twin->keeps) {
            twin->keeps = false;
            continue;
        }
        if (drop_last_held(twin, twin->count))
            continue;
        size_t victim = youngest(twin);
        struct sequence *s = &twin->sequences[victim];
        int64_t held = blocks_held(twin);
        s->swapped = s->state == DECODING && twin->plan->software.preemption == GENERATION_SWAP;
        s->state = WAITING;
        s->cached = 0;
        if (s->swapped)
            swap(twin, held - blocks_held(twin));
        queue_in_front(twin, victim);
        twin->result->preemptions++;
    }
}

static size_t number_of(const struct twin *twin, enum state state) {
    size_t n = 0;
    for (size_t i = 0; i < twin->count; i++)
        n += twin->sequences[i].state == state;
    return n;
}

struct work {
    int64_t budget, decoded, prefilled, finished;
    double context, window, pairs, window_pairs;
};

static double within_window(const struct twin *twin, int64_t tokens) {
    int64_t window = twin->plan->architecture->window;
    return (double)(tokens < window ? tokens : window);
}

/* One token of a prompt after another, while the budget lasts or, in one piece, to its end. */
static void prefill(const struct twin *twin, struct sequence *s, struct work *work) {
    int64_t goal = s->request.prompt_tokens + s->generated;
    while (s->cached < goal && (work->budget > 0 || !twin->plan->software.chunked_prefill)) {
        s->cached++;
        work->budget--;
        work->prefilled++;
        work->pairs += (double)s->cached; /* it attends to all before it and to itself */
        work->window_pairs += within_window(twin, s->cached);
    }
    if (s->cached == goal) {
        s->yields = true;
        work->finished++;
    }
}

/* May so many tokens be computed now? */
static bool budget_allows(const struct twin *twin, const struct work *work, int64_t tokens) {
    bool too_long = tokens > twin->plan->max_batched_tokens;
    return twin->plan->software.chunked_prefill || tokens <= work->budget ||
           (too_long && work->prefilled == 0);
}

static void decode_now(const struct twin *twin, struct sequence *s, struct work *work) {
    int64_t context = s->request.prompt_tokens + s->generated;
    s->yields = true;
    work->decoded++;
    work->context += (double)context;
    work->window += within_window(twin, context);
}

/* The head of the queue runs, if it fits. */
static bool admit(struct twin *twin, struct work *work) {
    size_t head = twin->queue[0];
    struct sequence *s = &twin->sequences[head];
    bool exists = prompt_exists(twin, s->group), kept = twin->keeps, was_held = s->held;
    bool follows = s->swapped || (exists && s->generated == 0);
    int64_t tokens = (exists ? 0 : s->request.prompt_tokens) + s->generated;
    int64_t held = blocks_held(twin);
    if (s->held)
        tokens = s->observed + 1;
    if (!follows && !budget_allows(twin, work, tokens))
        return false;
    s->held = false;
    s->state = PREFILLING;
    if (kept && twin->kept_group == s->group)
        twin->keeps = false;
    if (blocks_needed(twin) > twin->plan->kv_blocks ||
        (!follows && !budget_allows(twin, work, tokens))) {
        s->state = WAITING;
        s->held = was_held;
        twin->keeps = kept;
        /* once more without somebody's blocks, if there are any */
        return drop_last_held(twin, head) && admit(twin, work);
    }
    if (s->swapped)
        swap(twin, blocks_held(twin) - held);
    s->swapped = false;
    s->admission = ++twin->admissions;
    s->cached = exists ? s->request.prompt_tokens : 0;
    if (was_held)
        s->cached = s->request.prompt_tokens + s->generated - tokens;
    if (follows) {
        work->budget--;
        decode_now(twin, s, work);
    } else {
        prefill(twin, s, work);
    }
    leave_queue(twin);
    return true;
}

/* What prompts and followers do; the decoding ones take their tokens first. */
static struct work schedule(struct twin *twin) {
    struct work work = {.budget = twin->plan->max_batched_tokens};
    bool mixed = twin->plan->software.prefill == GENERATION_PREFILL_MIXED;
    size_t decoding = number_of(twin, DECODING);
    for (size_t i = 0; i < twin->count; i++)
        twin->sequences[i].yields = false;
    if (mixed)
        work.budget -= (int64_t)decoding;
    for (size_t i = 0; i < twin->count; i++)
        if (twin->sequences[i].state == PREFILLING && work.budget > 0)
            prefill(twin, &twin->sequences[i], &work);
    while (work.budget > 0 && twin->queued > 0 &&
           number_of(twin, PREFILLING) + number_of(twin, DECODING) <
               (size_t)twin->plan->max_sequences)
        if (!admit(twin, &work))
            break;
    bool idle = work.decoded == 0 && work.prefilled == 0;
    for (size_t i = 0; i < twin->count && (mixed || idle); i++)
        if (twin->sequences[i].state == DECODING)
            decode_now(twin, &twin->sequences[i], &work);
    return work;
}

static void go_away(struct twin *twin, struct sequence *s) {
    s->state = AWAY;
    s->held = twin->plan->keep_turns;
    s->cached = s->observed = 0;
    s->back_s = twin->elapsed_s + (long double)s->request.turns[s->turn].latency_s;
    s->turn++;
}

/* In the order of their times, then of their numbers. */
static void take_returned(struct twin *twin) {
    for (;;) {
        size_t first = twin->count;
        for (size_t i = 0; i < twin->count; i++)
            if (twin->sequences[i].state == AWAY &&
                (first == twin->count || twin->sequences[i].back_s < twin->sequences[first].back_s))
                first = i;
        if (first == twin->count || twin->sequences[first].back_s > twin->elapsed_s)
            return;
        struct sequence *s = &twin->sequences[first];
        s->state = WAITING;
        s->observed = s->request.turns[s->turn - 1].observation_tokens;
        s->generated += s->observed;
        twin->queue[twin->queued++] = first;
    }
}

/* Nobody runs: time passes until somebody comes back. */
static void wait(struct twin *twin) {
    long double next = HUGE_VALL;
    for (size_t i = 0; i < twin->count; i++)
        if (twin->sequences[i].state == AWAY)
            next = fminl(next, twin->sequences[i].back_s);
    twin->elapsed_s = next;
}

static void end(struct twin *twin, size_t i) {
    struct sequence *s = &twin->sequences[i];
    if (s->turn < s->request.turn_count) {
        go_away(twin, s);
        return;
    }
    s->state = ENDED;
    twin->finish_s[i] = (double)twin->elapsed_s;
    if (++twin->ended == (twin->count + 1) / 2)
        twin->result->half_s = (double)twin->elapsed_s;
    if (!group_runs(twin, s->group) && twin->queued > 0 &&
        twin->sequences[twin->queue[0]].group == s->group) {
        twin->keeps = true;
        twin->kept_group = s->group;
    }
}

/* An iteration is a forward pass of its own; a decoded token is one query over its context. Layers
 * with a window have pairs of their own. */
static void count_work(struct twin *twin, const struct work *work) {
    const struct llm_architecture *model = twin->plan->architecture;
    double whole = work->context + work->pairs, near = work->window + work->window_pairs;
    double windowed = (double)model->window_layers / (double)model->layers;
    struct llm_batch batch = {.tokens = (double)(work->decoded + work->prefilled),
                              .score_pairs = windowed * near + (1.0 - windowed) * whole,
                              .logit_tokens = (double)(work->decoded + work->finished)};
    twin->result->flops += llm_forward_flops(model, LLM_HEAD_VOCABULARY, &batch);
    twin->result->bytes +=
        generation_weight_bytes(twin->plan) +
        generation_expert_bytes(twin->plan, (double)(work->decoded + work->prefilled)) +
        generation_kv_token_bytes(twin->plan) * work->context +
        generation_window_token_bytes(twin->plan) * work->window;
}

static void take_time(struct twin *twin, const struct work *work) {
    struct generation_step step = {.sequences = work->decoded,
                                   .context_tokens = work->context,
                                   .window_tokens = work->window,
                                   .prefill_tokens = (double)work->prefilled,
                                   .prefill_pairs = work->pairs,
                                   .window_pairs = work->window_pairs,
                                   .prompts_finished = work->finished};
    twin->elapsed_s += (long double)generation_iteration_s(twin->plan, &step);
    twin->result->iterations++;
    twin->result->prefilled_tokens += (uint64_t)work->prefilled;
    count_work(twin, work);
}

static void iterate(struct twin *twin) {
    take_returned(twin);
    make_room(twin);
    struct work work = schedule(twin);
    if (work.decoded + work.prefilled == 0) {
        wait(twin);
        return;
    }
    take_time(twin, &work);
    for (size_t i = 0; i < twin->count; i++) {
        struct sequence *s = &twin->sequences[i];
        if (!s->yields)
            continue;
        s->generated++;
        s->state = DECODING;
        twin->result->decoded_tokens += !answers_nothing(s);
    }
    for (size_t i = 0; i < twin->count; i++)
        if (twin->sequences[i].state == DECODING &&
            twin->sequences[i].generated == turn_end(&twin->sequences[i]))
            end(twin, i);
}

/* ---- fixed batches ------------------------------------------------------------------------ */

struct padded {
    size_t first, count;
    int64_t prompt, answer;
};

static void pad(const struct twin *twin, struct padded *batch) {
    batch->prompt = batch->answer = 0;
    for (size_t i = batch->first; i < batch->first + batch->count; i++) {
        const struct sequence *s = &twin->sequences[i];
        int64_t prompt = s->request.prompt_tokens + s->generated, left = answer(s) - s->generated;
        batch->prompt = prompt > batch->prompt ? prompt : batch->prompt;
        batch->answer = left > batch->answer ? left : batch->answer;
    }
}

static bool batch_fits(const struct twin *twin, struct padded *batch) {
    int64_t limit = twin->plan->response_limit, block = twin->plan->software.block_tokens;
    pad(twin, batch);
    int64_t longest = batch->prompt + (batch->answer > limit ? batch->answer : limit);
    return (int64_t)batch->count * divide_up(longest, block) <= twin->plan->kv_blocks;
}

/* As many from `first` on as fit, one at least. */
static struct padded next_batch(const struct twin *twin, size_t first) {
    struct padded batch = {.first = first, .count = 1};
    while (first + batch.count < twin->count && batch.count < (size_t)twin->plan->max_sequences) {
        struct padded larger = {.first = first, .count = batch.count + 1};
        if (!batch_fits(twin, &larger))
            break;
        batch.count++;
    }
    pad(twin, &batch);
    if (twin->plan->software.batching == GENERATION_PADDED_TO_LIMIT &&
        batch.answer < twin->plan->response_limit)
        batch.answer = twin->plan->response_limit;
    return batch;
}

/* Every sequence computes a prompt of the padded length, then makes one token after another. */
static void run_batch(struct twin *twin, const struct padded *batch) {
    for (int64_t token = 0; token < batch->answer; token++) {
        struct work work = {0};
        for (size_t i = 0; i < batch->count; i++) {
            for (int64_t k = 1; token == 0 && k <= batch->prompt; k++) {
                work.prefilled++;
                work.pairs += (double)k;
                work.window_pairs += within_window(twin, k);
            }
            work.finished += token == 0;
            work.decoded += token > 0;
            work.context += token > 0 ? (double)(batch->prompt + token) : 0.0;
            work.window += token > 0 ? within_window(twin, batch->prompt + token) : 0.0;
        }
        take_time(twin, &work);
    }
    for (size_t i = batch->first; i < batch->first + batch->count; i++) {
        const struct sequence *s = &twin->sequences[i];
        twin->finish_s[i] = (double)twin->elapsed_s;
        if (s->request.response_tokens > 0)
            twin->result->decoded_tokens += (uint64_t)(answer(s) - s->generated);
        if (++twin->ended == (twin->count + 1) / 2)
            twin->result->half_s = (double)twin->elapsed_s;
    }
}

static void iterate_or_run_batch(struct twin *twin) {
    if (twin->plan->software.batching == GENERATION_CONTINUOUS) {
        iterate(twin);
        return;
    }
    struct padded batch = next_batch(twin, twin->ended);
    run_batch(twin, &batch);
}

bool generation_twin(const struct generation_plan *plan, const struct generation_request *requests,
                     size_t count, double *finish_s, struct generation_twin_result *result) {
    struct twin twin = {.plan = plan, .count = count, .finish_s = finish_s, .result = result};
    *result = (struct generation_twin_result){0};
    twin.sequences = calloc(count, sizeof *twin.sequences);
    twin.queue = calloc(count, sizeof *twin.queue);
    bool done = twin.sequences != NULL && twin.queue != NULL;
    for (size_t i = 0; done && i < count; i++) {
        twin.sequences[i].request = requests[i];
        twin.sequences[i].generated = requests[i].generated_tokens;
        twin.sequences[i].group = plan->software.prefix_caching ? requests[i].group : i;
        twin.queue[twin.queued++] = i;
    }
    while (done && twin.ended < count)
        iterate_or_run_batch(&twin);
    result->makespan_s = (double)twin.elapsed_s;
    free(twin.queue);
    free(twin.sequences);
    return done;
}
