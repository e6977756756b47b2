/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Whether forecasts keep the order of scaling curves. Of every two points of a curve with unlike
 * numbers of processors it is asked which does more work a second: Kendall's tau over such pairs,
 * pooled, pairs that are equal on either side counting as neither. Strong curves ask for less by
 * that: their times. Weak curves ask for nearly nothing, since twice the processors with twice the
 * work are ahead unless half is lost; what is hard there is the order of times that are nearly
 * equal, and their tau is told beside it.
 */

#include "models/validation/cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAME 1e-6 /* relative: work that was printed with few digits */

struct pairs {
    size_t kept, exchanged, equal;
};

struct curves {
    struct rlhfsim_validation_curves *result;
    struct pairs rates, times;
    bool weak;
};

static int compare_points(const void *a, const void *b) {
    const struct validation_case *left = *(const struct validation_case *const *)a;
    const struct validation_case *right = *(const struct validation_case *const *)b;
    int source = strcmp(left->source, right->source);
    if (source != 0)
        return source;
    int layout = strcmp(left->scale.layout, right->scale.layout);
    return layout != 0 ? layout : (left > right) - (left < right);
}

/* What is equal along a curve. */
static double constant(const struct curves *curves, const struct validation_case *point) {
    return curves->weak ? point->scale.work / point->scale.processors : point->scale.work;
}

static bool are_on_one(const struct curves *curves, const struct validation_case *a,
                       const struct validation_case *b) {
    double left = constant(curves, a), right = constant(curves, b);
    return fabs(left - right) <= SAME * fmax(left, right);
}

static void count(struct pairs *pairs, double measured, double forecast) {
    if (measured == 0.0 || forecast == 0.0)
        pairs->equal++;
    else if ((measured > 0.0) == (forecast > 0.0))
        pairs->kept++;
    else
        pairs->exchanged++;
}

static void count_pair(struct curves *curves, const struct validation_case *a,
                       const struct validation_case *b) {
    count(&curves->times, a->measured - b->measured, a->forecast - b->forecast);
    count(&curves->rates, a->scale.work / a->measured - b->scale.work / b->measured,
          a->scale.work / a->forecast - b->scale.work / b->forecast);
}

/* The curve of point `first`, where no point before it is on it. */
static void add_curve(struct curves *curves, const struct validation_case *const *points,
                      size_t first, size_t end) {
    size_t pairs = 0;
    for (size_t i = first; i < end; i++)
        for (size_t j = i + 1; are_on_one(curves, points[first], points[i]) && j < end; j++) {
            if (!are_on_one(curves, points[first], points[j]) ||
                points[i]->scale.processors == points[j]->scale.processors)
                continue;
            count_pair(curves, points[i], points[j]);
            pairs++;
        }
    curves->result->pairs += pairs;
    curves->result->curves += pairs > 0 ? 1 : 0;
}

static void add_layout(struct curves *curves, const struct validation_case *const *points,
                       size_t first, size_t end) {
    for (size_t i = first; i < end; i++) {
        size_t before = first;
        while (before < i && !are_on_one(curves, points[before], points[i]))
            before++;
        if (before == i)
            add_curve(curves, points, i, end);
    }
}

static double tau(const struct pairs *pairs) {
    double untied = (double)(pairs->kept + pairs->exchanged);
    return ((double)pairs->kept - (double)pairs->exchanged) / untied; /* NAN without any */
}

static void measure(const struct validation_case *const *points, size_t count, bool weak,
                    struct rlhfsim_validation_curves *result) {
    struct curves curves = {.result = result, .weak = weak};
    *result = (struct rlhfsim_validation_curves){0};
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count &&
                              strcmp(points[first]->source, points[end]->source) == 0 &&
                              strcmp(points[first]->scale.layout, points[end]->scale.layout) == 0;)
            end++;
        add_layout(&curves, points, first, end);
    }
    result->kendall_tau = tau(&curves.rates);
    result->time_kendall_tau = tau(&curves.times);
}

bool rlhfsim_validation_scaling(const struct rlhfsim_validation *validation,
                                struct rlhfsim_validation_curves *strong,
                                struct rlhfsim_validation_curves *weak) {
    const struct validation_case **points = calloc(validation->count + 1, sizeof *points);
    size_t count = 0;
    if (points == NULL)
        return false;
    for (size_t i = 0; i < validation->count; i++)
        if (validation->cases[i].skipped == NULL && validation->cases[i].scale.layout != NULL)
            points[count++] = &validation->cases[i];
    qsort(points, count, sizeof *points, compare_points);
    measure(points, count, false, strong);
    measure(points, count, true, weak);
    free(points);
    return true;
}
