/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Which phase runs when. Each pool of GPUs does one phase at a time; a phase starts as soon as what
 * it needs is there and its pools are free:
 *
 *   everything            after the phases of its step that are before it on one of its pools
 *   all but the rollout   after the step's rollout, and after everything of the step before
 *   updates               after every log-prob, value and reward of the step
 *   weight sync           after every update of the step; one step off, after the next rollout too
 *   validation            after the weight sync of the step
 *   checkpoint            after everything of the step
 *   rollout of step s     after everything of step s - 1; one step off, after the rollout of s - 1
 *                         and the weight sync of s - 2
 *
 * Colocated there is one pool, and the phases follow one another in the order of the algorithm's
 * table. With several a critic's passes go on beside the actor's. One step off is verl's
 * one_step_off_policy (docs/advance/one_step_off.md @1dda039b9): `sync ; generate(s + 1) ||
 * train(s) ; wait`, so that a step takes max(generation, training) + sync, and samples are one
 * version old.
 *
 * Where only prompts with mixed answers are trained, a rollout and its rewards are repeated until
 * there are enough of them. Passes over the samples come after the last round, and one step off so
 * do the sync and the next rollout: rounds are part of the generation. Rewards by rules are then in
 * the engine's lane, which waits for them (forecast_step_pools).
 *
 * A phase is unfolded when it starts, so that memory is bounded by the phases under way. The phase
 * whose end lets another start is before it on the chain that leads to the end of the run: its
 * shares are the critical path.
 */

#include "models/forecast/schedule.h"

#include "models/forecast/async.h"
#include "models/forecast/durations.h"
#include "models/forecast/holding.h"
#include "models/forecast/measure.h"
#include "models/forecast/work.h"

#include "sim/contract.h"

#include <string.h>

static uint32_t bit(size_t phase) {
    return (uint32_t)1 << phase;
}

static bool is_one_off(const struct forecast_runner *runner) {
    return runner->plan->scenario->placement.mode == SCENARIO_ONE_STEP_OFF;
}

/* ---- steps under way ---------------------------------------------------------------------- */

static struct forecast_flight *flight_of(struct forecast_runner *runner, int64_t step) {
    return &runner->flights[is_one_off(runner) ? step % FORECAST_FLIGHTS : 0];
}

/* The active step `step`, or NULL. */
static struct forecast_flight *under_way(struct forecast_runner *runner, int64_t step) {
    struct forecast_flight *flight = flight_of(runner, step);
    return flight->active && flight->step == step ? flight : NULL;
}

static size_t first_phase(const struct forecast_runner *runner,
                          const struct forecast_flight *flight) {
    return flight->step == 0 ? 0 : runner->plan->loop_first;
}

/* Past the last phase, the checkpoint being step_count. */
static size_t end_phase(const struct forecast_runner *runner,
                        const struct forecast_flight *flight) {
    const struct forecast_plan *plan = runner->plan;
    if (flight->step == 0)
        return plan->loop_first;
    return plan->step_count +
           (checkpoint_due(&plan->checkpoint, flight->step, plan->scenario->steps) ? 1 : 0);
}

/* Whether all phases of a kind are done. */
static bool is_done(const struct forecast_runner *runner, const struct forecast_flight *flight,
                    enum algorithm_work work) {
    for (size_t i = runner->plan->loop_first; i < runner->plan->step_count; i++)
        if (runner->plan->steps[i].work == work && !(flight->done & bit(i)))
            return false;
    return true;
}

static bool is_generated(const struct forecast_runner *runner,
                         const struct forecast_flight *flight) {
    return is_done(runner, flight, ALGORITHM_WORK_GENERATE) &&
           is_done(runner, flight, ALGORITHM_WORK_GREEDY);
}

/* Whether rounds of rollout and rewards decide which samples there are. */
static bool has_rounds(const struct forecast_runner *runner) {
    return runner->plan->scenario->algorithm.type->selection == ALGORITHM_SELECT_MIXED &&
           runner->async == NULL;
}

/* Whether the samples that the step trains are there. */
static bool is_sampled(const struct forecast_runner *runner, const struct forecast_flight *flight) {
    return is_generated(runner, flight) &&
           (!has_rounds(runner) || is_done(runner, flight, ALGORITHM_WORK_SCORE));
}

static bool is_complete(const struct forecast_runner *runner,
                        const struct forecast_flight *flight) {
    for (size_t i = first_phase(runner, flight); i < end_phase(runner, flight); i++)
        if (!(flight->done & bit(i)))
            return false;
    return true;
}

/* ---- beginning a step --------------------------------------------------------------------- */

/* Whether the run is to go on: at a pace that the clock can count, and wanted. */
static bool goes_on(struct forecast_runner *runner) {
    runner->too_slow = forecast_pace_too_slow(runner->plan, runner->steps_done,
                                              sim_time_to_s(sim_now(runner->sim)));
    if (runner->too_slow)
        sim_stop(runner->sim);
    return !runner->too_slow && runner_go_on(runner);
}

static bool has_chunk(const struct forecast_runner *runner) {
    return runner->plan->loop_first > 0 && runner->step == 0 &&
           runner->chunk < forecast_samples_chunks(runner->plan);
}

/* Whether what is under way lets the next step begin. */
static bool may_begin(struct forecast_runner *runner) {
    int64_t step = runner->step;
    struct forecast_flight *last = under_way(runner, step);
    if (runner->async != NULL)
        return !runner->flights[0].active && step < runner->options->steps &&
               forecast_async_may_take(runner->async, step + 1);
    if (!is_one_off(runner))
        return !runner->flights[0].active;
    struct forecast_flight *before = step > 1 ? under_way(runner, step - 1) : NULL;
    bool sampled = last == NULL || is_sampled(runner, last);
    bool synced = before == NULL || is_done(runner, before, ALGORITHM_WORK_SYNC);
    return sampled && synced && !flight_of(runner, step + 1)->active;
}

/* Whether rewards decide which of the step's samples are trained; those that an asynchronous step
 * takes are mixed already. */
static bool selects(const struct forecast_runner *runner) {
    return runner->plan->scenario->algorithm.type->selection == ALGORITHM_SELECT_BEST ||
           has_rounds(runner);
}

/* Phases that this step has not: of later rounds; of the actor while the critic warms up, but for
 * the syncs that let an asynchronous engine go on. */
static void skip_phases(const struct forecast_runner *runner, struct forecast_flight *flight) {
    const struct forecast_plan *plan = runner->plan;
    bool sync = runner->async == NULL || flight->step == plan->scenario->steps ||
                flight->step % plan->scenario->placement.sync_every_steps == 0;
    bool warmup = flight->step <= plan->scenario->algorithm.critic_warmup_steps;
    for (size_t i = plan->loop_first; i < plan->step_count; i++) {
        const struct algorithm_step *step = &plan->steps[i];
        bool later = step->condition == ALGORITHM_IF_LATER_ROUND;
        bool actor = (step->work == ALGORITHM_WORK_SYNC && runner->async == NULL) ||
                     (step->work == ALGORITHM_WORK_UPDATE && step->role == ALGORITHM_ROLE_ACTOR);
        bool rollout = runner->async != NULL && (step->work == ALGORITHM_WORK_GENERATE ||
                                                 step->work == ALGORITHM_WORK_GREEDY);
        bool late = step->work == ALGORITHM_WORK_SYNC && !sync;
        bool unvalidated = step->work == ALGORITHM_WORK_VALIDATE &&
                           flight->step % plan->scenario->validation.every_steps != 0;
        if (unvalidated || later || rollout || late || (warmup && actor))
            flight->started |= bit(i), flight->done |= bit(i);
    }
}

static void begin_step(struct forecast_runner *runner, int64_t step) {
    struct forecast_flight *flight = flight_of(runner, step);
    flight->active = true;
    flight->step = step;
    flight->started = flight->done = 0;
    flight->version = runner->version;
    if (runner->async != NULL) {
        forecast_async_take(runner->async, flight);
        if (!selects(runner))
            runner_measure_trained(runner, flight);
        skip_phases(runner, flight);
        return;
    }
    if (step == 0) {
        forecast_samples_draw_chunk(runner->plan, runner->options->replicate, runner->chunk,
                                    &flight->samples);
        return;
    }
    if (is_one_off(runner)) /* the place in the data set goes from step to step */
        flight->samples.taken = flight_of(runner, step - 1)->samples.taken;
    forecast_samples_draw(runner->plan, runner->options->replicate, step, &flight->samples);
    runner_measure_generated(runner, flight);
    if (!selects(runner))
        runner_measure_trained(runner, flight);
    skip_phases(runner, flight);
}

/* Begins what may begin. False when the run is not to go on. */
static bool begin_next(struct forecast_runner *runner) {
    if (!may_begin(runner))
        return true;
    if (has_chunk(runner)) {
        runner->chunk++;
        begin_step(runner, 0);
        return !runner->cancelled;
    }
    if (!goes_on(runner))
        return false;
    if (runner->step < runner->options->steps)
        begin_step(runner, ++runner->step);
    return !runner->cancelled;
}

/* ---- starting a phase --------------------------------------------------------------------- */

static bool pools_are_free(const struct forecast_runner *runner, unsigned pools) {
    for (size_t i = 0; i < runner->plan->pool_count; i++)
        if (pools >> i & 1u && runner->lanes[i].busy)
            return false;
    return true;
}

/* Phases of the step that come before on one of the pools. */
static bool turn_has_come(const struct forecast_runner *runner,
                          const struct forecast_flight *flight, size_t phase, unsigned pools) {
    for (size_t i = first_phase(runner, flight); i < phase; i++)
        if (forecast_step_pools(runner->plan, i) & pools && !(flight->done & bit(i)))
            return false;
    return true;
}

static bool next_is_sampled(struct forecast_runner *runner, const struct forecast_flight *flight) {
    struct forecast_flight *next = under_way(runner, flight->step + 1);
    if (!is_one_off(runner) || flight->step == runner->options->steps)
        return true;
    return next != NULL && is_sampled(runner, next);
}

/* Whether rewards go on beside the pools of a phase, so that their order does not tell. */
static bool rewards_are_elsewhere(const struct forecast_plan *plan, size_t phase) {
    unsigned pools = forecast_step_pools(plan, phase);
    for (size_t i = plan->loop_first; i < plan->step_count; i++)
        if (plan->steps[i].work == ALGORITHM_WORK_SCORE && forecast_step_pools(plan, i) & pools)
            return false;
    return true;
}

/* What a kind of work needs of its step. */
static bool inputs_are_there(struct forecast_runner *runner, const struct forecast_flight *flight,
                             size_t phase) {
    if (flight->step == 0)
        return true;
    if (phase == runner->plan->step_count)
        return is_done(runner, flight, ALGORITHM_WORK_SYNC) &&
               is_done(runner, flight, ALGORITHM_WORK_UPDATE) &&
               is_done(runner, flight, ALGORITHM_WORK_VALIDATE);
    switch (runner->plan->steps[phase].work) {
    case ALGORITHM_WORK_GENERATE:
    case ALGORITHM_WORK_GREEDY:
    case ALGORITHM_WORK_WAKE:
        return true;
    case ALGORITHM_WORK_SCORE:
        return is_generated(runner, flight);
    case ALGORITHM_WORK_SLEEP:
    case ALGORITHM_WORK_FORWARD:
        return rewards_are_elsewhere(runner->plan, phase) ? is_sampled(runner, flight)
                                                          : is_generated(runner, flight);
    case ALGORITHM_WORK_UPDATE:
        return is_generated(runner, flight) && is_done(runner, flight, ALGORITHM_WORK_SCORE) &&
               is_done(runner, flight, ALGORITHM_WORK_FORWARD);
    case ALGORITHM_WORK_SYNC:
        return is_done(runner, flight, ALGORITHM_WORK_UPDATE) && next_is_sampled(runner, flight);
    case ALGORITHM_WORK_VALIDATE:
        return is_done(runner, flight, ALGORITHM_WORK_UPDATE) &&
               is_done(runner, flight, ALGORITHM_WORK_SYNC);
    }
    return false;
}

static bool is_work(const struct forecast_plan *plan, size_t phase, enum algorithm_work work) {
    return phase < plan->step_count && plan->steps[phase].work == work;
}

/* A weight sync interrupts asynchronous rollouts, and so does a validation. */
static bool engine_yields(struct forecast_runner *runner, size_t phase) {
    bool stops = is_work(runner->plan, phase, ALGORITHM_WORK_SYNC) ||
                 is_work(runner->plan, phase, ALGORITHM_WORK_VALIDATE);
    return runner->async == NULL || !stops || forecast_async_yield(runner->async);
}

/* What goes on beside the training of the step before. */
static bool makes_samples(const struct forecast_runner *runner, size_t phase) {
    return is_work(runner->plan, phase, ALGORITHM_WORK_GENERATE) ||
           is_work(runner->plan, phase, ALGORITHM_WORK_GREEDY) ||
           (has_rounds(runner) && is_work(runner->plan, phase, ALGORITHM_WORK_SCORE));
}

static bool may_start(struct forecast_runner *runner, const struct forecast_flight *flight,
                      size_t phase) {
    unsigned pools = forecast_step_pools(runner->plan, phase);
    bool oldest = flight->step <= 1 || under_way(runner, flight->step - 1) == NULL;
    return !(flight->started & bit(phase)) && (oldest || makes_samples(runner, phase)) &&
           turn_has_come(runner, flight, phase, pools) && inputs_are_there(runner, flight, phase) &&
           engine_yields(runner, phase) && pools_are_free(runner, pools);
}

/* Trained samples are as old as the engine has seen syncs since. */
static void note_staleness(struct forecast_runner *runner, const struct forecast_flight *flight) {
    if (runner->async != NULL)
        return; /* noted when they were taken */
    double samples = (double)flight->samples.count;
    int64_t versions = runner->version - flight->version;
    int64_t last = FORECAST_STALENESS_BINS - 1;
    runner->measures->stale_samples[versions < last ? versions : last] += samples;
    runner->measures->stale_versions += samples * (double)versions;
}

static bool updates_actor(const struct forecast_plan *plan, size_t phase) {
    return phase < plan->step_count && plan->steps[phase].work == ALGORITHM_WORK_UPDATE &&
           plan->steps[phase].role == ALGORITHM_ROLE_ACTOR;
}

static void start_phase(struct forecast_runner *runner, struct forecast_flight *flight,
                        size_t phase, const double *chain_s) {
    unsigned pools = forecast_step_pools(runner->plan, phase);
    struct forecast_lane *lane = NULL;
    for (size_t i = runner->plan->pool_count; i-- > 0;) {
        if (!(pools >> i & 1u))
            continue;
        lane = &runner->lanes[i];
        lane->busy = true;
    }
    CONTRACT(lane != NULL, "a phase without a pool");
    flight->started |= bit(phase);
    lane->pools = pools;
    lane->flight = flight;
    lane->phase = phase;
    lane->phase_start = sim_now(runner->sim);
    lane->phase_busy_gpu_s = 0.0;
    memcpy(lane->chain_s, chain_s, sizeof lane->chain_s);
    if (updates_actor(runner->plan, phase))
        note_staleness(runner, flight);
    runner_enter_memory(runner, lane);
    enum sim_status status = runner_work_start(lane);
    if (status != SIM_OK)
        sim_fail(runner->sim, status);
}

/* The next phase that may start, older steps first. */
static bool find_phase(struct forecast_runner *runner, struct forecast_flight **flight,
                       size_t *phase) {
    int64_t first = runner->step - FORECAST_FLIGHTS + 1;
    for (int64_t step = first > 0 ? first : 0; step <= runner->step; step++) {
        *flight = under_way(runner, step);
        if (*flight == NULL)
            continue;
        for (*phase = first_phase(runner, *flight); *phase < end_phase(runner, *flight); ++*phase)
            if (may_start(runner, *flight, *phase))
                return true;
    }
    return false;
}

void runner_proceed(struct forecast_runner *runner, const double *chain_s) {
    struct forecast_flight *flight;
    size_t phase;
    if (runner->cancelled)
        return;
    if (runner->async != NULL && !runner->flights[0].active)
        forecast_async_replace(runner->async, chain_s);
    if (!begin_next(runner))
        return;
    while (find_phase(runner, &flight, &phase))
        start_phase(runner, flight, phase, chain_s);
}

/* ---- the ends ----------------------------------------------------------------------------- */

static void release_pools(struct forecast_runner *runner, unsigned pools) {
    for (size_t i = 0; i < runner->plan->pool_count; i++)
        if (pools >> i & 1u)
            runner->lanes[i].busy = false;
}

static void note_end(struct forecast_runner *runner, struct forecast_lane *lane) {
    const struct forecast_plan *plan = runner->plan;
    bool checkpoint = lane->phase == plan->step_count;
    lane->chain_s[runner_phase_of(lane)] += sim_time_to_s(sim_now(runner->sim) - lane->phase_start);
    memcpy(runner->measures->critical_s, lane->chain_s, sizeof lane->chain_s);
    runner_measure_phase(runner, lane);
    if (runner->loading)
        return;
    if (checkpoint && !plan->checkpoint.asynchronous)
        runner_account_storage(runner, true);
    if (checkpoint)
        runner_leave_saving(runner, lane);
    if (!checkpoint && plan->steps[lane->phase].work == ALGORITHM_WORK_SYNC)
        runner->version++;
}

/* The first phases of the step again, up to the rewards. */
static void repeat_phases(const struct forecast_plan *plan, struct forecast_flight *flight,
                          size_t last) {
    for (size_t i = plan->loop_first; i <= last; i++)
        flight->started &= ~bit(i), flight->done &= ~bit(i);
}

/* Samples that have their rewards may be too few. */
static void select_samples(struct forecast_runner *runner, struct forecast_lane *lane) {
    struct forecast_flight *flight = lane->flight;
    bool scored = lane->phase < runner->plan->step_count &&
                  runner->plan->steps[lane->phase].work == ALGORITHM_WORK_SCORE;
    if (!scored || !selects(runner))
        return;
    if (forecast_samples_select(runner->plan, runner->options->replicate, flight->step,
                                &flight->samples)) {
        runner_measure_generated(runner, flight);
        repeat_phases(runner->plan, flight, lane->phase);
    } else {
        runner_measure_trained(runner, flight);
    }
}

/* After what has interrupted an asynchronous engine: new prompts after a sync, at once or after the
 * validation behind it; what it has after another validation. */
static void resume_rollouts(struct forecast_runner *runner, const struct forecast_lane *lane,
                            const double *chain_s) {
    bool sync = is_work(runner->plan, lane->phase, ALGORITHM_WORK_SYNC);
    bool validation = is_work(runner->plan, lane->phase, ALGORITHM_WORK_VALIDATE);
    bool due = lane->flight->step % runner->plan->scenario->placement.sync_every_steps == 0;
    if (runner->async == NULL || (!sync && !validation) ||
        (sync && !is_done(runner, lane->flight, ALGORITHM_WORK_VALIDATE)))
        return;
    if (due)
        forecast_async_hand_out(runner->async, chain_s);
    else
        forecast_async_go_on(runner->async, chain_s);
}

/* After the load. */
static void begin_steps(struct forecast_runner *runner, const double *chain_s) {
    runner_leave_loading(runner);
    if (runner->async != NULL) {
        runner_enter_rollouts(runner);
        forecast_async_hand_out(runner->async, chain_s);
    }
    runner_proceed(runner, chain_s);
}

/* On all pools, before anything else. */
static void start_load(struct forecast_runner *runner) {
    struct forecast_lane *lane = &runner->lanes[0];
    runner->loading = true;
    lane->flight = &runner->flights[0];
    for (size_t i = 0; i < runner->plan->pool_count; i++) {
        lane->pools |= 1u << i;
        runner->lanes[i].busy = true;
    }
    enum sim_status status = runner_work_start(lane);
    if (status != SIM_OK)
        sim_fail(runner->sim, status);
}

void runner_phase_done(struct sim *sim, void *subject, uint64_t argument) {
    struct forecast_lane *lane = subject;
    struct forecast_runner *runner = lane->runner;
    double chain_s[ALGORITHM_PHASE_COUNT];
    (void)sim;
    (void)argument;
    note_end(runner, lane);
    memcpy(chain_s, lane->chain_s, sizeof chain_s);
    if (runner->loading) {
        runner->loading = false;
        release_pools(runner, lane->pools);
        begin_steps(runner, chain_s);
        return;
    }
    lane->flight->done |= bit(lane->phase);
    select_samples(runner, lane);
    release_pools(runner, lane->pools);
    if (is_complete(runner, lane->flight)) {
        lane->flight->active = false;
        runner->steps_done += lane->flight->step > 0;
    }
    resume_rollouts(runner, lane, chain_s);
    runner_proceed(runner, chain_s);
}

void runner_begin(struct forecast_runner *runner) {
    const double nothing[ALGORITHM_PHASE_COUNT] = {0.0};
    runner_enter_loading(runner);
    if (runner->plan->load.count > 0)
        start_load(runner);
    else
        begin_steps(runner, nothing);
}
