/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_GENERATION_BATCH_H
#define MODELS_GENERATION_BATCH_H

/*
 * The core of the engine: a batch of requests, advanced from one change of the running set to the
 * next, without a calendar. The rules of the scheduler with continuous batching, iteration by
 * iteration (fixed batches are in generation/fixed_batch.h):
 *
 *   1. Blocks. In an iteration every sequence holds the blocks of its tokens and of the one that it
 *      yields. Where the decoding ones find too few free, first the prompt that is kept for the
 *      head of the queue is dropped (see 4), then the youngest sequence is preempted, until the
 *      rest fits. It goes to the head of the queue and loses its keys and values.
 *      Under swap it keeps them in the host's memory; every block it held goes there, and every
 *      block that it takes when it comes back is copied, before the iteration's kernels start.
 *   2. Every decoding sequence yields one token, whatever the token budget. Under PREFILL_FIRST
 * they wait while an iteration has anything of 3.
 *   3. What is left of the budget (PREFILL_FIRST: all of it) goes to the prompt that is under way,
 *      then to the queue, first come, first served: the head is admitted while budget is left,
 *      fewer than max_sequences run, and the blocks of all its tokens and one more are free beside
 *      those that the decoding ones take next. A prompt that is longer than what is left is
 *      continued in the next iteration; so at most one is under way, and it is the youngest
 *      sequence. Without chunked prefill it waits until it fits whole; one that is longer than the
 *      whole budget is computed as the only prompt of an iteration. A sequence whose last prompt
 *      token is done in an iteration yields its first response token in it. A preempted one
 *      prefills its prompt and what it had generated; a swapped one decodes in the iteration in
 *      which it is admitted, for one token of the budget.
 *   4. With prefix caching the prompt of a group is computed once: the full blocks of it belong to
 *      the group, and while any of the group runs a further one is admitted without prefill: it
 *      feeds the last token of the prompt again, as a decoded token, for a first response token of
 *      its own. When the last running one ends and the head of the queue is of the same group, the
 *      prompt is kept for it. (A preempted one prefills only what it had generated.)
 *
 *   5. A sequence that has further turns stops running at the end of an answer, and comes back to
 * the tail of the queue after the latency of its environment, with the observation to compute. With
 * keep_turns it holds its blocks meanwhile, and computes the observation and the last token that it
 * had sampled; the blocks are lost as soon as others need them, those of the sequence that comes
 * back last first. Without blocks it computes all its tokens.
 *
 * An answer of no tokens is over with the first one that is sampled, which does not count.
 *
 * Between two changes nothing but the contexts moves, and J iterations from a context sum of S take
 *
 *     sum over j from 0 to J-1 of base + kv (S + n j)  =  J base + kv (S J + n J (J-1) / 2),
 *
 * up to the next end of a sequence or the last iteration that the free blocks allow. Layers with a
 * window of W tokens add kw (S' J + n' J (J-1) / 2), where S' sums min(context, W) and n' counts
 * the sequences below W: one that reaches it ends the span.
 */

#include "models/generation/costs.h"
#include "models/generation/finish_queue.h"
#include "models/generation/kv_cache.h"

#define GENERATION_NO_REQUEST UINT32_MAX

/* A prompt of which a part is computed: the youngest of the running sequences. */
struct generation_partial {
    uint32_t request; /* or GENERATION_NO_REQUEST */
    int64_t context;  /* tokens that were in the cache when it was admitted */
    int64_t tokens;   /* to compute after them */
    int64_t done;     /* of those */
};

/* Iterations that decode and nothing else, planned but not yet done. */
struct generation_span {
    int64_t iterations; /* 0: none */
    double start_s;
    struct generation_decode_cost cost;
};

/* Told of iterations that are done: so many that do `step` each, its contexts the mean of them. */
typedef void(generation_observe_func)(void *observer, const struct generation_step *step,
                                      int64_t iterations);

struct generation_batch {
    const struct generation_plan *plan;
    generation_observe_func *observe; /* of continuous batching; NULL: nobody */
    void *observer;
    const struct generation_request *requests;
    uint32_t count;
    int64_t window; /* tokens; 0: no layer has one */
    double swap_block_s;

    /* By request. */
    double *finish_s;
    uint32_t *first;            /* the first request of its group */
    uint32_t *generated;        /* response tokens, of those that wait */
    uint32_t *running_of_group; /* by first request: sequences of the group that run */
    uint32_t *end;              /* tokens beyond the prompt at the end of its turn */
    uint32_t *turn;             /* turns that are over */
    bool *swapped;              /* its keys and values are in the host's memory */
    bool *listed;               /* scratch of the sweep */
    bool *held;                 /* it keeps its blocks between two turns */

    /* The queue is the preempted ones, last one first, then requests[next] and on, then those that
     * came back for a further turn. */
    uint32_t *preempted;
    uint32_t preempted_count, next;
    uint32_t *returned; /* a ring of `count` */
    uint32_t returned_first, returned_count;
    struct generation_finish_queue away; /* by the time at which they come back, see scheduler.c */

    /* The running ones in the order of admission; those that stopped, and earlier places of one
     * that was admitted again, stay until they come to the top or are swept. Room for 2 x count. */
    uint32_t *admitted;
    uint32_t admitted_count;

    struct generation_kv_cache cache;
    struct generation_finish_queue decoding; /* by the clock at which they end */
    struct generation_finish_queue growing;  /* those below the window, by the clock at which they
                                                reach it */
    struct generation_partial partial;
    uint32_t kept;   /* first request of the group whose prompt is kept for the head of the queue */
    int64_t running; /* decoding and partial */
    uint64_t clock;  /* iterations in which the decoding ones made a token */
    int64_t context_tokens; /* of the decoding ones in the next iteration */
    int64_t window_tokens;  /* the same, at most the window of each */
    struct generation_span span;

    struct generation_cost *costs; /* its own, or shared with others of its plan */

    double elapsed_s, half_s;
    uint32_t ended;
    uint64_t iterations, prefilled_tokens, decoded_tokens, decode_steps, preemptions, spans;
    uint64_t swapped_blocks, empty_answers;
    uint64_t padded_logits; /* of fixed batches: every token that is sampled */
    double context_reads;   /* tokens of context that decoded tokens attended to */
    double window_reads;
    double pairs, window_pairs; /* query-key pairs of all tokens */
    double expert_bytes;        /* of experts' weights, see generation/iteration.h */
};

/* Bytes of the arrays of a batch of `count` requests, and their places in a block of that size
 * (aligned for a double). Costs known before are forgotten. */
size_t generation_batch_bytes(const struct generation_plan *plan, uint32_t count);
void generation_batch_place(struct generation_batch *batch, const struct generation_plan *plan,
                            uint32_t count, void *block);

/* Begins a batch of at most as many requests as it was placed for. Contracts: at least one request;
 * prompts of at least one token; each fits (generation_request_fits); with prefix caching the
 * prompts of a group are equally long; fewer tokens are made already than the answer has. */
void generation_batch_begin(struct generation_batch *batch,
                            const struct generation_request *requests, uint32_t count);

/* Plans the next span, up to the next change of the running set: sequences end or start to decode,
 * or the free blocks are used up. Returns when it ends, in seconds since the beginning. Some have
 * not ended. */
double generation_batch_plan(struct generation_batch *batch);

/* Shortens the span that is planned to the end of the first iteration that ends at or after
 * `time_s` and returns when that is. Iterations with prompts are not interrupted. */
double generation_batch_cut(struct generation_batch *batch, double time_s);

/* Does what is planned. False when all requests have ended. */
bool generation_batch_finish(struct generation_batch *batch);

/* Whether a request has ended. */
bool generation_batch_has_ended(const struct generation_batch *batch, uint32_t request);

/* Tokens that a request has beyond its prompt, observations included: all of them, or those made so
 * far. */
uint32_t generation_batch_generated(const struct generation_batch *batch, uint32_t request);

void generation_batch_outcome(const struct generation_batch *batch,
                              struct generation_outcome *outcome);

#endif
