/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * What ranges hold. A group is all figures whose range is of one kind ("complete colocated step");
 * the first two are all of complete and of incomplete runs. Figures count as one each.
 */

#include "models/validation/cases.h"
#include "models/validation/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const pooled[] = {VALIDATION_COMPLETE, VALIDATION_INCOMPLETE};
#define POOLED (sizeof pooled / sizeof *pooled)

/* A group's name begins with the pool's. */
static bool is_in(const struct validation_case *c, const char *name) {
    const char *group = c->skipped == NULL ? c->range.group : NULL;
    size_t length = strlen(name);
    return group != NULL && strncmp(group, name, length) == 0 &&
           (group[length] == '\0' || group[length] == ' ');
}

/* The name of the group, pools first, in the order of their first case; NULL past the last. */
static const char *name_at(const struct rlhfsim_validation *validation, size_t index) {
    size_t found = 0;
    for (size_t i = 0; i < POOLED; i++)
        for (size_t c = 0; c < validation->count; c++)
            if (is_in(&validation->cases[c], pooled[i])) {
                if (found++ == index)
                    return pooled[i];
                break;
            }
    for (size_t c = 0; c < validation->count; c++) {
        const char *group = validation->cases[c].range.group;
        bool first = validation->cases[c].skipped == NULL && group != NULL;
        for (size_t before = 0; before < c && first; before++)
            first = !is_in(&validation->cases[before], group);
        if (first && found++ == index)
            return group;
    }
    return NULL;
}

/* Of the inputs that widen ranges of a group most, the one that does so most often. */
static void find_input(const struct rlhfsim_validation *validation, const char *name,
                       struct rlhfsim_validation_range *range) {
    for (size_t i = 0; i < validation->count; i++) {
        const char *input = validation->cases[i].range.input;
        size_t count = 0;
        if (!is_in(&validation->cases[i], name) || input == NULL)
            continue;
        for (size_t j = 0; j < validation->count; j++) {
            const char *other = validation->cases[j].range.input;
            count +=
                is_in(&validation->cases[j], name) && other != NULL && strcmp(other, input) == 0;
        }
        if (count <= range->input_count)
            continue;
        range->input = input;
        range->input_count = count;
    }
}

/* `room` for two numbers a case. */
static void fill(const struct rlhfsim_validation *validation, double *room,
                 struct rlhfsim_validation_range *range) {
    double *widths = room, *sizes = room + validation->count;
    for (size_t i = 0; i < validation->count; i++) {
        const struct validation_case *c = &validation->cases[i];
        if (!is_in(c, range->name))
            continue;
        range->figures++;
        if (!(c->range.low > 0.0) || !(c->measured > 0.0) || !(c->forecast > 0.0))
            continue;
        widths[range->tried] = log(c->range.high / c->range.low);
        sizes[range->tried++] = fabs(log(c->measured / c->forecast));
        range->inside += c->measured >= c->range.low && c->measured <= c->range.high;
    }
    validation_sort(widths, range->tried);
    validation_sort(sizes, range->tried);
    range->median_width = exp(validation_quantile(widths, range->tried, 0.5));
    range->needed_width =
        exp(VALIDATION_WIDTH_OF_MEDIAN * validation_quantile(sizes, range->tried, 0.5));
    find_input(validation, range->name, range);
}

bool rlhfsim_validation_range(const struct rlhfsim_validation *validation, size_t index,
                              struct rlhfsim_validation_range *range) {
    double *room = malloc((2 * validation->count + 1) * sizeof *room);
    *range = (struct rlhfsim_validation_range){.name = NULL};
    if (room != NULL)
        range->name = name_at(validation, index);
    if (range->name != NULL)
        fill(validation, room, range);
    free(room);
    return range->name != NULL;
}
