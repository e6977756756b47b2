/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Generation: tables of serving and offline speed. What a table leaves unsaid is in
 * generation_row.c, how a point is forecast in serving.c.
 */

#include "models/base/text.h"
#include "models/validation/generation_row.h"
#include "models/validation/kind.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum metric_index { TPOT, TTFT, RATE, METRICS };

static const struct validation_metric metrics[METRICS] = {
    [TPOT] = {"tpot_ms", true, false},
    [TTFT] = {"ttft_ms", false, false},
    [RATE] = {"output_tokens_per_s", true, false}};

struct reading {
    struct validation_run *run;
    const char *path;
    struct generation_columns columns;
};

/* "Llama-3.1-8B H100 tp2 1024/128 x16". */
static const char *case_name(struct reading *reading, const struct csv_row *row) {
    const struct generation_columns *c = &reading->columns;
    char name[256];
    (void)snprintf(name, sizeof name, "%s, %s, %s, tp %s, %s/%s x %s",
                   validation_cell(row, c->engine), validation_cell(row, c->model),
                   validation_cell(row, c->gpu), validation_cell(row, c->tp),
                   validation_cell(row, c->input_len), validation_cell(row, c->output_len),
                   validation_cell(row, c->concurrency));
    return base_arena_text(&reading->run->validation->arena, name, strlen(name));
}

static size_t metric_column(const struct reading *reading, enum metric_index metric) {
    const struct generation_columns *c = &reading->columns;
    return metric == TPOT ? c->tpot_ms : metric == TTFT ? c->ttft_ms : c->output_tokens_per_s;
}

static double forecast_of(const struct serving_forecast *forecast, enum metric_index metric) {
    return metric == TPOT   ? 1e3 * forecast->tpot_s
           : metric == TTFT ? 1e3 * forecast->ttft_s
                            : forecast->output_tokens_per_s;
}

static enum rlhfsim_status bad_cell(struct reading *reading, const struct csv_cell *cell,
                                    const char *metric) {
    char quoted[BASE_QUOTE_SIZE];
    return tree_error(reading->run->diagnostics, cell->place,
                      "%s is %s, expected a number of 0 or more", metric,
                      base_quote(cell->text, quoted));
}

/* One case for each measured value of the row, and one for a row without any. */
static enum rlhfsim_status add_cases(struct reading *reading, const struct csv_row *row,
                                     struct validation_case *added,
                                     const struct serving_forecast *forecast) {
    struct rlhfsim_validation *validation = reading->run->validation;
    int found = 0;
    for (int i = 0; i < METRICS; i++) {
        size_t column = metric_column(reading, (enum metric_index)i);
        const char *text = validation_cell(row, column);
        double number = 0.0;
        if (*text == '\0')
            continue;
        if (base_number_read(text, &number) != BASE_NUMBER_OK || number < 0.0)
            return bad_cell(reading, &row->cells[column], metrics[i].name);
        found++;
        added->metric = &metrics[i];
        added->measured = number;
        added->forecast = forecast_of(forecast, (enum metric_index)i);
        struct validation_case kept = *added;
        if (kept.skipped == NULL && !isfinite(kept.forecast))
            kept.skipped = "a batch that runs whole has no such time";
        if (!validation_add(validation, &kept))
            return RLHFSIM_NO_MEMORY;
    }
    added->metric = NULL;
    added->skipped = "no measured value";
    return found > 0 || validation_add(validation, added) ? RLHFSIM_OK : RLHFSIM_NO_MEMORY;
}

static enum rlhfsim_status read_row(struct reading *reading, const struct csv_row *row) {
    struct serving_case serving;
    struct serving_forecast forecast = {0};
    const struct catalog_engine *engine = NULL;
    struct validation_case added = {
        .name = case_name(reading, row),
        .source = validation_source_name(reading->run->validation,
                                         validation_cell(row, reading->columns.source))};
    if (added.source == NULL || added.name == NULL)
        return RLHFSIM_NO_MEMORY;
    added.skipped =
        generation_row_read(reading->run->catalog, &reading->columns, row, &serving, &engine);
    added.provenance = engine == NULL ? NULL
                                      : catalog_provenance(reading->run->catalog, CATALOG_ENGINES,
                                                           engine->software.name);
    if (added.skipped == NULL && !serving_case_forecast(&serving, &forecast))
        return RLHFSIM_NO_MEMORY;
    return add_cases(reading, row, &added, &forecast);
}

static enum rlhfsim_status read_table(struct validation_run *run, const char *path) {
    struct reading reading = {.run = run, .path = path};
    struct csv_table table;
    enum rlhfsim_status worst = validation_read_table(run, path, &table);
    if (worst == RLHFSIM_OK)
        worst = generation_columns_find(&table, path, run->diagnostics, &reading.columns);
    if (worst != RLHFSIM_OK)
        return worst;
    for (const struct csv_row *row = table.rows; row != NULL; row = row->next) {
        enum rlhfsim_status status = read_row(&reading, row);
        if (status == RLHFSIM_NO_MEMORY)
            return status;
        worst = status == RLHFSIM_OK ? worst : status;
    }
    return worst;
}

const struct validation_kind validation_generation = {"generation", read_table};
