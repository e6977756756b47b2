/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Rollouts and validations: prompts are dealt out to the engine's replicas, each of which is one
 * process that answers its share.
 */

#include "models/forecast/work_rollout.h"

#include "models/forecast/turns.h"

#include "models/generation/floor.h"
#include "sim/recorder.h"

#include <string.h>

static void record_rollout(struct forecast_lane *lane, int replica,
                           const struct generation_outcome *outcome) {
    uint32_t gpus = (uint32_t)generation_plan_gpus(&lane->runner->plan->generation);
    uint32_t first = (uint32_t)lane->runner->plan->pools[lane->runner->plan->engine_pool].first_gpu;
    first += lane->runner->first_gpu + (uint32_t)replica * gpus;
    for (uint32_t gpu = 0; gpu < gpus; gpu++) {
        struct sim_span span = {.start = lane->phase_start,
                                .end = sim_now(lane->runner->sim),
                                .resource = first + gpu,
                                .tag = runner_tag(lane, outcome->bytes, outcome->flops / gpus)};
        sim_recorder_span(lane->runner->sim, &span);
    }
    lane->phase_busy_gpu_s += sim_time_to_s(sim_now(lane->runner->sim) - lane->phase_start) * gpus;
    lane->runner->measures->flops += outcome->flops;
    lane->runner->measures->preemptions += outcome->preemptions;
}

/* The prompts that a rollout answers, and how often each. */
struct rollout {
    size_t first; /* sequence */
    size_t prompts, copies;
};

/* The fresh sequences, or the greedy ones behind them. */
static struct rollout rollout_of(const struct forecast_lane *lane) {
    const struct forecast_samples *samples = &lane->flight->samples;
    size_t copies = (size_t)lane->runner->plan->scenario->algorithm.samples_per_prompt;
    if (runner_current(lane)->work == ALGORITHM_WORK_GREEDY)
        return (struct rollout){samples->count, samples->prompts, 1};
    return (struct rollout){samples->fresh, samples->prompts, copies};
}

/* When the answers of a replica's batch ended. */
static void note_ends(struct forecast_lane *lane, int replica) {
    struct forecast_flight *flight = lane->flight;
    size_t copies = rollout_of(lane).copies, count = lane->runner->shares[replica] * copies;
    double start_s = sim_time_to_s(lane->phase_start);
    for (size_t i = 0; i < count; i++)
        flight->ends_s[flight->end_count++] =
            start_s + generation_replica_finish_s(lane->runner->replicas[replica], i);
}

static void replica_done(struct sim *sim, void *subject, uint64_t replica,
                         const struct generation_outcome *outcome) {
    struct forecast_lane *lane = subject;
    record_rollout(lane, (int)replica, outcome);
    if (lane->runner->plan->scenario->reward.during_rollout &&
        runner_current(lane)->work != ALGORITHM_WORK_VALIDATE)
        note_ends(lane, (int)replica);
    if (--lane->runner->replicas_running == 0)
        lane->runner->phase_done(sim, lane, 0);
}

static void make_requests(struct forecast_lane *lane, struct rollout rollout) {
    const struct forecast_samples *samples = &lane->flight->samples;
    struct generation_request *requests = lane->runner->requests;
    for (size_t i = 0; i < rollout.prompts * rollout.copies; i++) {
        requests[i] = (struct generation_request){
            .prompt_tokens = samples->prompt_tokens[rollout.first + i],
            .response_tokens = samples->response_tokens[rollout.first + i],
            .group = (uint32_t)(i / rollout.copies),
        };
    }
}

/* The longest of the requests alone: its own tokens, and the tools that it waits for. */
static void note_floor(struct forecast_lane *lane, size_t count) {
    const struct generation_request *requests = lane->runner->requests, *longest = requests;
    for (size_t i = 1; i < count; i++)
        if (generation_request_tokens(&requests[i]) - requests[i].prompt_tokens >
            generation_request_tokens(longest) - longest->prompt_tokens)
            longest = &requests[i];
    struct generation_request alone = {.prompt_tokens = longest->prompt_tokens,
                                       .response_tokens = forecast_turns_tokens(longest)};
    lane->runner->measures->tail_floor_s +=
        generation_alone_s(&lane->runner->plan->generation, &alone) +
        forecast_turns_latency_s(longest);
}

/* Turns of all requests, as they lie; the first one's number within the step is `first`. */
static void give_turns(struct forecast_lane *lane, size_t count, size_t copies, uint64_t first) {
    struct forecast_runner *runner = lane->runner;
    size_t most = (size_t)runner->plan->scenario->rollout.turns - 1;
    struct forecast_draw draw;
    if (runner->turns == NULL)
        return;
    forecast_draw_start(runner->plan, runner->options->replicate, lane->flight->step, &draw);
    for (size_t i = 0; i < count; i++) {
        struct generation_request *request = &runner->requests[i];
        forecast_turns_give(&draw, first + request->group * copies + i % copies,
                            runner->turns + i * most, request);
    }
}

/* Requests of one replica lie side by side: a prompt moves with its samples. */
static void move_prompt(struct forecast_lane *lane, struct rollout rollout, size_t prompt,
                        size_t place) {
    const struct forecast_samples *samples = &lane->flight->samples;
    for (size_t k = 0; k < rollout.copies; k++) {
        size_t sequence = rollout.first + prompt * rollout.copies + k;
        lane->runner->requests[place * rollout.copies + k] = (struct generation_request){
            .prompt_tokens = samples->prompt_tokens[sequence],
            .response_tokens = samples->response_tokens[sequence],
            .group = (uint32_t)prompt,
        };
    }
}

/* Equal numbers of prompts, the first replicas taking one more where they do not divide. */
static void deal_out(struct forecast_runner *runner, size_t prompts) {
    size_t replicas = (size_t)runner->plan->replicas;
    for (size_t r = 0; r < replicas; r++)
        runner->shares[r] = prompts / replicas + (r < prompts % replicas);
}

/* Every prompt in turn to the replica with the fewest prompt tokens so far, the first of several;
 * how long its answers get nobody knows. */
static void route(struct forecast_lane *lane, struct rollout rollout) {
    struct forecast_runner *runner = lane->runner;
    const uint32_t *tokens = lane->flight->samples.prompt_tokens + rollout.first;
    size_t replicas = (size_t)runner->plan->replicas;
    memset(runner->shares, 0, replicas * sizeof *runner->shares);
    memset(runner->loads, 0, replicas * sizeof *runner->loads);
    for (size_t p = 0; p < rollout.prompts; p++) {
        size_t least = 0;
        for (size_t r = 1; r < replicas; r++)
            if (runner->loads[r] < runner->loads[least])
                least = r;
        runner->loads[least] += tokens[p * rollout.copies];
        runner->routes[p] = (uint32_t)least;
        runner->shares[least]++;
    }
}

/* Sorts the prompts by their replica, those of one in their order. */
static void balance_load(struct forecast_lane *lane, struct rollout rollout) {
    struct forecast_runner *runner = lane->runner;
    uint64_t next = 0;
    route(lane, rollout);
    for (int r = 0; r < runner->plan->replicas; r++) {
        runner->loads[r] = next; /* from here on: where its next prompt goes */
        next += runner->shares[r];
    }
    for (size_t p = 0; p < rollout.prompts; p++)
        move_prompt(lane, rollout, p, (size_t)runner->loads[runner->routes[p]]++);
}

/* So that a long step can be stopped, too. */
static void watch_replica(struct sim *sim, void *subject, uint64_t argument, size_t ended) {
    struct forecast_lane *lane = subject;
    (void)sim;
    (void)argument;
    (void)ended;
    runner_listen(lane->runner);
}

/* Starts the replicas on the requests, of which each has its share. */
static enum sim_status start_replicas(struct forecast_lane *lane, size_t copies) {
    struct forecast_runner *runner = lane->runner;
    generation_progress_func *listener = runner->options->progress == NULL ? NULL : watch_replica;
    size_t next = 0;
    enum sim_status status = SIM_OK;
    runner->replicas_running = 0;
    for (int r = 0; r < runner->plan->replicas; r++)
        runner->replicas_running += runner->shares[r] > 0;
    for (int r = 0; r < runner->plan->replicas && status == SIM_OK; r++) {
        size_t share = runner->shares[r];
        generation_replica_listen(runner->replicas[r], listener);
        if (share > 0)
            status = generation_replica_start(runner->replicas[r], runner->requests + next * copies,
                                              share * copies, replica_done, lane, (uint64_t)r);
        next += share;
    }
    return status;
}

/* Numbers of validation prompts in a step and in the data set, where no other prompt has one. */
#define VALIDATION_PROMPT 0x80000000u
#define VALIDATION_PLACE ((uint64_t)1 << 48)

/* The validation set, answered with lengths of the same laws. */
enum sim_status runner_work_validate(struct forecast_lane *lane) {
    struct forecast_runner *runner = lane->runner;
    size_t prompts = (size_t)runner->plan->scenario->validation.prompts, next = 0;
    size_t copies = (size_t)runner->plan->scenario->validation.samples_per_prompt;
    struct forecast_draw draw;
    forecast_draw_start(runner->plan, runner->options->replicate, lane->flight->step, &draw);
    for (size_t p = 0; p < prompts; p++) {
        struct forecast_group group;
        forecast_draw_group(&draw, VALIDATION_PLACE + p, VALIDATION_PROMPT + p, copies, &group);
        for (size_t copy = 0; copy < copies; copy++) {
            bool cut;
            runner->requests[next++] = (struct generation_request){
                .prompt_tokens = group.prompt_tokens,
                .response_tokens = forecast_draw_response(&draw, &group, copy, &cut),
                .group = (uint32_t)p};
        }
    }
    give_turns(lane, next, copies, VALIDATION_PROMPT);
    deal_out(runner, prompts);
    return start_replicas(lane, copies);
}

/* Rounds follow one another; greedy answers come before the first. */
static uint64_t first_answer(const struct forecast_lane *lane) {
    const struct forecast_samples *samples = &lane->flight->samples;
    bool greedy = runner_current(lane)->work == ALGORITHM_WORK_GREEDY;
    return greedy ? 0 : (uint64_t)samples->round * samples->capacity;
}

/* All samples of a prompt go to one replica; a replica without prompts is idle. */
enum sim_status runner_work_generate(struct forecast_lane *lane) {
    struct forecast_runner *runner = lane->runner;
    struct rollout rollout = rollout_of(lane);
    if (runner_current(lane)->work == ALGORITHM_WORK_GENERATE)
        lane->flight->end_count = 0;
    make_requests(lane, rollout);
    if (runner->plan->scenario->rollout.routing == SCENARIO_ROUTING_LEAST_LOADED)
        balance_load(lane, rollout);
    else
        deal_out(runner, rollout.prompts);
    give_turns(lane, rollout.prompts * rollout.copies, rollout.copies, first_answer(lane));
    note_floor(lane, rollout.prompts * rollout.copies);
    return start_replicas(lane, rollout.copies);
}
