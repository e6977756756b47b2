/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * The replica: a batch (generation/batch.h) on the calendar of a simulation. One event a span, at
 * the instant its running set changes. Times inside a batch are seconds since its start, summed in
 * a double and rounded to the clock's nanoseconds once an event, so that rounding never adds up.
 */

#include "models/generation/engine.h"

#include "models/generation/batch.h"
#include "sim/contract.h"

struct generation_replica {
    struct sim *sim;
    struct generation_plan plan;
    struct generation_batch batch;
    struct generation_cost *costs; /* shared with others; NULL: the batch has its own */
    void *block;                   /* the batch's arrays */
    size_t block_bytes;
    uint32_t capacity; /* requests it is placed for */
    bool busy, stopping;
    sim_event_id span_end;
    generation_progress_func *progress;
    size_t reported; /* requests that had ended when somebody was told last */
    sim_time start;
    generation_done_func *done;
    void *subject;
    uint64_t argument;
};

struct generation_replica *generation_replica_new(struct sim *sim,
                                                  const struct generation_plan *plan) {
    CONTRACT(plan->tp >= 1 && plan->pp >= 1 && plan->dp >= 1 && plan->ep >= 1 &&
                 plan->max_sequences >= 1 && plan->max_batched_tokens >= 1 &&
                 plan->software.block_tokens >= 1 && plan->kv_blocks >= 1,
             "a rollout plan counts from 1");
    struct generation_replica *replica = sim_reallocate(sim, NULL, 0, sizeof *replica);
    if (replica != NULL)
        *replica = (struct generation_replica){.sim = sim, .plan = *plan};
    return replica;
}

void generation_replica_share(struct generation_replica *replica, struct generation_cost *costs) {
    CONTRACT(replica->capacity == 0, "a replica that has not started yet");
    replica->costs = costs;
}

void generation_replica_free(struct generation_replica *replica) {
    if (replica == NULL)
        return;
    if (replica->block != NULL)
        sim_reallocate(replica->sim, replica->block, replica->block_bytes, 0);
    sim_reallocate(replica->sim, replica, sizeof *replica, 0);
}

/* Makes room for a batch of `count`; what the arrays held is lost. */
static enum sim_status reserve(struct generation_replica *replica, size_t count) {
    if (count <= replica->capacity)
        return SIM_OK;
    if (count >= GENERATION_NO_REQUEST)
        return SIM_NO_MEMORY;
    size_t bytes = generation_batch_bytes(&replica->plan, (uint32_t)count);
    void *block = sim_reallocate(replica->sim, NULL, 0, bytes);
    if (block == NULL)
        return SIM_NO_MEMORY;
    if (replica->block != NULL)
        sim_reallocate(replica->sim, replica->block, replica->block_bytes, 0);
    replica->block = block;
    replica->block_bytes = bytes;
    replica->capacity = (uint32_t)count;
    generation_batch_place(&replica->batch, &replica->plan, (uint32_t)count, block);
    if (replica->costs != NULL)
        replica->batch.costs = replica->costs;
    return SIM_OK;
}

static enum sim_status begin(struct generation_replica *replica,
                             const struct generation_request *requests, size_t count) {
    CONTRACT(!replica->busy, "the replica is still at work");
    enum sim_status status = reserve(replica, count);
    if (status == SIM_OK)
        generation_batch_begin(&replica->batch, requests, (uint32_t)count);
    return status;
}

/* ---- on the calendar ---------------------------------------------------------------------- */

static sim_event_func span_ended;

/* Sums the next span and schedules its end. */
static enum sim_status next_span(struct generation_replica *replica) {
    sim_time length = sim_time_from_s(generation_batch_plan(&replica->batch));
    sim_time end = sim_time_sum(replica->start, length);
    return sim_schedule(replica->sim, end, SIM_PHASE_COMPLETION, span_ended, replica, 0,
                        &replica->span_end);
}

/* Somebody may want to know that requests have ended. */
static void tell(struct generation_replica *replica) {
    size_t ended = replica->batch.ended;
    if (replica->progress == NULL || ended == replica->reported)
        return;
    replica->reported = ended;
    replica->progress(replica->sim, replica->subject, replica->argument, ended);
}

static void span_ended(struct sim *sim, void *subject, uint64_t argument) {
    struct generation_replica *replica = subject;
    (void)argument;
    bool more = generation_batch_finish(&replica->batch);
    tell(replica);
    if (more && !replica->stopping) {
        enum sim_status status = next_span(replica);
        if (status != SIM_OK)
            sim_fail(sim, status);
        return;
    }
    struct generation_outcome outcome;
    generation_batch_outcome(&replica->batch, &outcome);
    replica->busy = false; /* `done` may start the next batch */
    replica->done(sim, replica->subject, replica->argument, &outcome);
}

enum sim_status generation_replica_start(struct generation_replica *replica,
                                         const struct generation_request *requests, size_t count,
                                         generation_done_func *done, void *subject,
                                         uint64_t argument) {
    enum sim_status status = begin(replica, requests, count);
    if (status != SIM_OK)
        return status;
    replica->start = sim_now(replica->sim);
    replica->done = done;
    replica->subject = subject;
    replica->argument = argument;
    replica->stopping = false;
    replica->reported = 0;
    status = next_span(replica);
    replica->busy = status == SIM_OK;
    return status;
}

void generation_replica_listen(struct generation_replica *replica, generation_progress_func *func) {
    replica->progress = func;
}

bool generation_replica_is_busy(const struct generation_replica *replica) {
    return replica->busy;
}

void generation_replica_stop(struct generation_replica *replica) {
    if (!replica->busy || replica->stopping)
        return;
    double now_s = sim_time_to_s(sim_now(replica->sim) - replica->start);
    replica->stopping = true;
    double end_s = generation_batch_cut(&replica->batch, now_s);
    /* stale in the handler of the span's end: then that is where it stops */
    (void)sim_move(replica->sim, replica->span_end,
                   sim_time_sum(replica->start, sim_time_from_s(end_s)));
}

bool generation_replica_has_ended(const struct generation_replica *replica, size_t request) {
    CONTRACT(request < replica->batch.count, "no such request");
    return generation_batch_has_ended(&replica->batch, (uint32_t)request);
}

uint32_t generation_replica_generated(const struct generation_replica *replica, size_t request) {
    CONTRACT(!replica->busy && request < replica->batch.count, "no such request, or not yet done");
    return generation_batch_generated(&replica->batch, (uint32_t)request);
}

double generation_replica_finish_s(const struct generation_replica *replica, size_t request) {
    CONTRACT(!replica->busy && request < replica->batch.count, "no such request, or not yet done");
    return replica->batch.finish_s[request];
}

enum sim_status generation_replica_solve(struct generation_replica *replica,
                                         const struct generation_request *requests, size_t count,
                                         struct generation_outcome *outcome) {
    enum sim_status status = begin(replica, requests, count);
    if (status != SIM_OK)
        return status;
    do
        (void)generation_batch_plan(&replica->batch);
    while (generation_batch_finish(&replica->batch));
    generation_batch_outcome(&replica->batch, outcome);
    return SIM_OK;
}
