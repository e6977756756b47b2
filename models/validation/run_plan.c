/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/validation/run_plan.h"

#include "models/validation/run_variant.h"

#include <string.h>

enum { RECOMPUTE, TP, PP, EP, DIMENSIONS };

_Static_assert(DIMENSIONS == RUN_PLAN_CELLS, "a plan is these cells");

static const struct {
    const char *column;
    const char *values[4];
    size_t count;
} dimensions[DIMENSIONS] = {[RECOMPUTE] = {"recompute", {"none", "full"}, 2},
                            [TP] = {"train_tp", {"1", "2", "4", "8"}, 4},
                            [PP] = {"train_pp", {"1", "2", "4", "8"}, 4},
                            [EP] = {"train_ep", {"1", "8"}, 2}};

const char *run_plan_column(size_t cell) {
    return dimensions[cell].column;
}

struct candidate {
    const char *value[DIMENSIONS];
    double step_s; /* 0: none yet */
};

struct search {
    const struct catalog *catalog;
    struct rlhfsim_diagnostics *diagnostics;
    const struct run_case *run;
    bool is_free[DIMENSIONS], only_fitting;
    struct candidate fastest, slowest;
};

/* Leaves step_s where the plan is not legal, or does not fit. */
static enum rlhfsim_status try_plan(struct search *search, struct candidate *candidate) {
    struct run_replacement cells[DIMENSIONS];
    struct run_variant variant = {
        .cells = cells, .count = DIMENSIONS, .only_fitting = search->only_fitting};
    for (int i = 0; i < DIMENSIONS; i++)
        cells[i] = (struct run_replacement){dimensions[i].column, candidate->value[i]};
    enum rlhfsim_status status =
        run_variant_forecast(search->catalog, search->run, search->diagnostics, &variant);
    if (status != RLHFSIM_OK || !variant.forecast)
        return status;
    candidate->step_s = variant.outcome.step_s;
    if (search->fastest.step_s <= 0.0 || candidate->step_s < search->fastest.step_s)
        search->fastest = *candidate;
    if (candidate->step_s > search->slowest.step_s)
        search->slowest = *candidate;
    return status;
}

/* Every combination of what is free; what is stated stays. Nobody recomputes what fits without. */
static enum rlhfsim_status try_all(struct search *search) {
    enum rlhfsim_status status = RLHFSIM_OK;
    size_t count = 1;
    bool done = false; /* the plan before, which differs in the first dimension alone */
    for (int i = 0; i < DIMENSIONS; i++)
        count *= search->is_free[i] ? dimensions[i].count : 1;
    for (size_t index = 0; index < count && status == RLHFSIM_OK; index++) {
        struct candidate candidate = {.step_s = 0.0};
        size_t rest = index;
        if (search->is_free[RECOMPUTE] && index % 2 == 1 && done)
            continue;
        for (int i = 0; i < DIMENSIONS; i++) {
            candidate.value[i] = search->is_free[i]
                                     ? dimensions[i].values[rest % dimensions[i].count]
                                     : run_case_cell(search->run, dimensions[i].column);
            rest /= search->is_free[i] ? dimensions[i].count : 1;
        }
        status = try_plan(search, &candidate);
        done = candidate.step_s > 0.0;
    }
    return status;
}

/* Of experts there is no default that could be replaced. */
static struct run_assumption *assumption(struct run_complete *complete, const char *column) {
    for (size_t i = 0; i < complete->assumed_count; i++)
        if (strcmp(complete->assumed[i].column, column) == 0)
            return &complete->assumed[i];
    return complete->assumed_count < RUN_ASSUMPTIONS ? &complete->assumed[complete->assumed_count++]
                                                     : NULL;
}

static void assume(struct run_case *run, const char *column, const char *value) {
    struct run_assumption *assumed = assumption(&run->complete, column);
    if (assumed != NULL)
        *assumed = (struct run_assumption){.column = column,
                                           .value = value,
                                           .why = "of the legal plans that fit the fastest",
                                           .guess = true,
                                           .searched = true};
    run->complete.row.cells[validation_column(&run->complete.table, column)].text = value;
}

enum rlhfsim_status run_plan_assume(const struct catalog *catalog,
                                    struct rlhfsim_diagnostics *diagnostics, struct run_case *run) {
    struct search search = {.catalog = catalog, .diagnostics = diagnostics, .run = run};
    const struct llm_architecture *model =
        catalog_model(catalog, run_case_cell(run, "actor_model"));
    search.is_free[TP] = run_case_assumes(run, "train_tp");
    search.is_free[PP] = run_case_assumes(run, "train_pp");
    bool divides = strcmp(run_case_cell(run, "train_backend"), "megatron") == 0;
    if (!divides || model == NULL || (!search.is_free[TP] && !search.is_free[PP]))
        return RLHFSIM_OK;
    search.is_free[RECOMPUTE] = run_case_assumes(run, "recompute");
    search.is_free[EP] = model->experts > 0 && *run_case_cell(run, "train_ep") == '\0';
    search.only_fitting = true;
    enum rlhfsim_status status = try_all(&search);
    search.only_fitting = false;
    if (status == RLHFSIM_OK && search.fastest.step_s <= 0.0)
        status = try_all(&search);
    if (status != RLHFSIM_OK || search.fastest.step_s <= 0.0)
        return status;
    for (int i = 0; i < DIMENSIONS; i++) {
        if (search.is_free[i])
            assume(run, dimensions[i].column, search.fastest.value[i]);
        run->slowest_plan[i] = search.slowest.value[i];
    }
    return RLHFSIM_OK;
}
