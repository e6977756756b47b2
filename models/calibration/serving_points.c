/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/calibration/serving_points.h"

#include "models/validation/generation_row.h"
#include "models/validation/kind.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool make_room(struct serving_points *points) {
    if (points->count < points->room)
        return true;
    size_t room = points->room == 0 ? 256 : 2 * points->room;
    struct serving_point *at = realloc(points->at, room * sizeof *at);
    if (at == NULL)
        return false;
    points->at = at;
    points->room = room;
    return true;
}

/* The time a token of a served row, else its rate; 0 without either. */
static double measured_of(const struct generation_columns *columns, const struct csv_row *row) {
    const char *tpot = validation_cell(row, columns->tpot_ms);
    const char *rate = validation_cell(row, columns->output_tokens_per_s);
    return *tpot != '\0' ? strtod(tpot, NULL) : strtod(rate, NULL);
}

static bool add_point(struct serving_points *points, const struct generation_columns *columns,
                      const struct csv_row *row) {
    if (!make_room(points))
        return false;
    struct serving_point *point = &points->at[points->count];
    const char *source = validation_cell(row, columns->source);
    *point = (struct serving_point){.measured = measured_of(columns, row)};
    const char *reason =
        generation_row_read(points->run->catalog, columns, row, &point->serving, &point->engine);
    if (reason == NULL && !(point->measured > 0.0))
        reason = "no measured value";
    if (reason != NULL)
        return calibration_count_skip(points->run->calibration, reason);
    points->count++;
    memcpy(point->model, point->serving.architecture.name, sizeof point->model);
    point->source = base_arena_text(&points->run->calibration->arena, source, strlen(source));
    return point->source != NULL;
}

static enum rlhfsim_status read_table(struct serving_points *points, struct validation_run *reader,
                                      const char *path) {
    struct csv_table table;
    struct generation_columns columns;
    enum rlhfsim_status status = validation_read_table(reader, path, &table);
    if (status == RLHFSIM_OK)
        status = generation_columns_find(&table, path, reader->diagnostics, &columns);
    if (status != RLHFSIM_OK)
        return status;
    for (const struct csv_row *row = table.rows; row != NULL; row = row->next)
        if (!add_point(points, &columns, row))
            return RLHFSIM_NO_MEMORY;
    return RLHFSIM_OK;
}

enum rlhfsim_status serving_points_read(struct calibration_run *run,
                                        struct serving_points *points) {
    struct validation_run reader = {validation_new(), run->catalog, run->diagnostics, NULL};
    enum rlhfsim_status status = reader.validation == NULL ? RLHFSIM_NO_MEMORY : RLHFSIM_OK;
    *points = (struct serving_points){.run = run};
    for (size_t i = 0; i < run->path_count && status == RLHFSIM_OK; i++)
        status = read_table(points, &reader, run->paths[i]);
    rlhfsim_validation_free(reader.validation);
    return status;
}

void serving_points_free(struct serving_points *points) {
    for (size_t i = 0; i < points->count; i++)
        free(points->at[i].profile);
    free(points->at);
}

/* What the row has changed of its engine's scheduling stays: only coefficients are taken over. */
static void take_coefficients(struct generation_software *to,
                              const struct generation_software *from) {
    to->iteration_host_s = from->iteration_host_s;
    to->sequence_host_s = from->sequence_host_s;
    to->launch_factor = from->launch_factor;
    to->expert_layer_s = from->expert_layer_s;
    to->eager_layer_s = from->eager_layer_s;
    to->product_efficiency = from->product_efficiency;
    to->kv_efficiency = from->kv_efficiency;
    to->compute_efficiency = from->compute_efficiency;
    to->fp4_efficiency = from->fp4_efficiency;
    to->expert_efficiency = from->expert_efficiency;
    to->activation_share = from->activation_share;
    to->exchange_factor = from->exchange_factor;
    to->collective_factor = from->collective_factor;
}

/* Fixed batches have no profile, and stay with the run itself. */
static bool profile(struct serving_point *point, const struct generation_software *software) {
    struct serving_case serving = point->serving;
    if (serving.mode == SERVING_CLIENTS || serving.plan.software.batching != GENERATION_CONTINUOUS)
        return true;
    if (point->profile == NULL)
        point->profile = malloc(sizeof *point->profile);
    take_coefficients(&serving.plan.software, software);
    serving_case_bind(&serving);
    return point->profile != NULL && serving_profile_make(point->profile, &serving);
}

bool serving_points_profile(struct serving_points *points, serving_software_func *software_of,
                            const void *context) {
    for (size_t i = 0; i < points->count; i++) {
        struct generation_software software = software_of(context, points->at[i].engine);
        if (!profile(&points->at[i], &software))
            return false;
    }
    return true;
}

double serving_point_error(const struct serving_point *point,
                           const struct generation_software *software, bool exactly) {
    struct serving_case serving = point->serving;
    struct serving_forecast forecast;
    take_coefficients(&serving.plan.software, software);
    serving_case_bind(&serving);
    if (!exactly && point->profile != NULL)
        return log(serving_profile_rate(point->profile, &serving) / point->measured);
    if (!serving_case_forecast(&serving, &forecast))
        return 0.0;
    double value =
        serving.mode == SERVING_CLIENTS ? 1e3 * forecast.tpot_s : forecast.output_tokens_per_s;
    return log(value / point->measured);
}
