/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/validation/training_forecast.h"

#include "models/training/chunk.h"
#include "models/training/optimizer.h"
#include "models/training/step.h"

#include <math.h>

void training_forecast_software(const struct catalog *catalog, struct training_row *row) {
    size_t count = 0;
    const struct training_coefficient_row *rows = catalog_coefficients(catalog, &count);
    training_coefficients_apply(rows, count, &row->scope, &row->plan.software);
}

/* Seconds of a step of `count` equal micro-batches; NAN without memory. */
static double step_s(const struct training_row *row, const struct llm_batch *batch, int64_t count) {
    struct training_work work = {batch, (size_t)count, true};
    struct training_step step;
    if (training_step(&row->plan, &work, &step) != SIM_OK)
        return (double)NAN;
    return step.total_s;
}

/* A pipeline that is full repeats itself with every round of pp equal micro-batches, so that its
 * time is linear in the rounds: two short steps give any long one. */
#define FULL_ROUNDS 2

double training_forecast_s(const struct training_row *row) {
    double sequences = row->microbatch_sequences, tokens = sequences * row->sequence_tokens;
    struct llm_batch batch = {sequences, tokens,
                              sequences * llm_causal_pairs(row->sequence_tokens, 0.0), tokens};
    int64_t round = row->plan.pp, rounds = row->microbatches / round;
    if (rounds <= FULL_ROUNDS + 1)
        return step_s(row, &batch, row->microbatches);
    int64_t few = row->microbatches - (rounds - FULL_ROUNDS) * round;
    double first_s = step_s(row, &batch, few), second_s = step_s(row, &batch, few + round);
    return first_s + (double)(rounds - FULL_ROUNDS) * (second_s - first_s);
}

/* A micro-batch on one stage, and what it takes longer when gradients are reduced with it. */
static double stage_s(const struct training_pass *pass, int stage, double *tail_s) {
    const struct training_plan *plan = pass->plan;
    int64_t blocks[TRAINING_SEGMENTS];
    struct training_cost forward = {0}, backward = {0}, reducing = {0};
    training_stage_blocks(plan, stage, blocks);
    training_pass_forward(pass, blocks, &forward);
    training_pass_backward(pass, blocks, training_reduces(plan, false), &backward);
    training_pass_backward(pass, blocks, true, &reducing);
    *tail_s = fmax(*tail_s, reducing.total_s - backward.total_s);
    return forward.total_s + backward.total_s + 2.0 * plan->software.microbatch_host_s;
}

double training_forecast_quick_s(const struct training_row *row) {
    const struct training_plan *plan = &row->plan;
    double sequences = row->microbatch_sequences, tokens = sequences * row->sequence_tokens;
    struct llm_batch batch = {sequences, tokens,
                              sequences * llm_causal_pairs(row->sequence_tokens, 0.0), tokens};
    struct training_pass pass;
    struct training_cost optimizer;
    double busiest_s = 0.0, sum_s = 0.0, tail_s = 0.0, pp = (double)plan->pp;
    training_pass_make(plan, &batch, true, &pass);
    for (int stage = 0; stage < plan->pp; stage++) {
        double seconds = stage_s(&pass, stage, &tail_s);
        busiest_s = fmax(busiest_s, seconds);
        sum_s += seconds;
    }
    training_optimizer(plan, &optimizer);
    double filling_s = (pp - 1.0) / (double)plan->vpp * sum_s / pp;
    return ((double)row->microbatches * busiest_s + filling_s + tail_s) * training_jitter(plan) +
           optimizer.total_s;
}

const char *training_forecast_provenance(const struct training_row *row) {
    (void)row;
    return "interpolated";
}
