/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/forecast/durations.h"
#include "models/forecast/microbatch.h"

#include "models/generation/floor.h"
#include "models/training/pass.h"
#include "sim/time.h"

#include <inttypes.h>
#include <math.h>

#define YEAR_S (365.25 * 86400.0)
#define CLOCK_TEXT "longer than the 292 years that the clock of a run can count"

/* A part of the run, what it takes for sure, and where the user can look. */
struct part {
    const char *what, *decides;
    double seconds;
};

/* ---- parts ------------------------------------------------------------------------------------
 */

static double runs_of(const struct forecast_plan *plan) {
    return (double)plan->scenario->steps;
}

static const char *store_key(const struct checkpoint_plan *checkpoint) {
    double clients = checkpoint->clients * store_client_limit(&checkpoint->store, STORE_WRITE);
    double shared = store_shared_limit(&checkpoint->store, STORE_WRITE);
    if (checkpoint->store.name[0] != '\0')
        return "checkpoint.store";
    return shared > 0.0 && (clients == 0.0 || shared < clients)
               ? "checkpoint.store_bandwidth"
               : "storage_gb_per_s of cluster.node";
}

static struct part checkpoints(const struct forecast_plan *plan) {
    const struct checkpoint_plan *checkpoint = &plan->checkpoint;
    if (checkpoint->every_steps == 0)
        return (struct part){0};
    double saves = ceil(runs_of(plan) / (double)checkpoint->every_steps);
    return (struct part){"checkpoints", store_key(checkpoint),
                         saves * checkpoint_save_s(checkpoint)};
}

/* A worker's share, in turn. */
static struct part rule_rewards(const struct forecast_plan *plan) {
    const struct rlhfsim_scenario *scenario = plan->scenario;
    double workers = (double)scenario->reward.workers * scenario->cluster.nodes;
    double samples = (double)forecast_fullest_step(scenario);
    if (!scenario->algorithm.type->has_rollout || plan->present[ALGORITHM_ROLE_REWARD])
        return (struct part){0};
    return (struct part){"reward", "reward.sample_time",
                         ceil(samples / workers) * scenario->reward.sample_s};
}

/* In every step, of a token. */
static struct part engine(const struct forecast_plan *plan) {
    struct generation_request least = {.prompt_tokens = 1, .response_tokens = 1};
    if (plan->replicas == 0)
        return (struct part){0};
    return (struct part){"rollout", "the rows of cluster.gpu, cluster.node and framework",
                         generation_alone_s(&plan->generation, &least)};
}

static struct part transitions(const struct forecast_plan *plan) {
    return (struct part){"transition", "step_host_s and transition_s_per_sqrt_gb of framework",
                         plan->sleep_s + plan->wake_s};
}

static struct part weight_sync(const struct forecast_plan *plan) {
    return (struct part){"weight_sync", "the rows of framework, cluster.node and cluster.gpu",
                         plan->sync_s};
}

static struct part passes(const struct forecast_plan *plan) {
    struct llm_batch least = {
        .sequences = 1.0, .tokens = 1.0, .score_pairs = 1.0, .window_pairs = 1.0};
    struct training_cost cost;
    double seconds = 0.0;
    for (size_t i = 0; i < plan->step_count; i++) {
        const struct algorithm_step *step = &plan->steps[i];
        bool works = step->work == ALGORITHM_WORK_FORWARD || step->work == ALGORITHM_WORK_UPDATE;
        if (!works || !plan->present[step->role] || plan->passes[step->role].pp > 1)
            continue;
        training_forward(&plan->passes[step->role], &least, &cost);
        seconds += cost.total_s;
    }
    return (struct part){"training", "the rows of cluster.gpu, cluster.node and framework",
                         seconds};
}

/* ---- the whole --------------------------------------------------------------------------------
 */

typedef struct part(part_func)(const struct forecast_plan *plan);

/* The first is of the run, the others are of a step. */
static part_func *const parts[] = {checkpoints, rule_rewards, engine,
                                   transitions, weight_sync,  passes};

/* Not below: a sum that is not a number is no time either. */
static bool in_time(double seconds) {
    return seconds < SIM_TIME_END_S;
}

enum rlhfsim_status forecast_durations_check(const struct forecast_plan *plan,
                                             struct rlhfsim_diagnostics *diagnostics) {
    struct part most = {.seconds = -1.0};
    double sum = 0.0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        struct part part = parts[i](plan);
        part.seconds *= i == 0 ? 1.0 : runs_of(plan);
        sum += part.seconds;
        if (part.what != NULL && !(part.seconds <= most.seconds))
            most = part;
    }
    if (in_time(sum))
        return RLHFSIM_OK;
    return rlhfsim_diagnostics_add(
        diagnostics, RLHFSIM_INVALID, NULL, 0, 0,
        "the run takes " CLOCK_TEXT ": %s alone at least %.3g years in %" PRId64
        " steps, decided by %s",
        most.what, most.seconds / YEAR_S, plan->scenario->steps, most.decides);
}

/* ---- a run that met the end -------------------------------------------------------------------
 */

static const char *phase_key(const struct forecast_plan *plan, enum algorithm_phase phase) {
    switch (phase) {
    case ALGORITHM_PHASE_CHECKPOINT:
        return store_key(&plan->checkpoint);
    case ALGORITHM_PHASE_REWARD:
        if (!plan->present[ALGORITHM_ROLE_REWARD])
            return "reward.sample_time";
        break;
    default:
        break;
    }
    return "the rows of cluster.gpu, cluster.node and framework";
}

enum rlhfsim_status forecast_too_long(const struct forecast_plan *plan, int64_t step,
                                      enum algorithm_phase phase, double steps_s,
                                      struct rlhfsim_diagnostics *diagnostics) {
    return rlhfsim_diagnostics_add(diagnostics, RLHFSIM_INVALID, NULL, 0, 0,
                                   "the run takes " CLOCK_TEXT
                                   ": it is in phase %s of step %" PRId64 " of %" PRId64
                                   " after %.3g years, decided by the number of steps and by %s",
                                   algorithm_phase_name(phase), step, plan->scenario->steps,
                                   steps_s / YEAR_S, phase_key(plan, phase));
}

/* Steps differ; twice the clock they do not. */
bool forecast_pace_too_slow(const struct forecast_plan *plan, int64_t steps, double seconds) {
    return steps > 0 && !in_time(0.5 * seconds / (double)steps * runs_of(plan));
}
