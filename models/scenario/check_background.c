/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A neighbour that comes and goes slows what is played as work with a beginning and an end: passes,
 * updates and weight syncs. What else would meet it on its links is refused.
 */
#include "models/network/group.h"
#include "models/scenario/draft.h"

/* The edge of the window that the scenario writes. */
static enum scenario_key edge(const struct scenario_draft *draft) {
    return scenario_given(draft, KEY_CLUSTER_TOPOLOGY_BACKGROUND_FROM)
               ? KEY_CLUSTER_TOPOLOGY_BACKGROUND_FROM
               : KEY_CLUSTER_TOPOLOGY_BACKGROUND_UNTIL;
}

static void refuse(struct scenario_draft *draft, const char *what) {
    scenario_blame_key(draft, edge(draft),
                       "%s does not go with %s; cluster.topology.background alone, all the time, "
                       "does",
                       scenario_schema_at(edge(draft))->path, what);
}

void scenario_check_background(struct scenario_draft *draft) {
    const struct rlhfsim_scenario *scenario = draft->scenario;
    bool stores =
        scenario->checkpoint.every_steps > 0 || scenario->checkpoint.load != SCENARIO_LOAD_NONE;
    int replica = scenario->rollout.tp * scenario->rollout.pp * scenario->rollout.attention_dp;
    if (!draft->cluster_known || !draft->algorithm_known ||
        scenario->cluster.topology.neighbour.share <= 0.0)
        return;
    if (scenario->placement.mode == SCENARIO_ASYNC)
        refuse(draft, "placement.mode async");
    if (stores && scenario->checkpoint.layout == SCENARIO_SAVE_GATHERED)
        refuse(draft, "checkpoint.layout gathered");
    if (scenario->algorithm.type->has_rollout && replica > hardware_domain_gpus(&scenario->cluster))
        refuse(draft, "a replica of the rollout engine (rollout.tp x pp) over several NVLink "
                      "domains");
}
