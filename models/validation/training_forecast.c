/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/validation/training_forecast.h"

#include "models/training/chunk.h"
#include "models/training/optimizer.h"
#include "models/training/step.h"

#include <math.h>
#include <string.h>

void training_forecast_software(const struct catalog *catalog, struct training_row *row) {
    size_t count = 0;
    const struct training_coefficient_row *rows = catalog_coefficients(catalog, &count);
    training_coefficients_apply(rows, count, &row->scope, &row->plan.software);
}

double training_forecast_s(const struct training_row *row) {
    struct llm_batch batch =
        llm_batch_of(row->plan.architecture, row->microbatch_sequences, row->sequence_tokens);
    struct training_work work = {&batch, (size_t)row->microbatches, true};
    struct training_step step;
    bool made = training_step(&row->plan, &work, &step) == SIM_OK;
    return made ? step.total_s : (double)NAN;
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
    struct llm_batch batch =
        llm_batch_of(plan->architecture, row->microbatch_sequences, row->sequence_tokens);
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

/* Whether a coefficient was fitted to steps of the family and of the generation of GPUs. */
static bool is_calibrated(const struct training_coefficient_row *rows, size_t count,
                          const struct training_row *row, const char *word) {
    for (size_t i = 0; i < count; i++)
        if (rows[i].fitted && strstr(rows[i].scope, word) != NULL &&
            training_scope_fits(rows[i].scope, &row->scope))
            return true;
    return false;
}

const char *training_forecast_provenance(const struct catalog *catalog,
                                         const struct training_row *row) {
    size_t count = 0;
    const struct training_coefficient_row *rows = catalog_coefficients(catalog, &count);
    const char *generation = training_generation(row->cluster.gpu.name);
    bool known = *generation != '\0' && is_calibrated(rows, count, row, generation) &&
                 is_calibrated(rows, count, row, row->family);
    return known ? "interpolated" : "extrapolated";
}
