/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/validation/cases.h"

#include "models/validation/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct rlhfsim_validation *validation_new(void) {
    return calloc(1, sizeof(struct rlhfsim_validation));
}

void rlhfsim_validation_free(struct rlhfsim_validation *validation) {
    if (validation == NULL)
        return;
    base_arena_release(&validation->arena);
    free(validation->cases);
    free(validation);
}

static bool make_room(struct rlhfsim_validation *validation) {
    if (validation->count < validation->room)
        return true;
    size_t room = validation->room == 0 ? 64 : 2 * validation->room;
    struct validation_case *cases = realloc(validation->cases, room * sizeof *cases);
    if (cases == NULL)
        return false;
    validation->cases = cases;
    validation->room = room;
    return true;
}

/* Counts a name in a list; a case may have none. */
static bool count_name(struct rlhfsim_validation *validation, enum validation_list list,
                       const char *name) {
    struct validation_names **link = &validation->names[list];
    if (name == NULL)
        return true;
    while (*link != NULL && strcmp((*link)->name, name) != 0)
        link = &(*link)->next;
    if (*link == NULL) {
        *link = base_arena_allocate(&validation->arena, sizeof **link);
        if (*link == NULL)
            return false;
        (*link)->name = name;
    }
    (*link)->cases++;
    return true;
}

static bool counts_in_overall(const struct validation_case *c) {
    return c->metric == NULL || c->metric->in_overall;
}

bool validation_add(struct rlhfsim_validation *validation, const struct validation_case *added) {
    if (!make_room(validation))
        return false;
    struct validation_case *kept = &validation->cases[validation->count++];
    *kept = *added;
    if (kept->skipped == NULL && kept->measured == 0.0 && !kept->metric->is_flag)
        kept->skipped = "the measured value is 0";
    if (kept->skipped == NULL && !isfinite(validation_error(kept)))
        kept->skipped = "forecast and measured value are too far apart";
    return count_name(validation, VALIDATION_SOURCES,
                      counts_in_overall(kept) ? kept->source : NULL) &&
           count_name(validation, VALIDATION_METRICS,
                      kept->metric == NULL ? NULL : kept->metric->name) &&
           count_name(validation, VALIDATION_SKIPS, kept->skipped);
}

const char *validation_source_name(struct rlhfsim_validation *validation, const char *cell) {
    return base_arena_text(&validation->arena, cell, strcspn(cell, " @"));
}

/* ---- sets of cases --------------------------------------------------------------------------- */

/* What a set is: all that count in overall, those of one source of them, those of one metric. */
struct selection {
    const char *source; /* NULL: any */
    const char *metric; /* NULL: any that counts in overall */
};

static bool is_selected(const struct validation_case *c, const struct selection *selection) {
    if (selection->metric != NULL)
        return c->metric != NULL && strcmp(c->metric->name, selection->metric) == 0;
    return counts_in_overall(c) &&
           (selection->source == NULL || strcmp(c->source, selection->source) == 0);
}

/* One comparison on its way into ranks: only those of one source and metric are compared. */
struct ranked {
    const struct validation_case *compared;
};

static int compare_groups(const void *a, const void *b) {
    const struct validation_case *left = ((const struct ranked *)a)->compared;
    const struct validation_case *right = ((const struct ranked *)b)->compared;
    int source = strcmp(left->source, right->source);
    return source != 0 ? source : strcmp(left->metric->name, right->metric->name);
}

static struct validation_ranks rank_groups(struct ranked *ranked, size_t count,
                                           struct validation_pair *pairs) {
    struct validation_ranks sum = {0};
    qsort(ranked, count, sizeof *ranked, compare_groups);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first; end < count && compare_groups(&ranked[first], &ranked[end]) == 0; end++)
            pairs[end - first] = (struct validation_pair){ranked[end].compared->measured,
                                                          ranked[end].compared->forecast};
        struct validation_ranks ranks = validation_count_ranks(pairs, end - first, pairs + count);
        validation_add_ranks(&sum, &ranks);
    }
    return sum;
}

static void take_quantiles(struct validation_weighted *values, size_t count,
                           struct rlhfsim_validation_errors *errors) {
    validation_weighted_sort(values, count);
    errors->bias = validation_weighted_quantile(values, count, 0.5);
    for (size_t i = 0; i < count; i++)
        values[i].value = fabs(values[i].value);
    validation_weighted_sort(values, count);
    errors->median_abs_error = validation_weighted_quantile(values, count, 0.5);
    errors->p90_abs_error = validation_weighted_quantile(values, count, 0.9);
}

/* Room for the comparisons of a set. */
struct workspace {
    struct validation_weighted *values;
    struct ranked *ranked;
    struct validation_pair *pairs; /* twice: pairs, and room to sort them */
};

static bool workspace_make(struct workspace *workspace, size_t count) {
    size_t room = count > 0 ? count : 1;
    *workspace = (struct workspace){.values = calloc(room, sizeof(struct validation_weighted)),
                                    .ranked = calloc(room, sizeof(struct ranked)),
                                    .pairs = calloc(2 * room, sizeof(struct validation_pair))};
    return workspace->values != NULL && workspace->ranked != NULL && workspace->pairs != NULL;
}

static void workspace_free(struct workspace *workspace) {
    free(workspace->values);
    free(workspace->ranked);
    free(workspace->pairs);
}

static bool measure(const struct rlhfsim_validation *validation, const struct selection *selection,
                    struct rlhfsim_validation_errors *errors) {
    struct workspace workspace;
    size_t compared = 0;
    bool made = workspace_make(&workspace, validation->count);
    for (size_t i = 0; made && i < validation->count; i++) {
        const struct validation_case *c = &validation->cases[i];
        if (!is_selected(c, selection))
            continue;
        errors->rows++;
        if (c->skipped != NULL)
            continue;
        double weight = selection->metric == NULL && c->weight > 0.0 ? c->weight : 1.0;
        workspace.values[compared] = (struct validation_weighted){validation_error(c), weight};
        workspace.ranked[compared++].compared = c;
    }
    if (made) {
        errors->compared = compared;
        errors->skipped = errors->rows - compared;
        take_quantiles(workspace.values, compared, errors);
        struct validation_ranks ranks = rank_groups(workspace.ranked, compared, workspace.pairs);
        errors->kendall_tau = compared < 3 ? (double)NAN : validation_tau(&ranks);
    }
    workspace_free(&workspace);
    return made;
}

bool rlhfsim_validation_overall(const struct rlhfsim_validation *validation,
                                struct rlhfsim_validation_errors *errors) {
    *errors = (struct rlhfsim_validation_errors){.name = "overall"};
    return measure(validation, &(struct selection){NULL, NULL}, errors);
}

/* ---- by name --------------------------------------------------------------------------------- */

/* NULL past the last one. */
static const struct validation_names *name_at(const struct rlhfsim_validation *validation,
                                              enum validation_list list, size_t index) {
    const struct validation_names *names = validation->names[list];
    for (; names != NULL && index > 0; index--)
        names = names->next;
    return names;
}

bool rlhfsim_validation_source(const struct rlhfsim_validation *validation, size_t index,
                               struct rlhfsim_validation_errors *errors) {
    const struct validation_names *name = name_at(validation, VALIDATION_SOURCES, index);
    *errors = (struct rlhfsim_validation_errors){.name = name == NULL ? NULL : name->name};
    return name != NULL && measure(validation, &(struct selection){name->name, NULL}, errors);
}

bool rlhfsim_validation_metric(const struct rlhfsim_validation *validation, size_t index,
                               struct rlhfsim_validation_errors *errors) {
    const struct validation_names *name = name_at(validation, VALIDATION_METRICS, index);
    *errors = (struct rlhfsim_validation_errors){.name = name == NULL ? NULL : name->name};
    return name != NULL && measure(validation, &(struct selection){NULL, name->name}, errors);
}

bool rlhfsim_validation_skipped(const struct rlhfsim_validation *validation, size_t index,
                                const char **reason, size_t *count) {
    const struct validation_names *name = name_at(validation, VALIDATION_SKIPS, index);
    *reason = name == NULL ? NULL : name->name;
    *count = name == NULL ? 0 : name->cases;
    return name != NULL;
}
