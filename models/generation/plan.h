/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_GENERATION_PLAN_H
#define MODELS_GENERATION_PLAN_H

/* What a replica of a rollout engine is, what it is asked for, and what came of it. */

#include "models/generation/software.h"
#include "models/hardware/cluster.h"
#include "models/llm/work.h"

/* Number formats of an engine's weights. Those of 4 bits have scales: one of 16 bits for 128
 * weights (INT4, products in bf16 after widening), one of 8 bits for 16 weights (FP4; products in 4
 * bits where the GPU has a rate for them, else in bf16). Embedding and vocabulary stay in 2 bytes.
 */
enum generation_format {
    GENERATION_FP32,
    GENERATION_BF16,
    GENERATION_FP16,
    GENERATION_FP8,
    GENERATION_INT4,
    GENERATION_FP4,
    GENERATION_FORMAT_COUNT
};

/* Bytes of a weight, its share of a scale included: 4, 2, 2, 1, 0.516, 0.5625. */
double generation_format_bytes(enum generation_format format);
const char *generation_format_name(enum generation_format format);
/* The format that products are made in: that of the weights, bf16 for those of 4 bits. */
enum hardware_precision generation_format_products(enum generation_format format);

/* Draft tokens that are checked in one iteration. `tokens` 0: no speculation. */
struct generation_speculation {
    int tokens;
    double acceptance; /* chance that a draft token is taken when those before it were */
    double draft_cost; /* seconds of one draft token over those of a decode iteration */
};

/* Tokens that one iteration yields a sequence: 1 + a + ... + a^tokens (Leviathan, Kalman and
 * Matias, "Fast inference from transformers via speculative decoding", 2023). */
double generation_speculation_yield(const struct generation_speculation *speculation);

struct generation_plan {
    const struct hardware_cluster *cluster;
    const struct llm_architecture *architecture;
    struct generation_software software;
    int tp; /* GPUs that share every layer */
    int pp; /* stages, each of tp x dp GPUs */
    int dp; /* groups of tp GPUs with sequences of their own, which share the experts */
    int ep; /* GPUs over which experts are spread whole: 1 (each is cut tp ways) or tp x dp */
    enum generation_format format;
    double fp4_flops_per_s;     /* peak of the GPU in 4 bits; 0: none */
    double kv_element_bytes;    /* of keys and values: 2, or 1 (fp8) */
    int max_sequences;          /* running at once (max_num_seqs), over all dp groups */
    int64_t max_batched_tokens; /* budget of an iteration: prefill gets what decodes leave */
    int64_t kv_blocks;          /* blocks of the KV cache of the replica, over all dp groups */
    bool keep_turns; /* keys and values stay while an environment works, else they are computed
                        again */
    int64_t response_limit; /* PADDED_TO_LIMIT: tokens that every answer is padded to */
    struct generation_speculation speculation;
    double time_factor; /* of every iteration, from a calibration of the user's; 0: none */
};

/* GPUs of a replica. */
int generation_plan_gpus(const struct generation_plan *plan);

/* Bytes that a GPU of the replica holds: weights (the largest stage's), and one block of the KV
 * cache of its dp group. */
double generation_held_weight_bytes(const struct generation_plan *plan);
double generation_held_block_bytes(const struct generation_plan *plan);

/* A further turn of a conversation: an environment or a tool answers `latency_s` after the last
 * token, and adds what it says to the context. */
struct generation_turn {
    double latency_s;
    uint32_t observation_tokens;
    uint32_t response_tokens; /* 0: as below */
};

struct generation_request {
    uint32_t prompt_tokens;    /* at least 1; the same within a group */
    uint32_t response_tokens;  /* 0: the first token that is sampled ends the answer */
    uint32_t group;            /* requests of one prompt share a group; groups are contiguous */
    uint32_t generated_tokens; /* of the response, made before: computed again with the prompt */
    uint32_t turn_count;       /* after the first; not with fixed batches */
    const struct generation_turn *turns;
};

/* Tokens of a sequence at the end of its last turn. */
int64_t generation_request_tokens(const struct generation_request *request);

/* Whether the KV cache can hold a sequence of so many tokens, prompt and response, when it is
 * alone. Requests that do not fit must not be started. */
bool generation_request_fits(const struct generation_plan *plan, int64_t tokens);

/* What a batch of requests came to. Times are since the start of the batch. */
struct generation_outcome {
    double makespan_s;
    double tail_s; /* from the end of half of the requests to the end of the last; 0 where half of
                      them did not end */
    uint64_t iterations;
    uint64_t prefilled_tokens; /* prompt tokens computed, and those computed again */
    uint64_t decoded_tokens;   /* response tokens yielded: the sum of the responses */
    uint64_t preemptions;
    uint64_t swapped_blocks; /* to the host and back */
    uint64_t unfinished;     /* requests that were stopped */
    uint64_t spans;          /* between changes of the batch: events on the calendar */
    double flops;            /* model FLOPs of the replica, all ranks */
    double bytes; /* weights, and keys and values of decoded tokens, read from HBM per GPU */
};

#endif
