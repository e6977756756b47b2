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
    TRAINING_RECOMPUTE_SELECTIVE,
    TRAINING_RECOMPUTE_FULL
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

/* "none", "selective", "full"; "none", "optimizer", "parameters", "optimizer+parameters". */
const char *training_recompute_name(enum training_recompute recompute);
const char *training_offload_name(enum training_offload offload);

#endif
