/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Each distinct micro-batch is costed once per chunk (pass.h); the durations are laid out as the
 * schedule wants them and played (pipeline.h). In the last micro-batch of a plan with resident
 * weights the reductions are tasks of their own, so that they run behind whatever the stage still
 * does; in all others, and where weights are gathered block by block, communication is in the
 * duration of the pass by the closed forms of overlap.h.
 *
 * Stages add up the norm of all gradients before any of them updates: the optimizer starts when the
 * last reduction is over.
 *
 * Many equal micro-batches are periodic: once the pipeline is full, every group of as many as there
 * are stages takes equally long. Three short steps, each a group longer, tell that period; where
 * the last two groups took the same, the groups that are left are added, else all are played: nine
 * groups in place of all of them.
 *
 * Left out: reductions and gathers of one chunk behind passes of another (but for the last
 * micro-batch); a first stage that starts its next step while the last one still updates.
 */

#include "models/training/step.h"

#include "models/training/chunk.h"
#include "models/training/flops.h"
#include "models/training/links.h"
#include "models/training/pipeline.h"
#include "sim/contract.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- one micro-batch in every chunk ---------------------------------------------------------- */

/* What a chunk does with a micro-batch. */
struct chunk {
    int64_t blocks[TRAINING_SEGMENTS];
    struct training_cost forward, later;     /* of the first micro-batch, of the others */
    struct training_cost backward, reducing; /* without and with reduction */
};

struct table {
    const struct training_plan *plan;
    struct training_frame frame;
    bool backward;
    int chunk_count;
    size_t microbatches; /* with the empty ones */
    struct chunk *chunks;
    double *forward_s, *backward_s, *send_s;
    struct training_pieces *renewing, *reducing;
    struct training_stage_end *ends;
    struct training_cost *stages; /* sums of what each stage does */
    double *stage_s;              /* seconds of that */
    double sent_bytes;            /* between stages, of all of them */
    double sent_zone_bytes;       /* of these, from zone to zone, a GPU of the plan */
    struct llm_batch batch;       /* what `chunks` were costed for */
    bool costed;
};

/* Gradients of the last micro-batch are reduced as tasks of their own. */
static bool reduces_apart(const struct training_plan *plan) {
    return plan->zero_stage < TRAINING_SHARDED_WEIGHTS;
}

/* In a pipeline weights that are not dropped after a forward stay until the end of the step: the
 * next micro-batch's forward comes before the backward. */
static bool keeps_weights(const struct training_plan *plan) {
    return plan->pp > 1 && !plan->reshard_after_forward;
}

static void cost_later_forward(const struct training_pass *pass, struct chunk *chunk) {
    struct training_pass kept = *pass;
    chunk->later = chunk->forward;
    if (!keeps_weights(pass->plan))
        return;
    for (int i = 0; i < kept.count; i++)
        kept.forward[i].gather_s = kept.forward[i].gather_bytes = 0.0,
        kept.forward[i].gather_zone_bytes = 0.0;
    chunk->later = (struct training_cost){0};
    training_pass_forward(&kept, chunk->blocks, &chunk->later);
}

static void cost_chunk(const struct table *table, const struct training_pass *pass,
                       struct chunk *chunk) {
    chunk->forward = chunk->backward = chunk->reducing = (struct training_cost){0};
    training_pass_forward(pass, chunk->blocks, &chunk->forward);
    cost_later_forward(pass, chunk);
    if (!table->backward)
        return;
    training_pass_backward(pass, chunk->blocks, false, &chunk->backward);
    training_pass_backward(pass, chunk->blocks, true, &chunk->reducing);
}

/* Host time of a pass is shared out to the chunks that a stage does it in. */
static double host_s(const struct training_plan *plan) {
    return plan->software.microbatch_host_s / (double)plan->vpp;
}

static void cost_batch(struct table *table, const struct llm_batch *batch,
                       struct training_pass *pass) {
    if (table->costed && memcmp(batch, &table->batch, sizeof *batch) == 0)
        return;
    training_pass_in(&table->frame, batch, table->backward, pass);
    for (int c = 0; c < table->chunk_count; c++)
        cost_chunk(table, pass, &table->chunks[c]);
    table->batch = *batch;
    table->costed = true;
}

/* ---- laying out ------------------------------------------------------------------------------ */

static void add_cost(struct training_cost *sum, const struct training_cost *cost) {
    sum->compute_s += cost->compute_s;
    sum->exposed.tensor_s += cost->exposed.tensor_s;
    sum->exposed.context_s += cost->exposed.context_s;
    sum->exposed.expert_s += cost->exposed.expert_s;
    sum->exposed.data_s += cost->exposed.data_s;
    sum->exposed.offload_s += cost->exposed.offload_s;
    sum->bytes += cost->bytes;
    sum->data_bytes += cost->data_bytes;
    sum->zone_bytes += cost->zone_bytes;
}

static void lay_pieces(const struct training_plan *plan, const struct training_pass *pass,
                       const int64_t *blocks, bool reducing, struct training_pieces *pieces) {
    pieces->count = reducing ? training_pass_reducing(pass, blocks, pieces->at)
                             : training_pass_renewing(pass, blocks, pieces->at);
    if (pieces->count == 0)
        pieces->at[pieces->count++] = (struct training_piece){0.0, 0.0};
    pieces->at[0].compute_s += host_s(plan);
}

static void lay_forward(struct table *table, size_t place, int stage,
                        const struct training_cost *cost) {
    double seconds = cost->total_s + host_s(table->plan);
    table->forward_s[place] = seconds;
    table->stage_s[stage] += seconds;
    add_cost(&table->stages[stage], cost);
}

static void lay_backward(struct table *table, size_t place, int stage, bool last,
                         const struct chunk *chunk) {
    bool reduce = training_reduces(table->plan, last);
    bool apart = last && reduces_apart(table->plan);
    const struct training_cost *cost = reduce && !apart ? &chunk->reducing : &chunk->backward;
    double seconds = cost->total_s + host_s(table->plan);
    table->backward_s[place] = seconds;
    table->stage_s[stage] += seconds;
    add_cost(&table->stages[stage], cost);
    if (!apart)
        return;
    double bytes = chunk->reducing.data_bytes - chunk->backward.data_bytes;
    table->stages[stage].bytes += bytes;
    table->stages[stage].data_bytes += bytes;
    table->stages[stage].zone_bytes += chunk->reducing.zone_bytes - chunk->backward.zone_bytes;
}

/* Micro-batch `m` of the rank in place `at` of the schedule. */
static void lay_microbatch(struct table *table, const struct llm_batch *batch, size_t at,
                           bool first, bool last) {
    const struct training_plan *plan = table->plan;
    struct training_pass pass;
    size_t chunks = (size_t)table->chunk_count;
    cost_batch(table, batch, &pass);
    if ((first && table->renewing) || (last && table->reducing))
        training_pass_in(&table->frame, batch, table->backward, &pass);
    for (int c = 0; c < table->chunk_count; c++) {
        size_t place = at * chunks + (size_t)c;
        int stage = c % plan->pp;
        const struct chunk *chunk = &table->chunks[c];
        lay_forward(table, place, stage, first ? &chunk->forward : &chunk->later);
        table->send_s[place] = training_send_s(plan, batch, stage);
        if (c + 1 < table->chunk_count)
            table->sent_zone_bytes +=
                (table->backward ? 2.0 : 1.0) * training_send_zone_bytes(plan, batch, stage);
        if (table->backward)
            lay_backward(table, place, stage, last, chunk);
        if (first && table->renewing)
            lay_pieces(plan, &pass, chunk->blocks, false, &table->renewing[c]);
        if (last && table->reducing)
            lay_pieces(plan, &pass, chunk->blocks, true, &table->reducing[c]);
    }
    double sends = (double)(table->chunk_count - 1) * (table->backward ? 2.0 : 1.0);
    if (plan->pp > 1)
        table->sent_bytes += sends * training_send_bytes(plan, batch);
}

/* Empty micro-batches, if any, come before the last one. */
static void lay_work(struct table *table, const struct training_work *work) {
    for (size_t m = 0; m < work->count; m++) {
        bool last = m + 1 == work->count;
        const struct llm_batch *batch = work->equal ? work->batches : work->batches + m;
        lay_microbatch(table, batch, last ? table->microbatches - 1 : m, m == 0, last);
    }
    if (work->count > 1 || table->microbatches == 1 || !table->renewing)
        return;
    for (int c = 0; c < table->chunk_count; c++) /* the first one is empty */
        for (int i = 0; i < table->renewing[c].count; i++)
            table->renewing[c].at[i].compute_s = 0.0;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void table_free(struct table *table) {
    free(table->stage_s);
    free(table->stages);
    free(table->ends);
    free(table->reducing);
    free(table->renewing);
    free(table->send_s);
    free(table->backward_s);
    free(table->forward_s);
    free(table->chunks);
}

static size_t filled_up(const struct training_plan *plan, size_t count) {
    size_t group = plan->vpp > 1 ? (size_t)plan->pp : 1;
    return (count + group - 1) / group * group;
}

static bool table_new(const struct training_plan *plan, size_t count, bool backward,
                      struct table *table) {
    size_t chunks = (size_t)training_chunks(plan), stages = (size_t)plan->pp;
    size_t microbatches = filled_up(plan, count), passes = microbatches * chunks;
    bool renews = backward && plan->overlap_update && training_renews(plan);
    bool reduces = backward && reduces_apart(plan);
    *table = (struct table){.plan = plan,
                            .backward = backward,
                            .chunk_count = (int)chunks,
                            .microbatches = microbatches,
                            .chunks = calloc(chunks, sizeof *table->chunks),
                            .forward_s = calloc(passes, sizeof(double)),
                            .backward_s = calloc(passes, sizeof(double)),
                            .send_s = calloc(passes, sizeof(double)),
                            .ends = calloc(stages, sizeof *table->ends),
                            .stages = calloc(stages, sizeof *table->stages),
                            .stage_s = calloc(stages, sizeof(double))};
    if (renews)
        table->renewing = calloc(chunks, sizeof *table->renewing);
    if (reduces)
        table->reducing = calloc(chunks, sizeof *table->reducing);
    if (table->chunks && table->forward_s && table->backward_s && table->send_s && table->ends &&
        table->stages && table->stage_s && (table->renewing || !renews) &&
        (table->reducing || !reduces)) {
        training_frame_make(plan, backward, &table->frame);
        for (int c = 0; c < table->chunk_count; c++)
            training_chunk_blocks(plan, c, table->chunks[c].blocks);
        return true;
    }
    table_free(table);
    return false;
}

/* ---- the sum --------------------------------------------------------------------------------- */

static int busiest(const struct table *table) {
    int most = 0;
    for (int stage = 1; stage < table->plan->pp; stage++)
        if (table->stage_s[stage] > table->stage_s[most])
            most = stage;
    return most;
}

static void sum_seconds(const struct table *table, size_t count, struct training_step *step) {
    int stage = busiest(table);
    const struct training_cost *cost = &table->stages[stage];
    double passes_s = 0.0, directions = table->backward ? 2.0 : 1.0;
    for (int s = 0; s < table->plan->pp; s++) {
        passes_s = fmax(passes_s, table->ends[s].passes_s);
        step->total_s = fmax(step->total_s, table->ends[s].reductions_s);
    }
    step->compute_s = cost->compute_s;
    step->host_s = directions * (double)count * table->plan->software.microbatch_host_s;
    step->tensor_s = cost->exposed.tensor_s;
    step->context_s = cost->exposed.context_s;
    step->expert_s = cost->exposed.expert_s;
    step->gather_s = cost->exposed.data_s;
    step->offload_s = cost->exposed.offload_s;
    step->reduction_s = step->total_s - passes_s;
    step->bubble_s = passes_s - table->stage_s[stage];
}

static void sum_bytes(const struct table *table, struct training_step *step) {
    step->bytes = table->sent_bytes;
    for (int s = 0; s < table->plan->pp; s++) {
        step->bytes += table->stages[s].bytes;
        step->data_bytes += table->stages[s].data_bytes;
        step->zone_bytes += table->stages[s].zone_bytes;
    }
    step->bytes /= (double)table->plan->pp;
    step->data_bytes /= (double)table->plan->pp;
    step->zone_bytes = step->zone_bytes / (double)table->plan->pp + table->sent_zone_bytes;
}

static void sum_flops(const struct training_plan *plan, const struct training_work *work,
                      bool backward, struct training_step *step) {
    double times = work->equal ? (double)work->count : 1.0;
    for (size_t m = 0; m < (work->equal ? 1 : work->count); m++) {
        const struct llm_batch *batch = work->batches + m;
        double flops = training_forward_flops(plan, batch), again = 0.0;
        if (backward) {
            flops += training_backward_flops(plan, batch);
            again = training_recompute_flops(plan, batch);
        }
        step->flops += times * flops;
        step->hardware_flops += times * (flops + again);
    }
}

static void scale(double factor, struct training_step *step) {
    step->total_s *= factor;
    step->compute_s *= factor;
    step->host_s *= factor;
    step->tensor_s *= factor;
    step->context_s *= factor;
    step->expert_s *= factor;
    step->gather_s *= factor;
    step->offload_s *= factor;
    step->bubble_s *= factor;
    step->reduction_s *= factor;
}

static enum sim_status play_all(const struct training_plan *plan, const struct training_work *work,
                                bool backward, struct training_step *step) {
    struct table table;
    CONTRACT(work->count >= 1, "a step has micro-batches");
    *step = (struct training_step){0};
    if (!table_new(plan, work->count, backward, &table))
        return SIM_NO_MEMORY;
    lay_work(&table, work);
    struct training_pipeline pipeline = {.stages = plan->pp,
                                         .chunks_per_stage = plan->vpp,
                                         .microbatches = table.microbatches,
                                         .backward = backward,
                                         .forward_s = table.forward_s,
                                         .backward_s = table.backward_s,
                                         .send_s = table.send_s,
                                         .renewing = table.renewing,
                                         .reducing = table.reducing};
    enum sim_status status = training_pipeline_play(&pipeline, table.ends);
    if (status == SIM_OK) {
        sum_seconds(&table, work->count, step);
        sum_bytes(&table, step);
        sum_flops(plan, work, backward, step);
        scale(backward ? training_update_factor(plan) : training_jitter(plan), step);
    }
    table_free(&table);
    return status;
}

/* ---- many equal micro-batches ---------------------------------------------------------------- */

#define SHORTEST_GROUPS 2 /* of the first of three short steps */
#define LONG_GROUPS 14    /* from here on three short steps are less than the whole */

/* Differences of times that were each rounded to nanoseconds. */
#define SAME_S 1e-8

/* step + times x (step - before). */
static void add_groups(struct training_step *step, const struct training_step *before,
                       double times) {
    struct training_step s = *step;
    step->total_s += times * (s.total_s - before->total_s);
    step->compute_s += times * (s.compute_s - before->compute_s);
    step->host_s += times * (s.host_s - before->host_s);
    step->tensor_s += times * (s.tensor_s - before->tensor_s);
    step->context_s += times * (s.context_s - before->context_s);
    step->expert_s += times * (s.expert_s - before->expert_s);
    step->gather_s += times * (s.gather_s - before->gather_s);
    step->offload_s += times * (s.offload_s - before->offload_s);
    step->bubble_s += times * (s.bubble_s - before->bubble_s);
    step->reduction_s += times * (s.reduction_s - before->reduction_s);
    step->flops += times * (s.flops - before->flops);
    step->hardware_flops += times * (s.hardware_flops - before->hardware_flops);
    step->bytes += times * (s.bytes - before->bytes);
    step->data_bytes += times * (s.data_bytes - before->data_bytes);
    step->zone_bytes += times * (s.zone_bytes - before->zone_bytes);
}

static bool are_periodic(const struct training_step steps[3]) {
    double earlier_s = steps[1].total_s - steps[0].total_s;
    double later_s = steps[2].total_s - steps[1].total_s;
    double reduction_s = steps[2].reduction_s - steps[1].reduction_s;
    return fabs(later_s - earlier_s) <= SAME_S && fabs(reduction_s) <= SAME_S;
}

static enum sim_status play(const struct training_plan *plan, const struct training_work *work,
                            bool backward, struct training_step *step) {
    size_t group = (size_t)plan->pp, groups = work->count / group;
    struct training_step steps[3];
    enum sim_status status = SIM_OK;
    if (!work->equal || groups < LONG_GROUPS)
        return play_all(plan, work, backward, step);
    for (size_t i = 0; i < 3 && status == SIM_OK; i++) {
        struct training_work part = *work;
        part.count = (SHORTEST_GROUPS + i) * group + work->count % group;
        status = play_all(plan, &part, backward, &steps[i]);
    }
    if (status != SIM_OK)
        return status;
    if (!are_periodic(steps))
        return play_all(plan, work, backward, step);
    *step = steps[2];
    add_groups(step, &steps[1], (double)(groups - SHORTEST_GROUPS - 2));
    return SIM_OK;
}

/* ---- steps ----------------------------------------------------------------------------------- */

enum sim_status training_step_passes(const struct training_plan *plan,
                                     const struct training_work *work, struct training_step *step) {
    CONTRACT(plan->trained, "a frozen model is not updated");
    return play(plan, work, true, step);
}

enum sim_status training_step_forward(const struct training_plan *plan,
                                      const struct training_work *work,
                                      struct training_step *step) {
    return play(plan, work, false, step);
}

enum sim_status training_step(const struct training_plan *plan, const struct training_work *work,
                              struct training_step *step) {
    struct training_cost optimizer;
    enum sim_status status = training_step_passes(plan, work, step);
    if (status != SIM_OK)
        return status;
    training_optimizer(plan, &optimizer);
    step->optimizer_s = optimizer.total_s;
    step->total_s += optimizer.total_s;
    for (int stage = 0; stage < plan->pp && training_renews(plan); stage++) {
        double bytes = training_renew_bytes(plan, stage) / (double)plan->pp;
        step->bytes += bytes;
        step->data_bytes += bytes;
    }
    step->zone_bytes += optimizer.zone_bytes;
    return SIM_OK;
}
