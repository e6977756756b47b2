/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/calibration/fabric_table.h"

#include "models/calibration/cell_text.h"
#include "models/scenario/columns.h"

#include <math.h>
#include <string.h>

#define MICRO 1e-6
#define PERCENT 0.01

/* ---- cells ----------------------------------------------------------------------------------- */

/* Nine tenths of the errors as whole percents, rounded up; the catalog's where none is known. */
static void write_uncertainty(FILE *stream, double error, const char *otherwise) {
    if (isnan(error))
        cell_text(stream, otherwise);
    else
        (void)fprintf(stream, "%.0f", ceil(error / PERCENT));
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* The fitted figure of a column in the column's unit; NAN where it is none. */
static double fitted(const struct catalog_fabric *fabric, size_t column) {
    const struct hardware_fabric *more = &fabric->fabric;
    switch (column) {
    case FABRIC_EFFICIENCY:
        return fabric->efficiency;
    case FABRIC_LATENCY_US:
        return fabric->latency_s / MICRO;
    case FABRIC_START_US:
        return fabric->start_s / MICRO;
    case FABRIC_CHUNK_US:
        return more->chunk_s / MICRO;
    case FABRIC_OWN_COPY:
        return more->own_copy;
    case FABRIC_RING_OF_2:
        return more->ring_of_2;
    case FABRIC_RING_OF_4:
        return more->ring_of_4;
    case FABRIC_ALLTOALL:
        return more->alltoall;
    case FABRIC_ALLTOALL_OF_2:
        return more->alltoall_of_2;
    case FABRIC_ALLTOALL_OF_4:
        return more->alltoall_of_4;
    case FABRIC_ALLTOALL_START_US:
        return more->alltoall_start_s / MICRO;
    case FABRIC_ALLTOALL_LOSS:
        return more->alltoall_loss;
    case FABRIC_SWITCH_REDUCE:
        return more->switch_reduce;
    case FABRIC_SWITCH_CHUNK_US:
        return more->switch_chunk_s / MICRO;
    case FABRIC_TREE:
        return more->tree;
    case FABRIC_TREE_INSIDE:
        return more->tree_inside;
    case FABRIC_PAIR_INSIDE:
        return more->pair_inside;
    case FABRIC_DIRECT_START_US:
        return more->direct_start_s / MICRO;
    case FABRIC_DIRECT:
        return more->direct;
    case FABRIC_DIRECT_OF_2:
        return more->direct_of_2;
    case FABRIC_DIRECT_SECOND_US:
        return more->direct_second_s / MICRO;
    default:
        return (double)NAN;
    }
}

static void write_cell(const struct collective_fit *fit, size_t fabric, const char *text,
                       size_t column, FILE *stream) {
    const struct calibration_fabric *row = &fit->fabrics[fabric];
    bool own = row->rows > 0 || row->fabric.fitted_with[0] != '\0';
    double number = fitted(&row->fabric, column);
    if (*text == '\0' || !own) {
        cell_text(stream, text);
        return;
    }
    switch (column) {
    case FABRIC_UNCERTAINTY:
        write_uncertainty(stream, collective_fit_uncertainty(fit, fabric, COLLECTIVE_LARGE), text);
        break;
    case FABRIC_UNCERTAINTY_SMALL:
        write_uncertainty(stream, collective_fit_uncertainty(fit, fabric, COLLECTIVE_SMALL), text);
        break;
    case FABRIC_UNCERTAINTY_ALLTOALL:
        write_uncertainty(stream, collective_fit_uncertainty(fit, fabric, COLLECTIVE_ALLTOALL),
                          text);
        break;
    case FABRIC_UNCERTAINTY_SEND:
        write_uncertainty(stream, collective_fit_uncertainty(fit, fabric, COLLECTIVE_SEND), text);
        break;
    default:
        if (isfinite(number))
            cell_number(stream, number);
        else
            cell_text(stream, text);
    }
}

void fabric_table_write(const struct collective_fit *fit, const struct catalog *catalog,
                        FILE *stream) {
    size_t count = 0;
    const struct column *columns = catalog_columns(CATALOG_FABRICS, &count);
    for (size_t i = 0; i < count; i++) {
        cell_text(stream, columns[i].name);
        cell_end(stream, i, count);
    }
    for (size_t fabric = 0; fabric < fit->fabric_count; fabric++) {
        const struct column_row *row =
            catalog_row(catalog, CATALOG_FABRICS, fit->fabrics[fabric].name);
        for (size_t i = 0; i < count; i++) {
            write_cell(fit, fabric, row->text[i], i, stream);
            cell_end(stream, i, count);
        }
    }
}
