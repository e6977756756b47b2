/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_GENERATION_SOFTWARE_H
#define MODELS_GENERATION_SOFTWARE_H

/*
 * What an inference engine is beside its kernels: how it schedules, and what its process and its
 * launches add to the physics. One row of scenarios/catalog/engines.csv each, which has the sources
 * and the command that fits the times again.
 */

#include <stdbool.h>
#include <stdint.h>

enum generation_batching {
    GENERATION_CONTINUOUS,      /* a sequence that ends makes room for the next at once */
    GENERATION_PADDED_TO_BATCH, /* a fixed batch until its longest answer ends (HF generate) */
    GENERATION_PADDED_TO_LIMIT  /* and every answer is padded to the limit (hybrid engine) */
};

/* What an iteration with prompts in it does with the sequences that decode. */
enum generation_prefill {
    GENERATION_PREFILL_MIXED, /* they decode in the same iteration */
    GENERATION_PREFILL_FIRST  /* they wait: prompts have iterations of their own, first */
};

enum generation_preemption {
    GENERATION_RECOMPUTE, /* keys and values are dropped and computed again */
    GENERATION_SWAP       /* they go to the host's memory and come back */
};

struct generation_software {
    char name[32];
    enum generation_batching batching;
    enum generation_prefill prefill;
    bool chunked_prefill; /* a prompt may be computed in several iterations */
    bool prefix_caching;
    enum generation_preemption preemption;
    int64_t block_tokens; /* of the KV cache */

    /* Batches that have a CUDA graph: 1, 2, 4, the multiples of graph_step up to graph_dense, and
     * twice that and so on up to graph_limit. A batch between two is padded to the larger one; one
     * beyond the limit, and every iteration with prompts, is launched kernel by kernel. graph_step
     * is 0 for an engine without graphs. */
    int64_t graph_step, graph_dense, graph_limit;

    double iteration_host_s;   /* of the engine's process, an iteration */
    double sequence_host_s;    /* an iteration and running sequence */
    double launch_factor;      /* of a kernel in a CUDA graph, over what it costs alone */
    double expert_layer_s;     /* a layer with experts, besides its kernels */
    double eager_layer_s;      /* more, a layer of an iteration without a graph */
    double product_efficiency; /* rate of products, over what they reach alone */
    double kv_efficiency;      /* share of the sustained bandwidth that the cache is read at */
    double compute_efficiency; /* share of the sustained rate of large products */
    double fp4_efficiency;     /* the same again, of products in 4 bits */
    double expert_efficiency;  /* the same again, of products of experts */
    double activation_share;   /* of the traffic of small kernels, what reaches HBM */
    double exchange_factor;    /* of the tokens' way to the experts of other groups and back */
    double collective_factor;  /* time of a collective in the engine, over that of it alone */
};

/* The batch that runs in place of one of `tokens`: the next size with a graph, or itself. */
int64_t generation_graph_batch(const struct generation_software *software, int64_t tokens);

/* Whether a decode batch of so many has a graph. */
bool generation_has_graph(const struct generation_software *software, int64_t tokens);

#endif
