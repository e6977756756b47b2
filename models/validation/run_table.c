/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/validation/run_table.h"

#include "models/base/text.h"
#include "models/validation/memory_rows.h"
#include "models/validation/run_plan.h"
#include "models/validation/training_forecast.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    const struct catalog *catalog;
    struct rlhfsim_diagnostics *diagnostics;
    struct run_table *table;
    struct csv_table runs, figures;
};

/* ---- figures --------------------------------------------------------------------------------- */

static enum rlhfsim_status read_figure(struct reading *reading, const struct csv_row *row,
                                       struct run_figure *figure) {
    const struct csv_table *table = &reading->figures;
    size_t column = validation_column(table, "value");
    const char *value = validation_cell(row, column);
    char quoted[BASE_QUOTE_SIZE];
    *figure = (struct run_figure){
        .metric = validation_cell(row, validation_column(table, "metric")),
        .notes = validation_cell(row, validation_column(table, "notes")),
    };
    if (base_number_read(value, &figure->value) == BASE_NUMBER_OK)
        return RLHFSIM_OK;
    return tree_error(reading->diagnostics, row->cells[column].place,
                      "value is %s, expected a number", base_quote(value, quoted));
}

static enum rlhfsim_status read_figures(struct reading *reading, struct run_case *run) {
    size_t key = validation_column(&reading->figures, "run_key");
    struct run_figure **link = &run->figures;
    enum rlhfsim_status status = RLHFSIM_OK;
    for (const struct csv_row *row = reading->figures.rows; row != NULL && status == RLHFSIM_OK;
         row = row->next) {
        if (strcmp(validation_cell(row, key), run->name) != 0)
            continue;
        *link = base_arena_allocate(&reading->table->arena, sizeof **link);
        if (*link == NULL)
            return RLHFSIM_NO_MEMORY;
        status = read_figure(reading, row, *link);
        link = &(*link)->next;
    }
    return status;
}

/* Tokens a second of all GPUs, where they count prompts and responses. */
static double printed_rate(const struct run_figure *figures, double gpus) {
    const struct run_figure *each = run_figure_find(figures, "tokens_per_s_per_gpu");
    const struct run_figure *all = run_figure_find(figures, "tokens_per_s");
    const struct run_figure *rate = each != NULL ? each : all;
    if (rate == NULL || strstr(rate->notes, "prompt + response") == NULL)
        return (double)NAN;
    return rate->value * (each != NULL ? gpus : 1.0);
}

static struct run_printed printed_of(const struct reading *reading, const struct csv_row *row,
                                     const struct run_case *run) {
    double gpus = (double)NAN;
    (void)base_number_read(validation_cell(row, validation_column(&reading->runs, "num_gpus")),
                           &gpus);
    return (struct run_printed){.step_s = run_case_figure(run, "step_s"),
                                .tokens_per_s = printed_rate(run->figures, gpus),
                                .update_s = run_case_figure(run, "actor_update_s"),
                                .mfu = run_case_figure(run, "mfu")};
}

/* ---- what is forecast ------------------------------------------------------------------------ */

static bool is_trainer(const char *algorithm) {
    return strcmp(algorithm, "train_step") == 0 || strcmp(algorithm, "sft") == 0;
}

static bool is_rollout(const char *algorithm) {
    return strcmp(algorithm, "grpo") == 0 || strcmp(algorithm, "ppo") == 0 ||
           strcmp(algorithm, "dapo") == 0;
}

static const char *reason(struct reading *reading, const char *format, const char *word) {
    char text[RUN_REASON_SIZE];
    (void)snprintf(text, sizeof text, format, word);
    return base_arena_text(&reading->table->arena, text, strlen(text));
}

static const char *sharding_word(const char *stage) {
    static const char *const words[] = {"none", "ZeRO-1", "ZeRO-2", "ZeRO-3"};
    return strlen(stage) == 1 && *stage >= '0' && *stage <= '3' ? words[*stage - '0'] : "";
}

static struct training_cells trainer_cells(const struct reading *reading,
                                           const struct run_case *run) {
    const char *framework = run_case_cell(run, "framework");
    const char *gpu = catalog_name(reading->catalog, CATALOG_GPUS, run_case_cell(run, "gpu"));
    bool known = gpu != NULL && catalog_trainer(reading->catalog, framework, gpu) != NULL;
    double length = run_case_number(run, "max_response_tokens");
    return (struct training_cells){
        .text = {[TRAINING_SOURCE_TEXT] = known ? framework : run_case_cell(run, "source_key"),
                 [TRAINING_MODEL] = run_case_cell(run, "actor_model"),
                 [TRAINING_GPU] = run_case_cell(run, "gpu"),
                 [TRAINING_SHARDING] = sharding_word(run_case_cell(run, "zero_stage")),
                 [TRAINING_PRECISION] = run_case_cell(run, "train_precision"),
                 [TRAINING_RECOMPUTATION] = run_case_cell(run, "recompute"),
                 [TRAINING_NOTE_TEXT] = run_case_cell(run, "notes")},
        .number = {[TRAINING_NUM_GPUS] = run_case_number(run, "num_gpus"),
                   [TRAINING_SEQ_LEN] = length,
                   [TRAINING_GLOBAL_BATCH_TOKENS] =
                       length * run_case_number(run, "minibatch_samples"),
                   [TRAINING_MICROBATCH] = run_case_number(run, "microbatch_samples"),
                   [TRAINING_TP] = run_case_number(run, "train_tp"),
                   [TRAINING_PP] = run_case_number(run, "train_pp"),
                   [TRAINING_CP] = run_case_number(run, "train_cp"),
                   [TRAINING_EP] = run_case_number(run, "train_ep"),
                   [TRAINING_DP] = (double)NAN,
                   [TRAINING_VPP] = run_case_number(run, "train_vpp"),
                   [TRAINING_PARAMS] = (double)NAN,
                   [TRAINING_TOKENS_PER_S] = (double)NAN,
                   [TRAINING_STEP_S] = 1.0, /* not read: the row's own figures are */
                   [TRAINING_MFU] = (double)NAN}};
}

/* What the framework of a run adds, as resolve_software.c of models/scenario does for a scenario.
 */
static void take_framework(const struct reading *reading, const struct run_case *run,
                           struct training_row *row) {
    const struct catalog_framework *framework =
        catalog_framework(reading->catalog, run_case_cell(run, "framework"));
    struct training_software *software = &row->plan.software;
    if (framework == NULL)
        return;
    software->matmul_share *= framework->training.matmul_share;
    software->attention_share *= framework->training.matmul_share;
    software->microbatch_host_s = framework->training.microbatch_host_s;
    software->optimizer_host_s = framework->training.optimizer_host_s;
    software->layer_host_s = framework->training.layer_host_s;
    software->expert_layer_s = framework->training.expert_layer_s;
}

static void take_attention(const struct reading *reading, enum training_attention attention,
                           struct training_row *row) {
    row->plan.attention = row->scope.attention = attention;
    row->plan.attention_rates = catalog_attention(reading->catalog, row->cluster.gpu.name,
                                                  training_attention_name(attention));
}

/* As validate memory has it; NAN where the row does not say enough. */
static double trainer_peak(const struct reading *reading, const struct run_case *run,
                           const struct training_cells *cells) {
    struct training_row row = {.lora_rank = (int64_t)fmax(0.0, run_case_number(run, "lora_rank")),
                               .whole_logits = strcmp(run_case_cell(run, "algorithm"), "sft") == 0};
    struct memory_forecast forecast;
    memory_row_read(reading->catalog, cells, &row);
    if (row.reason[0] != '\0')
        return (double)NAN;
    memory_row_forecast(reading->catalog, &row, &forecast);
    return forecast.counted_bytes;
}

static enum rlhfsim_status make_trainer(struct reading *reading, struct run_case *run) {
    struct training_row *row = base_arena_allocate(&reading->table->arena, sizeof *row);
    double rank = run_case_number(run, "lora_rank");
    const char *notes = run_case_cell(run, "notes");
    if (row == NULL)
        return RLHFSIM_NO_MEMORY;
    struct training_cells cells = trainer_cells(reading, run);
    training_row_read(reading->catalog, &cells, row);
    if (row->reason[0] != '\0') {
        run->reason = reason(reading, "%s", row->reason);
        return run->reason == NULL ? RLHFSIM_NO_MEMORY : RLHFSIM_OK;
    }
    if (strstr(notes, "FlashAttention-2") != NULL)
        take_attention(reading, TRAINING_ATTENTION_FLASH_2, row);
    else if (strstr(notes, "FlashAttention-3") != NULL)
        take_attention(reading, TRAINING_ATTENTION_FLASH_3, row);
    if (rank > 0.0)
        row->plan.lora_rank = (int64_t)rank;
    training_forecast_software(reading->catalog, row);
    take_framework(reading, run, row);
    run->peak_bytes = trainer_peak(reading, run, &cells);
    run->trainer = row;
    return RLHFSIM_OK;
}

/* The engine's share of a GPU is not in the tables: the first of these that holds its weights and
 * one sequence, found by the caller of the forecast; the scenario has the middle one. */
static enum rlhfsim_status make_scenario(struct reading *reading, struct run_case *run) {
    run_row_read(reading->catalog, &run->complete.table, &run->complete.row, false, &run->settings);
    if (run->settings.reason[0] == '\0' &&
        run_scenario_load(reading->catalog, &run->settings, &run->scenario) != RLHFSIM_OK)
        return RLHFSIM_NO_MEMORY;
    if (run->scenario == NULL)
        run->reason = reason(reading, "%s", run->settings.reason);
    return run->scenario == NULL && run->reason == NULL ? RLHFSIM_NO_MEMORY : RLHFSIM_OK;
}

static enum rlhfsim_status make(struct reading *reading, struct run_case *run) {
    const char *algorithm = run_case_cell(run, "algorithm");
    if (is_trainer(algorithm))
        return make_trainer(reading, run);
    if (is_rollout(algorithm)) {
        enum rlhfsim_status status = run_plan_assume(reading->catalog, reading->diagnostics, run);
        return status == RLHFSIM_OK ? make_scenario(reading, run) : status;
    }
    run->reason = reason(reading, "algorithm '%.60s' is not forecast", algorithm);
    return run->reason == NULL ? RLHFSIM_NO_MEMORY : RLHFSIM_OK;
}

/* ---- the table ------------------------------------------------------------------------------- */

static const char *source_of(struct reading *reading, const char *cell) {
    return base_arena_text(&reading->table->arena, cell, strcspn(cell, " @"));
}

static enum rlhfsim_status read_run(struct reading *reading, const struct csv_row *row,
                                    struct run_case *run) {
    const struct csv_table *table = &reading->runs;
    run->name = validation_cell(row, validation_column(table, "run_key"));
    run->source = source_of(reading, validation_cell(row, validation_column(table, "source_key")));
    if (run->source == NULL)
        return RLHFSIM_NO_MEMORY;
    enum rlhfsim_status status = read_figures(reading, run);
    if (status != RLHFSIM_OK)
        return status;
    struct run_printed printed = printed_of(reading, row, run);
    if (!run_row_complete(&reading->table->arena, reading->catalog, table, row, &printed,
                          &run->complete))
        return RLHFSIM_NO_MEMORY;
    run->exact = !run_case_assumes(run, "mean_response_tokens") && !run_case_assumes(run, "gpu");
    return make(reading, run);
}

static enum rlhfsim_status check_columns(struct reading *reading, const struct csv_table *table,
                                         const char *path, const char *const *names, size_t count) {
    enum rlhfsim_status status = RLHFSIM_OK;
    for (size_t i = 0; i < count; i++)
        if (validation_column(table, names[i]) == VALIDATION_NO_COLUMN)
            status = rlhfsim_diagnostics_add(reading->diagnostics, RLHFSIM_INVALID, path, 1, 1,
                                             "column '%s' is missing", names[i]);
    return status;
}

static enum rlhfsim_status read_csv(struct reading *reading, const char *directory,
                                    const char *name, const char *const *needed, size_t count,
                                    struct csv_table *table) {
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/%s", directory, name);
    if (length < 0 || (size_t)length >= sizeof path)
        return rlhfsim_diagnostics_add(reading->diagnostics, RLHFSIM_INVALID, directory, 0, 0,
                                       "the path is too long");
    enum rlhfsim_status status =
        validation_read_csv(&reading->table->arena, path, reading->diagnostics, table);
    return status == RLHFSIM_OK ? check_columns(reading, table, path, needed, count) : status;
}

static enum rlhfsim_status read_runs(struct reading *reading) {
    struct run_case **link = &reading->table->cases;
    enum rlhfsim_status worst = RLHFSIM_OK;
    for (const struct csv_row *row = reading->runs.rows; row != NULL; row = row->next) {
        *link = base_arena_allocate(&reading->table->arena, sizeof **link);
        enum rlhfsim_status status =
            *link == NULL ? RLHFSIM_NO_MEMORY : read_run(reading, row, *link);
        if (status == RLHFSIM_NO_MEMORY)
            return status;
        worst = status == RLHFSIM_OK ? worst : status;
        link = &(*link)->next;
    }
    return worst;
}

enum rlhfsim_status run_table_read(const struct catalog *catalog, const char *directory,
                                   struct rlhfsim_diagnostics *diagnostics,
                                   struct run_table *table) {
    static const char *const of_runs[] = {"run_key",   "source_key",  "framework",
                                          "algorithm", "actor_model", "num_gpus"};
    static const char *const of_figures[] = {"run_key", "metric", "value"};
    struct reading reading = {catalog, diagnostics, table, {0}, {0}};
    *table = (struct run_table){.cases = NULL};
    enum rlhfsim_status status = read_csv(&reading, directory, "runs.csv", of_runs,
                                          sizeof of_runs / sizeof *of_runs, &reading.runs);
    if (status == RLHFSIM_OK)
        status = read_csv(&reading, directory, "figures.csv", of_figures,
                          sizeof of_figures / sizeof *of_figures, &reading.figures);
    if (status == RLHFSIM_OK)
        status = read_runs(&reading);
    if (status != RLHFSIM_OK)
        run_table_release(table);
    return status;
}

void run_table_release(struct run_table *table) {
    for (struct run_case *run = table->cases; run != NULL; run = run->next)
        rlhfsim_scenario_free(run->scenario);
    base_arena_release(&table->arena);
    *table = (struct run_table){.cases = NULL};
}
