/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * A pass of a micro-batch through a chunk is a task (or a run of pieces, where new weights come in
 * or gradients go out); the order on a stage makes it wait for the one before it, and the data for
 * what another stage sends. The graph is built whole, stage by stage, and then played: a step has
 * 2 x micro-batches x chunks passes and as many transfers, 4,096 tasks for 64 micro-batches on 16
 * stages.
 *
 * Left out: a send that shares its links with a reduction, a gather of new weights or a send in the
 * other direction. It would take at most twice as long; with all sends so, published steps of
 * pipelines (290, NVIDIA/dgxc-benchmarking and others) would be forecast 0.2 % longer in the
 * median, 3.5 % at most (12 chunks a stage).
 *
 * tests/oracle/pipeline_twin.c finds the same times without engine or order of events.
 */

#include "models/training/pipeline.h"

#include "sim/contract.h"
#include "sim/task.h"

#include <stdlib.h>

/* ---- the order on a stage -------------------------------------------------------------------- */

struct step {
    bool backward;
    int chunk;
    size_t microbatch;
};

static size_t steps_one_way(const struct training_pipeline *p) {
    return p->microbatches * (size_t)p->chunks_per_stage;
}

/* The k-th forward of a stage, or its k-th backward, which takes the chunks from the last on. */
static struct step step_of(const struct training_pipeline *p, int stage, bool backward, size_t k) {
    size_t stages = (size_t)p->stages, round = stages * (size_t)p->chunks_per_stage;
    int turn = (int)(k % round / stages);
    if (backward)
        turn = p->chunks_per_stage - 1 - turn;
    if (p->chunks_per_stage == 1)
        return (struct step){backward, stage, k};
    return (struct step){backward, turn * p->stages + stage, k / round * stages + k % stages};
}

static size_t warm_up(const struct training_pipeline *p, int stage) {
    size_t all = steps_one_way(p), later = (size_t)(p->stages - 1 - stage);
    if (!p->backward)
        return all;
    size_t forwards = later;
    if (p->chunks_per_stage > 1)
        forwards = 2 * later + (size_t)((p->chunks_per_stage - 1) * p->stages);
    return forwards < all ? forwards : all;
}

/* What a stage does in place i of all its passes: forwards, then the two in turn, then backwards.
 */
static struct step step_at(const struct training_pipeline *p, int stage, size_t i) {
    size_t all = steps_one_way(p), first = warm_up(p, stage);
    if (i < first)
        return step_of(p, stage, false, i);
    size_t in_turn = i - first;
    if (in_turn >= 2 * (all - first))
        return step_of(p, stage, true, i - all);
    bool backward = in_turn % 2 == 1;
    return step_of(p, stage, backward, backward ? in_turn / 2 : first + in_turn / 2);
}

/* ---- building -------------------------------------------------------------------------------- */

/* The first and the last task of a pass. */
struct pass_tasks {
    sim_task_id first, last;
};

struct builder {
    const struct training_pipeline *pipeline;
    struct sim *sim;
    struct pass_tasks *forward, *backward; /* by micro-batch and chunk */
    sim_task_id *tasks;                    /* all, to be released */
    size_t count;
    sim_task_id computing, communicating; /* the last ones on the stage's streams, if any */
    bool computes, communicates;
    sim_resource_id first_sender; /* two a stage */
};

static size_t chunks_of(const struct training_pipeline *p) {
    return (size_t)p->stages * (size_t)p->chunks_per_stage;
}

static size_t place(const struct training_pipeline *p, size_t microbatch, int chunk) {
    return microbatch * chunks_of(p) + (size_t)chunk;
}

static enum sim_status new_task(struct builder *builder, double seconds, sim_task_id *task) {
    struct sim_task_spec spec = {.duration_ns = sim_time_from_s(seconds)};
    enum sim_status status = sim_task_new(builder->sim, &spec, task);
    if (status == SIM_OK)
        builder->tasks[builder->count++] = *task;
    return status;
}

static enum sim_status compute(struct builder *builder, double seconds, sim_task_id *task) {
    enum sim_status status = new_task(builder, seconds, task);
    if (status == SIM_OK && builder->computes)
        status = sim_task_after(builder->sim, *task, builder->computing);
    builder->computing = *task;
    builder->computes = true;
    return status;
}

static enum sim_status communicate(struct builder *builder, double seconds, sim_task_id *task) {
    enum sim_status status = new_task(builder, seconds, task);
    if (status == SIM_OK && builder->communicates)
        status = sim_task_after(builder->sim, *task, builder->communicating);
    builder->communicating = *task;
    builder->communicates = true;
    return status;
}

/* Computation, then the reduction of what it made. */
static enum sim_status add_reducing(struct builder *builder, const struct training_pieces *pieces,
                                    struct pass_tasks *pass) {
    enum sim_status status = SIM_OK;
    for (int i = 0; i < pieces->count && status == SIM_OK; i++) {
        sim_task_id reduction;
        status = compute(builder, pieces->at[i].compute_s, &pass->last);
        if (i == 0)
            pass->first = pass->last;
        if (status == SIM_OK)
            status = communicate(builder, pieces->at[i].communication_s, &reduction);
        if (status == SIM_OK)
            status = sim_task_after(builder->sim, reduction, pass->last);
    }
    return status;
}

/* The gather of new weights, then the computation with them. */
static enum sim_status add_renewing(struct builder *builder, const struct training_pieces *pieces,
                                    struct pass_tasks *pass) {
    enum sim_status status = SIM_OK;
    for (int i = 0; i < pieces->count && status == SIM_OK; i++) {
        sim_task_id gather;
        status = communicate(builder, pieces->at[i].communication_s, &gather);
        if (status == SIM_OK)
            status = compute(builder, pieces->at[i].compute_s, &pass->last);
        if (status == SIM_OK)
            status = sim_task_after(builder->sim, pass->last, gather);
        if (i == 0)
            pass->first = pass->last;
    }
    return status;
}

static enum sim_status add_pass(struct builder *builder, struct step step) {
    const struct training_pipeline *p = builder->pipeline;
    size_t at = place(p, step.microbatch, step.chunk);
    struct pass_tasks *pass = step.backward ? &builder->backward[at] : &builder->forward[at];
    if (!step.backward && step.microbatch == 0 && p->renewing != NULL)
        return add_renewing(builder, &p->renewing[step.chunk], pass);
    if (step.backward && step.microbatch + 1 == p->microbatches && p->reducing != NULL)
        return add_reducing(builder, &p->reducing[step.chunk], pass);
    double seconds = step.backward ? p->backward_s[at] : p->forward_s[at];
    enum sim_status status = compute(builder, seconds, &pass->first);
    pass->last = pass->first;
    return status;
}

static void note_end(struct sim *sim, void *subject, uint64_t argument) {
    (void)argument;
    *(double *)subject = sim_time_to_s(sim_now(sim));
}

/* Notes when both of the tasks are done. */
static enum sim_status add_end(struct builder *builder, const sim_task_id *last, double *end_s) {
    struct sim_task_spec spec = {.on_done = note_end, .subject = end_s};
    sim_task_id end;
    enum sim_status status = sim_task_new(builder->sim, &spec, &end);
    if (status == SIM_OK)
        status = sim_task_after(builder->sim, end, *last);
    if (status == SIM_OK)
        builder->tasks[builder->count++] = end;
    return status;
}

static enum sim_status add_stage(struct builder *builder, int stage,
                                 struct training_stage_end *end) {
    const struct training_pipeline *p = builder->pipeline;
    size_t passes = steps_one_way(p) * (p->backward ? 2 : 1);
    enum sim_status status = SIM_OK;
    builder->computes = builder->communicates = false;
    for (size_t i = 0; i < passes && status == SIM_OK; i++)
        status = add_pass(builder, step_at(p, stage, i));
    if (status == SIM_OK)
        status = add_end(builder, &builder->computing, &end->passes_s);
    if (status == SIM_OK && builder->communicates)
        status = add_end(builder, &builder->communicating, &end->reductions_s);
    return status;
}

/* ---- between stages -------------------------------------------------------------------------- */

static enum sim_status add_send(struct builder *builder, sim_resource_id sender, double seconds,
                                sim_task_id from, sim_task_id to) {
    sim_task_id send;
    if (seconds == 0.0)
        return sim_task_after(builder->sim, to, from);
    enum sim_status status = new_task(builder, seconds, &send);
    if (status == SIM_OK)
        status = sim_task_demand(builder->sim, send, sender, 1);
    if (status == SIM_OK)
        status = sim_task_after(builder->sim, send, from);
    if (status == SIM_OK)
        status = sim_task_after(builder->sim, to, send);
    return status;
}

/* From a chunk to the next, and back. */
static enum sim_status add_sends(struct builder *builder, size_t microbatch, int chunk) {
    const struct training_pipeline *p = builder->pipeline;
    size_t here = place(p, microbatch, chunk), there = here + 1;
    sim_resource_id on = builder->first_sender + 2 * (sim_resource_id)(chunk % p->stages);
    sim_resource_id back =
        builder->first_sender + 2 * (sim_resource_id)((chunk + 1) % p->stages) + 1;
    enum sim_status status = add_send(builder, on, p->send_s[here], builder->forward[here].last,
                                      builder->forward[there].first);
    if (status == SIM_OK && p->backward)
        status = add_send(builder, back, p->send_s[here], builder->backward[there].last,
                          builder->backward[here].first);
    return status;
}

static enum sim_status add_senders(struct builder *builder) {
    enum sim_status status = SIM_OK;
    for (int i = 0; i < 2 * builder->pipeline->stages && status == SIM_OK; i++) {
        sim_resource_id id;
        status = sim_resource_new(builder->sim, "send", 1, SIM_QUEUE_FIFO, &id);
        if (i == 0)
            builder->first_sender = id;
    }
    return status;
}

/* ---- playing --------------------------------------------------------------------------------- */

static enum sim_status build(struct builder *builder, struct training_stage_end *ends) {
    const struct training_pipeline *p = builder->pipeline;
    int chunks = (int)chunks_of(p);
    enum sim_status status = add_senders(builder);
    for (int stage = 0; stage < p->stages && status == SIM_OK; stage++) {
        ends[stage] = (struct training_stage_end){0.0, 0.0};
        status = add_stage(builder, stage, &ends[stage]);
    }
    for (size_t m = 0; m < p->microbatches; m++)
        for (int chunk = 0; chunk + 1 < chunks && status == SIM_OK; chunk++)
            status = add_sends(builder, m, chunk);
    for (size_t i = 0; i < builder->count && status == SIM_OK; i++)
        sim_task_release(builder->sim, builder->tasks[i]);
    return status;
}

/* Passes and their sends in both directions, pieces of two of them a chunk, ends. */
static size_t most_tasks(const struct training_pipeline *p) {
    size_t chunks = chunks_of(p);
    return 4 * p->microbatches * chunks + 4 * TRAINING_PIECES * chunks + 2 * (size_t)p->stages;
}

enum sim_status training_pipeline_play(const struct training_pipeline *p,
                                       struct training_stage_end *ends) {
    CONTRACT(p->stages >= 1 && p->chunks_per_stage >= 1 && p->microbatches >= 1, "no pipeline");
    CONTRACT(p->chunks_per_stage == 1 || p->microbatches % (size_t)p->stages == 0,
             "interleaved, micro-batches come in groups of as many as there are stages");
    size_t passes = p->microbatches * chunks_of(p);
    struct builder builder = {
        .pipeline = p,
        .sim = sim_new(NULL),
        .forward = calloc(passes, sizeof *builder.forward),
        .backward = calloc(passes, sizeof *builder.backward),
        .tasks = calloc(most_tasks(p), sizeof *builder.tasks),
    };
    enum sim_status status = SIM_NO_MEMORY;
    if (builder.sim && builder.forward && builder.backward && builder.tasks)
        status = build(&builder, ends);
    if (status == SIM_OK)
        status = sim_run(builder.sim, SIM_TIME_MAX);
    CONTRACT(status != SIM_DEADLOCK, "a schedule in which stages wait for each other");
    for (int stage = 0; stage < p->stages && status == SIM_OK; stage++)
        if (ends[stage].reductions_s < ends[stage].passes_s)
            ends[stage].reductions_s = ends[stage].passes_s;
    free(builder.tasks);
    free(builder.backward);
    free(builder.forward);
    sim_free(builder.sim);
    return status;
}
