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
    TRAINING_RECOMPUTE_FULL,      /* only the input of each block is kept */
    TRAINING_RECOMPUTE_ATTENTION, /* attention alone is made again (Megatron's core attention) */
    TRAINING_RECOMPUTE_OPERATORS  /* attention and every second linear layer are kept, the rest is
                                     made again (torchtitan's selective "op") */
};

/* What is kept in host memory while it is not needed. */
enum training_offload {
    TRAINING_OFFLOAD_NONE,
    TRAINING_OFFLOAD_OPTIMIZER,  /* master weights and moments, updated on the CPU's copy */
    TRAINING_OFFLOAD_PARAMETERS, /* weights, fetched for the phase that needs them */
    TRAINING_OFFLOAD_OPTIMIZER_PARAMETERS
};

/* How context-parallel ranks, which share a sequence, come to see all of its keys and values. */
enum training_context {
    TRAINING_CONTEXT_RING,   /* keys and values go round, hidden under attention */
    TRAINING_CONTEXT_ULYSSES /* all-to-all from parts of the sequence to parts of the heads */
};

/* When gradients are reduced over the data-parallel ranks. */
enum training_reduction {
    TRAINING_REDUCE_BY_STAGE, /* ZeRO-0 and 1 once, ZeRO-2 and 3 in every micro-batch */
    TRAINING_REDUCE_ONCE,     /* with the last micro-batch of an optimizer step */
    TRAINING_REDUCE_EVERY_MICROBATCH
};

enum training_logits {
    TRAINING_LOGITS_WHOLE,   /* all tokens' logits in memory, widened to fp32 */
    TRAINING_LOGITS_CHUNKED, /* a slice of the tokens at a time */
    TRAINING_LOGITS_FUSED    /* never in memory: the loss is made in the product's kernel */
};

/* The linear layers that have LoRA adapters. */
enum training_lora_targets {
    TRAINING_LORA_ALL, /* every projection of the blocks, each a pair */
    TRAINING_LORA_QKV  /* query, key and value of plain attention, fused, one pair (NeMo's recipes
                          for speed) */
};

/* The attention kernel. */
enum training_attention {
    TRAINING_ATTENTION_MEASURED, /* what the GPU's row in the catalog was measured with */
    TRAINING_ATTENTION_UNFUSED,  /* score matrices in memory, not halved by causality */
    TRAINING_ATTENTION_FLASH_1,
    TRAINING_ATTENTION_FLASH_2,
    TRAINING_ATTENTION_FLASH_3,
    TRAINING_ATTENTION_FLASH_4,
    TRAINING_ATTENTION_CUDNN
};

enum training_fusion {
    TRAINING_FUSION_COMPILED, /* element-wise kernels that follow one another are one */
    TRAINING_FUSION_EAGER     /* one kernel an operation */
};

/* Software's share, from the framework's catalog row. Global to a family of software: none of these
 * depends on a model or a run. */
struct training_software {
    double matmul_share;       /* of the GPU's sustained matmul rate that products reach, above 0 */
    double attention_share;    /* of the GPU's attention rate, above 0 */
    double elementwise_factor; /* bytes that element-wise work moves, in those counted for its
                                  fusion (block_elementwise.c) */
    double unpack_share;       /* of the GPU's memory rate that kernels reach which make packed
                                  weights (base_bytes) into 2 bytes, above 0 */
    double microbatch_host_s;  /* host time per micro-batch and pass that the GPU waits for */
    double optimizer_host_s;   /* per optimizer step */
    double misaligned_factor;  /* what products take whose width or depth on a GPU is no multiple of
                                  64, in the time of their neighbours; 0 counts as 1 */
    double contention_share;   /* of a collective that runs behind kernels, timed as inside a node:
                                  what these lose to it (processors, memory, power) */
    double tensor_overlap_chunks; /* pieces in which a product and the tensor-parallel collective
                                     next to it are pipelined, at least 1: the part of the shorter
                                     that is exposed is 1 / chunks */
    double layer_host_s; /* the host's, to start the kernels of a layer in one pass: a layer
                            takes no less */
    double
        expert_layer_s; /* per layer with experts and pass (two in a backward): the host waits for
                           how many tokens each expert gets, sorts them and starts its kernels */
    double jitter_per_doubling; /* a step is longer by this share for every doubling of the GPUs
                                   beyond 8 */
};

/* Rates of an attention kernel as shares of the forward rate that the GPU's law has for long
 * sequences (scenarios/catalog/attention.csv); 0: what the GPU's row says. Not read for unfused
 * attention. */
struct training_attention_rates {
    double forward_share, backward_share;
};

/* What software holds in memory beyond or below the plain count, from memory.csv of the catalog
 * (models/training/memory.h). Global to a family of software. */
struct training_memory {
    double block_factor;    /* bytes of a block's activations, in those of fused kernels */
    double packed_factor;   /* times this where frozen weights are packed (base_bytes) */
    double routed_copies;   /* of tokens on their way to experts and back, beside the two kept */
    double gathered_inputs; /* whole inputs of tensor-parallel products that are there at once */
    double score_bytes;     /* of a probability that unfused attention keeps; 0: as the precision
                               and fusion say */
    double mask_bytes;      /* of dropouts, an element as wide as the model and block */
    double gradient_bytes;  /* of a trained parameter; 0: as the precision says */
    double master_bytes;    /* copy of a weight that the optimizer keeps (none in fp32) */
    double moment_bytes;    /* both moments of a trained parameter */
    double update_bytes;    /* of an updated parameter while the optimizer works on it */
    double reduce_bytes;    /* a parameter of the block whose gradients are being reduced, beside
                               those in training's format */
    double logit_forward_bytes, logit_update_bytes; /* of one logit, all copies */
    bool eager;               /* one kernel an operation: each keeps what its backward reads */
    bool updates_in_backward; /* a block's weights as soon as its gradients are there */
    bool streams_weights;     /* offloaded ones come block by block, not all for a phase */
};

/*
 * How a model is laid out over tp x cp x pp x dp GPUs. They are numbered with tp fastest, then cp,
 * then dp, then pp; experts' ranks (ep) are neighbours among the dp x cp (expert_tp = tp) or among
 * the tp x cp x dp ranks of a stage (expert_tp = 1). training_plan_default gives all that is not
 * said; a plan that is zero in a new field is a mistake where the field counts ranks.
 */
struct training_plan {
    const struct hardware_cluster *cluster;
    const struct llm_architecture *architecture;
    enum llm_head head;
    bool trained;      /* false: inference passes only, no gradients, no optimizer */
    int64_t lora_rank; /* 0: all parameters are trained */
    enum training_lora_targets lora_targets;
    bool optimizer_on_disk; /* offloaded optimizers wait on the node's disks, not on its host */
    bool lora_merged;       /* passes without gradients find the adapters merged into the weights */
    double base_bytes; /* of a frozen weight under LoRA (nf4 with its constants: 0.52); 0: as the
                          precision says */

    int tp;                 /* tensor-parallel ranks */
    bool sequence_parallel; /* between tensor-parallel products each rank has its part of tokens */
    int pp;                 /* pipeline stages */
    int vpp;                /* chunks of the model on each stage; 1: plain 1F1B */
    int cp;                 /* context-parallel ranks */
    enum training_context context;
    int ep;        /* ranks that the experts of a layer are divided over, whole */
    int expert_tp; /* tensor-parallel ranks of each expert, 1 or tp; 0: tp */
    int dp;        /* data-parallel ranks */

    int zero_stage;             /* 0-3: optimizer (Megatron's distributed optimizer), gradients,
                                   weights sharded over dp x cp ranks */
    int shard_ranks;            /* of those, how many share one copy (HSDP); 0: all */
    bool reshard_after_forward; /* ZeRO-3: weights are dropped and gathered again for backward; not
                                   dropped, a pipeline keeps them until the end of a step */
    bool prefetch;              /* ZeRO-3: the next block is gathered while one computes */
    enum training_reduction reduction;
    double gradient_bytes;  /* of a gradient's element while it is reduced (4: added up in fp32); 0:
                               as wide as weights */
    bool overlap_reduction; /* gradients are reduced behind the backward, not after it */
    bool reduces_whole;     /* ZeRO-1: gradients are all-reduced, though a rank updates its part
                               alone (pipelines of DeepSpeed) */
    double crowded;         /* by what share passes of an update take longer, where its memory is
                               nearly full and the allocator has to free and ask again */
    bool overlap_update;    /* ZeRO-1 and 2: new weights are gathered behind the next forward */

    enum hardware_precision precision;
    enum training_recompute recompute;
    enum training_offload offload;
    bool offload_activations; /* kept activations go to the host and come back */
    enum training_logits logits;
    enum training_attention attention;
    struct training_attention_rates attention_rates;
    enum training_fusion fusion;
    struct training_software software;
    struct training_memory memory;
};

/* A plan on one GPU: every number of ranks 1, sequence parallelism, resharding, prefetch and
 * overlapped reductions on, bf16, nothing recomputed or offloaded, software that loses nothing.
 * Cluster and architecture are left for the caller. */
void training_plan_default(struct training_plan *plan);

/* GPUs of the plan, tp x cp x pp x dp. */
int training_gpus(const struct training_plan *plan);

/* Ranks that hold the same weights before sharding: dp x cp, of experts tp x cp x dp over
 * ep x expert_tp. */
int training_replicas(const struct training_plan *plan);
int training_expert_replicas(const struct training_plan *plan);
int training_expert_tp(const struct training_plan *plan);

/* The ZeRO stage from which each of these is divided by the data-parallel ranks. */
enum training_sharded {
    TRAINING_SHARDED_OPTIMIZER = 1,
    TRAINING_SHARDED_GRADIENTS = 2,
    TRAINING_SHARDED_WEIGHTS = 3
};

/* "none", "selective", "full", "attention", "operators"; "none", "optimizer", "parameters",
 * "optimizer+parameters". */
const char *training_recompute_name(enum training_recompute recompute);
const char *training_offload_name(enum training_offload offload);
/* "whole", "chunked", "fused". */
const char *training_logits_name(enum training_logits logits);
bool training_logits_find(const char *name, enum training_logits *logits);
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

/* Bytes of one block's weights over all its tensor-parallel ranks: frozen ones of layers in the
 * plan's base_bytes. And of these, those of experts. */
double training_segment_weight_bytes(const struct training_plan *plan,
                                     const struct training_segment *segment);
double training_segment_expert_weight_bytes(const struct training_plan *plan,
                                            const struct training_segment *segment);

/* The same over the whole model. */
double training_parameters(const struct training_plan *plan);
double training_trained_parameters(const struct training_plan *plan);
/* Of its adapters. */
double training_lora_parameters(const struct training_plan *plan);
double training_lora_tensors(const struct training_plan *plan);

/* GPUs that share one copy of a stage's weights other than experts: tp, times the ranks it is
 * sharded over where the plan's ZeRO stage does. Norms, which every tensor-parallel rank holds
 * whole, are counted as divided: under 0.01 % of a model. Of experts: ep x expert_tp in place of
 * tp.
 */
double training_shards(const struct training_plan *plan, enum training_sharded sharded);
double training_expert_shards(const struct training_plan *plan, enum training_sharded sharded);

/* The part of training_segment_parameters (or of the trained ones) that belongs to experts, which
 * are divided over ep x expert_tp ranks instead of tp. */
double training_segment_expert_parameters(const struct training_plan *plan,
                                          const struct training_segment *segment);
double training_segment_trained_expert_parameters(const struct training_plan *plan,
                                                  const struct training_segment *segment);

/* Bytes of a weight, a gradient and an activation: 2, in fp32 4 (fp8 is a format of matrix products
 * only). Of the fp32 master copy beside a weight: 4, in fp32 none. */
double training_element_bytes(const struct training_plan *plan);
double training_master_bytes(const struct training_plan *plan);

#endif
