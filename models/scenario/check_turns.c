/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Rollouts in turns: what their keys need of each other, of the engine and of the placement.
 */
#include "models/scenario/draft.h"

/* The largest p99 over the mean that a log-normal law has: exp(z^2 / 2) with z of 99 %. */
#define SCENARIO_MOST_P99 14.9

/* Keys that a single turn has no use for. */
static void blame_unused(struct scenario_draft *draft) {
    static const enum scenario_key keys[] = {KEY_ROLLOUT_OBSERVATION_TOKENS, KEY_ROLLOUT_TOOL_TIME,
                                             KEY_ROLLOUT_TOOL_TIME_P99, KEY_ROLLOUT_KEEP_KV};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (scenario_written(draft, keys[i]))
            scenario_blame_key(draft, keys[i],
                               "%s is used by rollout.turns above 1 only; leave it out",
                               scenario_schema_at(keys[i])->path);
}

static void check_tool(struct scenario_draft *draft) {
    double mean = draft->scenario->rollout.tool_s, p99 = draft->scenario->rollout.tool_p99_s;
    if (scenario_known(draft, KEY_ROLLOUT_TOOL_TIME_P99) &&
        (p99 <= mean || p99 > SCENARIO_MOST_P99 * mean))
        scenario_blame(draft, KEY_ROLLOUT_TOOL_TIME_P99,
                       "rollout.tool_time_p99 is %g s, expected more than rollout.tool_time (%g s) "
                       "and at most %g times as much",
                       p99, mean, SCENARIO_MOST_P99);
}

void scenario_check_turns(struct scenario_draft *draft) {
    const struct rlhfsim_scenario *scenario = draft->scenario;
    if (!draft->algorithm_known || !scenario->algorithm.type->has_rollout ||
        !scenario_known(draft, KEY_ROLLOUT_TURNS))
        return;
    if (scenario->rollout.turns == 1) {
        blame_unused(draft);
        return;
    }
    check_tool(draft);
    if (draft->engine_known && scenario->rollout.engine.batching != GENERATION_CONTINUOUS)
        scenario_blame(
            draft, KEY_ROLLOUT_TURNS,
            "rollout.turns is %d, expected 1 with rollout.engine: %s, which generates in "
            "fixed batches",
            scenario->rollout.turns, scenario->rollout.engine.name);
    if (scenario_known(draft, KEY_PLACEMENT_MODE) && scenario->placement.mode == SCENARIO_ASYNC)
        scenario_blame(draft, KEY_ROLLOUT_TURNS,
                       "rollout.turns is %d, which placement.mode async is not simulated with; "
                       "expected 1",
                       scenario->rollout.turns);
}
