/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/training/training.h"

#include "sim/contract.h"

const char *training_recompute_name(enum training_recompute recompute) {
    switch (recompute) {
    case TRAINING_RECOMPUTE_NONE:
        return "none";
    case TRAINING_RECOMPUTE_SELECTIVE:
        return "selective";
    case TRAINING_RECOMPUTE_FULL:
        return "full";
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

bool training_offloads_optimizer(const struct training_plan *plan) {
    return plan->offload == TRAINING_OFFLOAD_OPTIMIZER ||
           plan->offload == TRAINING_OFFLOAD_OPTIMIZER_PARAMETERS;
}

bool training_offloads_parameters(const struct training_plan *plan) {
    return plan->offload == TRAINING_OFFLOAD_PARAMETERS ||
           plan->offload == TRAINING_OFFLOAD_OPTIMIZER_PARAMETERS;
}

/* The adapters of one block; a rank of 0 has none. */
static double layer_adapters(const struct training_plan *plan) {
    if (plan->lora_rank == 0)
        return 0.0;
    return (double)llm_lora_parameters(plan->architecture, plan->lora_rank) /
           (double)plan->architecture->layers;
}

double training_part_parameters(const struct training_plan *plan, enum training_part part) {
    const struct llm_architecture *architecture = plan->architecture;
    double embedding = (double)llm_embedding_parameters(architecture);
    double layer = (double)llm_layer_parameters(architecture);
    switch (part) {
    case TRAINING_EMBEDDING:
        return embedding;
    case TRAINING_LAYER:
        return layer + layer_adapters(plan);
    case TRAINING_HEAD: /* what is left: the final norm, and the head unless it is tied */
        return (double)llm_parameters(architecture, plan->head) - embedding -
               (double)architecture->layers * layer;
    case TRAINING_PARTS:
        break;
    }
    CONTRACT(false, "not a part of a model");
    return 0.0;
}

double training_part_trained_parameters(const struct training_plan *plan, enum training_part part) {
    if (!plan->trained)
        return 0.0;
    if (plan->lora_rank == 0)
        return training_part_parameters(plan, part);
    return part == TRAINING_LAYER ? layer_adapters(plan) : 0.0;
}

double training_parameters(const struct training_plan *plan) {
    return (double)llm_parameters(plan->architecture, plan->head) +
           (double)plan->architecture->layers * layer_adapters(plan);
}

double training_trained_parameters(const struct training_plan *plan) {
    if (!plan->trained)
        return 0.0;
    return plan->lora_rank == 0 ? training_parameters(plan)
                                : (double)llm_lora_parameters(plan->architecture, plan->lora_rank);
}

double training_shards(const struct training_plan *plan, enum training_sharded sharded) {
    CONTRACT(plan->tp >= 1 && plan->dp >= 1, "a plan has at least one rank of each kind");
    CONTRACT(plan->zero_stage >= 0 && plan->zero_stage <= 3, "ZeRO has stages 0 to 3");
    bool by_dp = plan->zero_stage >= (int)sharded;
    return (double)plan->tp * (by_dp ? (double)plan->dp : 1.0);
}

double training_element_bytes(const struct training_plan *plan) {
    return plan->precision == HARDWARE_FP32 ? 4.0 : 2.0;
}

double training_master_bytes(const struct training_plan *plan) {
    return plan->precision == HARDWARE_FP32 ? 0.0 : 4.0;
}
