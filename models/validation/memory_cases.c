/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/validation/memory_cases.h"

#include "models/base/text.h"
#include "models/forecast/planning.h"
#include "models/forecast/verdict.h"
#include "models/validation/run_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    struct validation_run *run;
    const struct csv_table *table;
};

static const char *cell(const struct reading *reading, const struct csv_row *row,
                        const char *name) {
    return validation_cell(row, validation_column(reading->table, name));
}

static double number(const struct reading *reading, const struct csv_row *row, const char *name) {
    double value;
    return base_number_read(cell(reading, row, name), &value) == BASE_NUMBER_OK && value > 0.0
               ? value
               : (double)NAN;
}

/* ---- a trainer alone ------------------------------------------------------------------------- */

static bool is_trainer(const char *algorithm) {
    return strcmp(algorithm, "train_step") == 0 || strcmp(algorithm, "sft") == 0;
}

static const char *sharding_word(const char *stage) {
    static const char *const words[] = {"none", "ZeRO-1", "ZeRO-2", "ZeRO-3"};
    return strlen(stage) == 1 && *stage >= '0' && *stage <= '3' ? words[*stage - '0'] : "";
}

static struct training_cells trainer_cells(const struct reading *reading,
                                           const struct csv_row *row) {
    struct training_cells cells = {
        .text = {[TRAINING_SOURCE_TEXT] = cell(reading, row, "source_key"),
                 [TRAINING_MODEL] = cell(reading, row, "actor_model"),
                 [TRAINING_GPU] = cell(reading, row, "gpu"),
                 [TRAINING_SHARDING] = sharding_word(cell(reading, row, "zero_stage")),
                 [TRAINING_PRECISION] = cell(reading, row, "train_precision"),
                 [TRAINING_RECOMPUTATION] = cell(reading, row, "recompute"),
                 [TRAINING_NOTE_TEXT] = cell(reading, row, "notes")}};
    for (int i = 0; i < TRAINING_NUMBERS; i++)
        cells.number[i] = (double)NAN;
    cells.number[TRAINING_NUM_GPUS] = number(reading, row, "num_gpus");
    cells.number[TRAINING_SEQ_LEN] = number(reading, row, "max_response_tokens");
    cells.number[TRAINING_MICROBATCH] = number(reading, row, "microbatch_samples");
    cells.number[TRAINING_TP] = number(reading, row, "train_tp");
    cells.number[TRAINING_PP] = number(reading, row, "train_pp");
    cells.number[TRAINING_CP] = number(reading, row, "train_cp");
    cells.number[TRAINING_EP] = number(reading, row, "train_ep");
    cells.number[TRAINING_VPP] = number(reading, row, "train_vpp");
    return cells;
}

static void read_outcome(const struct reading *reading, const struct csv_row *row,
                         struct memory_measured *measured) {
    const char *outcome = cell(reading, row, "outcome");
    *measured = (struct memory_measured){0};
    if (strcmp(outcome, "peak_gb") == 0)
        memory_measured_read(cell(reading, row, "value"), cell(reading, row, "unit"), measured);
    else if (strcmp(outcome, "fits") == 0 || strcmp(outcome, "oom") == 0)
        *measured = (struct memory_measured){.outcome = true, .fits = *outcome == 'f'};
}

/* Adapters of the column; the loss of supervised training has all logits at once. */
static void read_trainer(const struct catalog *catalog, const struct reading *reading,
                         const struct csv_row *row, struct training_row *plan) {
    struct training_cells cells = trainer_cells(reading, row);
    double rank = number(reading, row, "lora_rank");
    *plan =
        (struct training_row){.lora_rank = isnan(rank) ? 0 : (int64_t)rank,
                              .whole_logits = strcmp(cell(reading, row, "algorithm"), "sft") == 0};
    memory_row_read(catalog, &cells, plan);
}

bool memory_case_trainer(const struct catalog *catalog, const struct csv_table *table,
                         const struct csv_row *row, struct training_row *plan,
                         struct memory_measured *measured) {
    struct reading reading = {NULL, table};
    if (!is_trainer(cell(&reading, row, "algorithm")))
        return false;
    read_outcome(&reading, row, measured);
    read_trainer(catalog, &reading, row, plan);
    return true;
}

static void forecast_trainer(const struct reading *reading, const struct csv_row *row,
                             struct memory_case *found) {
    struct training_row plan;
    struct memory_forecast forecast;
    read_trainer(reading->run->catalog, reading, row, &plan);
    memcpy(found->reason, plan.reason, sizeof found->reason);
    if (plan.reason[0] != '\0')
        return;
    memory_row_forecast(reading->run->catalog, &plan, &forecast);
    found->peak_bytes = forecast.counted_bytes;
    found->counted = true;
    found->counts = plan.counts;
    found->fits = forecast.fit_probability;
}

/* ---- a whole run ----------------------------------------------------------------------------- */

/* What the trainer's allocator sees: models and its reserve, not the engine's pool. */
static double trainer_peak(const struct forecast_plan *plan) {
    double most = 0.0;
    for (size_t i = 0; i < plan->step_count; i++) {
        double sum = plan->memory[i].gpu[FORECAST_OWNER_SYSTEM][FORECAST_CATEGORY_RESERVE];
        for (int role = 0; role < ALGORITHM_ROLE_COUNT; role++)
            for (int category = 0; category < FORECAST_CATEGORY_COUNT; category++)
                sum += plan->memory[i].gpu[role][category];
        most = fmax(most, sum);
    }
    return most;
}

/* The engine's share of a GPU is not in the table: the first of these that holds its weights and
 * one sequence. */
static const char *const shares[] = {"0.5", "0.6", "0.7", "0.8", "0.9"};

/* Until pull request 1100 the entropy was in every update of verl, whatever its coefficient: issues
 * have numbers of the same sequence. */
#define VERL_ENTROPY_LEFT 1100

static bool has_entropy(const char *notes) {
    const char *issue = strstr(notes, "verl issue ");
    return issue != NULL && atoi(issue + strlen("verl issue ")) < VERL_ENTROPY_LEFT;
}

static enum rlhfsim_status plan_run(const struct reading *reading, struct run_settings *settings,
                                    struct forecast_plan *plan, struct memory_case *found) {
    size_t count = settings->count, share_count = sizeof shares / sizeof *shares;
    for (size_t i = 0; i < share_count && settings->reason[0] == '\0'; i++) {
        struct rlhfsim_scenario *scenario = NULL;
        settings->count = count;
        (void)snprintf(settings->at[settings->count++], RUN_SETTING_SIZE,
                       "rollout.memory_fraction=%s", shares[i]);
        if (run_scenario_load(reading->run->catalog, settings, &scenario) != RLHFSIM_OK)
            return RLHFSIM_NO_MEMORY;
        if (scenario == NULL)
            break;
        forecast_plan_make(scenario, plan);
        bool holds = plan->kv_missing_bytes <= 0.0;
        found->peak_bytes = trainer_peak(plan);
        found->fits = forecast_verdict_probability(plan);
        rlhfsim_scenario_free(scenario);
        if (holds)
            break;
    }
    return RLHFSIM_OK;
}

static enum rlhfsim_status forecast_run_case(const struct reading *reading,
                                             const struct csv_row *row, struct memory_case *found) {
    struct run_settings *settings = calloc(1, sizeof *settings);
    struct forecast_plan *plan = calloc(1, sizeof *plan);
    enum rlhfsim_status status = settings == NULL || plan == NULL ? RLHFSIM_NO_MEMORY : RLHFSIM_OK;
    if (status == RLHFSIM_OK) {
        run_row_read(reading->run->catalog, reading->table, row, true, settings);
        if (has_entropy(cell(reading, row, "notes")))
            (void)snprintf(settings->at[settings->count++], RUN_SETTING_SIZE,
                           "training.entropy_loss=true");
        status = plan_run(reading, settings, plan, found);
    }
    if (status == RLHFSIM_OK) {
        (void)snprintf(found->reason, sizeof found->reason, "%s", settings->reason);
        found->counted = training_counts_find(cell(reading, row, "counts"), &found->counts);
        if (*cell(reading, row, "counts") == '\0')
            found->peak_reason =
                "not stated: counts (of the trainer alone, or with the engine's pool)";
    }
    free(plan);
    free(settings);
    return status;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static enum rlhfsim_status add_row(const struct reading *reading, const struct csv_row *row) {
    struct rlhfsim_validation *validation = reading->run->validation;
    const char *name = cell(reading, row, "run_key");
    struct memory_case found = {.provenance = "interpolated"};
    found.source = validation_source_name(validation, cell(reading, row, "source_key"));
    found.name = base_arena_text(&validation->arena, name, strlen(name));
    if (found.source == NULL || found.name == NULL)
        return RLHFSIM_NO_MEMORY;
    read_outcome(reading, row, &found.measured);
    if (is_trainer(cell(reading, row, "algorithm")))
        forecast_trainer(reading, row, &found);
    else if (forecast_run_case(reading, row, &found) != RLHFSIM_OK)
        return RLHFSIM_NO_MEMORY;
    return memory_case_add(reading->run, &found);
}

enum rlhfsim_status memory_cases_read(struct validation_run *run, const char *path,
                                      const struct csv_table *table) {
    struct reading reading = {run, table};
    enum rlhfsim_status status = RLHFSIM_OK;
    (void)path;
    for (const struct csv_row *row = table->rows; row != NULL && status == RLHFSIM_OK;
         row = row->next)
        status = add_row(&reading, row);
    return status;
}
