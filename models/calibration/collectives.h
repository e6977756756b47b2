/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_CALIBRATION_COLLECTIVES_H
#define MODELS_CALIBRATION_COLLECTIVES_H

/*
 * The coefficients of fabrics.csv from measured collectives (validation/collective_rows.h).
 *
 * First every fabric inside a domain from the rows that stay in one, then the ways of calling from
 * the same, then every network from the rows over several domains. A coefficient that is empty in
 * the catalog is a way that this fabric does not have, and stays empty. A fabric that names another
 * (fitted_with) starts from that one's coefficients, and is held there by its prior.
 */

#include "models/validation/collective_rows.h"

struct calibration_fabric {
    struct catalog_fabric fabric;
    const char *name; /* of the catalog */
    size_t rows;      /* that use it */
};

struct collective_fit {
    struct base_arena arena;
    struct calibration_fabric *fabrics; /* in the order of the catalog */
    size_t fabric_count;
    struct collective_case *cases;
    size_t case_count, room;
    const char *left_out; /* a source whose rows do not count; NULL: none */
};

/* One row, with its fabrics by index (SIZE_MAX: none). */
struct collective_case {
    struct collective_row row;
    size_t scaleup, network, host;
    double forecast_s; /* after collective_fit_run */
    double left_out_s; /* of a fit without its source; NAN where no other has its fabric */
};

/* Starts from the catalog's coefficients. False without memory. */
bool collective_fit_start(struct collective_fit *fit, const struct catalog *catalog);
void collective_fit_release(struct collective_fit *fit);

/* A collective_row_func: keeps what can be compared. `subject` is the fit. */
bool collective_fit_add(void *subject, const struct collective_row *row);

/* Fits, and forecasts all cases, those of the source that was left out as well. */
void collective_fit_run(struct collective_fit *fit);

/* Fits once for every source without its rows, for left_out_s of these; then to all. */
void collective_fit_leave_out(struct collective_fit *fit);

/* Whether a case is of that fabric: inside a domain, or between. */
bool collective_case_uses(const struct collective_case *c, size_t fabric);

/* Which rows of a fabric. All-to-alls and sends are classes of their own, of any size. */
enum collective_class {
    COLLECTIVE_LARGE, /* from 1 MiB on */
    COLLECTIVE_SMALL,
    COLLECTIVE_ALLTOALL,
    COLLECTIVE_SEND
};

/* What nine tenths of the relative errors of a class are below, after collective_fit_run; NAN with
 * fewer than ten rows, or without memory. */
double collective_fit_uncertainty(const struct collective_fit *fit, size_t fabric,
                                  enum collective_class class);

#endif
