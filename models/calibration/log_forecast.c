/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/calibration/log_forecast.h"

#include "models/forecast/footprint.h"
#include "models/forecast/planning.h"
#include "models/forecast/run.h"

#include <stdlib.h>
#include <string.h>

/* ---- simulating ------------------------------------------------------------------------------ */

#define ENOUGH_SAMPLES 16384
#define MOST_STEPS 8

/* Where pools work at once the first steps fill the queue between them: they are taken off. */
#define FILLING_STEPS 2
#define STEADY_STEPS 4

static bool overlaps(const struct rlhfsim_scenario *scenario) {
    return scenario->placement.mode == SCENARIO_ONE_STEP_OFF ||
           scenario->placement.mode == SCENARIO_ASYNC;
}

static int64_t steps_of(const struct rlhfsim_scenario *scenario) {
    int64_t samples = scenario->algorithm.prompts_per_step * scenario->algorithm.samples_per_prompt;
    int64_t steps = (ENOUGH_SAMPLES + samples - 1) / samples;
    if (overlaps(scenario))
        return FILLING_STEPS + STEADY_STEPS;
    return steps < MOST_STEPS ? steps : MOST_STEPS;
}

static void prepare(struct rlhfsim_scenario *scenario, const double *factors) {
    for (size_t part = 0; part < SCENARIO_PARTS; part++)
        scenario->calibration.factor[part] = factors[part];
    scenario->checkpoint.every_steps = 0;
    scenario->checkpoint.load = SCENARIO_LOAD_NONE;
    scenario->validation.every_steps = 0;
}

/* Seconds a step of the steady steps, by phase: how long it takes, and how long on the chain. */
struct seconds {
    double phase[ALGORITHM_PHASE_COUNT], chain[ALGORITHM_PHASE_COUNT];
};

static enum rlhfsim_status simulate(struct rlhfsim_scenario *scenario, int64_t steps,
                                    struct forecast_plan *plan,
                                    struct rlhfsim_diagnostics *diagnostics,
                                    struct forecast_measures *measures) {
    struct forecast_run_options options = {.steps = steps};
    scenario->steps = steps;
    forecast_plan_make(scenario, plan);
    return forecast_run(plan, &options, diagnostics, measures);
}

static enum rlhfsim_status play(struct rlhfsim_scenario *scenario, struct forecast_plan *plan,
                                struct rlhfsim_diagnostics *diagnostics, struct seconds *seconds) {
    struct forecast_measures first = {0}, all;
    enum rlhfsim_status status = RLHFSIM_OK;
    int64_t steps = steps_of(scenario);
    if (overlaps(scenario))
        status = simulate(scenario, FILLING_STEPS, plan, diagnostics, &first);
    if (status == RLHFSIM_OK)
        status = simulate(scenario, steps, plan, diagnostics, &all);
    if (status != RLHFSIM_OK)
        return status;
    double count = (double)(all.steps - first.steps);
    for (int i = 0; i < ALGORITHM_PHASE_COUNT; i++) {
        seconds->phase[i] = (all.phase_s[i] - first.phase_s[i]) / count;
        seconds->chain[i] = (all.critical_s[i] - first.critical_s[i]) / count;
    }
    return RLHFSIM_OK;
}

/* ---- timers ---------------------------------------------------------------------------------- */

/* Whose factor a phase has; LOG_FIXED: nobody's. A reward model's passes are the trainer's. */
static int part_of(const struct rlhfsim_scenario *scenario, enum algorithm_phase phase) {
    switch (phase) {
    case ALGORITHM_PHASE_ROLLOUT:
        return SCENARIO_PART_ROLLOUT;
    case ALGORITHM_PHASE_TRANSITION:
        return SCENARIO_PART_HOST;
    case ALGORITHM_PHASE_WEIGHT_SYNC:
        return SCENARIO_PART_SYNC;
    case ALGORITHM_PHASE_REWARD:
        return scenario->models[ALGORITHM_ROLE_REWARD].present ? SCENARIO_PART_TRAINING : LOG_FIXED;
    case ALGORITHM_PHASE_ACTOR_LOGPROB:
    case ALGORITHM_PHASE_REFERENCE_LOGPROB:
    case ALGORITHM_PHASE_VALUES:
    case ALGORITHM_PHASE_CRITIC_UPDATE:
    case ALGORITHM_PHASE_ACTOR_UPDATE:
        return SCENARIO_PART_TRAINING;
    case ALGORITHM_PHASE_CHECKPOINT:
    case ALGORITHM_PHASE_VALIDATION:
    case ALGORITHM_PHASE_LOAD:
    case ALGORITHM_PHASE_COUNT:
        break;
    }
    return LOG_FIXED;
}

#define BIT(name) (1U << ALGORITHM_PHASE_##name)
#define LOGPROBS (BIT(ACTOR_LOGPROB) | BIT(REFERENCE_LOGPROB))
#define UPDATES (BIT(CRITIC_UPDATE) | BIT(ACTOR_UPDATE))

/* The phases inside a timer; the driver's work, the wait and the step have rules of their own. */
static const unsigned phases[LOG_TIMERS] = {
    [LOG_GENERATION] = BIT(ROLLOUT) | BIT(TRANSITION) | BIT(WEIGHT_SYNC),
    [LOG_ROLLOUT] = BIT(ROLLOUT),
    [LOG_TRANSITION] = BIT(TRANSITION),
    [LOG_REWARD] = BIT(REWARD),
    [LOG_EXPERIENCE] = LOGPROBS | BIT(VALUES) | BIT(REWARD),
    [LOG_ACTOR_LOGPROB] = BIT(ACTOR_LOGPROB),
    [LOG_REFERENCE_LOGPROB] = BIT(REFERENCE_LOGPROB),
    [LOG_VALUES] = BIT(VALUES),
    [LOG_CRITIC_UPDATE] = BIT(CRITIC_UPDATE),
    [LOG_ACTOR_UPDATE] = BIT(ACTOR_UPDATE),
    [LOG_TRAINING] = UPDATES,
    [LOG_WEIGHT_SYNC] = BIT(WEIGHT_SYNC),
    [LOG_RESHARD] = BIT(WEIGHT_SYNC),
};

static void add(const struct rlhfsim_scenario *scenario, const double *seconds, unsigned set,
                double *shares) {
    for (int phase = 0; phase < ALGORITHM_PHASE_COUNT; phase++)
        if (set >> phase & 1u)
            shares[part_of(scenario, (enum algorithm_phase)phase)] += seconds[phase];
}

/* The driver's work is in the transition, and in no timer of the generation. What the trainer waits
 * for is what the step has beside its own phases. */
static void fill(const struct rlhfsim_scenario *scenario, const struct seconds *seconds,
                 bool synced, struct log_forecast *forecast) {
    double driver_s =
        scenario_factor(scenario, SCENARIO_PART_HOST) * scenario->framework.step_host_s;
    for (int timer = 0; timer < LOG_TIMERS; timer++) {
        unsigned set = phases[timer];
        if (timer == LOG_GENERATION && synced)
            set &= ~BIT(WEIGHT_SYNC);
        add(scenario, seconds->phase, set, forecast->seconds[timer]);
    }
    forecast->seconds[LOG_GENERATION][SCENARIO_PART_HOST] -= driver_s;
    forecast->seconds[LOG_HOST][SCENARIO_PART_HOST] = driver_s;
    add(scenario, seconds->chain, ~0u, forecast->seconds[LOG_STEP]);
    add(scenario, seconds->chain, ~(LOGPROBS | UPDATES | BIT(VALUES) | BIT(REWARD)),
        forecast->seconds[LOG_WAIT]);
}

double log_forecast_s(const struct log_forecast *forecast, enum log_timer timer) {
    double sum = 0.0;
    for (int share = 0; share < LOG_SHARES; share++)
        sum += forecast->seconds[timer][share];
    return sum;
}

enum rlhfsim_status log_forecast_make(const struct rlhfsim_scenario *scenario,
                                      const double *factors, bool synced,
                                      struct rlhfsim_diagnostics *diagnostics,
                                      struct log_forecast *forecast) {
    struct rlhfsim_scenario *copy = malloc(sizeof *copy);
    struct forecast_plan *plan = malloc(sizeof *plan);
    struct seconds seconds;
    enum rlhfsim_status status = copy == NULL || plan == NULL ? RLHFSIM_NO_MEMORY : RLHFSIM_OK;
    *forecast = (struct log_forecast){0};
    if (status == RLHFSIM_OK) {
        *copy = *scenario;
        prepare(copy, factors);
        status = play(copy, plan, diagnostics, &seconds);
    }
    if (status == RLHFSIM_OK) {
        fill(copy, &seconds, synced, forecast);
        forecast->overlaps = overlaps(copy);
        forecast->fits = forecast_plan_fits(plan);
    }
    free(plan);
    free(copy);
    return status;
}
