/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_GENERATION_BATCH_H
#define MODELS_GENERATION_BATCH_H

/*
 * The core of the engine: a batch of requests, advanced from one change of the running set to the
 * next, without a calendar. The rules of the scheduler, iteration by iteration:
 *
 *   1. Blocks. In an iteration every sequence holds the blocks of its tokens and of the one that it
 *      yields. Where the decoding ones find too few free, first the prompt that is kept for the
 *      head of the queue is dropped (see 4), then the youngest sequence is preempted, until the
 *      rest fits. It goes to the head of the queue and loses its keys and values.
 *   2. Every decoding sequence yields one token, whatever the token budget.
 *   3. What is left of the budget goes to the prompt that is under way, then to the queue, first
 *      come, first served: the head is admitted while budget is left, fewer than max_sequences run,
 *      and the blocks of all its tokens and one more are free. A prompt that is longer than what is
 *      left is continued in the next iteration; so at most one is under way, and it is the youngest
 *      sequence. A sequence whose last prompt token is done in an iteration yields its first
 *      response token in it. A preempted one prefills its prompt and what it had generated.
 *   4. With prefix caching the prompt of a group is computed once: the full blocks of it belong to
 *      the group, and while any of the group runs a further one is admitted without prefill: it
 *      feeds the last token of the prompt again, as a decoded token, for a first response token of
 *      its own. When the last running one ends and the head of the queue is of the same group, the
 *      prompt is kept for it. (A preempted one prefills only what it had generated.)
 *
 * Between two changes nothing but the contexts moves, and J iterations from a context sum of S take
 *
 *     sum over j from 0 to J-1 of base + kv (S + n j)  =  J base + kv (S J + n J (J-1) / 2),
 *
 * up to the next end of a sequence or the last iteration that the free blocks allow.
 */

#include "models/generation/finish_queue.h"
#include "models/generation/iteration.h"
#include "models/generation/kv_cache.h"

#define GENERATION_NO_REQUEST UINT32_MAX

/* A prompt of which a part is computed: the youngest of the running sequences. */
struct generation_partial {
    uint32_t request; /* or GENERATION_NO_REQUEST */
    int64_t context;  /* tokens that were in the cache when it was admitted */
    int64_t tokens;   /* to compute after them */
    int64_t done;     /* of those */
};

struct generation_batch {
    const struct generation_plan *plan;
    const struct generation_request *requests;
    uint32_t count;

    /* By request. */
    double *finish_s;
    uint32_t *first;            /* the first request of its group */
    uint32_t *generated;        /* response tokens, of those that wait */
    uint32_t *running_of_group; /* by first request: sequences of the group that run */

    /* The queue is the preempted ones, last one first, then requests[next] and on. */
    uint32_t *preempted;
    uint32_t preempted_count, next;

    /* The running ones in the order of admission; ended ones stay until they come to the top. */
    uint32_t *admitted;
    uint32_t admitted_count;

    struct generation_kv_cache cache;
    struct generation_finish_queue decoding;
    struct generation_partial partial;
    uint32_t kept;   /* first request of the group whose prompt is kept for the head of the queue */
    int64_t running; /* decoding and partial */
    int64_t context_tokens; /* of the decoding ones in the next iteration */

    /* By number of sequences; base_s below 0 where not yet known. */
    struct generation_decode_cost *costs;

    double elapsed_s, half_s;
    uint32_t ended;
    uint64_t iterations, prefilled_tokens, decoded_tokens, decode_steps, preemptions, spans;
    double context_reads; /* tokens of context that decoded tokens attended to */
    double pairs;         /* query-key pairs of all tokens */
    double expert_bytes;  /* of experts' weights, see generation/iteration.h */
};

/* Bytes of the arrays of a batch of `count` requests, and their places in a block of that size
 * (aligned for a double). Costs known before are forgotten. */
size_t generation_batch_bytes(const struct generation_plan *plan, uint32_t count);
void generation_batch_place(struct generation_batch *batch, const struct generation_plan *plan,
                            uint32_t count, void *block);

/* Begins a batch of at most as many requests as it was placed for. Contracts: at least one request;
 * prompts and responses of at least one token; each fits (generation_request_fits); with prefix
 * caching the prompts of a group are equally long. */
void generation_batch_begin(struct generation_batch *batch,
                            const struct generation_request *requests, uint32_t count);

/* To the next change of the running set: sequences end or start to decode, or the free blocks are
 * used up. False when all requests have ended. */
bool generation_batch_advance(struct generation_batch *batch);

void generation_batch_outcome(const struct generation_batch *batch,
                              struct generation_outcome *outcome);

#endif
