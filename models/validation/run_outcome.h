/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_VALIDATION_RUN_OUTCOME_H
#define MODELS_VALIDATION_RUN_OUTCOME_H

/*
 * What a run is forecast to do, and what the figures that frameworks print are in it.
 *
 *     step_s                       all phases
 *     generation_s                 rollout; verl's timer has sleep, wake and, where the run prints
 *                                  no weight_sync_s of its own, the weight sync inside
 *     actor_update_s, ...          the phase of that name
 *     training_s                   both updates, and log-probs where the notes say so
 *     experience_s                 log-probs, values and rewards
 *     weight_sync_s, reshard_s     the weight sync
 *     wait_s, exposed_generation_s what a step has beside the trainer's phases: its wait
 *     microbatch_s                 of a trainer alone: a step over its micro-batches
 *     tokens_per_s(_per_gpu)       prompts and responses of a step over its seconds; the notes may
 *                                  say responses only
 *     mfu                          model FLOPs of the updates, or of a trainer's step
 *     peak_memory_gb               what the trainer's allocator sees, at most
 *     host_memory_gb               of a node
 *     hours_total                  of the steps or samples that its notes give
 */

#include "models/validation/run_case.h"

struct run_outcome {
    double steps; /* simulated */
    double step_s;
    double phase_s[ALGORITHM_PHASE_COUNT]; /* of a step */
    double driver_s;                       /* the driver's work, in `transition` */
    double microbatch_s;                   /* of a trainer alone */
    double gpus, peak_flops_per_s;
    double samples, tokens, response_tokens; /* of a step */
    double training_flops, training_gpu_s;
    double peak_bytes, host_bytes;
};

/* Simulates a few steps, until there are about a thousand samples. RLHFSIM_OK, NO_MEMORY or
 * INTERNAL. The run has no `reason`. */
enum rlhfsim_status run_forecast(const struct run_case *run,
                                 struct rlhfsim_diagnostics *diagnostics,
                                 struct run_outcome *outcome);

/* Whether the memory of a whole run holds all of it, without a simulation. False without memory for
 * its plan (*status). */
bool run_fits(const struct run_case *run, enum rlhfsim_status *status);

/* The figure, in its own unit; NAN with *reason (static text) where it is not forecast. */
double run_figure_forecast(const struct run_case *run, const struct run_figure *figure,
                           const struct run_outcome *outcome, const char **reason);

#endif
