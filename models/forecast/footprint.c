/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * What a GPU holds in each phase of a step. Peaks that cannot coincide are never added: every phase
 * is an instant of its own, and only what it needs is there:
 *
 *   always         weights, master weights and moments of the resident models; contexts
 *   its own phase  offloaded weights, gathered blocks, activations, logits; gradients in updates
 *   rollout        the engine's weights and its KV cache (wake: the same)
 *   weight sync    the engine's weights, before its cache is mapped again (or with it)
 *   otherwise      what stays of a sleeping engine; its weights may wait on the host
 *   load           models in full on the host of the ranks that read them, one after the other
 *
 * The working sets are those of the largest micro-batch that can occur in a step of so many
 * samples, so that the verdict does not depend on the lengths drawn. The allocator keeps a share
 * more than is asked of it (fragmentation) for everything the trainer allocates; the engine's share
 * is a pool of its own.
 */

#include "models/forecast/footprint.h"

#include "models/forecast/microbatch.h"

#include "sim/contract.h"

#include <math.h>

typedef double memory_table[FORECAST_OWNER_COUNT][FORECAST_CATEGORY_COUNT];

/* ---- models ---------------------------------------------------------------------------------- */

/* What a model holds whether or not it works, and where. */
static void hold_static(const struct forecast_plan *plan, int role, int stage, bool working,
                        struct forecast_memory_state *state) {
    const struct training_plan *passes = &plan->passes[role];
    struct training_footprint footprint;
    training_footprint(passes, stage, &footprint);
    double *gpu = state->gpu[role], *host = state->host[role];
    double fetched = working ? training_fetched_bytes(passes, &footprint) : 0.0;
    gpu[FORECAST_CATEGORY_WEIGHTS] = footprint.weights + fetched;
    gpu[FORECAST_CATEGORY_MASTER_WEIGHTS] = footprint.master_weights;
    gpu[FORECAST_CATEGORY_OPTIMIZER] = footprint.optimizer;
    host[FORECAST_CATEGORY_WEIGHTS] = footprint.host_weights;
    host[FORECAST_CATEGORY_OPTIMIZER] = footprint.host_optimizer;
    state->disk[role][FORECAST_CATEGORY_OPTIMIZER] = footprint.disk_optimizer;
}

/* What its own phase adds, at the worse of two instants: in the passes, or while the optimizer
 * works. */
static void hold_working(const struct forecast_plan *plan, const struct algorithm_step *step,
                         int stage, int64_t samples, struct forecast_memory_state *state) {
    const struct training_plan *passes = &plan->passes[step->role];
    double *gpu = state->gpu[step->role];
    bool update = step->work == ALGORITHM_WORK_UPDATE;
    struct llm_batch batch =
        forecast_largest_batch(plan, update ? FORECAST_PASS_UPDATE : FORECAST_PASS_SCORE, samples);
    struct training_working_set set;
    double optimizer = 0.0;
    if (update) {
        struct training_footprint footprint;
        training_footprint(passes, stage, &footprint);
        double microbatches = forecast_microbatches(plan, samples) * plan->dp / passes->dp;
        training_update_working_set(passes, stage, &batch, fmax(1.0, ceil(microbatches)), &set);
        gpu[FORECAST_CATEGORY_GRADIENTS] = footprint.gradients;
        optimizer = training_optimizer_bytes(passes, stage);
    } else {
        training_forward_working_set(passes, stage, &batch, &set);
    }
    if (optimizer > set.gathered + set.activations + set.logits) {
        gpu[FORECAST_CATEGORY_GRADIENTS] += optimizer;
        return;
    }
    gpu[FORECAST_CATEGORY_GATHERED] = set.gathered;
    gpu[FORECAST_CATEGORY_ACTIVATIONS] = set.activations;
    gpu[FORECAST_CATEGORY_LOGITS] = set.logits;
    state->host[step->role][FORECAST_CATEGORY_ACTIVATIONS] = set.host_activations;
}

static bool uses_trainer(const struct forecast_plan *plan, const struct algorithm_step *step) {
    switch (step->work) {
    case ALGORITHM_WORK_SCORE:
    case ALGORITHM_WORK_FORWARD:
    case ALGORITHM_WORK_UPDATE:
        return plan->present[step->role];
    default:
        return false;
    }
}

static void hold_engine(const struct forecast_plan *plan, enum algorithm_work work,
                        struct forecast_memory_state *state) {
    const struct generation_plan *generation = &plan->generation;
    double *engine = state->gpu[FORECAST_OWNER_ENGINE];
    if (work == ALGORITHM_WORK_GREEDY || work == ALGORITHM_WORK_VALIDATE || plan->pool_count > 1)
        work = ALGORITHM_WORK_GENERATE; /* on GPUs of its own it never sleeps */
    bool whole = plan->scenario->rollout.wake == SCENARIO_WAKE_WHOLE;
    bool awake = work == ALGORITHM_WORK_SLEEP || work == ALGORITHM_WORK_WAKE ||
                 work == ALGORITHM_WORK_GENERATE;
    engine[FORECAST_CATEGORY_RESIDUE] = plan->scenario->framework.engine_residue_bytes;
    if (awake || work == ALGORITHM_WORK_SYNC)
        engine[FORECAST_CATEGORY_WEIGHTS] = generation_held_weight_bytes(generation);
    else if (plan->scenario->rollout.sleeping_weights == SCENARIO_SLEEPING_HOST)
        state->host[FORECAST_OWNER_ENGINE][FORECAST_CATEGORY_WEIGHTS] =
            generation_held_weight_bytes(generation);
    if (awake || (whole && work == ALGORITHM_WORK_SYNC))
        engine[FORECAST_CATEGORY_KV_CACHE] = (double)generation->kv_blocks / generation->dp *
                                             generation_held_block_bytes(generation);
}

/* The trainer's allocator keeps a share more than what the models hold. */
static double allocator_reserve(const struct forecast_plan *plan, const memory_table gpu) {
    double held = 0.0;
    for (int role = 0; role < ALGORITHM_ROLE_COUNT; role++)
        for (int category = 0; category < FORECAST_CATEGORY_COUNT; category++)
            held += gpu[role][category];
    return plan->scenario->framework.fragmentation_fraction * held;
}

/* A reference that is only needed before the first step leaves with its log-probs written. */
static bool has_left(const struct forecast_plan *plan, int role, size_t index) {
    return role == ALGORITHM_ROLE_REFERENCE && plan->loop_first > 0 && index >= plan->loop_first;
}

/* New weights leave for the engine block by block: the actor's are on the GPU, one pair of blocks
 * in full. */
static void hold_sync(const struct forecast_plan *plan, int stage,
                      struct forecast_memory_state *state) {
    const struct training_plan *actor = &plan->passes[ALGORITHM_ROLE_ACTOR];
    struct llm_batch nothing = {0};
    struct training_working_set set;
    hold_static(plan, ALGORITHM_ROLE_ACTOR, stage, true, state);
    training_forward_working_set(actor, stage, &nothing, &set);
    state->gpu[ALGORITHM_ROLE_ACTOR][FORECAST_CATEGORY_GATHERED] = set.gathered;
}

static double held_on_host(const struct forecast_plan *plan, const memory_table host) {
    double sum = 0.0;
    for (int role = 0; role < ALGORITHM_ROLE_COUNT; role++)
        if (plan->present[role] && plan->passes[role].trained)
            sum += host[role][FORECAST_CATEGORY_WEIGHTS] + host[role][FORECAST_CATEGORY_OPTIMIZER];
    return sum;
}

/* A checkpoint goes through host memory, of each GPU that trains its part: on every node that
 * saves, or on the first alone. Written while the run waits, what is there already is written from
 * where it is; written behind the run, all is copied and stays until it is written. */
static void hold_staging(const struct forecast_plan *plan, memory_table host) {
    int per_node = plan->scenario->cluster.gpus_per_node;
    int holders = forecast_pool_gpus(plan, forecast_step_pools(plan, plan->step_count));
    bool in_place = plan->checkpoint.clients > 1 || holders <= per_node;
    if (plan->checkpoint.clients == 1 && holders > per_node)
        holders = per_node;
    double part = plan->checkpoint.staged_host_bytes * plan->checkpoint.clients / holders;
    if (in_place && !plan->checkpoint.asynchronous)
        part = fmax(0.0, part - held_on_host(plan, host));
    host[FORECAST_OWNER_SYSTEM][FORECAST_CATEGORY_STAGING] = part;
}

/* ---- loading --------------------------------------------------------------------------------- */

static double load_bytes(const struct forecast_plan *plan, int role) {
    const struct training_plan *passes = &plan->passes[role];
    double given = passes->trained ? plan->scenario->training.load_bytes : 0.0;
    double element = given > 0.0 ? given : training_element_bytes(passes);
    return element * training_parameters(passes);
}

/* Of each GPU of a node that reads: all have a copy, or the first one's is divided among them. */
static double copies_of_gpu(const struct forecast_plan *plan, int role) {
    int per_node = plan->scenario->cluster.gpus_per_node;
    int gpus = plan->pools[plan->role_pool[role]].gpus;
    switch (plan->scenario->training.load) {
    case SCENARIO_RANK_LOAD_SHARDED:
        return 0.0;
    case SCENARIO_RANK_LOAD_FIRST:
        return 1.0 / (gpus < per_node ? gpus : per_node);
    case SCENARIO_RANK_LOAD_EVERY:
        return 1.0;
    }
    return 0.0;
}

/* Models come one after the other: what is on the host of those before, and the copies of the one
 * that is being loaded, at the fullest of these instants. Moments come with the first update. */
static void hold_loading(const struct forecast_plan *plan, struct forecast_place place,
                         struct forecast_memory_state *state) {
    double before = 0.0, most = -1.0, copies = 0.0;
    int fullest = 0;
    for (int role = 0; role < ALGORITHM_ROLE_COUNT; role++) {
        if (!plan->resident[role] || plan->role_pool[role] != place.pool)
            continue;
        struct training_footprint footprint;
        double copy = copies_of_gpu(plan, role) * load_bytes(plan, role);
        training_footprint(&plan->passes[role], place.stage, &footprint);
        state->gpu[role][FORECAST_CATEGORY_WEIGHTS] = footprint.weights;
        state->host[role][FORECAST_CATEGORY_WEIGHTS] = footprint.host_weights;
        if (before + copy > most) {
            most = before + copy;
            fullest = role;
            copies = copy;
        }
        before += footprint.host_weights;
    }
    for (int role = fullest; role < ALGORITHM_ROLE_COUNT; role++)
        state->host[role][FORECAST_CATEGORY_WEIGHTS] = 0.0;
    state->host[fullest][FORECAST_CATEGORY_LOADING] = copies;
}

static bool loads_whole(const struct forecast_plan *plan) {
    return plan->scenario->training.load != SCENARIO_RANK_LOAD_SHARDED;
}

size_t forecast_memory_instants(const struct forecast_plan *plan) {
    return plan->step_count + (loads_whole(plan) ? 1 : 0) +
           (plan->checkpoint.every_steps > 0 ? 1 : 0);
}

size_t forecast_memory_instant(const struct forecast_plan *plan, size_t i) {
    if (i < plan->step_count)
        return i;
    return i == plan->step_count && loads_whole(plan) ? FORECAST_LOADING : FORECAST_SAVING;
}

enum algorithm_phase forecast_memory_phase(const struct forecast_plan *plan, size_t step) {
    if (step == FORECAST_LOADING)
        return ALGORITHM_PHASE_LOAD;
    return step == FORECAST_SAVING ? ALGORITHM_PHASE_CHECKPOINT : plan->steps[step].phase;
}

/* ---- an instant ------------------------------------------------------------------------------ */

static bool is_engine_pool(const struct forecast_plan *plan, size_t pool) {
    return plan->pool_count > 1 && pool == plan->engine_pool;
}

/* What belongs to no model: the trainer's context, and what its allocator keeps. */
static void hold_system(const struct forecast_plan *plan, size_t pool, bool saving,
                        struct forecast_memory_state *state) {
    double *system = state->gpu[FORECAST_OWNER_SYSTEM];
    if (is_engine_pool(plan, pool))
        return;
    system[FORECAST_CATEGORY_CONTEXT] = plan->scenario->framework.context_bytes;
    system[FORECAST_CATEGORY_RESERVE] = allocator_reserve(plan, state->gpu);
    bool stages = saving || plan->checkpoint.asynchronous;
    if (stages && forecast_step_pools(plan, plan->step_count) >> pool & 1u)
        hold_staging(plan, state->host);
}

/* Models at rest, and an engine that is awake. */
static void hold_at_rest(const struct forecast_plan *plan, size_t index,
                         struct forecast_place place, int working,
                         struct forecast_memory_state *state) {
    for (int role = 0; role < ALGORITHM_ROLE_COUNT; role++)
        if (plan->resident[role] && plan->role_pool[role] == place.pool &&
            !has_left(plan, role, index))
            hold_static(plan, role, place.stage, role == working, state);
}

/* Whose weights a pass needs: a reference without any of its own is the actor, adapters off. */
static int whose_weights(const struct forecast_plan *plan, enum algorithm_role role) {
    return plan->resident[role] ? (int)role : ALGORITHM_ROLE_ACTOR;
}

static void hold_step(const struct forecast_plan *plan, size_t index, struct forecast_place place,
                      int64_t samples, struct forecast_memory_state *state) {
    const struct algorithm_step *step = &plan->steps[index];
    bool working = uses_trainer(plan, step) && plan->role_pool[step->role] == place.pool;
    hold_at_rest(plan, index, place, working ? whose_weights(plan, step->role) : -1, state);
    if (working)
        hold_working(plan, step, place.stage, samples, state);
    if (step->work == ALGORITHM_WORK_SYNC && plan->role_pool[ALGORITHM_ROLE_ACTOR] == place.pool)
        hold_sync(plan, place.stage, state);
}

void forecast_memory_at(const struct forecast_plan *plan, size_t index, struct forecast_place place,
                        int64_t samples, struct forecast_memory_state *state) {
    bool saving = index == FORECAST_SAVING;
    *state = (struct forecast_memory_state){0};
    if (index == FORECAST_LOADING) {
        hold_loading(plan, place, state);
        return;
    }
    if (saving)
        hold_at_rest(plan, index, place, -1, state);
    else
        hold_step(plan, index, place, samples, state);
    if (plan->replicas > 0 && plan->engine_pool == place.pool)
        hold_engine(plan, saving ? ALGORITHM_WORK_GENERATE : plan->steps[index].work, state);
    hold_system(plan, place.pool, saving, state);
}

static double table_sum(const memory_table table) {
    double sum = 0.0;
    for (int owner = 0; owner < FORECAST_OWNER_COUNT; owner++)
        for (int category = 0; category < FORECAST_CATEGORY_COUNT; category++)
            sum += table[owner][category];
    return sum;
}

static void find_fullest(struct forecast_plan *plan, size_t index) {
    unsigned pools = forecast_step_pools(plan, index);
    struct forecast_place place = {0, 0};
    double most = -1.0;
    do {
        struct forecast_memory_state state;
        if (!(pools >> place.pool & 1u))
            continue;
        forecast_memory_at(plan, index, place, forecast_fullest_step(plan->scenario), &state);
        if (table_sum(state.gpu) <= most)
            continue;
        most = table_sum(state.gpu);
        plan->memory[index] = state;
        plan->fullest[index] = place;
    } while (forecast_next_place(plan, &place));
}

#define NEARLY_FULL 0.95

/* An update on a GPU that is nearly full is slower by what the scenario says. */
static void crowd_update(struct forecast_plan *plan, size_t index) {
    const struct rlhfsim_scenario *scenario = plan->scenario;
    double capacity = scenario->cluster.gpu.memory_bytes;
    bool full = table_sum(plan->memory[index].gpu) > NEARLY_FULL * capacity;
    if (plan->steps[index].work == ALGORITHM_WORK_UPDATE)
        plan->passes[plan->steps[index].role].crowded =
            full ? scenario->training.full_memory_slowdown : 0.0;
}

void forecast_plan_memory(struct forecast_plan *plan) {
    for (size_t i = 0; i < forecast_memory_instants(plan); i++)
        find_fullest(plan, forecast_memory_instant(plan, i));
    for (size_t i = 0; i < plan->step_count; i++)
        crowd_update(plan, i);
}

/* ---- devices --------------------------------------------------------------------------------- */

static int stages_of(const struct forecast_plan *plan, size_t pool) {
    return is_engine_pool(plan, pool) ? 1 : plan->scenario->training.pp;
}

struct forecast_place forecast_place_of(const struct forecast_plan *plan, int gpu) {
    for (size_t i = 0; i < plan->pool_count; i++) {
        const struct forecast_pool *pool = &plan->pools[i];
        if (gpu >= pool->first_gpu && gpu < pool->first_gpu + pool->gpus)
            return (struct forecast_place){i, (gpu - pool->first_gpu) /
                                                  (pool->gpus / stages_of(plan, i))};
    }
    CONTRACT(false, "every GPU is in a pool");
    return (struct forecast_place){0, 0};
}

int forecast_place_gpu(const struct forecast_plan *plan, struct forecast_place place) {
    const struct forecast_pool *pool = &plan->pools[place.pool];
    return pool->first_gpu + place.stage * (pool->gpus / stages_of(plan, place.pool));
}

bool forecast_next_place(const struct forecast_plan *plan, struct forecast_place *place) {
    if (++place->stage < stages_of(plan, place->pool))
        return true;
    *place = (struct forecast_place){place->pool + 1, 0};
    return place->pool < plan->pool_count;
}

static bool same_place(struct forecast_place a, struct forecast_place b) {
    return a.pool == b.pool && a.stage == b.stage;
}

void forecast_host_of_node(const struct forecast_plan *plan, int node,
                           struct forecast_memory_state *state) {
    int per_node = plan->scenario->cluster.gpus_per_node;
    if (plan->checkpoint.clients == 1 && node > 0)
        state->host[FORECAST_OWNER_SYSTEM][FORECAST_CATEGORY_STAGING] = 0.0;
    if (plan->scenario->training.load != SCENARIO_RANK_LOAD_FIRST)
        return;
    for (int role = 0; role < ALGORITHM_ROLE_COUNT; role++)
        if (node > plan->pools[plan->role_pool[role]].first_gpu / per_node)
            state->host[role][FORECAST_CATEGORY_LOADING] = 0.0;
}

static void add_copies(memory_table sum, const memory_table table, double copies) {
    for (int owner = 0; owner < FORECAST_OWNER_COUNT; owner++)
        for (int category = 0; category < FORECAST_CATEGORY_COUNT; category++)
            sum[owner][category] += copies * table[owner][category];
}

/* GPUs of one place hold the same. */
void forecast_host_at(const struct forecast_plan *plan, size_t step, int node,
                      struct forecast_memory_state *host) {
    int per_node = plan->scenario->cluster.gpus_per_node, first = node * per_node;
    *host = (struct forecast_memory_state){0};
    for (int gpu = first, next; gpu < first + per_node; gpu = next) {
        struct forecast_memory_state state;
        struct forecast_place place = forecast_place_of(plan, gpu);
        for (next = gpu;
             next < first + per_node && same_place(forecast_place_of(plan, next), place);)
            next++;
        forecast_memory_at(plan, step, place, forecast_fullest_step(plan->scenario), &state);
        add_copies(host->host, state.host, (double)(next - gpu));
        add_copies(host->disk, state.disk, (double)(next - gpu));
    }
    forecast_host_of_node(plan, node, host);
}

double forecast_host_bytes(const struct forecast_plan *plan, size_t step, int node) {
    struct forecast_memory_state host;
    forecast_host_at(plan, step, node, &host);
    return table_sum(host.host);
}

struct forecast_memory_peak forecast_gpu_peak(const struct forecast_plan *plan) {
    struct forecast_memory_peak peak = {0, 0, -1.0};
    for (size_t i = 0; i < plan->step_count; i++) {
        double bytes = table_sum(plan->memory[i].gpu);
        if (bytes > peak.bytes)
            peak =
                (struct forecast_memory_peak){i, forecast_place_gpu(plan, plan->fullest[i]), bytes};
    }
    return peak;
}

double forecast_pool_peak(const struct forecast_plan *plan, size_t pool) {
    double most = 0.0;
    for (size_t i = 0; i < plan->step_count; i++) {
        for (int stage = 0; stage < stages_of(plan, pool); stage++) {
            struct forecast_memory_state state;
            forecast_memory_at(plan, i, (struct forecast_place){pool, stage},
                               forecast_fullest_step(plan->scenario), &state);
            most = fmax(most, table_sum(state.gpu));
        }
    }
    return most;
}

/* Nodes of equal places are equal: the first ones of each place, and where places share nodes all
 * that have some. */
struct forecast_memory_peak forecast_host_peak(const struct forecast_plan *plan) {
    struct forecast_memory_peak peak = {0, 0, -1.0};
    int per_node = plan->scenario->cluster.gpus_per_node;
    for (size_t i = 0; i < forecast_memory_instants(plan); i++) {
        size_t step = forecast_memory_instant(plan, i);
        struct forecast_place place = {0, 0};
        do {
            int node = forecast_place_gpu(plan, place) / per_node;
            double bytes = forecast_host_bytes(plan, step, node);
            if (bytes > peak.bytes)
                peak = (struct forecast_memory_peak){step, node, bytes};
        } while (forecast_next_place(plan, &place));
    }
    return peak;
}

/* What is on disks is there at every instant: of the first step. */
struct forecast_memory_peak forecast_disk_peak(const struct forecast_plan *plan) {
    struct forecast_memory_peak peak = {0, 0, 0.0};
    int per_node = plan->scenario->cluster.gpus_per_node;
    struct forecast_place place = {0, 0};
    if (!forecast_uses_disks(plan))
        return peak;
    do {
        struct forecast_memory_state state;
        int node = forecast_place_gpu(plan, place) / per_node;
        forecast_host_at(plan, 0, node, &state);
        if (table_sum(state.disk) > peak.bytes)
            peak = (struct forecast_memory_peak){0, node, table_sum(state.disk)};
    } while (forecast_next_place(plan, &place));
    return peak;
}

bool forecast_uses_disks(const struct forecast_plan *plan) {
    return plan->scenario->training.offload_optimizer_to == SCENARIO_OPTIMIZER_NVME;
}

double forecast_gpu_fill(const struct forecast_plan *plan) {
    return forecast_gpu_peak(plan).bytes / plan->scenario->cluster.gpu.memory_bytes;
}

double forecast_host_fill(const struct forecast_plan *plan) {
    double capacity = plan->scenario->cluster.node.host_memory_bytes;
    return capacity > 0.0 ? forecast_host_peak(plan).bytes / capacity : 0.0;
}

double forecast_disk_fill(const struct forecast_plan *plan) {
    double capacity = plan->scenario->cluster.node.nvme_bytes;
    return forecast_uses_disks(plan) ? forecast_disk_peak(plan).bytes / capacity : 0.0;
}

bool forecast_plan_fits(const struct forecast_plan *plan) {
    return plan->kv_missing_bytes <= 0.0 && forecast_gpu_fill(plan) <= 1.0 &&
           forecast_host_fill(plan) <= 1.0 && forecast_disk_fill(plan) <= 1.0;
}
