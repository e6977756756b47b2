/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/calibration/weight_sync.h"

#include "models/calibration/cell_text.h"
#include "models/calibration/pattern_search.h"
#include "models/scenario/columns.h"
#include "models/validation/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GB 1e9
#define MILLI 1e-3
#define PERCENT 0.01
#define HOLD 0.3 /* a third of what a pair of wrong syncs weighs: there are few syncs */
#define NOTHING SIZE_MAX

void sync_fit_release(struct sync_fit *fit) {
    free(fit->cases);
    *fit = (struct sync_fit){0};
}

static bool is_same(const struct sync_row *a, const struct sync_row *b) {
    return a->row == b->row && a->measured_s == b->measured_s &&
           a->request.total_bytes == b->request.total_bytes &&
           hardware_cluster_gpus(&a->cluster) == hardware_cluster_gpus(&b->cluster) &&
           strcmp(a->metric, b->metric) != 0;
}

bool sync_fit_add(void *subject, const struct sync_row *row) {
    struct sync_fit *fit = subject;
    if (row->skipped != NULL || !(row->measured_s > 0.0))
        return true;
    for (size_t i = 0; i < fit->count; i++)
        if (is_same(&fit->cases[i].row, row))
            return true;
    if (fit->count == fit->room) {
        size_t room = fit->room == 0 ? 64 : 2 * fit->room;
        struct sync_case *cases = realloc(fit->cases, room * sizeof *cases);
        if (cases == NULL)
            return false;
        fit->cases = cases;
        fit->room = room;
    }
    fit->cases[fit->count++] = (struct sync_case){.row = *row};
    return true;
}

/* ---- one row --------------------------------------------------------------------------------- */

struct search {
    const struct sync_fit *fit;
    const struct catalog_weight_sync *row;
    size_t left_out;
    struct network_weight_sync_cost cost;
};

static double loss(void *subject) {
    const struct search *search = subject;
    double sum = 0.0;
    for (size_t i = 0; i < search->fit->count; i++) {
        const struct sync_case *c = &search->fit->cases[i];
        if (c->row.row == search->row && i != search->left_out)
            sum += search_case_loss(sync_row_seconds(&c->row, &search->cost), c->row.measured_s);
    }
    return sum;
}

/* Those that the row has; the others stay 0. */
static struct network_weight_sync_cost
fit_row(const struct sync_fit *fit, const struct catalog_weight_sync *row, size_t left_out) {
    struct search search = {fit, row, left_out, row->cost};
    struct network_weight_sync_cost *cost = &search.cost;
    const struct search_coefficient all[] = {
        {&cost->pause_s, 1.0, 1e-3, 100.0, HOLD},
        {&cost->tensor_s, 1e-4, 1e-7, 1.0, HOLD},
        {&cost->load_bandwidth_bytes_per_s, 20 * GB, 1e8, 1e13, HOLD},
        {&cost->hop_s, 0.2, 1e-3, 10.0, HOLD}};
    struct search_coefficient list[sizeof all / sizeof *all];
    size_t count = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (*all[i].value > 0.0)
            list[count++] = all[i];
    (void)search_minimise(list, count, loss, &search);
    return search.cost;
}

void sync_fit_leave_out(struct sync_fit *fit) {
    for (size_t i = 0; i < fit->count; i++) {
        struct sync_case *c = &fit->cases[i];
        struct network_weight_sync_cost cost = fit_row(fit, c->row.row, i);
        c->left_out_s = sync_row_seconds(&c->row, &cost);
        cost = fit_row(fit, c->row.row, NOTHING);
        c->fitted_s = sync_row_seconds(&c->row, &cost);
    }
}

/* Quantile p of the errors of a row's syncs when they are left out. */
static double quantile(const struct sync_fit *fit, const char *row, double p) {
    double *errors = calloc(fit->count + 1, sizeof *errors);
    size_t count = 0;
    double result = (double)NAN;
    for (size_t i = 0; errors != NULL && i < fit->count; i++)
        if (strcmp(fit->cases[i].row.row->name, row) == 0)
            errors[count++] = fabs(fit->cases[i].left_out_s / fit->cases[i].row.measured_s - 1.0);
    if (errors != NULL && count > 0) {
        validation_sort(errors, count);
        result = validation_quantile(errors, count, p);
    }
    free(errors);
    return result;
}

double sync_fit_error(const struct sync_fit *fit, const char *row) {
    return quantile(fit, row, 0.5);
}

/* ---- the table ------------------------------------------------------------------------------- */

static double fitted(const struct network_weight_sync_cost *cost, size_t column) {
    switch (column) {
    case SYNC_PAUSE_S:
        return cost->pause_s;
    case SYNC_TENSOR_MS:
        return cost->tensor_s / MILLI;
    case SYNC_LOAD_GB_PER_S:
        return cost->load_bandwidth_bytes_per_s / GB;
    case SYNC_HOP_S:
        return cost->hop_s;
    default:
        return (double)NAN;
    }
}

static size_t count_of(const struct sync_fit *fit, const struct catalog_weight_sync *row) {
    size_t count = 0;
    for (size_t i = 0; i < fit->count; i++)
        count += fit->cases[i].row.row == row ? 1 : 0;
    return count;
}

static void write_row(const struct sync_fit *fit, const struct catalog *catalog, const char *name,
                      size_t columns, FILE *stream) {
    const struct column_row *text = catalog_row(catalog, CATALOG_WEIGHT_SYNCS, name);
    const struct catalog_weight_sync *row = catalog_weight_sync(catalog, name);
    size_t count = count_of(fit, row);
    struct network_weight_sync_cost cost =
        count > 0 ? fit_row(fit, row, NOTHING) : (struct network_weight_sync_cost){0};
    for (size_t i = 0; i < columns; i++) {
        double number = fitted(&cost, i);
        if (count == 0 || *text->text[i] == '\0')
            cell_text(stream, text->text[i]);
        else if (i == SYNC_POINTS)
            cell_number(stream, (double)count);
        else if (i == SYNC_UNCERTAINTY)
            cell_number(stream, ceil(quantile(fit, name, 0.9) / PERCENT));
        else if (isfinite(number))
            cell_number(stream, number);
        else
            cell_text(stream, text->text[i]);
        cell_end(stream, i, columns);
    }
}

void sync_fit_write(const struct sync_fit *fit, const struct catalog *catalog, FILE *stream) {
    size_t columns = 0;
    const struct column *column = catalog_columns(CATALOG_WEIGHT_SYNCS, &columns);
    const char *name;
    for (size_t i = 0; i < columns; i++) {
        cell_text(stream, column[i].name);
        cell_end(stream, i, columns);
    }
    for (size_t i = 0; (name = catalog_name_at(catalog, CATALOG_WEIGHT_SYNCS, i)) != NULL; i++)
        write_row(fit, catalog, name, columns, stream);
}
