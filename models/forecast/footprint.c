/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * What a GPU holds in each phase of a step. Peaks that cannot coincide are never added: every phase
 * is an instant of its own, and only what it needs is there:
 *
 *   always         weights, master weights and moments of the resident models; contexts
 *   its own phase  offloaded weights, gathered blocks, activations, logits; gradients in updates
 *   rollout        the engine's weights and its KV cache (wake: the same)
 *   weight sync    the engine's weights, before its cache is mapped again
 *   otherwise      what stays of a sleeping engine
 *
 * The working sets are those of the largest micro-batch that can occur, so that the verdict does
 * not depend on the lengths drawn. The allocator keeps a share more than is asked of it
 * (fragmentation) for everything the trainer allocates; the engine's share is a pool of its own.
 */

#include "models/forecast/plan.h"

#include <math.h>

typedef double memory_table[FORECAST_OWNER_COUNT][FORECAST_CATEGORY_COUNT];

/* The largest micro-batch a rank can meet. */
static struct llm_batch largest_batch(const struct forecast_plan *plan) {
    const struct rlhfsim_scenario *scenario = plan->scenario;
    double longest = (double)(plan->prompt_limit + plan->response_limit);
    double sequences = (double)scenario->training.microbatch_samples *
                       scenario->algorithm.type->sequences_per_sample;
    if (scenario->training.microbatch_tokens > 0)
        sequences = fmax(1.0, floor((double)scenario->training.microbatch_tokens / longest));
    double tokens = scenario->training.microbatch_tokens > 0
                        ? (double)scenario->training.microbatch_tokens
                        : sequences * longest;
    return (struct llm_batch){.sequences = sequences,
                              .tokens = tokens,
                              .score_pairs = sequences * llm_causal_pairs(longest, 0.0),
                              .logit_tokens = tokens};
}

static bool offloads_parameters(const struct training_plan *passes) {
    return passes->offload == TRAINING_OFFLOAD_PARAMETERS ||
           passes->offload == TRAINING_OFFLOAD_OPTIMIZER_PARAMETERS;
}

/* What a model holds whether or not it works, and where. */
static void hold_static(const struct forecast_plan *plan, int role, bool working,
                        struct forecast_memory_state *state) {
    const struct training_plan *passes = &plan->passes[role];
    struct training_footprint footprint;
    training_footprint(passes, &footprint);
    double *gpu = state->gpu[role], *host = state->host[role];
    bool away = offloads_parameters(passes) && !working;
    gpu[FORECAST_CATEGORY_WEIGHTS] = away ? 0.0 : footprint.weights + footprint.host_weights;
    gpu[FORECAST_CATEGORY_MASTER_WEIGHTS] = footprint.master_weights;
    gpu[FORECAST_CATEGORY_OPTIMIZER] = footprint.optimizer;
    host[FORECAST_CATEGORY_WEIGHTS] = footprint.host_weights;
    host[FORECAST_CATEGORY_OPTIMIZER] = footprint.host_optimizer;
}

/* What its own phase adds. */
static void hold_working(const struct forecast_plan *plan, const struct algorithm_step *step,
                         struct forecast_memory_state *state) {
    const struct training_plan *passes = &plan->passes[step->role];
    double *gpu = state->gpu[step->role];
    struct llm_batch batch = largest_batch(plan);
    struct training_working_set set;
    if (step->work == ALGORITHM_WORK_UPDATE) {
        struct training_footprint footprint;
        training_footprint(passes, &footprint);
        training_update_working_set(passes, &batch, &set);
        gpu[FORECAST_CATEGORY_GRADIENTS] = footprint.gradients;
    } else {
        training_forward_working_set(passes, &batch, &set);
    }
    gpu[FORECAST_CATEGORY_GATHERED] = set.gathered;
    gpu[FORECAST_CATEGORY_ACTIVATIONS] = set.activations;
    gpu[FORECAST_CATEGORY_LOGITS] = set.logits;
}

static bool uses_trainer(const struct forecast_plan *plan, const struct algorithm_step *step) {
    switch (step->work) {
    case ALGORITHM_WORK_SCORE:
    case ALGORITHM_WORK_FORWARD:
    case ALGORITHM_WORK_UPDATE:
        return plan->present[step->role];
    default:
        return false;
    }
}

static void hold_engine(const struct forecast_plan *plan, enum algorithm_work work,
                        memory_table gpu) {
    const struct generation_plan *generation = &plan->generation;
    double *engine = gpu[FORECAST_OWNER_ENGINE];
    engine[FORECAST_CATEGORY_RESIDUE] = plan->scenario->framework.engine_residue_bytes;
    if (work == ALGORITHM_WORK_SLEEP || work == ALGORITHM_WORK_WAKE ||
        work == ALGORITHM_WORK_GENERATE || work == ALGORITHM_WORK_SYNC)
        engine[FORECAST_CATEGORY_WEIGHTS] = generation_held_weight_bytes(generation);
    if (work == ALGORITHM_WORK_SLEEP || work == ALGORITHM_WORK_WAKE ||
        work == ALGORITHM_WORK_GENERATE)
        engine[FORECAST_CATEGORY_KV_CACHE] = (double)generation->kv_blocks / generation->dp *
                                             generation_held_block_bytes(generation);
}

/* The trainer's allocator keeps a share more than what the models hold. */
static double allocator_reserve(const struct forecast_plan *plan, memory_table gpu) {
    double held = 0.0;
    for (int role = 0; role < ALGORITHM_ROLE_COUNT; role++)
        for (int category = 0; category < FORECAST_CATEGORY_COUNT; category++)
            held += gpu[role][category];
    return plan->scenario->framework.fragmentation_fraction * held;
}

/* A reference that is only needed before the first step leaves with its log-probs written. */
static bool has_left(const struct forecast_plan *plan, int role, size_t index) {
    return role == ALGORITHM_ROLE_REFERENCE && plan->loop_first > 0 && index >= plan->loop_first;
}

static void hold_during(const struct forecast_plan *plan, size_t index,
                        struct forecast_memory_state *state) {
    const struct algorithm_step *step = &plan->steps[index];
    bool working = uses_trainer(plan, step);
    for (int role = 0; role < ALGORITHM_ROLE_COUNT; role++)
        if (plan->resident[role] && !has_left(plan, role, index))
            hold_static(plan, role, working && role == (int)step->role, state);
    if (working)
        hold_working(plan, step, state);
    if (plan->replicas > 0)
        hold_engine(plan, step->work, state->gpu);
    double *system = state->gpu[FORECAST_OWNER_SYSTEM];
    system[FORECAST_CATEGORY_CONTEXT] = plan->scenario->framework.context_bytes;
    system[FORECAST_CATEGORY_RESERVE] = allocator_reserve(plan, state->gpu);
}

void forecast_plan_memory(struct forecast_plan *plan) {
    for (size_t i = 0; i < plan->step_count; i++)
        hold_during(plan, i, &plan->memory[i]);
}

static double table_sum(double table[FORECAST_OWNER_COUNT][FORECAST_CATEGORY_COUNT]) {
    double sum = 0.0;
    for (int owner = 0; owner < FORECAST_OWNER_COUNT; owner++)
        for (int category = 0; category < FORECAST_CATEGORY_COUNT; category++)
            sum += table[owner][category];
    return sum;
}

struct forecast_memory_peak forecast_gpu_peak(const struct forecast_plan *plan) {
    struct forecast_memory_peak peak = {0, -1.0};
    for (size_t i = 0; i < plan->step_count; i++) {
        struct forecast_memory_state state = plan->memory[i];
        double bytes = table_sum(state.gpu);
        if (bytes > peak.bytes)
            peak = (struct forecast_memory_peak){i, bytes};
    }
    return peak;
}

struct forecast_memory_peak forecast_host_peak(const struct forecast_plan *plan) {
    struct forecast_memory_peak peak = {0, -1.0};
    for (size_t i = 0; i < plan->step_count; i++) {
        struct forecast_memory_state state = plan->memory[i];
        double bytes = table_sum(state.host) * plan->scenario->cluster.gpus_per_node;
        if (bytes > peak.bytes)
            peak = (struct forecast_memory_peak){i, bytes};
    }
    return peak;
}

bool forecast_plan_fits(const struct forecast_plan *plan) {
    const struct hardware_cluster *cluster = &plan->scenario->cluster;
    return plan->kv_missing_bytes <= 0.0 &&
           forecast_gpu_peak(plan).bytes <= cluster->gpu.memory_bytes &&
           forecast_host_peak(plan).bytes <= cluster->node.host_memory_bytes;
}
