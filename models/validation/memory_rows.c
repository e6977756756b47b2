/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/validation/memory_rows.h"

#include "models/base/text.h"
#include "models/forecast/verdict.h"
#include "models/training/footprint.h"
#include "models/validation/stated.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GIBIBYTE 1073741824.0
#define GIGABYTE 1e9

/* Moments of 8 bits with a scale for every block of 256. */
#define EIGHT_BIT_MOMENTS 2.03

void memory_measured_read(const char *figure, const char *unit, struct memory_measured *measured) {
    double number;
    *measured = (struct memory_measured){0};
    if (strcmp(figure, "OOM") == 0) {
        measured->outcome = true;
    } else if (base_number_read(figure, &number) == BASE_NUMBER_OK && number > 0.0) {
        *measured = (struct memory_measured){
            true, true, number * (strcmp(unit, "GiB") == 0 ? GIBIBYTE : GIGABYTE), true};
    }
}

/* ---- remarks --------------------------------------------------------------------------------- */

static bool says(const char *notes, const char *words) {
    return strstr(notes, words) != NULL;
}

/* torchtune's ladder: each step keeps what the ones before it brought. */
static void read_ladder(const char *notes, struct training_row *row) {
    static const char *const steps[] = {"baseline",
                                        "+ Packed Dataset",
                                        "+ Compile",
                                        "+ Chunked Cross Entropy",
                                        "+ Activation Checkpointing",
                                        "+ Fuse optimizer",
                                        "+ Activation Offloading",
                                        "+ 8-bit AdamW"};
    const char *step = strstr(notes, "step in cumulative ladder: ");
    size_t height = 0, count = sizeof steps / sizeof *steps;
    if (step == NULL)
        return;
    step = strchr(step, ':') + 2;
    while (height < count && strncmp(step, steps[height], strlen(steps[height])) != 0)
        height++;
    struct training_plan *plan = &row->plan;
    if (height == 0)
        (void)snprintf(row->reason, sizeof row->reason,
                       "not stated: lengths of unpacked sequences");
    plan->fusion = height < 2 ? TRAINING_FUSION_EAGER : TRAINING_FUSION_COMPILED;
    plan->logits = height < 3 ? TRAINING_LOGITS_WHOLE : TRAINING_LOGITS_CHUNKED;
    row->said.updates_in_backward = height >= 5 && height < count;
    plan->offload_activations = height >= 6;
    if (height == 7)
        row->said.moment_bytes = EIGHT_BIT_MOMENTS;
}

void memory_remarks_read(const char *notes, struct training_row *row) {
    struct training_plan *plan = &row->plan;
    const char *runs = strstr(notes, "sized for ");
    long count = runs == NULL ? 0 : strtol(runs + strlen("sized for "), NULL, 10);
    if (says(notes, "offloaded to the CPU"))
        plan->offload_activations = true;
    if (plan->lora_rank > 0 && count > 1 && count < 100)
        plan->lora_rank *= count;
    if (says(notes, "without Liger")) { /* its fused kernels */
        plan->logits = TRAINING_LOGITS_WHOLE;
        plan->fusion = TRAINING_FUSION_EAGER;
    }
    /* "Rebalancing layers" in BigScience's chronicles: "from now on" gradients of bf16 are
     * accumulated in fp32, "4bytes x params", on every GPU. */
    if (says(notes, "section=Rebalancing layers"))
        row->said.gradient_bytes = 6.0;
    read_ladder(notes, row);
}

/* Recipes of these choose between Adam in bf16 or 8 bits, paged or fused into the backward, and
 * SGD: full training without a word about it can be any (a factor of three in memory). */
static bool lacks_optimizer(const struct training_row *row, const char *notes) {
    static const char *const families[] = {"litgpt", "torchtune"};
    if (row->plan.lora_rank > 0 || says(notes, "Adam") ||
        says(notes, "step in cumulative ladder")) /* which begins with Adam */
        return false;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (strcmp(row->scope.family, families[i]) == 0)
            return true;
    return false;
}

/* ---- rows ------------------------------------------------------------------------------------ */

void memory_row_apply(const struct training_memory_row *rows, size_t count,
                      struct training_row *row) {
    struct training_plan *plan = &row->plan;
    const struct training_memory *said = &row->said;
    row->scope.fusion = plan->fusion;
    plan->base_bytes = row->said_base_bytes;
    training_memory_apply(rows, count, &row->scope, plan);
    if (said->gradient_bytes > 0.0)
        plan->memory.gradient_bytes = said->gradient_bytes;
    if (said->moment_bytes > 0.0)
        plan->memory.moment_bytes = said->moment_bytes;
    plan->memory.updates_in_backward = said->updates_in_backward;
    plan->memory.streams_weights = said->streams_weights;
}

void memory_row_read(const struct catalog *catalog, const struct training_cells *cells,
                     struct training_row *row) {
    struct training_cells stated = *cells;
    row->only_memory = true;
    stated_cells_fill(catalog, &stated);
    training_row_read(catalog, &stated, row);
    if (row->reason[0] != '\0' || !stated_row_fill(catalog, cells, row))
        return;
    if (row->lora_rank > 0)
        row->plan.lora_rank = row->lora_rank;
    if (row->whole_logits)
        row->plan.logits = TRAINING_LOGITS_WHOLE;
    if (lacks_optimizer(row, cells->text[TRAINING_NOTE_TEXT]) &&
        !stated_optimizer(catalog, cells)) {
        (void)snprintf(row->reason, sizeof row->reason, "not stated: optimizer");
        return;
    }
    row->said = (struct training_memory){.streams_weights = row->plan.memory.streams_weights};
    row->said_base_bytes = row->plan.base_bytes;
    memory_remarks_read(cells->text[TRAINING_NOTE_TEXT], row);
    size_t count;
    const struct training_memory_row *rows = catalog_memory(catalog, &count);
    memory_row_apply(rows, count, row);
}

/* The whole model beside the part of it that a rank keeps. */
static double loading_bytes(const struct training_plan *plan) {
    int ranks = plan->shard_ranks > 0 ? plan->shard_ranks : plan->dp * plan->cp;
    double bytes = hardware_precision_bytes(plan->precision);
    double whole = (double)llm_parameters(plan->architecture, LLM_HEAD_VOCABULARY) *
                   (plan->base_bytes > 0.0 ? plan->base_bytes : bytes);
    return whole * (1.0 + (plan->zero_stage == 3 ? 1.0 / ranks : 0.0));
}

void memory_row_forecast(const struct catalog *catalog, const struct training_row *row,
                         struct memory_forecast *forecast) {
    size_t count;
    const struct training_memory_row *rows = catalog_memory(catalog, &count);
    memory_row_forecast_with(rows, count, row, forecast);
}

void memory_row_forecast_with(const struct training_memory_row *rows, size_t count,
                              const struct training_row *row, struct memory_forecast *forecast) {
    const struct training_plan *plan = &row->plan;
    struct llm_batch batch =
        llm_batch_of(plan->architecture, row->microbatch_sequences, row->sequence_tokens);
    double most = 0.0;
    for (int stage = 0; stage < plan->pp; stage++)
        most = fmax(most, training_update_bytes(plan, stage, &batch, (double)row->microbatches));
    if (row->loads_whole)
        most = fmax(most, loading_bytes(plan));
    forecast->counted_bytes = training_counted_bytes(rows, count, &row->scope, row->counts, most);
    forecast->needed_bytes = training_needed_bytes(rows, count, &row->scope, most);
    double capacity = row->cluster.gpu.memory_bytes;
    double spread = training_memory_value(rows, count, TRAINING_MEMORY_SPREAD, &row->scope);
    if (!forecast_fit_is_marginal(forecast->needed_bytes, capacity))
        spread = 0.0;
    forecast->fit_probability = forecast_fit_probability(forecast->needed_bytes, capacity, spread);
}
