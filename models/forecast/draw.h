/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_FORECAST_DRAW_H
#define MODELS_FORECAST_DRAW_H

/*
 * The lengths of prompts and responses.
 *
 * Every length is a function of the seed and of what it is for: a prompt's of the prompt's place in
 * the data set, a response's of the step, the prompt's place in it and the sample (offline: of the
 * place in the data set and the sample). Two plans of the same scenario therefore see the same
 * sequences.
 *
 * With group_correlation r the normal score of a response is sqrt(r) g + sqrt(1 - r) e: g belongs
 * to the prompt in its step, e to the sample (a Gaussian copula, which leaves each response's law
 * as it is). A drift stretches the law of a step to the step's mean. The rows of a trace: see
 * generation/length_table.h.
 */

#include "models/forecast/plan.h"

struct forecast_draw {
    const struct forecast_plan *plan;
    uint32_t replicate;
    int64_t step;
    struct generation_lengths response; /* of the step */
};

struct forecast_group {
    uint32_t prompt_tokens;
    uint64_t answer; /* what the responses are drawn for */
    size_t copies;
    double score; /* g of the group; 0 without a correlation */
    size_t row;   /* of a trace */
    double begin; /* probability that tells where the rows of its answers begin */
};

void forecast_draw_start(const struct forecast_plan *plan, uint32_t replicate, int64_t step,
                         struct forecast_draw *draw);

/* The prompt at `place` in the data set, number `prompt` of the step, answered `copies` times. */
void forecast_draw_group(const struct forecast_draw *draw, uint64_t place, uint64_t prompt,
                         size_t copies, struct forecast_group *group);

/* Response `copy` of the group, in tokens, and whether the limit cut it. */
uint32_t forecast_draw_response(const struct forecast_draw *draw,
                                const struct forecast_group *group, size_t copy, bool *cut);

/* The uniform number behind the time of a tool after turn `turn` of an answer of the step. */
double forecast_draw_tool(const struct forecast_draw *draw, uint64_t answer, uint32_t turn);

/* The probability that tells how long the reward of answer number `answer` of the step takes. */
double forecast_draw_reward(const struct forecast_draw *draw, uint64_t answer);

/* Whether number `prompt` of the step is mixed (ALGORITHM_SELECT_MIXED), which has this chance. */
bool forecast_draw_mixed(const struct forecast_draw *draw, uint64_t prompt, double chance);

#endif
