/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/forecast/turns.h"

#include "models/forecast/rewards.h"

/* t turns are t tokens of the model at least, and t - 1 observations. */
uint32_t forecast_turn_count(uint32_t tokens, uint32_t observation, uint32_t most) {
    uint32_t further = tokens == 0 ? 0 : (tokens - 1) / (observation + 1);
    return further < most - 1 ? further + 1 : most;
}

void forecast_turns_give(const struct forecast_draw *draw, uint64_t answer,
                         struct generation_turn *turns, struct generation_request *request) {
    const struct rlhfsim_scenario *scenario = draw->plan->scenario;
    struct forecast_checker tool = {.sample_s = scenario->rollout.tool_s,
                                    .sample_p99_s = scenario->rollout.tool_p99_s};
    uint32_t observation = (uint32_t)scenario->rollout.observation_tokens;
    uint32_t most = (uint32_t)scenario->rollout.turns;
    uint32_t count = forecast_turn_count(request->response_tokens, observation, most);
    uint32_t tokens = request->response_tokens - (count - 1) * observation;
    request->response_tokens = tokens / count + (tokens % count > 0);
    request->turn_count = count - 1;
    request->turns = turns;
    for (uint32_t t = 1; t < count; t++) {
        bool timed = tool.sample_p99_s > 0.0;
        turns[t - 1] = (struct generation_turn){
            .latency_s = forecast_check_s(&tool, timed ? forecast_draw_tool(draw, answer, t) : 0.5),
            .observation_tokens = observation,
            .response_tokens = tokens / count + (t < tokens % count)};
    }
}

uint32_t forecast_turns_tokens(const struct generation_request *request) {
    uint32_t tokens = request->response_tokens;
    for (uint32_t t = 0; t < request->turn_count; t++)
        tokens += request->turns[t].response_tokens;
    return tokens;
}

double forecast_turns_latency_s(const struct generation_request *request) {
    double seconds = 0.0;
    for (uint32_t t = 0; t < request->turn_count; t++)
        seconds += request->turns[t].latency_s;
    return seconds;
}
