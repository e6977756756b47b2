/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A table of causes: by timer, by whether the run is slower or faster than its forecast, and by a
 * condition of the scenario. The first row that applies is what is most often the case, in the
 * order of what decides errors of published runs: mean lengths, then packing and padding, then the
 * engine's time an iteration and the tail, then software of syncs, drivers and loggers.
 */
#include "models/calibration/log_causes.h"

#include <math.h>

#define LARGE_GAP 0.15  /* of the timer */
#define LARGE_LOSS 0.02 /* of the step */

typedef bool(condition)(const struct rlhfsim_scenario *scenario, const struct log_gap *gap);

static bool lengths_unknown(const struct rlhfsim_scenario *scenario, const struct log_gap *gap) {
    (void)scenario;
    return !gap->lengths_known;
}

/* Samples that reach the cap are what the longest wait for. */
static bool tail_is_long(const struct rlhfsim_scenario *scenario, const struct log_gap *gap) {
    (void)gap;
    double mean = generation_lengths_stated_mean(&scenario->rollout.response.fitted);
    return (double)scenario->rollout.max_new_tokens > 4.0 * mean;
}

static bool pads(const struct rlhfsim_scenario *scenario, const struct log_gap *gap) {
    (void)gap;
    return !scenario->training.packing;
}

static bool packs(const struct rlhfsim_scenario *scenario, const struct log_gap *gap) {
    return !pads(scenario, gap);
}

static bool offloads(const struct rlhfsim_scenario *scenario, const struct log_gap *gap) {
    (void)gap;
    return scenario->training.offload != TRAINING_OFFLOAD_NONE;
}

static bool splits(const struct rlhfsim_scenario *scenario, const struct log_gap *gap) {
    (void)gap;
    return scenario->placement.mode != SCENARIO_COLOCATED;
}

enum sign { SLOWER, FASTER };

static const char pads_cause[] =
    "the run pads its micro-batches or cuts them smaller (training.packing, "
    "training.microbatch_samples, training.microbatch_tokens)";
static const char packs_cause[] =
    "the run packs its sequences (verl: use_remove_padding, use_dynamic_bsz), the scenario pads "
    "them: training.packing";
static const char trainer_cause[] =
    "kernels of the trainer: no recomputation, another attention kernel, or fused operators "
    "(training.recompute, training.attention, training.fusion)";
static const char offload_cause[] =
    "parameters or the optimizer come from the host slower than forecast (training.offload)";

static const struct {
    enum log_timer timer;
    enum sign sign;
    condition *applies; /* NULL: always */
    const char *cause;
} causes[] = {
    {LOG_ROLLOUT, SLOWER, lengths_unknown,
     "responses are longer than in the scenario: give their mean (response_length/mean) in "
     "rollout.response_tokens"},
    {LOG_ROLLOUT, SLOWER, tail_is_long,
     "a tail of responses up to the cap, which all others wait for (rollout.response_tokens.p99 or "
     "cap_share), or preemptions for want of KV cache (rollout.memory_fraction)"},
    {LOG_ROLLOUT, SLOWER, NULL,
     "the engine's time an iteration: no CUDA graphs (enforce_eager), an older engine, few "
     "concurrent sequences (rollout.cuda_graphs, rollout.engine, rollout.max_num_seqs)"},
    {LOG_ROLLOUT, FASTER, lengths_unknown,
     "responses are shorter than in the scenario: give their mean (response_length/mean) in "
     "rollout.response_tokens"},
    {LOG_ROLLOUT, FASTER, tail_is_long,
     "fewer responses reach the cap than in the scenario (rollout.response_tokens.p99 or "
     "cap_share)"},
    {LOG_ROLLOUT, FASTER, NULL,
     "a newer engine, or one with less time an iteration (rollout.engine)"},
    {LOG_ACTOR_UPDATE, SLOWER, lengths_unknown,
     "sequences are longer than in the scenario: give their means in rollout.response_tokens and "
     "rollout.prompt_tokens"},
    {LOG_ACTOR_UPDATE, SLOWER, packs, pads_cause},
    {LOG_ACTOR_UPDATE, SLOWER, offloads, offload_cause},
    {LOG_ACTOR_UPDATE, SLOWER, NULL,
     "smaller micro-batches, whose launches and gathers then count (training.microbatch_samples), "
     "or a slower link between the ranks"},
    {LOG_ACTOR_UPDATE, FASTER, pads, packs_cause},
    {LOG_ACTOR_UPDATE, FASTER, lengths_unknown,
     "sequences are shorter than in the scenario: give their means in rollout.response_tokens and "
     "rollout.prompt_tokens"},
    {LOG_ACTOR_UPDATE, FASTER, NULL, trainer_cause},
    {LOG_ACTOR_LOGPROB, SLOWER, packs,
     "log-probs run in smaller micro-batches than forecast, or padded "
     "(training.logprob_microbatch_samples, training.logprob_microbatch_tokens)"},
    {LOG_ACTOR_LOGPROB, SLOWER, offloads, offload_cause},
    {LOG_ACTOR_LOGPROB, SLOWER, NULL,
     "log-probs run in smaller micro-batches than forecast "
     "(training.logprob_microbatch_samples), or the logits are kept whole"},
    {LOG_ACTOR_LOGPROB, FASTER, pads, packs_cause},
    {LOG_ACTOR_LOGPROB, FASTER, NULL,
     "log-probs run in larger micro-batches than forecast "
     "(training.logprob_microbatch_samples, training.logprob_microbatch_tokens)"},
    {LOG_WEIGHT_SYNC, SLOWER, splits,
     "the sync's software, not its wire: tensors one by one, gathered on one rank, or over a "
     "slower network (the mechanism: placement.weight_sync)"},
    {LOG_WEIGHT_SYNC, SLOWER, NULL,
     "the sync's software: small buckets, a layout that is converted tensor by tensor, or weights "
     "that come from the host"},
    {LOG_WEIGHT_SYNC, FASTER, NULL,
     "a faster mechanism than the framework's row has (rlhfsim catalog weight-sync)"},
    {LOG_REWARD, SLOWER, NULL,
     "the reward takes time of its own: say how much in reward.sample_time and reward.workers"},
    {LOG_REWARD, FASTER, NULL, "reward.sample_time is longer, or reward.workers fewer, than here"},
    {LOG_TRANSITION, SLOWER, NULL,
     "the engine's waking and sleeping: weights kept on the host, graphs captured again"},
    {LOG_TRANSITION, FASTER, NULL, "the engine does not give its memory back (no sleep mode)"},
    {LOG_WAIT, SLOWER, lengths_unknown,
     "responses are longer than in the scenario, or the rollout has fewer GPUs than it needs "
     "(placement.rollout_gpus)"},
    {LOG_WAIT, SLOWER, NULL,
     "the rollout is slower than forecast, or the queue is emptier (placement.staleness_versions)"},
    {LOG_WAIT, FASTER, NULL, "the rollout is faster than forecast, or the queue fuller"},
    {LOG_HOST, SLOWER, NULL,
     "work of the driver between the phases: data loading, advantages, dispatch of the batch, a "
     "logger or a dump of the samples; timers that are not in the log"},
    {LOG_HOST, FASTER, NULL, "the driver does less between the phases than the framework's row"},
    {LOG_STEP, SLOWER, NULL, "see the phases above; what is left may wait for another job"},
    {LOG_STEP, FASTER, NULL, "see the phases above; phases may overlap in the run"},
};

/* Timers that hold others, or are alike, go by the causes of one. */
static enum log_timer like(enum log_timer timer) {
    switch (timer) {
    case LOG_GENERATION:
        return LOG_ROLLOUT;
    case LOG_CRITIC_UPDATE:
    case LOG_TRAINING:
        return LOG_ACTOR_UPDATE;
    case LOG_EXPERIENCE:
    case LOG_REFERENCE_LOGPROB:
    case LOG_VALUES:
        return LOG_ACTOR_LOGPROB;
    case LOG_RESHARD:
        return LOG_WEIGHT_SYNC;
    default:
        return timer;
    }
}

const char *log_cause(const struct rlhfsim_scenario *scenario, const struct log_gap *gap) {
    double gap_s = gap->measured_s - gap->forecast_s;
    enum sign sign = gap_s > 0.0 ? SLOWER : FASTER;
    if (!(fabs(gap_s) > LARGE_GAP * gap->measured_s) || !(fabs(gap_s) > LARGE_LOSS * gap->step_s))
        return NULL;
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++)
        if (causes[i].timer == like(gap->timer) && causes[i].sign == sign &&
            (causes[i].applies == NULL || causes[i].applies(scenario, gap)))
            return causes[i].cause;
    return NULL;
}
