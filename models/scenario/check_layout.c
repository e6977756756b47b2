/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether the work divides over the GPUs: the engine over heads and nodes (the trainer:
 * check_parallel.c), mini-batches over a step and over the ranks, micro-batches over a rank's
 * share. What does not divide is said with the nearest numbers that do.
 */
#include "models/base/text.h"
#include "models/scenario/draft.h"
#include "models/scenario/placement.h"

#include <inttypes.h>
#include <stdio.h>

/* How far from a wrong number a right one is looked for. */
#define NEIGHBOUR_REACH 100000

static bool divides(int64_t part, int64_t whole) {
    return part > 0 && whole % part == 0;
}

/* "; possible near it are A and B": the next divisors of `whole` that are multiples of `step`,
 * below and above `wrong`. */
static const char *neighbours(int64_t wrong, int64_t whole, int64_t step, char *buffer,
                              size_t size) {
    int64_t below = 0, above = 0;
    for (int64_t n = wrong - 1; n > 0 && n > wrong - NEIGHBOUR_REACH && below == 0; n--)
        below = divides(n, whole) && divides(step, n) ? n : 0;
    for (int64_t n = wrong + 1; n <= whole && n < wrong + NEIGHBOUR_REACH && above == 0; n++)
        above = divides(n, whole) && divides(step, n) ? n : 0;
    buffer[0] = '\0';
    if (below > 0 && above > 0)
        (void)snprintf(buffer, size, "; possible near it are %" PRId64 " and %" PRId64, below,
                       above);
    else if (below > 0 || above > 0)
        (void)snprintf(buffer, size, "; possible near it is %" PRId64, below > 0 ? below : above);
    return buffer;
}

/* ---- the engine ------------------------------------------------------------------------------ */

/* Replicas fill the pool. */
static void check_rollout_pool(struct scenario_draft *draft) {
    const struct rlhfsim_scenario *scenario = draft->scenario;
    int replica = scenario->rollout.tp * scenario->rollout.pp * scenario->rollout.attention_dp;
    int gpus = scenario_pool_gpus(scenario, SCENARIO_POOL_ROLLOUT);
    if (gpus > 0 && !divides(replica, gpus))
        scenario_blame(
            draft, KEY_ROLLOUT_TP,
            "rollout.tp %d makes replicas of %d GPUs, expected a divisor of the %d of the "
            "rollout's pool",
            scenario->rollout.tp, replica, gpus);
}

static void check_rollout_tp(struct scenario_draft *draft) {
    const struct hardware_cluster *cluster = &draft->scenario->cluster;
    int tp = draft->scenario->rollout.tp, gpus = hardware_cluster_gpus(cluster);
    bool whole_nodes =
        draft->cluster_known && divides(cluster->gpus_per_node, tp) && divides(tp, gpus);
    if (draft->cluster_known && !divides(tp, cluster->gpus_per_node) && !whole_nodes)
        scenario_blame(draft, KEY_ROLLOUT_TP,
                       "rollout.tp is %d, expected a divisor of the %d GPUs of a node, or as many "
                       "whole nodes as divide the %d GPUs",
                       tp, cluster->gpus_per_node, gpus);
    else if (draft->placement_known && draft->cluster_known)
        check_rollout_pool(draft);
    if (draft->model_known[ALGORITHM_ROLE_ACTOR])
        (void)scenario_check_heads(draft, KEY_ROLLOUT_TP, tp, ALGORITHM_ROLE_ACTOR);
}

/* ---- mini-batches and micro-batches ---------------------------------------------------------- */

static const char *sample_word(const struct scenario_draft *draft) {
    return draft->scenario->algorithm.type->has_rollout ? "samples" : "pairs";
}

static const char *by_default(const struct scenario_draft *draft, enum scenario_key key) {
    return scenario_given(draft, key) ? "" : " by default";
}

/* How the ranks come about: "16 GPUs / training.tp 2". */
static const char *rank_text(const struct rlhfsim_scenario *scenario, int64_t dp, char *buffer,
                             size_t size) {
    int gpus = (int)dp * scenario_rank_gpus(scenario), tp = scenario->training.tp;
    if (scenario_rank_gpus(scenario) == tp)
        (void)snprintf(buffer, size, "%d GPUs / training.tp %d", gpus, tp);
    else
        (void)snprintf(buffer, size, "%d GPUs / training.tp %d x cp %d x pp %d", gpus, tp,
                       scenario->training.cp, scenario->training.pp);
    return buffer;
}

/* `dp` is 1 while the ranks are not known. */
static bool check_minibatch(struct scenario_draft *draft, int64_t dp) {
    const struct rlhfsim_scenario *scenario = draft->scenario;
    int64_t size = scenario->algorithm.minibatch_samples;
    int64_t samples =
        scenario->algorithm.prompts_per_step * scenario->algorithm.kept_samples_per_prompt;
    char near[96];
    if (!divides(size, samples)) {
        scenario_blame(draft, KEY_ALGORITHM_MINIBATCH_SAMPLES,
                       "algorithm.minibatch_samples is %" PRId64
                       ", expected a divisor of the %" PRId64 " samples of a step (%" PRId64
                       " prompts x %" PRId64 ")%s",
                       size, samples, scenario->algorithm.prompts_per_step,
                       scenario->algorithm.kept_samples_per_prompt,
                       neighbours(size, samples, dp, near, sizeof near));
        return false;
    }
    if (divides(dp, size))
        return true;
    bool offline = !scenario->algorithm.type->has_rollout;
    char ranks[96];
    scenario_blame(draft, KEY_ALGORITHM_MINIBATCH_SAMPLES,
                   "algorithm.minibatch_samples is %" PRId64
                   "%s, expected a multiple of the %" PRId64 " data parallel ranks (%s)%s",
                   size, by_default(draft, KEY_ALGORITHM_MINIBATCH_SAMPLES), dp,
                   rank_text(scenario, dp, ranks, sizeof ranks),
                   offline ? "" : neighbours(size, samples, dp, near, sizeof near));
    return false;
}

static void check_microbatch_samples(struct scenario_draft *draft, int64_t dp) {
    int64_t size = draft->scenario->training.microbatch_samples;
    int64_t minibatch = draft->scenario->algorithm.minibatch_samples;
    int64_t share = minibatch / dp;
    char near[96];
    if (!scenario_known(draft, KEY_TRAINING_MICROBATCH_SAMPLES) || divides(size, share))
        return;
    scenario_blame(draft, KEY_TRAINING_MICROBATCH_SAMPLES,
                   "training.microbatch_samples is %" PRId64 ", expected a divisor of the %" PRId64
                   " %s of a rank (mini-batch of %" PRId64 " / %" PRId64 " ranks)%s",
                   size, share, sample_word(draft), minibatch, dp,
                   neighbours(size, share, 1, near, sizeof near));
}

/* Interleaved, a mini-batch's micro-batches go through the stages in groups of as many. */
static void check_interleaved(struct scenario_draft *draft, int64_t dp) {
    const struct rlhfsim_scenario *scenario = draft->scenario;
    int64_t size = scenario->training.microbatch_samples;
    int64_t share = scenario->algorithm.minibatch_samples / dp;
    if (!scenario_known(draft, KEY_TRAINING_VPP) || scenario->training.vpp == 1 ||
        !scenario_known(draft, KEY_TRAINING_MICROBATCH_SAMPLES) || !divides(size, share) ||
        divides(scenario->training.pp, share / size))
        return;
    scenario_blame(draft, KEY_TRAINING_VPP,
                   "training.vpp is %d, expected 1, or micro-batches in multiples of the %d "
                   "stages: a rank has %" PRId64 " of them in a mini-batch",
                   scenario->training.vpp, scenario->training.pp, share / size);
}

static void check_one_microbatch(struct scenario_draft *draft) {
    bool samples = scenario_written(draft, KEY_TRAINING_MICROBATCH_SAMPLES);
    bool tokens = scenario_written(draft, KEY_TRAINING_MICROBATCH_TOKENS);
    bool missing = !scenario_given(draft, KEY_TRAINING_MICROBATCH_SAMPLES) &&
                   !scenario_given(draft, KEY_TRAINING_MICROBATCH_TOKENS);
    bool packing = draft->scenario->training.packing;
    if (samples && tokens)
        scenario_blame_key(draft, KEY_TRAINING_MICROBATCH_TOKENS,
                           "training.microbatch_tokens and training.microbatch_samples exclude "
                           "each other; write one of them");
    else if (missing)
        scenario_blame_key(draft, KEY_TRAINING_MICROBATCH_SAMPLES,
                           "the size of a micro-batch is missing: write "
                           "training.microbatch_samples, or training.microbatch_tokens with "
                           "packing: true");
    else if (tokens && !packing && scenario_known(draft, KEY_TRAINING_PACKING))
        scenario_blame(draft, KEY_TRAINING_MICROBATCH_TOKENS,
                       "training.microbatch_tokens is a budget for packed sequences, expected "
                       "training.packing: true with it");
}

/* A step is drawn, dealt and cut as a whole; of so many sequences it takes some gigabytes here. */
#define MOST_SEQUENCES (INT64_C(1) << 24)

static void check_step_size(struct scenario_draft *draft) {
    const struct rlhfsim_scenario *scenario = draft->scenario;
    bool online = scenario->algorithm.type->has_rollout;
    int64_t sequences = scenario->algorithm.prompts_per_step *
                        scenario->algorithm.samples_per_prompt *
                        scenario->algorithm.type->sequences_per_sample;
    if (draft->samples_known && sequences > MOST_SEQUENCES)
        scenario_blame(draft,
                       online ? KEY_ALGORITHM_PROMPTS_PER_STEP : KEY_ALGORITHM_MINIBATCH_SAMPLES,
                       "a step has %" PRId64 " sequences, expected at most %" PRId64, sequences,
                       MOST_SEQUENCES);
}

/* Passes without gradients take micro-batches of their own; by default those of updates. */
static void resolve_logprob_microbatch(struct scenario_draft *draft) {
    struct rlhfsim_scenario *scenario = draft->scenario;
    bool samples = scenario_written(draft, KEY_TRAINING_LOGPROB_MICROBATCH_SAMPLES);
    bool tokens = scenario_written(draft, KEY_TRAINING_LOGPROB_MICROBATCH_TOKENS);
    if (!samples && !tokens) {
        scenario->training.logprob_microbatch_samples = scenario->training.microbatch_samples;
        scenario->training.logprob_microbatch_tokens = scenario->training.microbatch_tokens;
    } else if (samples && tokens) {
        scenario_blame_key(draft, KEY_TRAINING_LOGPROB_MICROBATCH_TOKENS,
                           "training.logprob_microbatch_tokens and "
                           "training.logprob_microbatch_samples exclude each other; write one of "
                           "them");
    } else if (tokens && !scenario->training.packing &&
               scenario_known(draft, KEY_TRAINING_PACKING)) {
        scenario_blame(draft, KEY_TRAINING_LOGPROB_MICROBATCH_TOKENS,
                       "training.logprob_microbatch_tokens is a budget for packed sequences, "
                       "expected training.packing: true with it");
    }
}

/* ---- the stage ------------------------------------------------------------------------------- */

static bool check_pool_batches(struct scenario_draft *draft, bool gpus_good, int gpus) {
    int64_t dp = gpus_good ? gpus / scenario_rank_gpus(draft->scenario) : 1;
    bool minibatch = draft->samples_known && draft->minibatch_known && check_minibatch(draft, dp);
    if (!minibatch || !gpus_good)
        return false;
    check_microbatch_samples(draft, dp);
    check_interleaved(draft, dp);
    return true;
}

/* The pools with passes, until one is wrong. */
static void check_batches(struct scenario_draft *draft, bool gpus_good) {
    static const enum scenario_pool pools[] = {SCENARIO_POOL_TRAIN, SCENARIO_POOL_CRITIC,
                                               SCENARIO_POOL_REWARD};
    int before = 0;
    for (size_t i = 0; i < sizeof pools / sizeof pools[0]; i++) {
        int gpus = scenario_pool_gpus(draft->scenario, pools[i]);
        if (gpus == before || (gpus == 0 && i > 0))
            continue;
        if (!check_pool_batches(draft, gpus_good, gpus))
            return;
        before = gpus;
    }
}

void scenario_check_layout(struct scenario_draft *draft) {
    bool gpus = scenario_check_parallel(draft);
    if (!draft->algorithm_known)
        return;
    if (draft->scenario->algorithm.type->has_rollout && scenario_known(draft, KEY_ROLLOUT_TP))
        check_rollout_tp(draft);
    check_one_microbatch(draft);
    check_step_size(draft);
    resolve_logprob_microbatch(draft);
    check_batches(draft, gpus);
}
