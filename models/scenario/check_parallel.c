/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether the trainer's parallelism divides what it is to divide: heads over tensor parallel ranks,
 * layers over pipeline stages, experts over expert parallel ranks, GPUs over all of them.
 */
#include "models/scenario/draft.h"
#include "models/scenario/placement.h"

#include <inttypes.h>

static bool divides(int64_t part, int64_t whole) {
    return part > 0 && whole % part == 0;
}

int scenario_rank_gpus(const struct rlhfsim_scenario *scenario) {
    return scenario->training.tp * scenario->training.cp * scenario->training.pp;
}

/* ---- heads ----------------------------------------------------------------------------------- */

/* Query heads are dealt out; key-value heads too, or each is copied to several ranks. */
bool scenario_check_heads(struct scenario_draft *draft, enum scenario_key key, int tp,
                          enum algorithm_role role) {
    const struct llm_architecture *model = &draft->scenario->models[role].architecture;
    const char *path = scenario_schema_at(key)->path;
    if (!divides(tp, model->heads)) {
        scenario_blame(draft, key,
                       "%s is %d, expected a divisor of the %" PRId64 " heads of models.%s", path,
                       tp, model->heads, algorithm_role_name(role));
        return false;
    }
    if (divides(tp, model->kv_heads) || divides(model->kv_heads, tp))
        return true;
    scenario_blame(draft, key,
                   "%s is %d, expected a divisor or a multiple of the %" PRId64
                   " key-value heads of models.%s",
                   path, tp, model->kv_heads, algorithm_role_name(role));
    return false;
}

static bool check_tensor(struct scenario_draft *draft, enum algorithm_role role) {
    return scenario_check_heads(draft, KEY_TRAINING_TP, draft->scenario->training.tp, role);
}

/* ---- sequences ------------------------------------------------------------------------------- */

/* The ring cuts a sequence in 2 cp pieces, so that causal work is even; Ulysses deals out heads. */
static bool check_context(struct scenario_draft *draft, enum algorithm_role role) {
    const struct llm_architecture *model = &draft->scenario->models[role].architecture;
    int cp = draft->scenario->training.cp, tp = draft->scenario->training.tp;
    if (cp == 1)
        return true;
    if (draft->scenario->training.context == TRAINING_CONTEXT_ULYSSES) {
        if (divides(tp * cp, model->heads))
            return true;
        scenario_blame(draft, KEY_TRAINING_CP,
                       "training.cp is %d, expected training.tp x cp (%d) to divide the %" PRId64
                       " heads of models.%s with context: ulysses",
                       cp, tp * cp, model->heads, algorithm_role_name(role));
        return false;
    }
    if (2 * (int64_t)cp <= model->max_position)
        return true;
    scenario_blame(draft, KEY_TRAINING_CP,
                   "training.cp is %d, expected at most half of the %" PRId64
                   " tokens of the context of models.%s",
                   cp, model->max_position, algorithm_role_name(role));
    return false;
}

/* ---- layers ---------------------------------------------------------------------------------- */

static bool check_layers(struct scenario_draft *draft, enum algorithm_role role) {
    int64_t layers = draft->scenario->models[role].architecture.layers;
    int pp = draft->scenario->training.pp, vpp = draft->scenario->training.vpp;
    int64_t chunks = (int64_t)pp * vpp;
    bool even = divides(chunks, layers) || divides(chunks, layers + 2);
    if ((even && chunks <= layers + 2) || (vpp == 1 && chunks <= layers))
        return true;
    enum scenario_key key = vpp > 1 ? KEY_TRAINING_VPP : KEY_TRAINING_PP;
    scenario_blame(draft, key,
                   "training.pp x vpp is %d x %d, expected at most the %" PRId64
                   " layers of models.%s (or a divisor of %" PRId64
                   ", embedding and head in the place of a layer each)",
                   pp, vpp, layers, algorithm_role_name(role), layers + 2);
    return false;
}

static bool check_chunks(struct scenario_draft *draft) {
    int pp = draft->scenario->training.pp, vpp = draft->scenario->training.vpp;
    if (pp > 1 || vpp == 1)
        return true;
    scenario_blame(draft, KEY_TRAINING_VPP,
                   "training.vpp is %d, expected 1 without a pipeline (training.pp is 1)", vpp);
    return false;
}

/* ---- experts --------------------------------------------------------------------------------- */

static bool check_experts(struct scenario_draft *draft, enum algorithm_role role) {
    const struct llm_architecture *model = &draft->scenario->models[role].architecture;
    int ep = draft->scenario->training.ep;
    if (model->experts == 0 || divides(ep, model->experts))
        return true;
    scenario_blame(draft, KEY_TRAINING_EP,
                   "training.ep is %d, expected a divisor of the %" PRId64 " experts of models.%s",
                   ep, model->experts, algorithm_role_name(role));
    return false;
}

static bool check_some_experts(struct scenario_draft *draft) {
    int ep = draft->scenario->training.ep, known = 0;
    for (int role = 0; role < ALGORITHM_ROLE_COUNT; role++) {
        if (draft->model_known[role] && draft->scenario->models[role].architecture.experts > 0)
            return true;
        known += draft->model_known[role];
    }
    if (ep == 1 || known == 0)
        return true;
    scenario_blame(draft, KEY_TRAINING_EP,
                   "training.ep is %d, but no model has experts; expected 1", ep);
    return false;
}

static bool check_expert_tp(struct scenario_draft *draft) {
    int expert_tp = draft->scenario->training.expert_tp, tp = draft->scenario->training.tp;
    if (expert_tp <= 1 || expert_tp == tp)
        return true;
    scenario_blame(draft, KEY_TRAINING_EXPERT_TP,
                   "training.expert_tp is %d, expected 1 or the %d of training.tp", expert_tp, tp);
    return false;
}

/* ---- GPUs ------------------------------------------------------------------------------------ */

/* A tensor parallel group stays inside a node or fills whole nodes, and every GPU is in one. */
static bool check_tensor_gpus(struct scenario_draft *draft, int gpus) {
    const struct hardware_cluster *cluster = &draft->scenario->cluster;
    int tp = draft->scenario->training.tp;
    bool inside = divides(tp, gpus < cluster->gpus_per_node ? gpus : cluster->gpus_per_node);
    bool whole_nodes = divides(cluster->gpus_per_node, tp) && divides(tp, gpus);
    if (inside || whole_nodes)
        return true;
    scenario_blame(draft, KEY_TRAINING_TP,
                   "training.tp is %d, expected a divisor of the %d GPUs of a node, or as many "
                   "whole nodes as divide the %d GPUs",
                   tp, gpus < cluster->gpus_per_node ? gpus : cluster->gpus_per_node, gpus);
    return false;
}

static bool check_rank_gpus(struct scenario_draft *draft, int gpus) {
    const struct rlhfsim_scenario *scenario = draft->scenario;
    if (divides(scenario_rank_gpus(scenario), gpus))
        return true;
    scenario_blame(draft, scenario->training.pp > 1 ? KEY_TRAINING_PP : KEY_TRAINING_CP,
                   "training.tp x cp x pp is %d x %d x %d, expected a divisor of the %d GPUs",
                   scenario->training.tp, scenario->training.cp, scenario->training.pp, gpus);
    return false;
}

/* Experts are divided over the ranks of one stage; with those go copies of them. */
static bool check_expert_gpus(struct scenario_draft *draft, int gpus) {
    const struct rlhfsim_scenario *scenario = draft->scenario;
    int stage = gpus / scenario->training.pp;
    int ep = scenario->training.ep, tp = scenario->training.tp;
    int expert_tp = scenario->training.expert_tp > 0 ? scenario->training.expert_tp : tp;
    if (divides(ep * expert_tp, stage))
        return true;
    scenario_blame(draft, KEY_TRAINING_EP,
                   "training.ep is %d, expected a divisor of the %d ranks of a pipeline stage%s",
                   ep, stage / expert_tp, expert_tp > 1 ? " (its GPUs / tp)" : "");
    return false;
}

static bool check_shard_ranks(struct scenario_draft *draft, int gpus) {
    const struct rlhfsim_scenario *scenario = draft->scenario;
    int ranks = gpus / scenario->training.tp / scenario->training.pp;
    int shards = scenario->training.shard_ranks;
    bool shared = scenario->training.zero_stage > 0;
    if (shards == 0 || (divides(shards, ranks) && scenario->training.ep == 1 && shared))
        return true;
    if (!shared)
        scenario_blame(draft, KEY_TRAINING_SHARD_RANKS,
                       "training.shard_ranks is %d, but with training.zero_stage 0 every rank has "
                       "a copy of its own; leave it out",
                       shards);
    else if (scenario->training.ep > 1)
        scenario_blame(draft, KEY_TRAINING_SHARD_RANKS,
                       "training.shard_ranks and training.ep exclude each other");
    else
        scenario_blame(draft, KEY_TRAINING_SHARD_RANKS,
                       "training.shard_ranks is %d, expected a divisor of the %d data and context "
                       "parallel ranks",
                       shards, ranks);
    return false;
}

/* ---- the stage ------------------------------------------------------------------------------- */

typedef bool(role_check)(struct scenario_draft *draft, enum algorithm_role role);

/* All roles train under one layout; the first that does not fit speaks for the others. */
static void check_roles(struct scenario_draft *draft, role_check *check) {
    for (int role = 0; role < ALGORITHM_ROLE_COUNT; role++)
        if (draft->model_known[role] && !check(draft, (enum algorithm_role)role))
            return;
}

/* Every pool that trains or scores has the trainer's layout. */
static bool check_gpus(struct scenario_draft *draft) {
    static const enum scenario_pool pools[] = {SCENARIO_POOL_TRAIN, SCENARIO_POOL_CRITIC,
                                               SCENARIO_POOL_REWARD};
    for (size_t i = 0; i < sizeof pools / sizeof pools[0]; i++) {
        int gpus = scenario_pool_gpus(draft->scenario, pools[i]);
        if (gpus > 0 && !(check_tensor_gpus(draft, gpus) && check_rank_gpus(draft, gpus) &&
                          check_expert_gpus(draft, gpus) && check_shard_ranks(draft, gpus)))
            return false;
    }
    return true;
}

bool scenario_check_parallel(struct scenario_draft *draft) {
    bool tp = scenario_known(draft, KEY_TRAINING_TP), pp = scenario_known(draft, KEY_TRAINING_PP);
    bool cp = scenario_known(draft, KEY_TRAINING_CP), ep = scenario_known(draft, KEY_TRAINING_EP);
    bool vpp = scenario_known(draft, KEY_TRAINING_VPP);
    bool experts = tp && check_expert_tp(draft);
    bool gpus = experts && pp && cp && ep && draft->cluster_known && draft->placement_known &&
                check_gpus(draft);
    if (tp)
        check_roles(draft, check_tensor);
    if (tp && cp && scenario_known(draft, KEY_TRAINING_CONTEXT))
        check_roles(draft, check_context);
    if (pp && vpp && check_chunks(draft))
        check_roles(draft, check_layers);
    if (ep && check_some_experts(draft))
        check_roles(draft, check_experts);
    return gpus;
}
