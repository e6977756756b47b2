/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_SCENARIO_STEPS_H
#define MODELS_SCENARIO_STEPS_H

/*
 * Which prompts (offline: pairs) each step of a run takes. A data loader goes through the data set
 * once an epoch, `prompts_per_step` after `prompts_per_step`; what is left at the end of an epoch
 * is a short step of its own, or is dropped (dataset.drop_last):
 *
 *     steps of an epoch = floor(prompts / prompts_per_step) (+ 1 with a short step)
 *
 * A step of n samples takes ceil(n / minibatch_samples) optimizer steps an epoch of the algorithm;
 * the last one of a short step is short, too. Where the number of steps is written (`steps`), every
 * step is full, and the data set is gone through in a circle.
 */

#include "models/scenario/scenario.h"

struct scenario_step {
    int64_t first;   /* place of its first prompt in the data set; not wrapped where steps are
                        written */
    int64_t prompts; /* that it takes: from 1 to prompts_per_step */
};

/* Prompts (offline: pairs) of the data set; 0 where it is not written. */
int64_t scenario_data_set(const struct rlhfsim_scenario *scenario);

/* Step `step`, from 1 to scenario->steps (where steps are written, on without an end). */
struct scenario_step scenario_step_at(const struct rlhfsim_scenario *scenario, int64_t step);

/* The short step at the end of each epoch: its prompts, 0 where every step is full. */
int64_t scenario_short_prompts(const struct rlhfsim_scenario *scenario);

/* Prompts that each epoch leaves out; 0 where none, or where steps are written. */
int64_t scenario_dropped_prompts(const struct rlhfsim_scenario *scenario);

/* Optimizer steps of the actor over the run. */
int64_t scenario_optimizer_steps(const struct rlhfsim_scenario *scenario);

#endif
