/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Zones hold equal parts of the cluster, and what exchanges activations or tokens stays in one:
 * tensor, context and expert parallel groups and the replicas of the engine. What may cross are
 * weights, gradients and the activations between pipeline stages.
 */
#include "models/network/collective.h"
#include "models/scenario/draft.h"

#include <stdio.h>
#include <string.h>

static bool given(const struct scenario_draft *draft, enum scenario_key key) {
    return scenario_given(draft, key) && scenario_known(draft, key);
}

/* With the count written, even as 1, the others may stay: a sweep over it passes through 1. */
static void check_companions(struct scenario_draft *draft) {
    static const enum scenario_key keys[] = {KEY_CLUSTER_ZONES_BANDWIDTH, KEY_CLUSTER_ZONES_LATENCY,
                                             KEY_CLUSTER_ZONES_USD_PER_GB};
    if (scenario_given(draft, KEY_CLUSTER_ZONES_COUNT))
        return;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (scenario_written(draft, keys[i]))
            scenario_blame_key(draft, keys[i],
                               "%s is written, but cluster.zones.count is not: there is one zone",
                               scenario_schema_at(keys[i])->path);
}

static bool check_nodes(struct scenario_draft *draft) {
    const struct hardware_cluster *cluster = &draft->scenario->cluster;
    int zones = cluster->zones.count;
    if (cluster->nodes % zones != 0) {
        scenario_blame(draft, KEY_CLUSTER_ZONES_COUNT,
                       "cluster.zones.count is %d, expected a divisor of the %d nodes", zones,
                       cluster->nodes);
        return false;
    }
    if (cluster->nodes / zones * cluster->gpus_per_node % hardware_domain_gpus(cluster) != 0) {
        scenario_blame(draft, KEY_CLUSTER_ZONES_COUNT,
                       "cluster.zones.count is %d, which cuts an NVLink domain of %d GPUs", zones,
                       hardware_domain_gpus(cluster));
        return false;
    }
    if (given(draft, KEY_CLUSTER_ZONES_BANDWIDTH))
        return true;
    scenario_blame(draft, KEY_CLUSTER_ZONES_COUNT,
                   "cluster.zones.count is %d, which needs cluster.zones.bandwidth", zones);
    return false;
}

/* `group` GPUs side by side must not cross. */
static void check_group(struct scenario_draft *draft, enum scenario_key key, const char *what,
                        int group) {
    const struct hardware_cluster *cluster = &draft->scenario->cluster;
    int gpus = hardware_cluster_gpus(cluster) / cluster->zones.count;
    if (group > 0 && gpus % group == 0)
        return;
    scenario_blame(draft, key, "%s is %d GPUs, expected a divisor of the %d of a zone", what, group,
                   gpus);
}

static void check_groups(struct scenario_draft *draft) {
    const struct rlhfsim_scenario *scenario = draft->scenario;
    int tp = scenario->training.tp, ep = scenario->training.ep;
    int expert_tp = scenario->training.expert_tp > 0 ? scenario->training.expert_tp : tp;
    check_group(draft, scenario->training.cp > 1 ? KEY_TRAINING_CP : KEY_TRAINING_TP,
                "training.tp x cp", tp * scenario->training.cp);
    if (ep > 1)
        check_group(draft, KEY_TRAINING_EP, "training.ep x expert_tp", ep * expert_tp);
    if (draft->algorithm_known && scenario->algorithm.type->has_rollout)
        check_group(draft, KEY_ROLLOUT_TP, "a replica of the rollout engine",
                    scenario->rollout.tp * scenario->rollout.pp * scenario->rollout.attention_dp);
}

static void describe(struct rlhfsim_scenario *scenario) {
    size_t used = strlen(scenario->topology);
    (void)snprintf(scenario->topology + used, sizeof scenario->topology - used,
                   "; %d zones of %d nodes, %.4g GB/s out of each", scenario->cluster.zones.count,
                   scenario->cluster.nodes / scenario->cluster.zones.count,
                   scenario->cluster.zones.bandwidth_bytes_per_s / 1e9);
}

void scenario_check_zones(struct scenario_draft *draft) {
    check_companions(draft);
    if (!draft->cluster_known || !scenario_known(draft, KEY_CLUSTER_ZONES_COUNT) ||
        draft->scenario->cluster.zones.count <= 1 || !check_nodes(draft))
        return;
    check_groups(draft);
    describe(draft->scenario);
}
