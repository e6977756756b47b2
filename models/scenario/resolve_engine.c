/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The inference engine: its row of the catalog, the options that the scenario writes over it, and
 * how a replica is cut over GPUs. What an engine cannot do is refused rather than ignored.
 *
 * Host times are the engine's own, as it serves; a training framework that drives it may cost more
 * an iteration and sequence, so the larger of the two rows counts.
 */
#include "models/scenario/draft.h"

#include <inttypes.h>
#include <math.h>

/* ---- options --------------------------------------------------------------------------------- */

static bool fixed_batches(const struct scenario_draft *draft) {
    return draft->scenario->rollout.engine.batching != GENERATION_CONTINUOUS;
}

/* What means nothing where a batch is fixed. */
static void refuse_options(struct scenario_draft *draft) {
    static const enum scenario_key keys[] = {
        KEY_ROLLOUT_MAX_NUM_BATCHED_TOKENS, KEY_ROLLOUT_PREFIX_CACHING, KEY_ROLLOUT_CHUNKED_PREFILL,
        KEY_ROLLOUT_PREEMPTION, KEY_ROLLOUT_SPECULATIVE_TOKENS};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (scenario_written(draft, keys[i]))
            scenario_blame_key(draft, keys[i],
                               "%s has no use with rollout.engine: %s, which generates in fixed "
                               "batches; leave it out",
                               scenario_schema_at(keys[i])->path,
                               draft->scenario->rollout.engine.name);
}

static void apply_graphs(struct scenario_draft *draft) {
    struct generation_software *engine = &draft->scenario->rollout.engine;
    if (!scenario_written(draft, KEY_ROLLOUT_CUDA_GRAPHS))
        return;
    if (!draft->scenario->rollout.cuda_graphs)
        engine->graph_step = 0;
    else if (engine->graph_step == 0)
        scenario_blame(draft, KEY_ROLLOUT_CUDA_GRAPHS,
                       "rollout.cuda_graphs is true, but rollout.engine: %s has none",
                       engine->name);
}

static void apply_options(struct scenario_draft *draft, const struct catalog_engine *row) {
    struct rlhfsim_scenario *scenario = draft->scenario;
    struct generation_software *engine = &scenario->rollout.engine;
    if (scenario_known(draft, KEY_ROLLOUT_PREFIX_CACHING))
        engine->prefix_caching = scenario->rollout.prefix_caching;
    if (scenario_known(draft, KEY_ROLLOUT_CHUNKED_PREFILL))
        engine->chunked_prefill = scenario->rollout.chunked_prefill;
    if (scenario_known(draft, KEY_ROLLOUT_PREEMPTION))
        engine->preemption = scenario->rollout.preemption;
    if (!scenario_given(draft, KEY_ROLLOUT_MAX_NUM_SEQS))
        scenario->rollout.max_num_seqs = row->max_num_seqs;
    if (!scenario_given(draft, KEY_ROLLOUT_MAX_NUM_BATCHED_TOKENS))
        scenario->rollout.max_num_batched_tokens = row->max_num_batched_tokens;
    scenario->rollout.prefix_caching = engine->prefix_caching;
    scenario->rollout.chunked_prefill = engine->chunked_prefill;
    scenario->rollout.preemption = engine->preemption;
    apply_graphs(draft);
    if (fixed_batches(draft))
        refuse_options(draft);
}

static void check_speculation(struct scenario_draft *draft) {
    static const enum scenario_key keys[] = {KEY_ROLLOUT_SPECULATIVE_ACCEPTANCE,
                                             KEY_ROLLOUT_SPECULATIVE_DRAFT_COST};
    bool speculates = draft->scenario->rollout.speculation.tokens > 0;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (speculates && !scenario_given(draft, keys[i]))
            scenario_blame_key(draft, KEY_ROLLOUT_SPECULATIVE_TOKENS,
                               "%s is required by rollout.speculative_tokens above 0",
                               scenario_schema_at(keys[i])->path);
        if (scenario_written(draft, keys[i]) &&
            !scenario_given(draft, KEY_ROLLOUT_SPECULATIVE_TOKENS))
            scenario_blame_key(draft, keys[i],
                               "%s is written, but rollout.speculative_tokens is not: nothing is "
                               "speculated",
                               scenario_schema_at(keys[i])->path);
    }
}

static const char *default_engine(const struct rlhfsim_scenario *scenario) {
    return scenario->framework.engine[0] == '\0' ? "vllm" : scenario->framework.engine;
}

void scenario_resolve_engine(struct scenario_draft *draft) {
    struct rlhfsim_scenario *scenario = draft->scenario;
    bool given = scenario_given(draft, KEY_ROLLOUT_ENGINE);
    if (!draft->algorithm_known || !scenario->algorithm.type->has_rollout ||
        (given && !scenario_known(draft, KEY_ROLLOUT_ENGINE)))
        return;
    const char *name = given ? draft->values.at[KEY_ROLLOUT_ENGINE].text : default_engine(scenario);
    const struct catalog_engine *row = catalog_engine(draft->catalog, name);
    if (row == NULL) {
        scenario_blame_name(draft, KEY_ROLLOUT_ENGINE, CATALOG_ENGINES);
        return;
    }
    scenario->rollout.engine = row->software;
    scenario->engine_provenance = catalog_provenance(draft->catalog, CATALOG_ENGINES, name);
    draft->engine_known = true;
    apply_options(draft, row);
    check_speculation(draft);
    struct generation_software *engine = &scenario->rollout.engine;
    engine->iteration_host_s = fmax(engine->iteration_host_s, scenario->framework.iteration_host_s);
    engine->sequence_host_s = fmax(engine->sequence_host_s, scenario->framework.sequence_host_s);
}

/* ---- how a replica is cut -------------------------------------------------------------------- */

static bool divides(int64_t part, int64_t whole) {
    return part > 0 && whole % part == 0;
}

static int replica_gpus(const struct rlhfsim_scenario *scenario) {
    return scenario->rollout.tp * scenario->rollout.pp * scenario->rollout.attention_dp;
}

/* The key of the last degree that makes a replica too large: what the user most likely changed. */
static enum scenario_key largest_degree(const struct scenario_draft *draft) {
    if (scenario_given(draft, KEY_ROLLOUT_ATTENTION_DP) &&
        draft->scenario->rollout.attention_dp > 1)
        return KEY_ROLLOUT_ATTENTION_DP;
    return draft->scenario->rollout.pp > 1 ? KEY_ROLLOUT_PP : KEY_ROLLOUT_TP;
}

static void check_gpus(struct scenario_draft *draft) {
    const struct rlhfsim_scenario *scenario = draft->scenario;
    const struct hardware_cluster *cluster = &scenario->cluster;
    int size = replica_gpus(scenario), gpus = hardware_cluster_gpus(cluster);
    bool several = scenario->rollout.pp > 1 || scenario->rollout.attention_dp > 1;
    bool inside = divides(size, cluster->gpus_per_node);
    bool nodes = divides(cluster->gpus_per_node, size) && divides(size, gpus);
    if (!several || inside || nodes)
        return;
    scenario_blame(draft, largest_degree(draft),
                   "an engine replica has %d GPUs (rollout.tp %d x pp %d x attention_dp %d), "
                   "expected a divisor of the %d GPUs of a node, or as many whole nodes as divide "
                   "the %d GPUs",
                   size, scenario->rollout.tp, scenario->rollout.pp, scenario->rollout.attention_dp,
                   cluster->gpus_per_node, gpus);
}

static void check_stages(struct scenario_draft *draft, const struct llm_architecture *model) {
    int pp = draft->scenario->rollout.pp;
    if (pp > model->layers)
        scenario_blame(draft, KEY_ROLLOUT_PP,
                       "rollout.pp is %d, expected at most the %" PRId64 " layers of models.actor",
                       pp, model->layers);
    else if (pp > 1 && draft->engine_known && fixed_batches(draft))
        scenario_blame(draft, KEY_ROLLOUT_PP,
                       "rollout.pp is %d, expected 1 with rollout.engine: %s, which has no stages",
                       pp, draft->scenario->rollout.engine.name);
}

static void check_experts(struct scenario_draft *draft, const struct llm_architecture *model) {
    const struct rlhfsim_scenario *scenario = draft->scenario;
    int ep = scenario->rollout.ep, dp = scenario->rollout.attention_dp;
    int stage = scenario->rollout.tp * dp;
    if ((ep > 1 || dp > 1) && model->moe_layers == 0)
        scenario_blame(draft, ep > 1 ? KEY_ROLLOUT_EP : KEY_ROLLOUT_ATTENTION_DP,
                       "%s is %d, expected 1: models.actor has no experts",
                       ep > 1 ? "rollout.ep" : "rollout.attention_dp", ep > 1 ? ep : dp);
    else if (dp > 1 && ep != stage)
        scenario_blame(draft, KEY_ROLLOUT_EP,
                       "rollout.ep is %d, expected %d (rollout.tp %d x attention_dp %d): groups "
                       "with sequences of their own share the experts of all",
                       ep, stage, scenario->rollout.tp, dp);
    else if (ep > 1 && ep != stage)
        scenario_blame(draft, KEY_ROLLOUT_EP,
                       "rollout.ep is %d, expected 1 or the %d GPUs of a stage", ep, stage);
    else if (ep > 1 && !divides(ep, model->experts))
        scenario_blame(draft, KEY_ROLLOUT_EP,
                       "rollout.ep is %d, expected a divisor of the %" PRId64
                       " experts of models.actor",
                       ep, model->experts);
}

static void check_sequences(struct scenario_draft *draft) {
    const struct rlhfsim_scenario *scenario = draft->scenario;
    if (scenario->rollout.max_num_seqs < scenario->rollout.attention_dp)
        scenario_blame(
            draft, KEY_ROLLOUT_MAX_NUM_SEQS,
            "rollout.max_num_seqs is %d, expected at least one for each of the %d groups "
            "of rollout.attention_dp",
            scenario->rollout.max_num_seqs, scenario->rollout.attention_dp);
}

void scenario_check_engine(struct scenario_draft *draft) {
    bool degrees = scenario_known(draft, KEY_ROLLOUT_TP) && scenario_known(draft, KEY_ROLLOUT_PP) &&
                   scenario_known(draft, KEY_ROLLOUT_EP) &&
                   scenario_known(draft, KEY_ROLLOUT_ATTENTION_DP);
    const struct llm_architecture *model =
        &draft->scenario->models[ALGORITHM_ROLE_ACTOR].architecture;
    if (!draft->algorithm_known || !draft->scenario->algorithm.type->has_rollout || !degrees)
        return;
    if (draft->cluster_known)
        check_gpus(draft);
    if (draft->model_known[ALGORITHM_ROLE_ACTOR]) {
        check_stages(draft, model);
        check_experts(draft, model);
    }
    if (draft->engine_known && scenario_known(draft, KEY_ROLLOUT_ATTENTION_DP))
        check_sequences(draft);
}
