/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What spans several keys and is no division: number formats that the GPU has, sequences that fit
 * the models' contexts and the token budgets, and keys that mean nothing without another.
 */
#include "models/scenario/draft.h"

#include <inttypes.h>

/* ---- number formats -------------------------------------------------------------------------- */

static void check_precision(struct scenario_draft *draft, enum scenario_key key,
                            enum hardware_precision precision, const char *name) {
    const struct hardware_gpu *gpu = &draft->scenario->cluster.gpu;
    if (draft->cluster_known && scenario_known(draft, key) &&
        gpu->peak_flops_per_s[precision] == 0.0)
        scenario_blame(draft, key, "%s is %s%s, which %s does not compute with",
                       scenario_schema_at(key)->path, name,
                       scenario_given(draft, key) ? "" : " by default", gpu->name);
}

/* ---- sequences ------------------------------------------------------------------------------- */

static bool check_context(struct scenario_draft *draft, enum algorithm_role role,
                          int64_t longest_prompt) {
    const struct llm_architecture *model = &draft->scenario->models[role].architecture;
    int64_t response = draft->scenario->rollout.max_new_tokens;
    if (longest_prompt + response <= model->max_position)
        return true;
    scenario_blame(draft, KEY_ROLLOUT_MAX_NEW_TOKENS,
                   "rollout.max_new_tokens is %" PRId64 ", with the longest prompt (%" PRId64
                   ") %" PRId64 " tokens, expected at most the %" PRId64 " positions of models.%s",
                   response, longest_prompt, longest_prompt + response, model->max_position,
                   algorithm_role_name(role));
    return false;
}

/* Sparse attention changes nothing while a sequence is not longer than its choice; beyond, the
 * forecast would count attention that the model does not do. */
static bool check_attention(struct scenario_draft *draft, enum algorithm_role role,
                            int64_t longest_prompt) {
    const struct llm_architecture *model = &draft->scenario->models[role].architecture;
    int64_t response = draft->scenario->rollout.max_new_tokens;
    int64_t limit = llm_attention_limit(model);
    if (longest_prompt + response <= limit)
        return true;
    scenario_blame(draft, KEY_ROLLOUT_MAX_NEW_TOKENS,
                   "rollout.max_new_tokens is %" PRId64 ", with the longest prompt (%" PRId64
                   ") %" PRId64 " tokens, but models.%s (%s) has sparse attention of %" PRId64
                   " tokens, and longer sequences are not simulated for it yet",
                   response, longest_prompt, longest_prompt + response, algorithm_role_name(role),
                   model->name, limit);
    return false;
}

/* Micro-batches count the pairs of one window: models with unlike ones need sequences that are not
 * longer than the shorter. */
static void check_windows(struct scenario_draft *draft, int64_t longest_prompt) {
    int64_t longest = longest_prompt + draft->scenario->rollout.max_new_tokens;
    int first = -1;
    for (int role = 0; role < ALGORITHM_ROLE_COUNT; role++) {
        const struct llm_architecture *model = &draft->scenario->models[role].architecture;
        int64_t window = draft->model_known[role] ? llm_window(model) : 0;
        if (window == 0)
            continue;
        first = first < 0 ? role : first;
        int64_t other = llm_window(&draft->scenario->models[first].architecture);
        if (window == other || (longest <= window && longest <= other))
            continue;
        scenario_blame(draft, scenario_model_key((enum algorithm_role)role, SCENARIO_MODEL_MODEL),
                       "models.%s (%s) has an attention window of %" PRId64
                       " tokens, models.%s one of %" PRId64
                       ": unlike windows are simulated only for sequences that are not longer than "
                       "both, here up to %" PRId64 " tokens",
                       algorithm_role_name((enum algorithm_role)role), model->name, window,
                       algorithm_role_name((enum algorithm_role)first), other, longest);
    }
}

static void check_contexts(struct scenario_draft *draft, int64_t longest_prompt) {
    for (int role = 0; role < ALGORITHM_ROLE_COUNT; role++)
        if (draft->model_known[role] &&
            (!check_context(draft, (enum algorithm_role)role, longest_prompt) ||
             !check_attention(draft, (enum algorithm_role)role, longest_prompt)))
            return;
}

/* A sequence is not divided between micro-batches. */
static void check_token_budget(struct scenario_draft *draft, enum scenario_key key,
                               int64_t longest_prompt) {
    int64_t budget = draft->values.at[key].integer;
    int64_t response = draft->scenario->rollout.max_new_tokens;
    bool unlimited = generation_lengths_longest(&draft->scenario->rollout.prompt.fitted) == 0.0;
    if (!scenario_known(draft, key) || budget >= longest_prompt + response)
        return;
    scenario_blame(draft, key,
                   "%s is %" PRId64 ", expected at least the longest sequence of %" PRId64
                   " tokens (prompt %" PRId64 " + response %" PRId64 ")%s",
                   scenario_schema_at(key)->path, budget, longest_prompt + response, longest_prompt,
                   response,
                   unlimited ? "; rollout.prompt_tokens.limit would bound the prompt" : "");
}

static void check_sequences(struct scenario_draft *draft) {
    bool actor = draft->model_known[ALGORITHM_ROLE_ACTOR];
    if (!actor || !draft->prompt_known || !scenario_known(draft, KEY_ROLLOUT_MAX_NEW_TOKENS))
        return;
    int64_t longest_prompt = scenario_longest_prompt(draft);
    check_contexts(draft, longest_prompt);
    check_windows(draft, longest_prompt);
    check_token_budget(draft, KEY_TRAINING_MICROBATCH_TOKENS, longest_prompt);
    check_token_budget(draft, KEY_TRAINING_LOGPROB_MICROBATCH_TOKENS, longest_prompt);
}

/* ---- the engine ------------------------------------------------------------------------------ */

/* A running sequence takes one token of every iteration's budget (vLLM refuses this too). */
static void check_engine_budget(struct scenario_draft *draft) {
    int64_t sequences = draft->scenario->rollout.max_num_seqs;
    int64_t tokens = draft->scenario->rollout.max_num_batched_tokens;
    bool known = draft->engine_known;
    for (int i = 0; i < 2; i++) {
        enum scenario_key limit =
            i == 0 ? KEY_ROLLOUT_MAX_NUM_SEQS : KEY_ROLLOUT_MAX_NUM_BATCHED_TOKENS;
        known = known && (scenario_known(draft, limit) || !scenario_given(draft, limit));
    }
    enum scenario_key key = scenario_given(draft, KEY_ROLLOUT_MAX_NUM_BATCHED_TOKENS)
                                ? KEY_ROLLOUT_MAX_NUM_BATCHED_TOKENS
                                : KEY_ROLLOUT_MAX_NUM_SEQS;
    if (known && tokens < sequences)
        scenario_blame(
            draft, key,
            "rollout.max_num_batched_tokens is %" PRId64
            "%s, expected at least rollout.max_num_seqs (%" PRId64 "%s)",
            tokens, scenario_given(draft, KEY_ROLLOUT_MAX_NUM_BATCHED_TOKENS) ? "" : " by default",
            sequences, scenario_given(draft, KEY_ROLLOUT_MAX_NUM_SEQS) ? "" : " by default");
}

/* ---- companions ------------------------------------------------------------------------------ */

/* `key` refines what `leader` switches on. With the leader written, even as 0, it may stay: a sweep
 * over the leader passes through 0. */
static void check_companion(struct scenario_draft *draft, enum scenario_key key,
                            enum scenario_key leader, const char *otherwise) {
    if (scenario_written(draft, key) && !scenario_given(draft, leader))
        scenario_blame_key(draft, key, "%s is written, but %s is not: %s",
                           scenario_schema_at(key)->path, scenario_schema_at(leader)->path,
                           otherwise);
}

static void check_validation(struct scenario_draft *draft) {
    const struct rlhfsim_scenario *scenario = draft->scenario;
    check_companion(draft, KEY_VALIDATION_PROMPTS, KEY_VALIDATION_EVERY_STEPS,
                    "nothing is validated");
    check_companion(draft, KEY_VALIDATION_SAMPLES_PER_PROMPT, KEY_VALIDATION_EVERY_STEPS,
                    "nothing is validated");
    if (scenario->validation.every_steps == 0)
        return;
    if (!scenario_given(draft, KEY_VALIDATION_PROMPTS))
        scenario_blame_key(draft, KEY_VALIDATION_EVERY_STEPS,
                           "validation.prompts is required by validation.every_steps above 0");
}

static void check_companions(struct scenario_draft *draft) {
    check_validation(draft);
    check_companion(draft, KEY_CHECKPOINT_KEEP, KEY_CHECKPOINT_EVERY_STEPS,
                    "no checkpoint is written");
    check_companion(draft, KEY_CHECKPOINT_EXPORTED, KEY_CHECKPOINT_EVERY_STEPS,
                    "no checkpoint is written");
    check_companion(draft, KEY_CHECKPOINT_STORE_BANDWIDTH, KEY_CHECKPOINT_EVERY_STEPS,
                    "no checkpoint is written");
    if (draft->scenario->checkpoint.load == SCENARIO_LOAD_NONE) /* else it says how to load */
        check_companion(draft, KEY_CHECKPOINT_LAYOUT, KEY_CHECKPOINT_EVERY_STEPS,
                        "no checkpoint is written");
    check_companion(draft, KEY_CHECKPOINT_MODE, KEY_CHECKPOINT_EVERY_STEPS,
                    "no checkpoint is written");
    check_companion(draft, KEY_DATASET_BYTES, KEY_CHECKPOINT_LOAD, "nothing is loaded");
    check_companion(draft, KEY_LOGGING_BYTES_PER_SAMPLE, KEY_LOGGING_SAMPLING_RATE,
                    "no sample is logged");
    if (draft->scenario->logging.sampling_rate > 0.0 &&
        !scenario_given(draft, KEY_LOGGING_BYTES_PER_SAMPLE))
        scenario_blame_key(draft, KEY_LOGGING_SAMPLING_RATE,
                           "logging.bytes_per_sample is required by a sampling_rate above 0, such "
                           "as 4 kB");
}

/* ---- rewards ------------------------------------------------------------------------------- */

/* The largest p99 over the mean that a log-normal law has: exp(z^2 / 2) with z of 99 %. */
#define SCENARIO_MOST_P99 14.9

static void check_rewards(struct scenario_draft *draft) {
    const struct rlhfsim_scenario *scenario = draft->scenario;
    double mean = scenario->reward.sample_s, p99 = scenario->reward.sample_p99_s;
    if (scenario_known(draft, KEY_REWARD_SAMPLE_TIME_P99) &&
        (p99 <= mean || p99 > SCENARIO_MOST_P99 * mean))
        scenario_blame(draft, KEY_REWARD_SAMPLE_TIME_P99,
                       "reward.sample_time_p99 is %g s, expected more than reward.sample_time "
                       "(%g s) and at most %g times as much",
                       p99, mean, SCENARIO_MOST_P99);
    if (scenario_written(draft, KEY_REWARD_WORKERS) &&
        scenario_written(draft, KEY_REWARD_CALLS_PER_SECOND))
        scenario_blame_key(draft, KEY_REWARD_CALLS_PER_SECOND,
                           "reward.calls_per_second and reward.workers exclude each other; write "
                           "one of them");
    if (scenario->reward.during_rollout && scenario->placement.mode == SCENARIO_ASYNC)
        scenario_blame(draft, KEY_REWARD_DURING_ROLLOUT,
                       "reward.during_rollout is true, which placement.mode async is not simulated "
                       "with; leave it out");
}

/* ---- the stage ------------------------------------------------------------------------------- */

void scenario_check_use(struct scenario_draft *draft) {
    struct rlhfsim_scenario *scenario = draft->scenario;
    bool rollout = draft->algorithm_known && scenario->algorithm.type->has_rollout;
    check_precision(draft, KEY_TRAINING_PRECISION, scenario->training.precision,
                    hardware_precision_name(scenario->training.precision));
    if (rollout) {
        check_precision(draft, KEY_ROLLOUT_PRECISION,
                        generation_format_products(scenario->rollout.precision),
                        generation_format_name(scenario->rollout.precision));
        check_engine_budget(draft);
    }
    check_sequences(draft);
    check_rewards(draft);
    check_companions(draft);
}
