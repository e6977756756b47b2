/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/forecast/draw.h"

#include "sim/contract.h"
#include "sim/random.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

enum {
    PURPOSE_PROMPT_LENGTH = 1,
    PURPOSE_RESPONSE_LENGTH = 2,
    PURPOSE_RESPONSE_GROUP = 3,
    PURPOSE_MIXED = 4,
    PURPOSE_REWARD = 5,
    PURPOSE_TOOL = 6
};

static double uniform(const struct forecast_draw *draw, uint8_t purpose, uint64_t place,
                      uint32_t variant) {
    struct sim_random_key key = {
        .seed = draw->plan->scenario->seed,
        .purpose = purpose,
        .replicate = draw->replicate,
        .index = {(uint32_t)place, (uint32_t)(place >> 32), variant},
    };
    return sim_random_uniform(&key);
}

void forecast_draw_start(const struct forecast_plan *plan, uint32_t replicate, int64_t step,
                         struct forecast_draw *draw) {
    const struct rlhfsim_scenario *scenario = plan->scenario;
    const struct scenario_lengths *response = &scenario->rollout.response;
    struct generation_length_drift drift = response->drift;
    *draw = (struct forecast_draw){plan, replicate, step, response->fitted};
    if (drift.kind == GENERATION_LENGTH_DRIFT_NONE)
        return;
    if (drift.steps == 0.0)
        drift.steps = (double)scenario->steps;
    double start = generation_lengths_stated_mean(&response->fitted);
    double mean = generation_length_drift_mean(&drift, start, step);
    bool stretched = generation_lengths_stretch(&response->fitted, mean, &draw->response);
    CONTRACT(stretched, "the means of a drift were checked with the scenario");
}

static bool is_trace(const struct scenario_lengths *lengths) {
    return lengths->moments.law == GENERATION_LENGTH_TRACE;
}

static uint32_t prompt_length(const struct forecast_draw *draw, double u, size_t row) {
    const struct rlhfsim_scenario *scenario = draw->plan->scenario;
    const struct scenario_lengths *prompt = &scenario->rollout.prompt;
    uint32_t tokens =
        is_trace(prompt)
            ? generation_length_rounded(&prompt->fitted, scenario->rollout.trace->prompt[row], NULL)
            : generation_length_at(&prompt->fitted, u, NULL);
    return tokens > draw->plan->prompt_limit ? (uint32_t)draw->plan->prompt_limit : tokens;
}

/* A response is answered anew in every step; the responses of a data set stay what they are. */
static uint64_t answer_place(const struct forecast_draw *draw, uint64_t prompt, uint64_t place) {
    if (!draw->plan->scenario->algorithm.type->has_rollout)
        return place;
    return (uint64_t)draw->step << 32 | prompt;
}

void forecast_draw_group(const struct forecast_draw *draw, uint64_t place, uint64_t prompt,
                         size_t copies, struct forecast_group *group) {
    const struct rlhfsim_scenario *scenario = draw->plan->scenario;
    const struct scenario_lengths *response = &scenario->rollout.response;
    bool fixed = scenario->rollout.prompt.moments.law == GENERATION_LENGTH_FIXED;
    double u = fixed && scenario->rollout.trace == NULL
                   ? 0.5
                   : uniform(draw, PURPOSE_PROMPT_LENGTH, place, 0);
    *group = (struct forecast_group){.answer = answer_place(draw, prompt, place), .copies = copies};
    if (scenario->rollout.trace != NULL)
        group->row = generation_trace_pick(scenario->rollout.trace, u);
    group->prompt_tokens = prompt_length(draw, u, group->row);
    if (is_trace(response))
        group->begin = uniform(draw, PURPOSE_RESPONSE_GROUP, group->answer, 0);
    else if (response->group_correlation > 0.0)
        group->score =
            gsl_cdf_ugaussian_Pinv(uniform(draw, PURPOSE_RESPONSE_GROUP, group->answer, 0));
}

static uint32_t trace_response(const struct forecast_draw *draw, const struct forecast_group *group,
                               size_t copy, bool *cut) {
    const struct generation_trace *trace = draw->plan->scenario->rollout.trace;
    size_t row = generation_trace_answer(trace, group->row, group->begin, copy, group->copies);
    return generation_length_rounded(&draw->response, draw->response.scale * trace->response[row],
                                     cut);
}

uint32_t forecast_draw_response(const struct forecast_draw *draw,
                                const struct forecast_group *group, size_t copy, bool *cut) {
    const struct scenario_lengths *response = &draw->plan->scenario->rollout.response;
    double r = response->group_correlation;
    if (is_trace(response))
        return trace_response(draw, group, copy, cut);
    if (draw->response.width == 0.0 && draw->response.bins == NULL &&
        draw->response.cap_share == 0.0)
        return generation_length_at(&draw->response, 0.5, cut);
    double u = uniform(draw, PURPOSE_RESPONSE_LENGTH, group->answer, (uint32_t)copy);
    if (r == 0.0)
        return generation_length_at(&draw->response, u, cut);
    double score = sqrt(r) * group->score + sqrt(1.0 - r) * gsl_cdf_ugaussian_Pinv(u);
    return generation_length_at_score(&draw->response, score, cut);
}

bool forecast_draw_mixed(const struct forecast_draw *draw, uint64_t prompt, double chance) {
    return uniform(draw, PURPOSE_MIXED, answer_place(draw, prompt, prompt), 0) < chance;
}

double forecast_draw_tool(const struct forecast_draw *draw, uint64_t answer, uint32_t turn) {
    return uniform(draw, PURPOSE_TOOL, answer_place(draw, answer, answer), turn);
}

double forecast_draw_reward(const struct forecast_draw *draw, uint64_t answer) {
    return uniform(draw, PURPOSE_REWARD, answer_place(draw, answer, answer), 0);
}
