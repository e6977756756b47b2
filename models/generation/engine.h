/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_GENERATION_ENGINE_H
#define MODELS_GENERATION_ENGINE_H

/*
 * One replica of a rollout engine with continuous batching, as a process of a simulation.
 *
 * An iteration decodes one token for every running sequence and prefills prompts that were
 * admitted, within a token budget. Its time is a sum,
 *
 *     t = base(n) + kv x (tokens of context of all running) + prefill part
 *
 * (see generation/iteration.h). Between two changes of the batch the iterations are an arithmetic
 * series and are summed in closed form: cost grows with sequences, not with tokens. The rules of
 * admission, KV blocks, preemption and prefix caching are in generation/batch.h; tests/oracle/ has
 * the token-by-token twin.
 */

#include "models/hardware/cluster.h"
#include "models/llm/work.h"
#include "sim/sim.h"

struct generation_plan {
    const struct hardware_cluster *cluster;
    const struct llm_architecture *architecture;
    int tp;                            /* GPUs of the replica */
    enum hardware_precision precision; /* of the weights; KV cache is 2 bytes an element */
    int max_sequences;                 /* running at once (max_num_seqs) */
    int64_t max_batched_tokens;        /* budget of an iteration: prefill gets what decodes leave */
    int64_t kv_blocks;                 /* blocks of the KV cache of the replica */
    int64_t block_tokens;              /* tokens a block */
    bool prefix_caching;               /* prompts of one group are prefilled once */
    double iteration_host_s;           /* host time an iteration */
    double sequence_host_s;            /* host time an iteration and running sequence */
};

struct generation_request {
    uint32_t prompt_tokens;   /* at least 1; the same within a group */
    uint32_t response_tokens; /* at least 1 */
    uint32_t group;           /* requests of one prompt share a group; groups are contiguous */
};

/* Whether the KV cache can hold a sequence of so many tokens, prompt and response, when it is
 * alone. Requests that do not fit must not be started. */
bool generation_request_fits(const struct generation_plan *plan, int64_t tokens);

/* What a batch of requests came to. Times are since the start of the batch. */
struct generation_outcome {
    double makespan_s;
    double tail_s; /* from the end of half of the requests to the end of the last */
    uint64_t iterations;
    uint64_t prefilled_tokens; /* prompt tokens computed, and those computed again */
    uint64_t decoded_tokens;   /* response tokens yielded: the sum of the responses */
    uint64_t preemptions;
    uint64_t spans; /* between changes of the batch: events on the calendar */
    double flops;   /* model FLOPs of the replica, all tp ranks */
    double bytes;   /* weights, and keys and values of decoded tokens, read from HBM per GPU */
};

typedef void(generation_done_func)(struct sim *sim, void *subject, uint64_t argument,
                                   const struct generation_outcome *outcome);

struct generation_replica;

/* NULL when memory is exhausted. The plan is copied (what it points to is not). Its memory comes
 * from `sim`, which must outlive it. */
struct generation_replica *generation_replica_new(struct sim *sim,
                                                  const struct generation_plan *plan);
void generation_replica_free(struct generation_replica *replica);

/* Starts `count` requests (at least 1, each one fits; they must stay in place until done) now;
 * `done` is called at the instant the last one ends and may start the next batch. The replica must
 * not be at work. No allocation once the replica has seen its largest batch. */
enum sim_status generation_replica_start(struct generation_replica *replica,
                                         const struct generation_request *requests, size_t count,
                                         generation_done_func *done, void *subject,
                                         uint64_t argument);

/* Seconds after the start at which a request ended; valid when done, until the next start. */
double generation_replica_finish_s(const struct generation_replica *replica, size_t request);

/* The same batch without a simulation, for closed forms and tests. */
enum sim_status generation_replica_solve(struct generation_replica *replica,
                                         const struct generation_request *requests, size_t count,
                                         struct generation_outcome *outcome);

#endif
