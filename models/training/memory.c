/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/training/memory.h"

#include "sim/contract.h"

#include <math.h>
#include <string.h>

static const struct training_memory_type types[TRAINING_MEMORY_COEFFICIENTS] = {
    [TRAINING_BLOCK_FACTOR] = {"block_factor", "share",
                               "bytes of a block's activations, in those that fused kernels keep",
                               0.5, 5.0, 1.0},
    [TRAINING_PACKED_FACTOR] = {"packed_factor", "share",
                                "times this where frozen weights are packed in four bits", 0.5, 5.0,
                                1.0},
    [TRAINING_ROUTED_COPIES] = {"routed_copies", "copies",
                                "of tokens on their way to experts and back that are there at "
                                "once, beside the input and the output",
                                0.0, 30.0, 0.0},
    [TRAINING_GATHERED_INPUTS] = {"gathered_inputs", "copies",
                                  "whole inputs of tensor-parallel products that are there at "
                                  "once, with their gradients",
                                  0.0, 20.0, 1.0},
    [TRAINING_SCORE_BYTES] = {"score_bytes", "B",
                              "of a probability that unfused attention keeps; 0: as precision and "
                              "fusion say",
                              0.0, 16.0, 0.0},
    [TRAINING_MASK_BYTES] = {"mask_bytes", "B",
                             "of dropouts, an element as wide as the model and block", 0.0, 16.0,
                             0.0},
    [TRAINING_GRADIENT_BYTES] = {"gradient_bytes", "B", "of an accumulated gradient", 0.0, 8.0,
                                 0.0},
    [TRAINING_MASTER_BYTES] = {"master_bytes", "B",
                               "of the optimizer's own copy of a weight of two bytes", 0.0, 4.0,
                               4.0},
    [TRAINING_MOMENT_BYTES] = {"moment_bytes", "B", "of both moments of a parameter", 0.0, 8.0,
                               8.0},
    [TRAINING_UPDATE_BYTES] = {"update_bytes", "B",
                               "of an updated parameter while the optimizer works on it (its "
                               "gradient in fp32)",
                               0.0, 16.0, 0.0},
    [TRAINING_REDUCE_BYTES] = {"reduce_bytes", "B",
                               "a parameter of the block whose gradients are being reduced, beside "
                               "those in the format of training",
                               0.0, 16.0, 0.0},
    [TRAINING_FROZEN_BYTES] = {"frozen_bytes", "B", "of a frozen weight beside adapters", 0.0, 4.0,
                               0.0},
    [TRAINING_LOGIT_FORWARD_BYTES] = {"logit_forward_bytes", "B",
                                      "of a logit in a pass without gradients, all copies", 0.0,
                                      32.0, 6.0},
    [TRAINING_LOGIT_UPDATE_BYTES] = {"logit_update_bytes", "B",
                                     "of a logit in an update, all copies", 0.0, 32.0, 10.0},
    [TRAINING_LOGIT_ENTROPY_BYTES] = {"logit_entropy_bytes", "B",
                                      "of a logit in an update, more where its entropy is in the "
                                      "loss",
                                      0.0, 32.0, 4.0},
    [TRAINING_SLEEPING_WEIGHTS] = {"sleeping_weights", "share",
                                   "of an engine's weights that wait in host memory while it "
                                   "sleeps; what does not is sent anew",
                                   0.0, 1.0, 0.0},
    [TRAINING_WOKEN_CACHE] = {"woken_cache", "share",
                              "of an engine's cache that is there while new weights come: 0 where "
                              "it wakes in two stages",
                              0.0, 1.0, 0.0},
    [TRAINING_FREE_SHARE] = {"free_share", "share",
                             "1 where rollout.memory_fraction is of the memory that is free when "
                             "the engine starts, 0 where it is of all",
                             0.0, 1.0, 0.0},
    [TRAINING_LOAD_FIRST_BYTES] = {"load_first_bytes", "B",
                                   "of a parameter of a trained model that the first rank holds in "
                                   "host memory while it is loaded; 0: every rank reads its part",
                                   0.0, 8.0, 0.0},
    [TRAINING_LOAD_EVERY_BYTES] = {"load_every_bytes", "B",
                                   "of a parameter of a trained model that every rank holds in "
                                   "host memory while it is loaded",
                                   0.0, 8.0, 0.0},
    [TRAINING_ALLOCATED_SHARE] = {"allocated_share", "share",
                                  "that is allocated beyond what is counted", 0.0, 1.0, 0.0},
    [TRAINING_ALLOCATED_BASE] = {"allocated_base", "GB",
                                 "allocated whatever is counted: workspaces of libraries", 0.0,
                                 20.0, 0.0},
    [TRAINING_RESERVED_SHARE] = {"reserved_share", "share",
                                 "that the allocator reserves beyond what is counted", 0.0, 1.0,
                                 0.0},
    [TRAINING_RESERVED_BASE] = {"reserved_base", "GB", "reserved whatever is counted", 0.0, 20.0,
                                0.0},
    [TRAINING_DEVICE_BASE] = {"device_base", "GB",
                              "on the device beside what the allocator reserves: the driver's "
                              "context, the buffers of the communicators",
                              0.0, 20.0, 0.0},
    [TRAINING_MEMORY_SPREAD] = {"spread", "share",
                                "standard deviation of the relative error of a forecast peak", 0.0,
                                1.0, 0.0},
};

static const char *const counts_names[] = {[TRAINING_ALLOCATED] = "allocated",
                                           [TRAINING_RESERVED] = "reserved",
                                           [TRAINING_DEVICE] = "device"};

#define GIGABYTE 1e9

const struct training_memory_type *training_memory_type(enum training_memory_coefficient which) {
    CONTRACT(which < TRAINING_MEMORY_COEFFICIENTS, "an unknown coefficient");
    return &types[which];
}

enum training_memory_coefficient training_memory_find(const char *name) {
    int index = 0;
    while (index < TRAINING_MEMORY_COEFFICIENTS && strcmp(types[index].name, name) != 0)
        index++;
    return (enum training_memory_coefficient)index;
}

double training_memory_value(const struct training_memory_row *rows, size_t count,
                             enum training_memory_coefficient which,
                             const struct training_scope *scope) {
    const struct training_memory_type *type = training_memory_type(which);
    double product = 1.0;
    bool found = false;
    for (size_t i = 0; i < count; i++) {
        if (rows[i].coefficient != which || !training_scope_fits(rows[i].scope, scope))
            continue;
        product *= rows[i].value;
        found = true;
    }
    return found ? fmin(fmax(product, type->minimum), type->maximum) : type->neutral;
}

void training_memory_apply(const struct training_memory_row *rows, size_t count,
                           const struct training_scope *scope, struct training_plan *plan) {
    double values[TRAINING_MEMORY_COEFFICIENTS];
    for (int i = 0; i < TRAINING_MEMORY_COEFFICIENTS; i++)
        values[i] = training_memory_value(rows, count, (enum training_memory_coefficient)i, scope);
    plan->memory = (struct training_memory){
        .eager = scope->fusion == TRAINING_FUSION_EAGER,
        .block_factor = values[TRAINING_BLOCK_FACTOR],
        .packed_factor = values[TRAINING_PACKED_FACTOR],
        .update_bytes = values[TRAINING_UPDATE_BYTES],
        .routed_copies = values[TRAINING_ROUTED_COPIES],
        .gathered_inputs = values[TRAINING_GATHERED_INPUTS],
        .score_bytes = values[TRAINING_SCORE_BYTES],
        .mask_bytes = values[TRAINING_MASK_BYTES],
        .gradient_bytes = values[TRAINING_GRADIENT_BYTES],
        .master_bytes = values[TRAINING_MASTER_BYTES],
        .moment_bytes = values[TRAINING_MOMENT_BYTES],
        .reduce_bytes = values[TRAINING_REDUCE_BYTES],
        .logit_forward_bytes = values[TRAINING_LOGIT_FORWARD_BYTES],
        .logit_update_bytes = values[TRAINING_LOGIT_UPDATE_BYTES],
    };
    if (plan->lora_rank > 0 && plan->base_bytes <= 0.0)
        plan->base_bytes = values[TRAINING_FROZEN_BYTES];
}

/* ---- what a tool reports --------------------------------------------------------------------- */

const char *training_counts_name(enum training_counts counts) {
    CONTRACT((size_t)counts < sizeof counts_names / sizeof *counts_names, "nothing that counts");
    return counts_names[counts];
}

bool training_counts_find(const char *name, enum training_counts *counts) {
    for (size_t i = 0; i < sizeof counts_names / sizeof *counts_names; i++) {
        *counts = (enum training_counts)i;
        if (strcmp(counts_names[i], name) == 0)
            return true;
    }
    return false;
}

double training_counted_bytes(const struct training_memory_row *rows, size_t count,
                              const struct training_scope *scope, enum training_counts counts,
                              double sum) {
    bool asked = counts == TRAINING_ALLOCATED;
    double share = training_memory_value(
        rows, count, asked ? TRAINING_ALLOCATED_SHARE : TRAINING_RESERVED_SHARE, scope);
    double base = training_memory_value(
        rows, count, asked ? TRAINING_ALLOCATED_BASE : TRAINING_RESERVED_BASE, scope);
    if (counts == TRAINING_DEVICE)
        base += training_memory_value(rows, count, TRAINING_DEVICE_BASE, scope);
    return sum * (1.0 + share) + base * GIGABYTE;
}

double training_needed_bytes(const struct training_memory_row *rows, size_t count,
                             const struct training_scope *scope, double sum) {
    double beside = training_memory_value(rows, count, TRAINING_DEVICE_BASE, scope);
    return training_counted_bytes(rows, count, scope, TRAINING_ALLOCATED, sum) + beside * GIGABYTE;
}
