/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef RLHFSIM_PIPELINE_H
#define RLHFSIM_PIPELINE_H

/*
 * A pipeline: a YAML file that chains scenarios, such as SFT, reward model and PPO, each of which
 * loads what it starts from and saves what it has trained.
 *
 *     name: rlhf-llama2-7b
 *     pipeline:
 *       - {stage: sft, scenario: sft.yaml}
 *       - repeat: 4
 *         stages:
 *           - {stage: ppo, scenario: ppo.yaml, set: {steps: 100}}
 *           - {stage: refresh, scenario: reward-model.yaml}
 *
 * Scenarios are found beside the file. `set` replaces keys of the scenario, as --set does; what is
 * repeated runs so often, one after the other. Where a scenario does not say so itself, its stage
 * loads weights (checkpoint.load) and saves once at its end (checkpoint.every_steps).
 */

#include <rlhfsim/diagnostics.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rlhfsim_pipeline;

struct rlhfsim_stage {
    const char *name;
    const char *path; /* of its scenario */
    const char *const
        *sets; /* "a.b=value", of the file's `set` and of what a stage does by default */
    size_t set_count;
    int64_t times; /* that it runs in all */
};

/* Whether the file is one. RLHFSIM_OK with *pipeline owned by the caller, or NULL where the file
 * has no key `pipeline` or cannot be read as YAML, which rlhfsim_scenario_load then says.
 * RLHFSIM_INVALID with every error in `diagnostics`, RLHFSIM_NO_MEMORY. */
RLHFSIM_API enum rlhfsim_status rlhfsim_pipeline_read(const char *path,
                                                      struct rlhfsim_diagnostics *diagnostics,
                                                      struct rlhfsim_pipeline **pipeline);
RLHFSIM_API void rlhfsim_pipeline_free(struct rlhfsim_pipeline *pipeline);

/* Live as long as the pipeline; false past the last stage. */
RLHFSIM_API const char *rlhfsim_pipeline_name(const struct rlhfsim_pipeline *pipeline);
RLHFSIM_API bool rlhfsim_pipeline_stage(const struct rlhfsim_pipeline *pipeline, size_t index,
                                        struct rlhfsim_stage *stage);

/* "FILE:LINE:COLUMN: error: stage 'ppo' is not legal: ...", behind the errors of its scenario. */
RLHFSIM_API enum rlhfsim_status rlhfsim_pipeline_blame(const struct rlhfsim_pipeline *pipeline,
                                                       size_t index,
                                                       struct rlhfsim_diagnostics *diagnostics);

#endif
