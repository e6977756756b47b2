/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_TRAINING_TRAINING_H
#define MODELS_TRAINING_TRAINING_H

/*
 * What the passes of a trainer share: the model, how it is laid out over GPUs, what the software
 * adds. Training and inference-only passes (log-probs, values, rewards) use the same plan.
 */

#include "models/hardware/cluster.h"
#include "models/llm/work.h"

enum training_recompute {
    TRAINING_RECOMPUTE_NONE,
    TRAINING_RECOMPUTE_SELECTIVE, /* matrix products are kept; attention and the rest made again */
    TRAINING_RECOMPUTE_FULL       /* only the input of each block is kept */
};

/* What is kept in host memory while it is not needed. */
enum training_offload {
    TRAINING_OFFLOAD_NONE,
    TRAINING_OFFLOAD_OPTIMIZER,  /* master weights and moments, updated on the CPU's copy */
    TRAINING_OFFLOAD_PARAMETERS, /* weights, fetched for the phase that needs them */
    TRAINING_OFFLOAD_OPTIMIZER_PARAMETERS
};

/* Software's share, from the framework's catalog row. */
struct training_software {
    double matmul_share;      /* of the GPU's sustained matmul rate that training passes reach */
    double microbatch_host_s; /* host time per micro-batch and pass that the GPU waits for */
    double optimizer_host_s;  /* per optimizer step */
};

struct training_plan {
    const struct hardware_cluster *cluster;
    const struct llm_architecture *architecture;
    enum llm_head head;
    bool trained;      /* false: inference passes only, no gradients, no optimizer */
    int64_t lora_rank; /* 0: all parameters are trained */
    int tp;            /* tensor parallel ranks, with sequence parallelism; GPUs numbered inside */
    int dp;            /* data parallel ranks; tp x dp GPUs in all */
    int zero_stage;    /* 0-3: optimizer, gradients, weights sharded over dp */
    enum hardware_precision precision;
    enum training_recompute recompute;
    enum training_offload offload;
    struct training_software software;
};

/* The ZeRO stage from which each of these is divided by the data-parallel ranks. */
enum training_sharded {
    TRAINING_SHARDED_OPTIMIZER = 1,
    TRAINING_SHARDED_GRADIENTS = 2,
    TRAINING_SHARDED_WEIGHTS = 3
};

/* "none", "selective", "full"; "none", "optimizer", "parameters", "optimizer+parameters". */
const char *training_recompute_name(enum training_recompute recompute);
const char *training_offload_name(enum training_offload offload);
bool training_offloads_optimizer(const struct training_plan *plan);
bool training_offloads_parameters(const struct training_plan *plan);

/* The blocks that a pass goes through: the embedding, the layers (equal ones of each kind follow
 * one another), and the head with the final norm. A tied head owns no weights of its own. */
enum training_part { TRAINING_EMBEDDING, TRAINING_LAYER, TRAINING_HEAD };

struct training_segment {
    enum training_part part;
    struct llm_layer_kind kind; /* of layers */
    int64_t blocks;
};

#define TRAINING_SEGMENTS (LLM_LAYER_KINDS + 2)

/* The segments in the order of a forward pass; returns how many there are. */
int training_segments(const struct training_plan *plan,
                      struct training_segment segments[TRAINING_SEGMENTS]);

/* Parameters of one block of a segment, adapters included, over all its tensor-parallel ranks; and
 * how many of them are trained (all, the adapters of a LoRA, or none of a frozen model). */
double training_segment_parameters(const struct training_plan *plan,
                                   const struct training_segment *segment);
double training_segment_trained_parameters(const struct training_plan *plan,
                                           const struct training_segment *segment);

/* The same over the whole model. */
double training_parameters(const struct training_plan *plan);
double training_trained_parameters(const struct training_plan *plan);

/* GPUs that share one copy: tp, times dp where the plan's ZeRO stage shards it. Norms, which every
 * tensor-parallel rank holds whole, are counted as divided: under 0.01 % of a model. */
double training_shards(const struct training_plan *plan, enum training_sharded sharded);

/* Bytes of a weight, a gradient and an activation: 2, in fp32 4 (fp8 is a format of matrix products
 * only). Of the fp32 master copy beside a weight: 4, in fp32 none. */
double training_element_bytes(const struct training_plan *plan);
double training_master_bytes(const struct training_plan *plan);

#endif
