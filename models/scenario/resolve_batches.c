/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How many samples a step has, how many of them one optimizer step sees, and how many steps the run
 * takes:
 *
 *     samples = prompts_per_step x samples_per_prompt          (offline: pairs of a mini-batch)
 *     steps   = epochs x (prompts / prompts_per_step)          (offline: pairs, minibatch_samples)
 *
 * rounded down within each epoch with dataset.drop_last, up without (steps.h). A number of steps
 * that is written replaces the one that the data set gives.
 */
#include "models/scenario/draft.h"

#include <inttypes.h>

/* What a simulation of one step holds in memory. */
#define SAMPLES_LIMIT 100000000
#define STEPS_LIMIT 1000000000

/* ---- samples of a step ----------------------------------------------------------------------- */

static bool resolve_samples_per_prompt(struct scenario_draft *draft) {
    const struct algorithm_type *type = draft->scenario->algorithm.type;
    const struct scenario_value *value = &draft->values.at[KEY_ALGORITHM_SAMPLES_PER_PROMPT];
    int64_t *samples = &draft->scenario->algorithm.samples_per_prompt;
    if (!value->given && type->min_samples_per_prompt > 1) {
        scenario_blame_key(draft, KEY_ALGORITHM_SAMPLES_PER_PROMPT,
                           "algorithm.samples_per_prompt is required by %s, expected a whole "
                           "number of %d or more",
                           type->name, type->min_samples_per_prompt);
        return false;
    }
    if (!value->given)
        *samples = 1;
    else if (!value->known)
        return false;
    if (*samples >= type->min_samples_per_prompt)
        return true;
    scenario_blame(draft, KEY_ALGORITHM_SAMPLES_PER_PROMPT,
                   "algorithm.samples_per_prompt is %" PRId64
                   ", expected a whole number of %d or more with %s",
                   *samples, type->min_samples_per_prompt, type->name);
    return false;
}

/* Of each prompt's samples those that are trained, and the rounds of a rollout that has some. */
static bool resolve_selection(struct scenario_draft *draft) {
    struct rlhfsim_scenario *scenario = draft->scenario;
    const struct algorithm_type *type = scenario->algorithm.type;
    int64_t samples = scenario->algorithm.samples_per_prompt;
    int64_t *kept = &scenario->algorithm.kept_samples_per_prompt;
    scenario->algorithm.old_logprobs_skipped =
        draft->values.at[KEY_ALGORITHM_OLD_LOGPROBS].integer == 1;
    if (type->selection != ALGORITHM_SELECT_BEST)
        *kept = samples;
    else if (type->selected_per_prompt > 0)
        *kept = type->selected_per_prompt;
    else if (!scenario_known(draft, KEY_ALGORITHM_KEPT_SAMPLES_PER_PROMPT))
        return false;
    if (*kept <= samples)
        return true;
    scenario_blame(draft, KEY_ALGORITHM_KEPT_SAMPLES_PER_PROMPT,
                   "algorithm.kept_samples_per_prompt is %" PRId64
                   ", expected at most algorithm.samples_per_prompt (%" PRId64 ")",
                   *kept, samples);
    return false;
}

static void resolve_rounds(struct scenario_draft *draft) {
    static const enum scenario_key needed[] = {KEY_ALGORITHM_PASS_RATE_MEAN,
                                               KEY_ALGORITHM_PASS_RATE_CONCENTRATION, KEY_STEPS};
    struct rlhfsim_scenario *scenario = draft->scenario;
    if (!scenario_given(draft, KEY_ALGORITHM_GENERATED_PROMPTS))
        scenario->algorithm.generated_prompts = scenario->algorithm.prompts_per_step;
    if (scenario->algorithm.type->selection != ALGORITHM_SELECT_MIXED)
        return;
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
        if (!scenario_given(draft, needed[i]))
            scenario_blame_key(draft, needed[i],
                               "%s is required by %s, whose prompts a step are a matter of chance",
                               scenario_schema_at(needed[i])->path, scenario->algorithm.type->name);
}

static bool resolve_prompts(struct scenario_draft *draft) {
    if (!scenario_given(draft, KEY_ALGORITHM_PROMPTS_PER_STEP))
        scenario_blame_key(draft, KEY_ALGORITHM_PROMPTS_PER_STEP,
                           "algorithm.prompts_per_step is required by %s",
                           draft->scenario->algorithm.type->name);
    return scenario_known(draft, KEY_ALGORITHM_PROMPTS_PER_STEP);
}

static void resolve_rollout(struct scenario_draft *draft) {
    struct rlhfsim_scenario *scenario = draft->scenario;
    bool samples_per_prompt = resolve_samples_per_prompt(draft);
    if (!resolve_prompts(draft) || !samples_per_prompt || !resolve_selection(draft))
        return;
    resolve_rounds(draft);
    int64_t samples = scenario->algorithm.prompts_per_step * scenario->algorithm.samples_per_prompt;
    if (samples > SAMPLES_LIMIT) {
        scenario_blame(draft, KEY_ALGORITHM_PROMPTS_PER_STEP,
                       "%" PRId64 " samples a step (%" PRId64 " prompts x %" PRId64
                       "), expected at most %d",
                       samples, scenario->algorithm.prompts_per_step,
                       scenario->algorithm.samples_per_prompt, SAMPLES_LIMIT);
        return;
    }
    draft->samples_known = true;
    if (!scenario_given(draft, KEY_ALGORITHM_MINIBATCH_SAMPLES))
        scenario->algorithm.minibatch_samples =
            scenario->algorithm.prompts_per_step * scenario->algorithm.kept_samples_per_prompt;
    draft->minibatch_known = !scenario_given(draft, KEY_ALGORITHM_MINIBATCH_SAMPLES) ||
                             scenario_known(draft, KEY_ALGORITHM_MINIBATCH_SAMPLES);
}

static void resolve_offline(struct scenario_draft *draft) {
    struct rlhfsim_scenario *scenario = draft->scenario;
    if (!scenario_given(draft, KEY_ALGORITHM_MINIBATCH_SAMPLES))
        scenario_blame_key(draft, KEY_ALGORITHM_MINIBATCH_SAMPLES,
                           "algorithm.minibatch_samples is required by %s: the pairs of one "
                           "optimizer step",
                           scenario->algorithm.type->name);
    if (!scenario_known(draft, KEY_ALGORITHM_MINIBATCH_SAMPLES))
        return;
    if (scenario->algorithm.minibatch_samples > SAMPLES_LIMIT) {
        scenario_blame(draft, KEY_ALGORITHM_MINIBATCH_SAMPLES,
                       "algorithm.minibatch_samples is %" PRId64 ", expected at most %d",
                       scenario->algorithm.minibatch_samples, SAMPLES_LIMIT);
        return;
    }
    scenario->algorithm.prompts_per_step = scenario->algorithm.minibatch_samples;
    scenario->algorithm.samples_per_prompt = 1;
    scenario->algorithm.kept_samples_per_prompt = 1;
    scenario->algorithm.generated_prompts = scenario->algorithm.minibatch_samples;
    scenario->algorithm.epochs = 1;
    draft->samples_known = draft->minibatch_known = true;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static enum scenario_key data_set_key(const struct scenario_draft *draft) {
    return draft->scenario->algorithm.type->has_rollout ? KEY_DATASET_PROMPTS : KEY_DATASET_PAIRS;
}

/* What is written, else what the framework does. False where it is not known. */
static bool resolve_drop_last(struct scenario_draft *draft) {
    struct rlhfsim_scenario *scenario = draft->scenario;
    if (scenario_given(draft, KEY_DATASET_DROP_LAST))
        return scenario_known(draft, KEY_DATASET_DROP_LAST);
    if (scenario->framework.name[0] == '\0')
        return false;
    scenario->dataset.drop_last = scenario->algorithm.type->has_rollout
                                      ? scenario->framework.drop_last_prompts
                                      : scenario->framework.drop_last_pairs;
    return true;
}

static void blame_empty_epoch(struct scenario_draft *draft, enum scenario_key key) {
    const struct rlhfsim_scenario *scenario = draft->scenario;
    bool written = scenario_given(draft, KEY_DATASET_DROP_LAST);
    scenario_blame(draft, written ? KEY_DATASET_DROP_LAST : key,
                   "dataset.drop_last is true%s%s and leaves no step of an epoch: %s is %" PRId64
                   ", a step takes %" PRId64 "; with dataset.drop_last: false it is a short step",
                   written ? "" : " by default of ", written ? "" : scenario->framework.name,
                   scenario_schema_at(key)->path, draft->values.at[key].integer,
                   scenario->algorithm.prompts_per_step);
}

static void derive_steps(struct scenario_draft *draft, enum scenario_key key) {
    struct rlhfsim_scenario *scenario = draft->scenario;
    int64_t size = draft->values.at[key].integer;
    int64_t per_step = scenario->algorithm.prompts_per_step;
    if (!resolve_drop_last(draft))
        return;
    scenario->dataset.epoch_steps =
        size / per_step + (size % per_step != 0 && !scenario->dataset.drop_last ? 1 : 0);
    scenario->steps = scenario->dataset.epoch_steps * scenario->dataset.epochs;
    if (scenario->steps == 0)
        blame_empty_epoch(draft, key);
    if (scenario->steps > STEPS_LIMIT)
        scenario_blame(draft, key, "%s is %s: %" PRId64 " steps, expected at most %d",
                       scenario_schema_at(key)->path, draft->values.at[key].text, scenario->steps,
                       STEPS_LIMIT);
}

static void resolve_steps(struct scenario_draft *draft) {
    enum scenario_key key = data_set_key(draft);
    const char *path = scenario_schema_at(key)->path;
    bool size = scenario_given(draft, key);
    if (scenario_written(draft, KEY_DATASET_EPOCHS) && !size)
        scenario_blame_key(draft, KEY_DATASET_EPOCHS, "dataset.epochs is written, but %s is not",
                           path);
    if (scenario_written(draft, KEY_DATASET_DROP_LAST) && !size)
        scenario_blame_key(draft, KEY_DATASET_DROP_LAST,
                           "dataset.drop_last is written, but %s is not", path);
    if (scenario_given(draft, KEY_STEPS) ||
        draft->scenario->algorithm.type->selection == ALGORITHM_SELECT_MIXED)
        return;
    if (!size)
        scenario_blame_key(draft, KEY_STEPS,
                           "the length of the run is missing: write steps, or %s with "
                           "dataset.epochs",
                           path);
    else if (draft->samples_known && scenario_known(draft, key) &&
             scenario_known(draft, KEY_DATASET_EPOCHS))
        derive_steps(draft, key);
}

void scenario_resolve_batches(struct scenario_draft *draft) {
    if (!draft->algorithm_known)
        return;
    if (draft->scenario->algorithm.type->has_rollout)
        resolve_rollout(draft);
    else
        resolve_offline(draft);
    resolve_steps(draft);
}
