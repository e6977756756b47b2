/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/training/training.h"

#include "sim/contract.h"

#include <string.h>

const char *training_recompute_name(enum training_recompute recompute) {
    switch (recompute) {
    case TRAINING_RECOMPUTE_NONE:
        return "none";
    case TRAINING_RECOMPUTE_SELECTIVE:
        return "selective";
    case TRAINING_RECOMPUTE_FULL:
        return "full";
    case TRAINING_RECOMPUTE_ATTENTION:
        return "attention";
    case TRAINING_RECOMPUTE_OPERATORS:
        return "operators";
    }
    CONTRACT(false, "unknown recomputation");
    return "";
}

const char *training_offload_name(enum training_offload offload) {
    switch (offload) {
    case TRAINING_OFFLOAD_NONE:
        return "none";
    case TRAINING_OFFLOAD_OPTIMIZER:
        return "optimizer";
    case TRAINING_OFFLOAD_PARAMETERS:
        return "parameters";
    case TRAINING_OFFLOAD_OPTIMIZER_PARAMETERS:
        return "optimizer+parameters";
    }
    CONTRACT(false, "unknown offload");
    return "";
}

static const char *const logits_names[] = {[TRAINING_LOGITS_WHOLE] = "whole",
                                           [TRAINING_LOGITS_CHUNKED] = "chunked",
                                           [TRAINING_LOGITS_FUSED] = "fused"};

const char *training_logits_name(enum training_logits logits) {
    CONTRACT((size_t)logits < sizeof logits_names / sizeof *logits_names, "no way to make logits");
    return logits_names[logits];
}

bool training_logits_find(const char *name, enum training_logits *logits) {
    for (size_t i = 0; i < sizeof logits_names / sizeof *logits_names; i++) {
        *logits = (enum training_logits)i;
        if (strcmp(logits_names[i], name) == 0)
            return true;
    }
    return false;
}

bool training_offloads_optimizer(const struct training_plan *plan) {
    return plan->offload == TRAINING_OFFLOAD_OPTIMIZER ||
           plan->offload == TRAINING_OFFLOAD_OPTIMIZER_PARAMETERS;
}

bool training_offloads_parameters(const struct training_plan *plan) {
    return plan->offload == TRAINING_OFFLOAD_PARAMETERS ||
           plan->offload == TRAINING_OFFLOAD_OPTIMIZER_PARAMETERS;
}

void training_plan_default(struct training_plan *plan) {
    *plan = (struct training_plan){
        .trained = true,
        .tp = 1,
        .sequence_parallel = true,
        .pp = 1,
        .vpp = 1,
        .cp = 1,
        .ep = 1,
        .dp = 1,
        .reshard_after_forward = true,
        .prefetch = true,
        .overlap_reduction = true,
        .precision = HARDWARE_BF16,
        .software = {.matmul_share = 1.0,
                     .attention_share = 1.0,
                     .elementwise_factor = 1.0,
                     .unpack_share = 1.0,
                     .tensor_overlap_chunks = 1},
        .memory = {.block_factor = 1.0,
                   .packed_factor = 1.0,
                   .gathered_inputs = 1.0,
                   .master_bytes = 4.0,
                   .moment_bytes = 8.0,
                   .logit_forward_bytes = 6.0,
                   .logit_update_bytes = 10.0},
    };
}

int training_gpus(const struct training_plan *plan) {
    return plan->tp * plan->cp * plan->pp * plan->dp;
}

int training_replicas(const struct training_plan *plan) {
    return plan->dp * plan->cp;
}

int training_expert_tp(const struct training_plan *plan) {
    return plan->expert_tp > 0 ? plan->expert_tp : plan->tp;
}

int training_expert_replicas(const struct training_plan *plan) {
    CONTRACT(plan->ep >= 1, "experts have at least one rank");
    return plan->tp * plan->cp * plan->dp / (plan->ep * training_expert_tp(plan));
}

int training_segments(const struct training_plan *plan,
                      struct training_segment segments[TRAINING_SEGMENTS]) {
    struct llm_layer_kind kinds[LLM_LAYER_KINDS];
    int kind_count = llm_layer_kinds(plan->architecture, kinds), count = 0;
    segments[count++] = (struct training_segment){.part = TRAINING_EMBEDDING, .blocks = 1};
    for (int i = 0; i < kind_count; i++)
        segments[count++] = (struct training_segment){TRAINING_LAYER, kinds[i], kinds[i].count};
    segments[count++] = (struct training_segment){.part = TRAINING_HEAD, .blocks = 1};
    return count;
}

/* One pair beside query, key and value of plain attention. */
static double qkv_adapters(const struct training_plan *plan) {
    const struct llm_architecture *a = plan->architecture;
    if (llm_is_latent(a))
        return 0.0;
    return (double)(plan->lora_rank * (a->hidden + llm_query_columns(a) + 2 * llm_key_columns(a)));
}

/* The adapters of one block; a rank of 0 has none. */
static double layer_adapters(const struct training_plan *plan, const struct llm_layer_kind *kind) {
    if (plan->lora_targets == TRAINING_LORA_QKV)
        return qkv_adapters(plan);
    return (double)llm_layer_lora_parameters(plan->architecture, kind, plan->lora_rank);
}

static double expert_adapters(const struct training_plan *plan, const struct llm_layer_kind *kind) {
    if (plan->lora_targets == TRAINING_LORA_QKV)
        return 0.0;
    return (double)llm_layer_expert_lora_parameters(plan->architecture, kind, plan->lora_rank);
}

/* What is left for the head: the final norm, and a projection that is not tied. */
static double head_parameters(const struct training_plan *plan) {
    const struct llm_architecture *architecture = plan->architecture;
    struct llm_layer_kind kinds[LLM_LAYER_KINDS];
    int64_t rest =
        llm_parameters(architecture, plan->head) - llm_embedding_parameters(architecture);
    int count = llm_layer_kinds(architecture, kinds);
    for (int i = 0; i < count; i++)
        rest -= kinds[i].count * llm_layer_parameters(architecture, &kinds[i]);
    return (double)rest;
}

double training_segment_parameters(const struct training_plan *plan,
                                   const struct training_segment *segment) {
    switch (segment->part) {
    case TRAINING_EMBEDDING:
        return (double)llm_embedding_parameters(plan->architecture);
    case TRAINING_LAYER:
        return (double)llm_layer_parameters(plan->architecture, &segment->kind) +
               layer_adapters(plan, &segment->kind);
    case TRAINING_HEAD:
        return head_parameters(plan);
    }
    CONTRACT(false, "not a part of a model");
    return 0.0;
}

double training_segment_trained_parameters(const struct training_plan *plan,
                                           const struct training_segment *segment) {
    if (!plan->trained)
        return 0.0;
    if (plan->lora_rank == 0)
        return training_segment_parameters(plan, segment);
    return segment->part == TRAINING_LAYER ? layer_adapters(plan, &segment->kind) : 0.0;
}

double training_segment_expert_parameters(const struct training_plan *plan,
                                          const struct training_segment *segment) {
    const struct llm_architecture *architecture = plan->architecture;
    const struct llm_layer_kind *kind = &segment->kind;
    if (segment->part != TRAINING_LAYER)
        return 0.0;
    return (double)llm_layer_expert_parameters(architecture, kind) + expert_adapters(plan, kind);
}

double training_segment_trained_expert_parameters(const struct training_plan *plan,
                                                  const struct training_segment *segment) {
    if (!plan->trained || segment->part != TRAINING_LAYER)
        return 0.0;
    if (plan->lora_rank == 0)
        return training_segment_expert_parameters(plan, segment);
    return expert_adapters(plan, &segment->kind);
}

static double weight_bytes(const struct training_plan *plan, const struct training_segment *segment,
                           double all, double trained) {
    double element = training_element_bytes(plan);
    bool narrow = plan->base_bytes > 0.0 && segment->part == TRAINING_LAYER;
    return element * trained + (narrow ? plan->base_bytes : element) * (all - trained);
}

double training_segment_weight_bytes(const struct training_plan *plan,
                                     const struct training_segment *segment) {
    return weight_bytes(plan, segment, training_segment_parameters(plan, segment),
                        training_segment_trained_parameters(plan, segment));
}

double training_segment_expert_weight_bytes(const struct training_plan *plan,
                                            const struct training_segment *segment) {
    return weight_bytes(plan, segment, training_segment_expert_parameters(plan, segment),
                        training_segment_trained_expert_parameters(plan, segment));
}

double training_lora_parameters(const struct training_plan *plan) {
    if (plan->lora_targets == TRAINING_LORA_QKV)
        return (double)plan->architecture->layers * qkv_adapters(plan);
    return (double)llm_lora_parameters(plan->architecture, plan->lora_rank);
}

double training_lora_tensors(const struct training_plan *plan) {
    if (plan->lora_targets == TRAINING_LORA_QKV)
        return 2.0 * (double)plan->architecture->layers;
    return (double)llm_lora_tensors(plan->architecture);
}

double training_parameters(const struct training_plan *plan) {
    return (double)llm_parameters(plan->architecture, plan->head) + training_lora_parameters(plan);
}

double training_trained_parameters(const struct training_plan *plan) {
    if (!plan->trained)
        return 0.0;
    return plan->lora_rank == 0 ? training_parameters(plan) : training_lora_parameters(plan);
}

static bool is_sharded(const struct training_plan *plan, enum training_sharded sharded) {
    CONTRACT(plan->zero_stage >= 0 && plan->zero_stage <= 3, "ZeRO has stages 0 to 3");
    return plan->zero_stage >= (int)sharded;
}

/* Of so many ranks with equal weights, those that share one copy. */
static double sharing(const struct training_plan *plan, int replicas) {
    bool some = plan->shard_ranks > 0 && plan->shard_ranks < replicas;
    return (double)(some ? plan->shard_ranks : replicas);
}

double training_shards(const struct training_plan *plan, enum training_sharded sharded) {
    CONTRACT(plan->tp >= 1 && plan->cp >= 1 && plan->dp >= 1, "at least one rank of each kind");
    double ranks = is_sharded(plan, sharded) ? sharing(plan, training_replicas(plan)) : 1.0;
    return (double)plan->tp * ranks;
}

double training_expert_shards(const struct training_plan *plan, enum training_sharded sharded) {
    double ranks = is_sharded(plan, sharded) ? sharing(plan, training_expert_replicas(plan)) : 1.0;
    return (double)(plan->ep * training_expert_tp(plan)) * ranks;
}

double training_element_bytes(const struct training_plan *plan) {
    return plan->precision == HARDWARE_FP32 ? 4.0 : 2.0;
}

double training_master_bytes(const struct training_plan *plan) {
    return plan->precision == HARDWARE_FP32 ? 0.0 : 4.0;
}
