/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_GENERATION_PLAN_H
#define MODELS_GENERATION_PLAN_H

/* What a replica of a rollout engine is, what it is asked for, and what came of it. */

#include "models/hardware/cluster.h"
#include "models/llm/work.h"

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

#endif
