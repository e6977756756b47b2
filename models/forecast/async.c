/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Fully asynchronous rollouts. The trainer takes prompts whose answers have all ended, in the order
 * in which they ended, a step's worth at a time, while the engine goes on; after every
 * `sync_every_steps` steps the weights are synced, which makes a version.
 *
 * Admission. Let B be the prompts that are trained between two syncs. At the start and after every
 * sync new prompts are handed out until
 *
 *     handed out - trained <= (1 + staleness_versions) B,
 *
 * and never more than the rest of the run trains. With staleness_versions 0 that is one version's
 * prompts: the engine works on them while the trainer trains on the first ones of them. This is
 * AReaL's rule (submitted <= (version + eta + 1) batches: docs, max_head_offpolicyness @4aef98d8)
 * and verl's (the rollouter makes (1 + staleness_threshold) batches, less what is left over,
 * between two syncs: docs/advance/fully_async.md @1dda039b9), whose threshold is a fraction.
 *
 * A sync. With partial rollouts the engine is interrupted: replicas end the iteration under way,
 * and afterwards the unfinished answers go on with the new weights, all their tokens computed
 * again. Without, the sync waits until everything that was handed out is answered.
 *
 * The bound. Prompts are as old as the weights that their first token was made with. A sync that
 * would bring an untrained prompt beyond ceil(staleness_versions) versions waits for it (`wait`):
 * the steps before it take the oldest prompts first, and the last one begins when none of those is
 * left. Or (`drop`) a prompt that is too old when a step would take it is dropped, and others are
 * handed out in its place once the engine is idle.
 *
 * Left out: a limit of prompts in flight below that of the bound; validation.
 */

#include "models/forecast/async.h"

#include "models/scenario/steps.h"
#include "sim/contract.h"
#include "sim/recorder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct rlhfsim_scenario *scenario_of(const struct forecast_async *async) {
    return async->runner->plan->scenario;
}

/* Prompts that are trained between two syncs. */
static int64_t version_prompts(const struct rlhfsim_scenario *scenario) {
    return scenario->algorithm.prompts_per_step * scenario->placement.sync_every_steps;
}

static int64_t most_outstanding(const struct rlhfsim_scenario *scenario) {
    return (int64_t)floor((1.0 + scenario->placement.staleness_versions) *
                          (double)version_prompts(scenario));
}

/* ---- memory ------------------------------------------------------------------------------- */

static bool replica_reserve(struct async_replica *replica, size_t count) {
    if (count <= replica->capacity)
        return true;
    free(replica->requests);
    free(replica->answers);
    free(replica->live);
    replica->requests = calloc(count, sizeof *replica->requests);
    replica->answers = calloc(count, sizeof *replica->answers);
    replica->live = calloc(count, sizeof *replica->live);
    replica->capacity = count;
    return replica->requests && replica->answers && replica->live;
}

enum rlhfsim_status forecast_async_new(struct forecast_runner *runner,
                                       struct forecast_async **result) {
    const struct rlhfsim_scenario *scenario = runner->plan->scenario;
    struct forecast_async *async = calloc(1, sizeof *async);
    *result = async;
    if (async == NULL)
        return RLHFSIM_NO_MEMORY;
    async->runner = runner;
    async->capacity = (size_t)most_outstanding(scenario);
    async->copies = (size_t)scenario->algorithm.samples_per_prompt;
    async->groups = calloc(async->capacity, sizeof *async->groups);
    async->response = calloc(async->capacity * async->copies, sizeof *async->response);
    async->made = calloc(async->capacity * async->copies, sizeof *async->made);
    async->free = calloc(async->capacity, sizeof *async->free);
    async->done = calloc(async->capacity, sizeof *async->done);
    async->order = calloc(async->capacity, sizeof *async->order);
    async->replicas = calloc((size_t)runner->plan->replicas, sizeof *async->replicas);
    if (!async->groups || !async->response || !async->made || !async->free || !async->done ||
        !async->order || !async->replicas)
        return RLHFSIM_NO_MEMORY;
    for (size_t i = async->capacity; i-- > 0;)
        async->free[async->free_count++] = (uint32_t)i;
    return RLHFSIM_OK;
}

void forecast_async_free(struct forecast_async *async) {
    if (async == NULL)
        return;
    for (int r = 0; async->replicas != NULL && r < async->runner->plan->replicas; r++) {
        free(async->replicas[r].requests);
        free(async->replicas[r].answers);
        free(async->replicas[r].live);
    }
    free(async->groups);
    free(async->response);
    free(async->made);
    free(async->free);
    free(async->done);
    free(async->order);
    free(async->replicas);
    free(async);
}

/* ---- measuring ---------------------------------------------------------------------------- */

static void measure_group(struct forecast_async *async, uint32_t slot) {
    struct forecast_measures *measures = async->runner->measures;
    for (size_t copy = 0; copy < async->copies; copy++) {
        uint32_t tokens = async->response[slot * async->copies + copy];
        measures->response_tokens += tokens;
        measures->cut += tokens >= async->runner->plan->response_limit ? 1.0 : 0.0;
        async->runner->length_counts[tokens]++;
    }
    measures->responses += (double)async->copies;
}

/* The spans of a replica's batch. */
static void record_batch(struct forecast_async *async, int replica,
                         const struct generation_outcome *outcome) {
    struct forecast_runner *runner = async->runner;
    uint32_t gpus = (uint32_t)generation_plan_gpus(&runner->plan->generation);
    uint32_t first = runner->first_gpu +
                     (uint32_t)runner->plan->pools[runner->plan->engine_pool].first_gpu +
                     (uint32_t)replica * gpus;
    sim_time start = async->replicas[replica].start;
    for (uint32_t gpu = 0; gpu < gpus; gpu++) {
        struct sim_span span = {.start = start,
                                .end = sim_now(runner->sim),
                                .resource = first + gpu,
                                .tag = {.activity = ALGORITHM_PHASE_ROLLOUT,
                                        .owner = ALGORITHM_ROLE_ACTOR,
                                        .step = (int32_t)async->period_step,
                                        .bytes = outcome->bytes,
                                        .flops = outcome->flops / gpus}};
        sim_recorder_span(runner->sim, &span);
    }
    async->period_busy_gpu_s += sim_time_to_s(sim_now(runner->sim) - start) * gpus;
    runner->measures->flops += outcome->flops;
    runner->measures->preemptions += outcome->preemptions;
    runner->measures->interrupted += (double)outcome->unfinished;
}

/* All replicas are idle: a rollout ends. */
static void end_period(struct forecast_async *async) {
    struct forecast_runner *runner = async->runner;
    const struct forecast_plan *plan = runner->plan;
    sim_time now = sim_now(runner->sim);
    double length_s = sim_time_to_s(now - async->period_start);
    double busy_s = async->period_busy_gpu_s / plan->pools[plan->engine_pool].gpus;
    double idle_s = fmax(0.0, length_s - busy_s);
    struct forecast_measures *measures = runner->measures;
    measures->phase_s[ALGORITHM_PHASE_ROLLOUT] += length_s;
    measures->busy_gpu_s += async->period_busy_gpu_s;
    measures->pool_busy_gpu_s[plan->engine_pool] += async->period_busy_gpu_s;
    measures->tail_idle_s += idle_s;
    if (runner->options->files != NULL)
        results_files_phase(runner->options->files, async->period_step, ALGORITHM_PHASE_ROLLOUT,
                            async->period_start, now, busy_s, idle_s);
}

/* The chain of phases that leads to now through the rollout under way. */
static void chain_now(const struct forecast_async *async, double *chain_s) {
    memcpy(chain_s, async->chain_s, sizeof async->chain_s);
    chain_s[ALGORITHM_PHASE_ROLLOUT] +=
        sim_time_to_s(sim_now(async->runner->sim) - async->period_start);
}

/* ---- handing out -------------------------------------------------------------------------- */

static size_t outstanding(const struct forecast_async *async) {
    return async->capacity - async->free_count;
}

/* Prompts of the run that are neither trained nor on their way. */
static int64_t wanted(const struct forecast_async *async) {
    int64_t run = async->runner->options->steps * scenario_of(async)->algorithm.prompts_per_step;
    int64_t room = most_outstanding(scenario_of(async)) - (int64_t)outstanding(async);
    int64_t rest = run - async->trained - (int64_t)outstanding(async);
    return room < rest ? room : rest;
}

/* The replica with the fewest unfinished answers, the first of several. */
static uint32_t emptiest(const struct forecast_async *async) {
    size_t least = 0;
    for (int r = 1; r < async->runner->plan->replicas; r++)
        if (async->replicas[r].live_count < async->replicas[least].live_count)
            least = (size_t)r;
    return (uint32_t)least;
}

/* The next prompt of the data set, as the step that a synchronous run would answer it in has it. */
static void draw_group(struct forecast_async *async, uint32_t slot) {
    const struct forecast_runner *runner = async->runner;
    int64_t per_step = scenario_of(async)->algorithm.prompts_per_step;
    int64_t number = async->handed_out++;
    struct async_group *group = &async->groups[slot];
    struct forecast_draw draw;
    struct forecast_group drawn;
    int64_t step = number / per_step + 1, prompt = number % per_step;
    int64_t place = scenario_step_at(runner->plan->scenario, step).first + prompt;
    forecast_draw_start(runner->plan, runner->options->replicate, step, &draw);
    forecast_draw_group(&draw, forecast_data_set_place(runner->plan, place), (uint64_t)prompt,
                        async->copies, &drawn);
    *group = (struct async_group){.replica = emptiest(async),
                                  .prompt_tokens = drawn.prompt_tokens,
                                  .pending = (uint32_t)async->copies,
                                  .version = runner->version,
                                  .number = number};
    for (size_t copy = 0; copy < async->copies; copy++) {
        bool cut;
        async->response[slot * async->copies + copy] =
            forecast_draw_response(&draw, &drawn, copy, &cut);
        async->made[slot * async->copies + copy] = 0;
    }
    async->replicas[group->replica].live_count += async->copies;
}

static void hand_out_new(struct forecast_async *async) {
    for (int64_t n = wanted(async); n > 0; n--)
        draw_group(async, async->free[--async->free_count]);
}

static int by_number(const void *a, const void *b) {
    const struct async_order *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

/* Slots of unfinished groups, the oldest first. */
static size_t unfinished_slots(struct forecast_async *async) {
    size_t count = 0;
    for (size_t slot = 0; slot < async->capacity; slot++)
        if (async->groups[slot].pending > 0)
            async->order[count++] =
                (struct async_order){async->groups[slot].number, (uint32_t)slot};
    qsort(async->order, count, sizeof *async->order, by_number);
    return count;
}

static bool has_ended(const struct forecast_async *async, size_t answer) {
    return async->made[answer] >= async->response[answer];
}

/* The unfinished answers of a slot into its replica's batch. */
static void add_requests(struct forecast_async *async, uint32_t slot) {
    struct async_group *group = &async->groups[slot];
    struct async_replica *replica = &async->replicas[group->replica];
    if (!group->begun)
        group->version = async->runner->version;
    for (size_t copy = 0; copy < async->copies; copy++) {
        size_t answer = slot * async->copies + copy;
        if (has_ended(async, answer))
            continue;
        replica->answers[replica->count] = (uint32_t)answer;
        replica->live[replica->count] = (uint32_t)replica->count;
        replica->requests[replica->count++] =
            (struct generation_request){.prompt_tokens = group->prompt_tokens,
                                        .response_tokens = async->response[answer],
                                        .generated_tokens = async->made[answer],
                                        .group = slot};
    }
}

static generation_done_func batch_done;
static generation_progress_func answers_ended;

static enum sim_status start_batches(struct forecast_async *async) {
    struct forecast_runner *runner = async->runner;
    enum sim_status status = SIM_OK;
    for (int r = 0; r < runner->plan->replicas && status == SIM_OK; r++) {
        struct async_replica *replica = &async->replicas[r];
        replica->live_count = replica->count;
        replica->start = sim_now(runner->sim);
        if (replica->count == 0)
            continue;
        generation_replica_listen(runner->replicas[r], answers_ended);
        status = generation_replica_start(runner->replicas[r], replica->requests, replica->count,
                                          batch_done, async, (uint64_t)r);
        async->busy++;
    }
    return status;
}

static bool make_batches(struct forecast_async *async) {
    size_t slots = unfinished_slots(async);
    for (int r = 0; r < async->runner->plan->replicas; r++) {
        async->replicas[r].count = 0;
        if (!replica_reserve(&async->replicas[r], async->replicas[r].live_count))
            return false;
    }
    for (size_t i = 0; i < slots; i++)
        add_requests(async, async->order[i].slot);
    return true;
}

void forecast_async_hand_out(struct forecast_async *async, const double *chain_s) {
    struct forecast_runner *runner = async->runner;
    CONTRACT(async->busy == 0, "prompts are handed out to an idle engine");
    hand_out_new(async);
    if (!make_batches(async)) {
        sim_fail(runner->sim, SIM_NO_MEMORY);
        return;
    }
    async->syncing = false;
    async->period_start = sim_now(runner->sim);
    async->period_busy_gpu_s = 0.0;
    async->period_step =
        runner->step < runner->options->steps ? runner->step + 1 : runner->options->steps;
    memcpy(async->chain_s, chain_s, sizeof async->chain_s);
    enum sim_status status = start_batches(async);
    if (status != SIM_OK)
        sim_fail(runner->sim, status);
    if (async->busy == 0)
        return;
    runner->measures->rounds += 1.0;
    runner->lanes[runner->plan->engine_pool].busy = true;
}

/* ---- answers ------------------------------------------------------------------------------ */

static void end_answer(struct forecast_async *async, size_t answer) {
    size_t slot = answer / async->copies;
    struct async_group *group = &async->groups[slot];
    async->made[answer] = async->response[answer];
    group->begun = true;
    if (--group->pending > 0)
        return;
    async->done[async->done_count++] = (uint32_t)slot;
    measure_group(async, (uint32_t)slot);
}

/* Takes the answers that have ended off the list of a replica's live ones. */
static void collect_ended(struct forecast_async *async, int r) {
    struct async_replica *replica = &async->replicas[r];
    size_t kept = 0;
    for (size_t i = 0; i < replica->live_count; i++) {
        uint32_t request = replica->live[i];
        if (generation_replica_has_ended(async->runner->replicas[r], request))
            end_answer(async, replica->answers[request]);
        else
            replica->live[kept++] = request;
    }
    replica->live_count = kept;
}

static void answers_ended(struct sim *sim, void *subject, uint64_t replica, size_t ended) {
    struct forecast_async *async = subject;
    double chain_s[ALGORITHM_PHASE_COUNT];
    size_t before = async->done_count;
    (void)sim;
    (void)ended;
    runner_listen(async->runner);
    collect_ended(async, (int)replica);
    if (async->done_count == before)
        return;
    chain_now(async, chain_s);
    async->runner->proceed(async->runner, chain_s);
}

/* What a stopped batch has made goes on in the next one. */
static void keep_progress(struct forecast_async *async, int r) {
    const struct async_replica *replica = &async->replicas[r];
    for (size_t i = 0; i < replica->live_count; i++) {
        uint32_t request = replica->live[i];
        uint32_t answer = replica->answers[request];
        async->made[answer] = generation_replica_generated(async->runner->replicas[r], request);
        if (async->made[answer] > 0)
            async->groups[answer / async->copies].begun = true;
    }
}

static void batch_done(struct sim *sim, void *subject, uint64_t replica,
                       const struct generation_outcome *outcome) {
    struct forecast_async *async = subject;
    struct forecast_runner *runner = async->runner;
    double chain_s[ALGORITHM_PHASE_COUNT];
    (void)sim;
    collect_ended(async, (int)replica);
    keep_progress(async, (int)replica);
    record_batch(async, (int)replica, outcome);
    chain_now(async, chain_s);
    if (--async->busy == 0) {
        end_period(async);
        runner->lanes[runner->plan->engine_pool].busy = false;
    }
    runner->proceed(runner, chain_s);
}

bool forecast_async_yield(struct forecast_async *async) {
    struct forecast_runner *runner = async->runner;
    if (async->busy > 0 && !async->syncing && scenario_of(async)->placement.partial_rollout)
        for (int r = 0; r < runner->plan->replicas; r++)
            generation_replica_stop(runner->replicas[r]);
    async->syncing = true;
    return async->busy == 0;
}

/* ---- taking ------------------------------------------------------------------------------- */

static int64_t bound_versions(const struct forecast_async *async) {
    return (int64_t)ceil(scenario_of(async)->placement.staleness_versions);
}

/* Whether the next sync would bring the group beyond the bound. */
static bool is_due(const struct forecast_async *async, const struct async_group *group) {
    return group->begun && group->version < async->runner->version + 1 - bound_versions(async);
}

static bool is_too_old(const struct forecast_async *async, const struct async_group *group) {
    return async->runner->version - group->version > bound_versions(async);
}

static void release(struct forecast_async *async, uint32_t slot) {
    async->free[async->free_count++] = slot;
}

/* Drops what is too old of the prompts that have ended. */
static void drop_old(struct forecast_async *async) {
    size_t kept = 0;
    for (size_t i = 0; i < async->done_count; i++) {
        uint32_t slot = async->done[i];
        if (!is_too_old(async, &async->groups[slot])) {
            async->done[kept++] = slot;
            continue;
        }
        release(async, slot);
        async->dropped++;
    }
    async->done_count = kept;
}

/* Unfinished prompts that the next sync would bring beyond the bound. */
static int64_t due_unfinished(const struct forecast_async *async) {
    int64_t due = 0;
    for (size_t slot = 0; slot < async->capacity; slot++)
        due += async->groups[slot].pending > 0 && is_due(async, &async->groups[slot]);
    return due;
}

static bool syncs_after(const struct rlhfsim_scenario *scenario, int64_t step) {
    return step % scenario->placement.sync_every_steps == 0;
}

bool forecast_async_may_take(struct forecast_async *async, int64_t step) {
    const struct rlhfsim_scenario *scenario = scenario_of(async);
    size_t prompts = (size_t)scenario->algorithm.prompts_per_step;
    if (scenario->placement.drops)
        drop_old(async);
    if (async->done_count < prompts)
        return false;
    return scenario->placement.drops || !syncs_after(scenario, step) || due_unfinished(async) == 0;
}

void forecast_async_replace(struct forecast_async *async, const double *chain_s) {
    size_t prompts = (size_t)scenario_of(async)->algorithm.prompts_per_step;
    if (!scenario_of(async)->placement.drops || async->busy > 0 || async->syncing)
        return;
    drop_old(async);
    if (async->done_count < prompts && wanted(async) > 0)
        forecast_async_hand_out(async, chain_s);
}

static void take(struct forecast_async *async, uint32_t slot, struct forecast_flight *flight) {
    struct forecast_samples *samples = &flight->samples;
    struct forecast_measures *measures = async->runner->measures;
    int64_t versions = async->runner->version - async->groups[slot].version;
    int64_t last = FORECAST_STALENESS_BINS - 1;
    for (size_t copy = 0; copy < async->copies; copy++, samples->sequences++) {
        samples->prompt_tokens[samples->sequences] = async->groups[slot].prompt_tokens;
        samples->response_tokens[samples->sequences] = async->response[slot * async->copies + copy];
    }
    measures->stale_samples[versions < last ? versions : last] += (double)async->copies;
    measures->stale_versions += (double)versions * (double)async->copies;
    release(async, slot);
    async->trained++;
}

/* Of the prompts that have ended, those that are due, or the others, until there are enough. */
static void take_some(struct forecast_async *async, bool due, size_t most,
                      struct forecast_flight *flight) {
    size_t kept = 0;
    for (size_t i = 0; i < async->done_count; i++) {
        uint32_t slot = async->done[i];
        if (flight->samples.prompts < most && is_due(async, &async->groups[slot]) == due) {
            take(async, slot, flight);
            flight->samples.prompts++;
        } else {
            async->done[kept++] = slot;
        }
    }
    async->done_count = kept;
}

void forecast_async_take(struct forecast_async *async, struct forecast_flight *flight) {
    size_t prompts = (size_t)scenario_of(async)->algorithm.prompts_per_step;
    flight->samples.prompts = flight->samples.sequences = flight->samples.fresh = 0;
    flight->samples.cut = 0;
    flight->samples.exhausted = false;
    take_some(async, true, prompts, flight);
    take_some(async, false, prompts, flight);
    flight->samples.count = flight->samples.sequences;
    flight->samples.draws++;
    CONTRACT(flight->samples.prompts == prompts, "prompts that are not there");
}
