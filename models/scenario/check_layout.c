/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether the work divides over the GPUs: tensor parallel ranks over heads and nodes, mini-batches
 * over a step and over the ranks, micro-batches over a rank's share. What does not divide is said
 * with the nearest numbers that do.
 */
#include "models/base/text.h"
#include "models/scenario/draft.h"

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

/* ---- tensor parallelism ---------------------------------------------------------------------- */

/* Query heads are dealt out; key-value heads too, or each is copied to several ranks. */
static bool check_heads(struct scenario_draft *draft, enum scenario_key key, int tp,
                        enum algorithm_role role) {
    const struct llm_architecture *model = &draft->scenario->models[role].architecture;
    const char *path = scenario_schema_at(key)->path;
    if (!divides(tp, model->heads)) {
        scenario_blame(draft, key,
                       "%s is %d, expected a divisor of the %" PRId64 " heads of models.%s", path,
                       tp, model->heads, algorithm_role_name(role));
        return false;
    }
    if (divides(tp, model->kv_heads) || divides(model->kv_heads, tp))
        return true;
    scenario_blame(draft, key,
                   "%s is %d, expected a divisor or a multiple of the %" PRId64
                   " key-value heads of models.%s",
                   path, tp, model->kv_heads, algorithm_role_name(role));
    return false;
}

/* All roles train under one tp; the first that does not fit speaks for the others. */
static void check_training_heads(struct scenario_draft *draft) {
    int tp = draft->scenario->training.tp;
    for (int role = 0; role < ALGORITHM_ROLE_COUNT; role++)
        if (draft->model_known[role] &&
            !check_heads(draft, KEY_TRAINING_TP, tp, (enum algorithm_role)role))
            return;
}

/* A group stays inside a node or fills whole nodes, and every GPU is in one. */
static bool check_training_gpus(struct scenario_draft *draft) {
    const struct hardware_cluster *cluster = &draft->scenario->cluster;
    int tp = draft->scenario->training.tp, gpus = hardware_cluster_gpus(cluster);
    bool inside = divides(tp, cluster->gpus_per_node);
    bool whole_nodes = divides(cluster->gpus_per_node, tp) && divides(tp, gpus);
    if (inside || whole_nodes)
        return true;
    scenario_blame(draft, KEY_TRAINING_TP,
                   "training.tp is %d, expected a divisor of the %d GPUs of a node, or as many "
                   "whole nodes as divide the %d GPUs",
                   tp, cluster->gpus_per_node, gpus);
    return false;
}

static void check_rollout_tp(struct scenario_draft *draft) {
    const struct hardware_cluster *cluster = &draft->scenario->cluster;
    int tp = draft->scenario->rollout.tp;
    if (draft->cluster_known && !divides(tp, cluster->gpus_per_node))
        scenario_blame(draft, KEY_ROLLOUT_TP,
                       "rollout.tp is %d, expected a divisor of the %d GPUs of a node", tp,
                       cluster->gpus_per_node);
    if (draft->model_known[ALGORITHM_ROLE_ACTOR])
        (void)check_heads(draft, KEY_ROLLOUT_TP, tp, ALGORITHM_ROLE_ACTOR);
}

/* ---- mini-batches and micro-batches ---------------------------------------------------------- */

static const char *sample_word(const struct scenario_draft *draft) {
    return draft->scenario->algorithm.type->has_rollout ? "samples" : "pairs";
}

static const char *by_default(const struct scenario_draft *draft, enum scenario_key key) {
    return scenario_given(draft, key) ? "" : " by default";
}

/* `dp` is 1 while the ranks are not known. */
static bool check_minibatch(struct scenario_draft *draft, int64_t dp) {
    const struct rlhfsim_scenario *scenario = draft->scenario;
    int64_t size = scenario->algorithm.minibatch_samples;
    int64_t samples = scenario->algorithm.prompts_per_step * scenario->algorithm.samples_per_prompt;
    char near[96];
    if (!divides(size, samples)) {
        scenario_blame(draft, KEY_ALGORITHM_MINIBATCH_SAMPLES,
                       "algorithm.minibatch_samples is %" PRId64
                       ", expected a divisor of the %" PRId64 " samples of a step (%" PRId64
                       " prompts x %" PRId64 ")%s",
                       size, samples, scenario->algorithm.prompts_per_step,
                       scenario->algorithm.samples_per_prompt,
                       neighbours(size, samples, dp, near, sizeof near));
        return false;
    }
    if (divides(dp, size))
        return true;
    bool offline = !scenario->algorithm.type->has_rollout;
    scenario_blame(draft, KEY_ALGORITHM_MINIBATCH_SAMPLES,
                   "algorithm.minibatch_samples is %" PRId64
                   "%s, expected a multiple of the %" PRId64
                   " data parallel ranks (%d GPUs / training.tp %d)%s",
                   size, by_default(draft, KEY_ALGORITHM_MINIBATCH_SAMPLES), dp,
                   hardware_cluster_gpus(&scenario->cluster), scenario->training.tp,
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

/* ---- the stage ------------------------------------------------------------------------------- */

static void check_batches(struct scenario_draft *draft, bool gpus_good) {
    int64_t dp =
        gpus_good ? hardware_cluster_gpus(&draft->scenario->cluster) / draft->scenario->training.tp
                  : 1;
    bool minibatch = draft->samples_known && draft->minibatch_known && check_minibatch(draft, dp);
    if (minibatch && gpus_good)
        check_microbatch_samples(draft, dp);
}

void scenario_check_layout(struct scenario_draft *draft) {
    bool tp = scenario_known(draft, KEY_TRAINING_TP);
    bool gpus = tp && draft->cluster_known && check_training_gpus(draft);
    if (tp)
        check_training_heads(draft);
    if (!draft->algorithm_known)
        return;
    if (draft->scenario->algorithm.type->has_rollout && scenario_known(draft, KEY_ROLLOUT_TP))
        check_rollout_tp(draft);
    check_one_microbatch(draft);
    check_batches(draft, gpus);
}
