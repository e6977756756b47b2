/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/forecast/tail.h"
#include "models/forecast/footprint.h"
#include "models/forecast/microbatch.h"

#include "models/scenario/steps.h"

#include <math.h>

/* Shares below this are none. */
#define TAIL_LEAST 1e-12

/* ---- lengths --------------------------------------------------------------------------------- */

/* Share of lengths of x and more: where the quantile reaches x, whatever the law. */
static double tail_of(const struct generation_lengths *law, double x) {
    double below = 0.0, reached = 1.0;
    if (x <= 1.0)
        return 1.0;
    if (generation_length_at(law, 1.0 - TAIL_LEAST, NULL) < x)
        return 0.0;
    while (reached - below > TAIL_LEAST) {
        double middle = below + 0.5 * (reached - below);
        if (generation_length_at(law, middle, NULL) < x)
            below = middle;
        else
            reached = middle;
    }
    return 1.0 - below;
}

/* Prompts at the middles of so many equal shares. */
#define PROMPT_SHARES 64

double forecast_length_tail(const struct forecast_plan *plan, double tokens) {
    const struct rlhfsim_scenario *scenario = plan->scenario;
    double sum = 0.0;
    for (int i = 0; i < PROMPT_SHARES; i++) {
        double u = (i + 0.5) / PROMPT_SHARES;
        double prompt = generation_length_at(&scenario->rollout.prompt.fitted, u, NULL);
        sum += tail_of(&scenario->rollout.response.fitted, tokens - prompt);
    }
    return sum / PROMPT_SHARES;
}

/* Mean and variance of prompt and response together, by the same shares. */
static void moments_of(const struct forecast_plan *plan, double *mean, double *variance) {
    const struct generation_lengths *laws[] = {&plan->scenario->rollout.prompt.fitted,
                                               &plan->scenario->rollout.response.fitted};
    *mean = *variance = 0.0;
    for (int law = 0; law < 2; law++) {
        double sum = 0.0, squares = 0.0;
        for (int i = 0; i < PROMPT_SHARES; i++) {
            double x = generation_length_at(laws[law], (i + 0.5) / PROMPT_SHARES, NULL);
            sum += x;
            squares += x * x;
        }
        double middle = sum / PROMPT_SHARES;
        *mean += middle;
        *variance += squares / PROMPT_SHARES - middle * middle;
    }
}

/* ---- micro-batches --------------------------------------------------------------------------- */

static double microbatches_of_run(const struct forecast_plan *plan) {
    return (double)scenario_optimizer_steps(plan->scenario) * (double)plan->dp *
           fmax(1.0, forecast_microbatches(plan, forecast_fullest_step(plan->scenario)));
}

/* At least one of n trials of probability p. */
static double at_least_once(double p, double n) {
    return p >= 1.0 ? 1.0 : -expm1(n * log1p(-p));
}

double forecast_batch_probability(const struct forecast_plan *plan, double tokens) {
    const struct rlhfsim_scenario *scenario = plan->scenario;
    struct llm_batch largest =
        forecast_largest_batch(plan, FORECAST_PASS_UPDATE, forecast_fullest_step(scenario));
    double sequences = largest.sequences, run = microbatches_of_run(plan), mean, variance;
    if (scenario->training.microbatch_tokens > 0 &&
        (double)scenario->training.microbatch_tokens <= largest.tokens)
        return 1.0;
    if (!scenario->training.packing || sequences <= 1.0)
        return at_least_once(forecast_length_tail(plan, tokens), sequences * run);
    moments_of(plan, &mean, &variance);
    double deviation = sqrt(sequences * variance);
    double beyond = sequences * (tokens - mean);
    double q = deviation > 0.0 ? 0.5 * erfc(beyond / (deviation * sqrt(2.0))) : beyond <= 0.0;
    return at_least_once(q, run);
}

/* ---- what fits ------------------------------------------------------------------------------- */

static bool fits_with(const struct forecast_plan *plan, int64_t tokens) {
    struct forecast_plan shorter = *plan;
    shorter.prompt_limit = 0;
    shorter.response_limit = tokens;
    forecast_plan_memory(&shorter);
    return forecast_plan_fits(&shorter);
}

int64_t forecast_fitting_tokens(const struct forecast_plan *plan) {
    int64_t fitting = 0, failing = plan->prompt_limit + plan->response_limit + 1;
    while (failing - fitting > 1) {
        int64_t middle = fitting + (failing - fitting) / 2;
        if (fits_with(plan, middle))
            fitting = middle;
        else
            failing = middle;
    }
    return fitting;
}
