/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_VALIDATION_CASES_H
#define MODELS_VALIDATION_CASES_H

/*
 * The table of comparisons that every kind of validation fills and that errors, JSON and CSV are
 * made from.
 */

#include "models/base/arena.h"
#include "models/validation/scaling.h"

#include <rlhfsim/validation.h>

struct validation_metric {
    const char *name;
    bool in_overall; /* counts in `overall` and `sources`; else under its own name only */
    bool is_flag;    /* 0 or 1: the error is the difference */
};

/* A range that a forecast gives beside its value. */
struct validation_range {
    const char *group; /* "complete colocated step", "incomplete ..."; NULL: none is asked for */
    double low, high;  /* NAN: none is known */
    const char *input; /* that widens it most; NULL: the model's own error alone */
};

#define VALIDATION_COMPLETE "complete"
#define VALIDATION_INCOMPLETE "incomplete"

/* P10 to P90 over the median size of a normal law: 2 x 1.2816 / 0.6745. */
#define VALIDATION_WIDTH_OF_MEDIAN 3.800

struct validation_case {
    const char *source, *name;
    const struct validation_metric *metric; /* NULL: the input row has no measured value */
    double measured;
    double forecast;               /* where it is compared */
    const char *provenance;        /* of the forecast: "measured", ... */
    const char *skipped;           /* the reason; NULL where it is compared */
    struct validation_scale scale; /* where it is on a scaling curve */
    struct validation_range range; /* where the measured value is expected */
    double weight; /* in `overall` and `sources`; 0 counts as 1. Metrics count every case as one */
};

/* Different names in the order of their first case. */
struct validation_names {
    struct validation_names *next;
    const char *name;
    size_t cases;
};

enum validation_list { VALIDATION_SOURCES, VALIDATION_METRICS, VALIDATION_SKIPS, VALIDATION_LISTS };

struct rlhfsim_validation {
    struct base_arena arena; /* of the texts */
    struct validation_case *cases;
    size_t count, room;
    struct validation_names *names[VALIDATION_LISTS];
};

struct rlhfsim_validation *validation_new(void);

/* Adds a case; its texts must live as long as the validation (see `arena`). A measured value of 0
 * has no relative error: such a case is skipped. False without memory. */
bool validation_add(struct rlhfsim_validation *validation, const struct validation_case *added);

/* The project that a `source` cell names: up to the first space or "@". In the arena; NULL without
 * memory. */
const char *validation_source_name(struct rlhfsim_validation *validation, const char *cell);

static inline double validation_error(const struct validation_case *compared) {
    if (compared->metric->is_flag)
        return compared->forecast - compared->measured;
    return (compared->forecast - compared->measured) / compared->measured;
}

#endif
