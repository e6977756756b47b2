/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/forecast/plan.h"

#include "models/scenario/placement.h"

#include "sim/contract.h"

#include <math.h>

const char *forecast_owner_name(uint32_t owner) {
    switch (owner) {
    case FORECAST_OWNER_ENGINE:
        return "engine";
    case FORECAST_OWNER_SYSTEM:
        return "system";
    default:
        return algorithm_role_name((enum algorithm_role)owner);
    }
}

const char *forecast_category_name(uint32_t category) {
    static const char *const names[] = {
#define FORECAST_CATEGORY_NAME(name, text) text,
        FORECAST_CATEGORY_MAP(FORECAST_CATEGORY_NAME)
#undef FORECAST_CATEGORY_NAME
    };
    CONTRACT(category < FORECAST_CATEGORY_COUNT, "no such category");
    return names[category];
}

/* ---- pools -------------------------------------------------------------------------------- */

static size_t add_pool(struct forecast_plan *plan, enum scenario_pool kind) {
    const struct rlhfsim_scenario *scenario = plan->scenario;
    int gpus = scenario_pool_gpus(scenario, kind);
    if (gpus == 0)
        return 0; /* with the trainer */
    plan->pools[plan->pool_count] = (struct forecast_pool){
        .kind = kind,
        .first_gpu = scenario_pool_first(scenario, kind),
        .gpus = gpus,
        .dp = gpus / scenario->training.tp / scenario->training.cp / scenario->training.pp};
    return plan->pool_count++;
}

static void plan_pools(struct forecast_plan *plan) {
    (void)add_pool(plan, SCENARIO_POOL_TRAIN);
    plan->role_pool[ALGORITHM_ROLE_CRITIC] = add_pool(plan, SCENARIO_POOL_CRITIC);
    plan->role_pool[ALGORITHM_ROLE_REWARD] = add_pool(plan, SCENARIO_POOL_REWARD);
    plan->engine_pool = add_pool(plan, SCENARIO_POOL_ROLLOUT);
}

int forecast_pool_gpus(const struct forecast_plan *plan, unsigned pools) {
    int gpus = 0;
    for (size_t i = 0; i < plan->pool_count; i++)
        gpus += pools >> i & 1u ? plan->pools[i].gpus : 0;
    return gpus;
}

static unsigned trained_pools(const struct forecast_plan *plan) {
    unsigned pools = 0;
    for (int role = 0; role < ALGORITHM_ROLE_COUNT; role++)
        if (plan->present[role] && plan->passes[role].trained)
            pools |= 1u << plan->role_pool[role];
    return pools;
}

/* One step off the engine waits between its rounds for what rules say of the answers. */
static bool engine_waits_for_rules(const struct forecast_plan *plan) {
    return plan->scenario->placement.mode == SCENARIO_ONE_STEP_OFF &&
           plan->scenario->algorithm.type->selection == ALGORITHM_SELECT_MIXED &&
           !plan->present[ALGORITHM_ROLE_REWARD];
}

unsigned forecast_step_pools(const struct forecast_plan *plan, size_t step) {
    if (step == FORECAST_LOADING || step == FORECAST_SAVING)
        return (1u << plan->pool_count) - 1u;
    if (step == plan->step_count)
        return trained_pools(plan);
    switch (plan->steps[step].work) {
    case ALGORITHM_WORK_GENERATE:
    case ALGORITHM_WORK_GREEDY:
    case ALGORITHM_WORK_VALIDATE:
        return 1u << plan->engine_pool;
    case ALGORITHM_WORK_SYNC:
        return 1u << plan->role_pool[ALGORITHM_ROLE_ACTOR] | 1u << plan->engine_pool;
    case ALGORITHM_WORK_SCORE:
        if (engine_waits_for_rules(plan))
            return 1u << plan->engine_pool;
        break;
    case ALGORITHM_WORK_WAKE:
    case ALGORITHM_WORK_SLEEP:
    case ALGORITHM_WORK_FORWARD:
    case ALGORITHM_WORK_UPDATE:
        break;
    }
    return 1u << plan->role_pool[plan->steps[step].role];
}

/* ---- the trainer -------------------------------------------------------------------------- */

static bool is_trained(enum algorithm_role role) {
    return role == ALGORITHM_ROLE_ACTOR || role == ALGORITHM_ROLE_CRITIC;
}

/* Experts are divided in models that have some. */
static void plan_parallel(const struct forecast_plan *plan, struct training_plan *passes) {
    const struct rlhfsim_scenario *scenario = plan->scenario;
    bool experts = passes->architecture->experts > 0;
    passes->tp = scenario->training.tp;
    passes->sequence_parallel = scenario->training.sequence_parallel;
    passes->pp = scenario->training.pp;
    passes->vpp = scenario->training.vpp;
    passes->cp = scenario->training.cp;
    passes->context = scenario->training.context;
    passes->ep = experts ? scenario->training.ep : 1;
    passes->expert_tp = experts ? scenario->training.expert_tp : 0;
    passes->zero_stage = scenario->training.zero_stage;
    passes->shard_ranks = scenario->training.shard_ranks;
    passes->reshard_after_forward = scenario->training.reshard_after_forward;
    passes->prefetch = scenario->training.prefetch;
    passes->reduction = scenario->training.reduction;
    passes->overlap_reduction = scenario->training.overlap_gradients;
    passes->overlap_update = scenario->training.overlap_weights;
}

/* Four bits and their constants, quantised in turn (Dettmers et al., QLoRA, 2023): 4 + 0.127 bits;
 * norms and what is not quantised make it 0.52 bytes. */
#define NF4_BYTES 0.52

static void plan_model(struct forecast_plan *plan, enum algorithm_role role) {
    const struct rlhfsim_scenario *scenario = plan->scenario;
    const struct scenario_model *model = &scenario->models[role];
    plan->present[role] = plan->resident[role] = model->present;
    if (!model->present)
        return;
    struct training_plan *passes = &plan->passes[role];
    training_plan_default(passes);
    passes->cluster = &scenario->cluster;
    passes->architecture = &model->architecture;
    passes->head = scenario_head(scenario->algorithm.type, role);
    passes->trained = is_trained(role);
    passes->lora_rank = model->lora_rank;
    passes->lora_targets = model->lora_targets;
    passes->lora_merged = scenario->training.lora_merged;
    plan_parallel(plan, passes);
    passes->dp = plan->pools[plan->role_pool[role]].dp;
    passes->precision = scenario->training.precision;
    passes->recompute = scenario->training.recompute;
    passes->attention = scenario->training.attention;
    passes->attention_rates = scenario->training.attention_rates;
    passes->fusion = scenario->training.fusion == scenario->framework.fusion
                         ? TRAINING_FUSION_COMPILED /* its own is in the framework's shares */
                         : scenario->training.fusion;
    passes->offload = model->offload;
    passes->optimizer_on_disk = scenario->training.offload_optimizer_to == SCENARIO_OPTIMIZER_NVME;
    passes->offload_activations = passes->trained && scenario->training.offload_activations;
    passes->logits = scenario->training.logits;
    passes->memory = scenario->training.memory;
    if (scenario->training.base_weights == SCENARIO_BASE_NF4 && passes->lora_rank > 0)
        passes->base_bytes = NF4_BYTES;
    passes->software = scenario->framework.training;
}

/* A LoRA actor whose adapters are switched off is its own reference. */
static void plan_adapters_off_reference(struct forecast_plan *plan) {
    struct training_plan *reference = &plan->passes[ALGORITHM_ROLE_REFERENCE];
    *reference = plan->passes[ALGORITHM_ROLE_ACTOR];
    reference->trained = false;
    reference->lora_rank = 0;
    plan->present[ALGORITHM_ROLE_REFERENCE] = true;
}

/* All models with windows have the same one, or no sequence is longer than any (check_use.c). */
static double window_of(const struct forecast_plan *plan) {
    double window = 0.0;
    for (int role = 0; role < ALGORITHM_ROLE_COUNT; role++)
        if (plan->present[role])
            window = fmax(window, (double)llm_window(plan->passes[role].architecture));
    return window;
}

static void plan_trainer(struct forecast_plan *plan) {
    const struct rlhfsim_scenario *scenario = plan->scenario;
    plan->dp = plan->pools[0].dp;
    for (int role = 0; role < ALGORITHM_ROLE_COUNT; role++)
        plan_model(plan, (enum algorithm_role)role);
    if (!plan->present[ALGORITHM_ROLE_REFERENCE] &&
        scenario->models[ALGORITHM_ROLE_ACTOR].lora_rank > 0)
        plan_adapters_off_reference(plan);
    plan->window = window_of(plan);
}

/* ---- the steps of the algorithm ----------------------------------------------------------- */

static bool condition_holds(const struct rlhfsim_scenario *scenario,
                            enum algorithm_condition condition) {
    switch (condition) {
    case ALGORITHM_ALWAYS:
        return true;
    case ALGORITHM_IF_KL:
        return scenario->algorithm.kl != SCENARIO_KL_NONE;
    case ALGORITHM_IF_REFERENCE_EVERY_STEP:
        return scenario->algorithm.reference == SCENARIO_REFERENCE_EVERY_STEP;
    case ALGORITHM_IF_OLD_LOGPROBS:
        return !scenario->algorithm.old_logprobs_skipped;
    case ALGORITHM_IF_LATER_ROUND:
        return true; /* the first one leaves it out: schedule.c */
    }
    return false;
}

static void plan_steps(struct forecast_plan *plan) {
    const struct algorithm_type *type = plan->scenario->algorithm.type;
    if (plan->scenario->algorithm.reference == SCENARIO_REFERENCE_PRECOMPUTED)
        plan->steps[plan->step_count++] =
            (struct algorithm_step){ALGORITHM_PHASE_REFERENCE_LOGPROB, ALGORITHM_WORK_FORWARD,
                                    ALGORITHM_ROLE_REFERENCE, ALGORITHM_ALWAYS, 0};
    plan->loop_first = plan->step_count;
    for (size_t i = 0; i < type->step_count; i++) {
        if (!condition_holds(plan->scenario, type->steps[i].condition) ||
            (type->steps[i].work == ALGORITHM_WORK_WAKE && plan->pool_count > 1))
            continue; /* an engine with GPUs of its own never sleeps */
        CONTRACT(plan->step_count < FORECAST_STEP_LIMIT, "an algorithm has too many phases");
        plan->steps[plan->step_count++] = type->steps[i];
    }
    if (plan->scenario->validation.every_steps > 0)
        plan->steps[plan->step_count++] =
            (struct algorithm_step){ALGORITHM_PHASE_VALIDATION, ALGORITHM_WORK_VALIDATE,
                                    ALGORITHM_ROLE_ACTOR, ALGORITHM_ALWAYS, 0};
    CONTRACT(plan->step_count < FORECAST_STEP_LIMIT, "an algorithm has too many phases");
}

/* ---- the rollout engine ------------------------------------------------------------------- */

static void plan_lengths(struct forecast_plan *plan) {
    const struct rlhfsim_scenario *scenario = plan->scenario;
    double longest = generation_lengths_longest(&scenario->rollout.prompt.fitted);
    int64_t room = scenario->models[ALGORITHM_ROLE_ACTOR].architecture.max_position -
                   scenario->rollout.max_new_tokens;
    plan->prompt_limit = longest > 0.0 ? llround(longest) : room;
    plan->response_limit = scenario->rollout.max_new_tokens;
}

/* What is free when the engine starts, on the GPUs that have least: the models are there, moments
 * come with the first update. */
static double free_bytes(const struct forecast_plan *plan) {
    double most = 0.0;
    if (plan->engine_pool > 0)
        return plan->scenario->cluster.gpu.memory_bytes;
    for (int stage = 0; stage < plan->scenario->training.pp; stage++) {
        double held = plan->scenario->framework.context_bytes;
        for (int role = 0; role < ALGORITHM_ROLE_COUNT; role++) {
            struct training_footprint footprint;
            if (!plan->resident[role] || plan->role_pool[role] != plan->engine_pool)
                continue;
            training_footprint(&plan->passes[role], stage, &footprint);
            held += footprint.weights + footprint.master_weights;
        }
        most = fmax(most, held);
    }
    return fmax(0.0, plan->scenario->cluster.gpu.memory_bytes - most);
}

/* What the engine may fill with weights and cache. Of the total (vLLM) graphs and the activations
 * of the largest iteration are in the share; of what is free (SGLang: free after loading, less (1 -
 * share) of what was free before) they come beside it. */
static double engine_bytes(const struct forecast_plan *plan) {
    const struct rlhfsim_scenario *scenario = plan->scenario;
    double fraction = scenario->rollout.memory_fraction;
    if (scenario->rollout.memory_fraction_of == SCENARIO_SHARE_FREE)
        return fraction * free_bytes(plan);
    return fraction * scenario->cluster.gpu.memory_bytes - scenario->framework.engine_residue_bytes;
}

/* Blocks of KV cache that there is room for once the weights are in. */
static void plan_kv_cache(struct forecast_plan *plan) {
    struct generation_plan *generation = &plan->generation;
    double block_bytes = generation_held_block_bytes(generation);
    double room = engine_bytes(plan) - generation_held_weight_bytes(generation);
    int64_t longest = plan->prompt_limit + plan->response_limit;
    int64_t tokens = generation->software.block_tokens;
    int64_t needed = (longest + tokens - 1) / tokens;
    int64_t blocks = room > 0.0 ? (int64_t)floor(room / block_bytes) : 0;
    plan->kv_missing_bytes = blocks < needed ? (double)needed * block_bytes - room : 0.0;
    generation->kv_blocks = (blocks < needed ? needed : blocks) * generation->dp;
}

static void plan_engine(struct forecast_plan *plan) {
    const struct rlhfsim_scenario *scenario = plan->scenario;
    plan_lengths(plan);
    if (!scenario->algorithm.type->has_rollout)
        return;
    plan->generation = (struct generation_plan){
        .cluster = &scenario->cluster,
        .architecture = &scenario->models[ALGORITHM_ROLE_ACTOR].architecture,
        .software = scenario->rollout.engine,
        .tp = scenario->rollout.tp,
        .pp = scenario->rollout.pp,
        .dp = scenario->rollout.attention_dp,
        .ep = scenario->rollout.ep,
        .format = scenario->rollout.precision,
        .fp4_flops_per_s = scenario->cluster.gpu.fp4_flops_per_s,
        .kv_element_bytes = scenario->rollout.kv_precision == SCENARIO_KV_FP8 ? 1.0 : 2.0,
        .max_sequences = scenario->rollout.max_num_seqs,
        .max_batched_tokens = scenario->rollout.max_num_batched_tokens,
        .response_limit = scenario->rollout.max_new_tokens,
        .speculation = scenario->rollout.speculation,
        .keep_turns = scenario->rollout.keep_kv,
        .time_factor = scenario_factor(scenario, SCENARIO_PART_ROLLOUT),
    };
    plan->replicas = plan->pools[plan->engine_pool].gpus / generation_plan_gpus(&plan->generation);
    plan_kv_cache(plan);
}

/* ---- what a step pays besides passes ------------------------------------------------------ */

/* Falling asleep takes a third of a sleep and wake cycle: vLLM's sleep mode was measured at
 * 0.1-0.5 s asleep and 0.5-1 s awake for 32B to 235B on H20 (verl-project/verl, issue reports). */
#define SLEEP_SHARE (1.0 / 3.0)

static void plan_transitions(struct forecast_plan *plan) {
    const struct rlhfsim_scenario *scenario = plan->scenario;
    const struct generation_plan *generation = &plan->generation;
    double weights_gb = (double)llm_parameters(generation->architecture, LLM_HEAD_VOCABULARY) *
                        generation_format_bytes(generation->format) / 1e9;
    double cycle_s = plan->pool_count > 1
                         ? 0.0
                         : scenario->framework.transition_s_per_sqrt_gb * sqrt(weights_gb);
    /* The law was seen on links that nothing else held back. */
    double link = scenario->cluster.gpu.host_bandwidth_bytes_per_s;
    if (link > 0.0)
        cycle_s *= link / hardware_host_link(&scenario->cluster, scenario->cluster.gpus_per_node);
    double factor = scenario_factor(scenario, SCENARIO_PART_HOST);
    plan->sleep_s = factor * (SLEEP_SHARE * cycle_s + scenario->framework.step_host_s);
    plan->wake_s = factor * (1.0 - SLEEP_SHARE) * cycle_s;
}

static struct network_weight_sync_request sync_request(const struct forecast_plan *plan,
                                                       const struct hardware_cluster *cluster) {
    const struct catalog_framework *framework = &plan->scenario->framework;
    const struct training_plan *actor = &plan->passes[ALGORITHM_ROLE_ACTOR];
    const struct generation_plan *generation = &plan->generation;
    bool adapters = framework->weight_sync->adapters && actor->lora_rank > 0;
    double parameters = adapters ? training_lora_parameters(actor)
                                 : (double)llm_parameters(actor->architecture, LLM_HEAD_VOCABULARY);
    return (struct network_weight_sync_request){
        .cluster = cluster,
        .total_bytes = parameters * generation_format_bytes(generation->format),
        .tensors = adapters ? training_lora_tensors(actor)
                            : (double)llm_tensors(actor->architecture, LLM_HEAD_VOCABULARY),
        .trainer_ranks =
            actor->zero_stage == 3 ? plan->pools[0].gpus : actor->tp * actor->pp * actor->ep,
        .engine_ranks = generation->tp,
    };
}

double forecast_weight_sync_s(const struct forecast_plan *plan,
                              const struct hardware_cluster *cluster) {
    const struct catalog_framework *framework = &plan->scenario->framework;
    struct network_weight_sync_request request = sync_request(plan, cluster);
    return scenario_factor(plan->scenario, SCENARIO_PART_SYNC) *
           framework->weight_sync->duration_s(&framework->weight_sync_cost, &request);
}

static void plan_weight_sync(struct forecast_plan *plan) {
    const struct catalog_framework *framework = &plan->scenario->framework;
    struct network_weight_sync_request request = sync_request(plan, &plan->scenario->cluster);
    plan->sync_bytes = request.total_bytes / generation_plan_gpus(&plan->generation);
    plan->sync_s = forecast_weight_sync_s(plan, &plan->scenario->cluster);
    plan->sync_zone_bytes = network_weight_sync_zone_bytes(framework->weight_sync,
                                                           &framework->weight_sync_cost, &request);
}

int forecast_saving_nodes(const struct forecast_plan *plan) {
    int per_node = plan->scenario->cluster.gpus_per_node, nodes = 0, last = -1;
    for (size_t i = 0; i < plan->pool_count; i++) {
        int first = plan->pools[i].first_gpu / per_node;
        int end = (plan->pools[i].first_gpu + plan->pools[i].gpus - 1) / per_node;
        if (!(trained_pools(plan) >> i & 1u))
            continue;
        nodes += end - first + (first == last ? 0 : 1);
        last = end;
    }
    return nodes;
}

void forecast_plan_arrange(const struct rlhfsim_scenario *scenario, struct forecast_plan *plan) {
    *plan = (struct forecast_plan){.scenario = scenario,
                                   .gpus = hardware_cluster_gpus(&scenario->cluster)};
    plan_pools(plan);
    plan_trainer(plan);
    plan_steps(plan);
    plan_engine(plan);
    if (plan->replicas > 0) {
        plan_transitions(plan);
        plan_weight_sync(plan);
    }
}
