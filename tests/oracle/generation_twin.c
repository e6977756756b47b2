/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/oracle/generation_twin.h"

#include "models/generation/iteration.h"

#include <stdlib.h>
#include <string.h>

enum state { WAITING, PREFILLING, DECODING, ENDED };

struct sequence {
    struct generation_request request;
    uint64_t group;
    enum state state;
    int64_t generated;     /* response tokens so far */
    int64_t cached;        /* tokens of it whose keys and values exist */
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

static bool runs(const struct sequence *sequence) {
    return sequence->state == PREFILLING || sequence->state == DECODING;
}

static int64_t divide_up(int64_t a, int64_t b) {
    return a / b + (a % b != 0 ? 1 : 0);
}

static bool group_runs(const struct twin *twin, uint64_t group) {
    for (size_t i = 0; i < twin->count; i++)
        if (twin->sequences[i].group == group && runs(&twin->sequences[i]))
            return true;
    return false;
}

static bool prompt_exists(const struct twin *twin, uint64_t group) {
    return (twin->keeps && twin->kept_group == group) || group_runs(twin, group);
}

/* Blocks that this iteration needs: for everyone that runs its prompt, its tokens and one more;
 * full blocks of a prompt once a group. */
static int64_t blocks_needed(const struct twin *twin) {
    int64_t block = twin->plan->block_tokens, blocks = 0;
    uint64_t last_group = UINT64_MAX;
    for (size_t i = 0; i < twin->count; i++) {
        const struct sequence *s = &twin->sequences[i];
        int64_t shared = s->request.prompt_tokens / block;
        bool kept = twin->keeps && twin->kept_group == s->group;
        if (runs(s))
            blocks += divide_up(s->request.prompt_tokens + s->generated + 1, block) - shared;
        if ((runs(s) || kept) && s->group != last_group) {
            blocks += shared;
            last_group = s->group; /* groups are contiguous */
        }
    }
    return blocks;
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

static void make_room(struct twin *twin) {
    while (blocks_needed(twin) > twin->plan->kv_blocks) {
        if (twin->keeps) {
            twin->keeps = false;
            continue;
        }
        size_t victim = youngest(twin);
        twin->sequences[victim].state = WAITING;
        twin->sequences[victim].cached = 0;
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
    double context, pairs;
};

/* One token of a prompt after another, while the budget lasts. */
static void prefill(struct sequence *s, struct work *work) {
    int64_t goal = s->request.prompt_tokens + s->generated;
    while (s->cached < goal && work->budget > 0) {
        s->cached++;
        work->budget--;
        work->prefilled++;
        work->pairs += (double)s->cached; /* it attends to all before it and to itself */
    }
    if (s->cached == goal) {
        s->yields = true;
        work->finished++;
    }
}

/* The head of the queue runs, if it fits. */
static bool admit(struct twin *twin, struct work *work) {
    struct sequence *s = &twin->sequences[twin->queue[0]];
    bool exists = prompt_exists(twin, s->group), kept = twin->keeps;
    s->state = PREFILLING;
    if (kept && twin->kept_group == s->group)
        twin->keeps = false;
    if (blocks_needed(twin) > twin->plan->kv_blocks) {
        s->state = WAITING;
        twin->keeps = kept;
        return false;
    }
    s->admission = ++twin->admissions;
    s->cached = exists ? s->request.prompt_tokens : 0;
    if (exists && s->generated == 0) {
        s->follower = s->yields = true;
        work->budget--;
        work->decoded++;
        work->context += s->request.prompt_tokens;
    } else {
        prefill(s, work);
    }
    leave_queue(twin);
    return true;
}

static struct work schedule(struct twin *twin) {
    struct work work = {.budget = twin->plan->max_batched_tokens};
    for (size_t i = 0; i < twin->count; i++) {
        struct sequence *s = &twin->sequences[i];
        s->follower = s->yields = false;
        if (s->state != DECODING)
            continue;
        s->yields = true;
        work.budget--;
        work.decoded++;
        work.context += (double)(s->request.prompt_tokens + s->generated);
    }
    for (size_t i = 0; i < twin->count; i++)
        if (twin->sequences[i].state == PREFILLING && work.budget > 0)
            prefill(&twin->sequences[i], &work);
    while (work.budget > 0 && twin->queued > 0 &&
           number_of(twin, PREFILLING) + number_of(twin, DECODING) <
               (size_t)twin->plan->max_sequences)
        if (!admit(twin, &work))
            break;
    return work;
}

static void end(struct twin *twin, size_t i) {
    struct sequence *s = &twin->sequences[i];
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

/* An iteration is a forward pass of its own; a decoded token is one query over its context. */
static void count_work(struct twin *twin, const struct work *work) {
    struct llm_batch batch = {.tokens = (double)(work->decoded + work->prefilled),
                              .score_pairs = work->context + work->pairs,
                              .logit_tokens = (double)(work->decoded + work->finished)};
    twin->result->flops += llm_forward_flops(twin->plan->architecture, LLM_HEAD_VOCABULARY, &batch);
    twin->result->bytes +=
        generation_weight_bytes(twin->plan) +
        generation_expert_bytes(twin->plan, (double)(work->decoded + work->prefilled)) +
        generation_kv_token_bytes(twin->plan) * work->context;
}

static void iterate(struct twin *twin) {
    make_room(twin);
    struct work work = schedule(twin);
    twin->elapsed_s += (long double)generation_mixed_iteration_s(
        twin->plan, work.decoded, work.context, (double)work.prefilled, work.pairs, work.finished);
    twin->result->iterations++;
    twin->result->prefilled_tokens += (uint64_t)work.prefilled;
    count_work(twin, &work);
    for (size_t i = 0; i < twin->count; i++) {
        struct sequence *s = &twin->sequences[i];
        if (!s->yields)
            continue;
        s->generated++;
        s->state = DECODING;
        twin->result->decoded_tokens++;
    }
    for (size_t i = 0; i < twin->count; i++)
        if (twin->sequences[i].state == DECODING &&
            twin->sequences[i].generated == twin->sequences[i].request.response_tokens)
            end(twin, i);
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
        twin.sequences[i].group = plan->prefix_caching ? requests[i].group : i;
        twin.queue[twin.queued++] = i;
    }
    while (done && twin.ended < count)
        iterate(&twin);
    result->makespan_s = (double)twin.elapsed_s;
    free(twin.queue);
    free(twin.sequences);
    return done;
}
