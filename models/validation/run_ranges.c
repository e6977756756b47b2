/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/validation/run_ranges.h"

#include "models/validation/run_bands.h"
#include "models/validation/run_plan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- priors ---------------------------------------------------------------------------------- */

#define TEXT_SIZE 32

struct end {
    const struct run_case *run;
    bool high;
    char *text; /* TEXT_SIZE bytes for the value */
};

static double number(const struct end *end, const char *column) {
    double value = run_case_number(end->run, column);
    return value > 0.0 ? value : 0.0;
}

static bool is(const struct end *end, const char *column, const char *word) {
    return strcmp(run_case_cell(end->run, column), word) == 0;
}

/* False where the value is what the run has already. */
static bool give(const struct end *end, const char *column, double value) {
    (void)snprintf(end->text, TEXT_SIZE, "%.0f", value);
    return value >= 1.0 && value != number(end, column);
}

static bool word(const struct end *end, const char *text) {
    (void)snprintf(end->text, TEXT_SIZE, "%s", text);
    return true;
}

/* As the laws of run_defaults.c are off on the runs that print a mean (P10, P90). */
static bool mean_response(const struct end *end) {
    double mean = number(end, "mean_response_tokens") * (end->high ? 1.2 : 0.4);
    return give(end, "mean_response_tokens", fmin(mean, number(end, "max_response_tokens")));
}

/* Means that runs print or that their rates imply (62 of them; P10, P90). */
static bool mean_prompt(const struct end *end) {
    double longest = number(end, "max_prompt_tokens");
    return give(end, "mean_prompt_tokens", fmin(end->high ? 180.0 : 80.0, longest));
}

/* 19 in 20 runs that say it pack: only where the default is not to, both are likely. */
static bool packing(const struct end *end) {
    return is(end, "packing", "no") && !end->high && word(end, "yes");
}

/* Budgets that are stated: a quarter to twice the default, never below the longest sequence. */
static bool budget(const struct end *end) {
    double longest = number(end, "max_prompt_tokens") + number(end, "max_response_tokens");
    double tokens = number(end, "microbatch_tokens") * (end->high ? 2.0 : 0.25);
    return give(end, "microbatch_tokens", fmax(tokens, longest));
}

/* Of those that say it most have a quarter of a step's samples. */
static bool minibatch(const struct end *end) {
    double samples = number(end, "minibatch_samples");
    return end->high && fmod(samples, 4.0) == 0.0 && give(end, "minibatch_samples", samples / 4.0);
}

static bool rollout_tp(const struct end *end) {
    return end->high && give(end, "rollout_tp", 4.0 * number(end, "rollout_tp"));
}

/* With Megatron 3 of 5 runs that say it recompute, with FSDP nearly all. */
static bool recompute(const struct end *end) {
    return end->high && is(end, "train_backend", "megatron") && word(end, "full");
}

/* One in five that say it has none. */
static bool reference(const struct end *end) {
    return !end->high && is(end, "reference_model", "yes") && word(end, "no");
}

static bool gpu(const struct end *end) {
    return word(end, end->high ? "A100-SXM4-80GB" : "H200-SXM5-141GB");
}

static bool context(const struct end *end) {
    double cp = number(end, "train_cp");
    bool divides = !is(end, "train_backend", "megatron");
    return divides && give(end, "train_cp", end->high ? 2.0 * cp : floor(cp / 2.0));
}

static const struct {
    const char *column;
    bool (*value)(const struct end *end);
    bool needed; /* a run that lacks it is incomplete */
    const char *why;
} priors[] = {
    {"gpu", gpu, true, "H200 and A100, the other kinds of nodes that are rented by the eight"},
    {"mean_response_tokens", mean_response, true, "0.4 and 1.2 times the default, at most the cap"},
    {"mean_prompt_tokens", mean_prompt, false, "80 and 180, at most the longest"},
    {"packing", packing, true, "both where the default is no"},
    {"microbatch_tokens", budget, true,
     "a quarter of and twice the default, at least the longest sequence"},
    {"minibatch_samples", minibatch, true, "also a quarter of a step's samples"},
    {"rollout_tp", rollout_tp, true, "also four times the default"},
    {"train_cp", context, false, "FSDP: half and twice the default"},
    {"recompute", recompute, false, "Megatron: also full"},
    {"reference_model", reference, false, "also none"},
};

#define PRIOR_COUNT (sizeof priors / sizeof *priors)

bool run_prior_at(size_t index, const char **column, const char **why) {
    if (index >= PRIOR_COUNT)
        return false;
    *column = priors[index].column;
    *why = priors[index].why;
    return true;
}

/* ---- forecasts ------------------------------------------------------------------------------- */

struct asking {
    const struct catalog *catalog;
    const struct run_case *run;
    struct rlhfsim_diagnostics *diagnostics;
    struct run_ranges *ranges;
};

/* Adds an end to the last input. */
static enum rlhfsim_status ask(const struct asking *asking, const struct run_replacement *cells,
                               size_t count) {
    struct run_ranges *ranges = asking->ranges;
    size_t *ends = &ranges->inputs[ranges->count].ends;
    struct run_variant variant = {.cells = cells, .count = count};
    enum rlhfsim_status status =
        run_variant_forecast(asking->catalog, asking->run, asking->diagnostics, &variant);
    if (status == RLHFSIM_OK && variant.forecast)
        ranges->inputs[ranges->count].at[(*ends)++] = variant.outcome;
    return status;
}

static enum rlhfsim_status ask_prior(const struct asking *asking, size_t prior) {
    enum rlhfsim_status status = RLHFSIM_OK;
    struct run_ranges *ranges = asking->ranges;
    char text[TEXT_SIZE];
    ranges->inputs[ranges->count].name = priors[prior].column;
    ranges->inputs[ranges->count].ends = 0;
    for (int high = 0; high <= 1 && status == RLHFSIM_OK; high++) {
        struct end end = {asking->run, high == 1, text};
        struct run_replacement cell = {priors[prior].column, text};
        if (priors[prior].value(&end))
            status = ask(asking, &cell, 1);
    }
    ranges->count += ranges->inputs[ranges->count].ends > 0;
    return status;
}

/* The default is the fastest plan: the slowest is the other end. */
static enum rlhfsim_status ask_plan(const struct asking *asking) {
    struct run_ranges *ranges = asking->ranges;
    struct run_replacement cells[RUN_PLAN_CELLS];
    for (size_t i = 0; i < RUN_PLAN_CELLS; i++)
        cells[i] = (struct run_replacement){run_plan_column(i), asking->run->slowest_plan[i]};
    ranges->inputs[ranges->count].name = "plan";
    ranges->inputs[ranges->count].ends = 0;
    enum rlhfsim_status status = ask(asking, cells, RUN_PLAN_CELLS);
    ranges->count += ranges->inputs[ranges->count].ends > 0;
    return status;
}

/* What was searched is at its best, see below. */
static bool is_of_plan(const struct run_case *run, const char *column) {
    bool found = false;
    for (size_t i = 0; i < RUN_PLAN_CELLS && run->slowest_plan[0] != NULL; i++)
        found = found || strcmp(run_plan_column(i), column) == 0;
    return found;
}

enum rlhfsim_status run_ranges_forecast(const struct catalog *catalog, const struct run_case *run,
                                        struct rlhfsim_diagnostics *diagnostics,
                                        struct run_ranges *ranges) {
    struct asking asking = {catalog, run, diagnostics, ranges};
    enum rlhfsim_status status = RLHFSIM_OK;
    ranges->count = 0;
    ranges->incomplete = run->slowest_plan[0] != NULL;
    for (size_t i = 0; i < PRIOR_COUNT; i++)
        ranges->incomplete =
            ranges->incomplete || (priors[i].needed && run_case_assumes(run, priors[i].column));
    if (run->scenario == NULL || !ranges->incomplete)
        return RLHFSIM_OK;
    for (size_t i = 0; i < PRIOR_COUNT && status == RLHFSIM_OK; i++)
        if (run_case_assumes(run, priors[i].column) && !is_of_plan(run, priors[i].column))
            status = ask_prior(&asking, i);
    return status == RLHFSIM_OK && run->slowest_plan[0] != NULL ? ask_plan(&asking) : status;
}

/* ---- a figure -------------------------------------------------------------------------------- */

/* Runs of its own source do not speak for it. */
static const struct catalog_band *band_of(const struct catalog *catalog, const struct run_case *run,
                                          enum scenario_band_metric metric) {
    const char *placement = run_case_cell(run, "placement");
    const char *name = scenario_band_name(metric);
    const struct catalog_band *others = catalog_band(catalog, placement, name, run->source);
    return others != NULL ? others : catalog_band(catalog, placement, name, "");
}

/* How far an input's ends move a figure, in logarithms. */
static void moves(const struct run_ranges *ranges, size_t input, const struct run_case *run,
                  const struct run_figure *figure, double forecast, double *down, double *up) {
    const char *reason;
    *down = *up = 0.0;
    for (size_t i = 0; i < ranges->inputs[input].ends; i++) {
        double moved =
            log(run_figure_forecast(run, figure, &ranges->inputs[input].at[i], &reason) / forecast);
        if (!isfinite(moved))
            continue;
        *down = fmax(*down, -moved);
        *up = fmax(*up, moved);
    }
}

bool run_range_of(const struct catalog *catalog, const struct run_case *run,
                  const struct run_figure *figure, double forecast, const struct run_ranges *ranges,
                  struct run_range *range) {
    bool rate;
    enum scenario_band_metric metric = run_band_metric(figure->metric, &rate);
    *range = (struct run_range){(double)NAN, (double)NAN, NULL};
    if (rate && run_case_has(run, "step_s")) /* it is the step once more */
        return false;
    const struct catalog_band *band =
        metric == SCENARIO_BANDS ? NULL : band_of(catalog, run, metric);
    if (band == NULL || isnan(band->p10) || !(forecast > 0.0))
        return metric != SCENARIO_BANDS;
    double middle = log(band->p50) * (rate ? -1.0 : 1.0), most = 0.0;
    double below = log(rate ? band->p90 / band->p50 : band->p50 / band->p10);
    double above = log(rate ? band->p50 / band->p10 : band->p90 / band->p50);
    for (size_t i = 0; i < ranges->count; i++) {
        double down, up;
        moves(ranges, i, run, figure, forecast, &down, &up);
        below = hypot(below, down);
        above = hypot(above, up);
        if (down + up > most) {
            most = down + up;
            range->input = ranges->inputs[i].name;
        }
    }
    range->low = forecast * exp(middle - below);
    range->high = forecast * exp(middle + above);
    return true;
}
