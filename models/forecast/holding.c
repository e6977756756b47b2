/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * memory.csv of a simulation: what the plan says (footprint.c) at the instants at which it changes.
 * Every pool holds what its phase does; a save is an instant of its pools, after which they hold
 * what they did before.
 */

#include "models/forecast/holding.h"

#include "models/forecast/footprint.h"

static void set_memory(struct forecast_runner *runner, sim_memory_id id,
                       double held[FORECAST_OWNER_COUNT][FORECAST_CATEGORY_COUNT]) {
    for (uint32_t owner = 0; owner < FORECAST_OWNER_COUNT; owner++)
        for (uint32_t category = 0; category < FORECAST_CATEGORY_COUNT; category++)
            sim_memory_set(runner->sim, id, owner, category, held[owner][category]);
}

static void add_host(struct forecast_memory_state *node, const struct forecast_memory_state *gpu) {
    for (int owner = 0; owner < FORECAST_OWNER_COUNT; owner++)
        for (int category = 0; category < FORECAST_CATEGORY_COUNT; category++) {
            node->host[owner][category] += gpu->host[owner][category];
            node->disk[owner][category] += gpu->disk[owner][category];
        }
}

/* What the GPUs of one place hold, and add to their nodes' hosts. What one node saves is staged on
 * the first alone. */
static void enter_gpu(struct forecast_runner *runner, int gpu, struct forecast_memory_state *state,
                      struct forecast_memory_state *node) {
    int per_node = runner->plan->scenario->cluster.gpus_per_node;
    set_memory(runner, runner->first_memory + (sim_memory_id)gpu, state->gpu);
    add_host(node, state);
    if ((gpu + 1) % per_node != 0)
        return;
    forecast_host_of_node(runner->plan, gpu / per_node, node);
    set_memory(runner, runner->first_host + (sim_memory_id)(gpu / per_node), node->host);
    if (forecast_uses_disks(runner->plan))
        set_memory(runner, runner->first_disk + (sim_memory_id)(gpu / per_node), node->disk);
    *node = (struct forecast_memory_state){0};
}

/* All GPUs and hosts hold what they do at an instant in which no model works. */
static void enter_all(struct forecast_runner *runner, size_t instant) {
    const struct forecast_plan *plan = runner->plan;
    struct forecast_memory_state state, node = {0};
    sim_memory_context(runner->sim, (uint32_t)instant);
    for (int gpu = 0; gpu < plan->gpus; gpu++) {
        forecast_memory_at(plan, instant, forecast_place_of(plan, gpu), 0, &state);
        enter_gpu(runner, gpu, &state, &node);
    }
}

void runner_enter_loading(struct forecast_runner *runner) {
    if (runner->options->files != NULL &&
        runner->plan->scenario->training.load != SCENARIO_RANK_LOAD_SHARDED)
        enter_all(runner, FORECAST_LOADING);
}

/* Copies go before anything else comes: an instant of its own, even where loading takes no time. */
void runner_leave_loading(struct forecast_runner *runner) {
    if (runner->options->files == NULL)
        return;
    for (int node = 0; node < runner->plan->scenario->cluster.nodes; node++)
        for (uint32_t role = 0; role < ALGORITHM_ROLE_COUNT; role++)
            sim_memory_set(runner->sim, runner->first_host + (sim_memory_id)node, role,
                           FORECAST_CATEGORY_LOADING, 0.0);
}

/* Rollouts of an asynchronous run are no phase: what its GPUs hold is there from the start. */
void runner_enter_rollouts(struct forecast_runner *runner) {
    if (runner->options->files != NULL)
        enter_all(runner, runner->plan->loop_first);
}

/* Every pool holds what its phase does. Where pools share a node, its host has what each has. */
static void enter_phases(struct forecast_runner *runner, int64_t samples) {
    const struct forecast_plan *plan = runner->plan;
    struct forecast_place place = {SCENARIO_POOLS, 0};
    struct forecast_memory_state state, node = {0};
    for (int gpu = 0; gpu < plan->gpus; gpu++) {
        struct forecast_place next = forecast_place_of(plan, gpu);
        if (next.pool != place.pool || next.stage != place.stage)
            forecast_memory_at(plan, runner->pool_phase[next.pool], next, samples, &state);
        place = next;
        enter_gpu(runner, gpu, &state, &node);
    }
}

void runner_enter_memory(struct forecast_runner *runner, const struct forecast_lane *lane) {
    const struct forecast_plan *plan = runner->plan;
    bool saving = lane->phase == plan->step_count;
    size_t instant = saving ? FORECAST_SAVING : lane->phase;
    if (runner->options->files == NULL || runner->loading)
        return;
    for (size_t pool = 0; pool < plan->pool_count; pool++) {
        if (!(lane->pools >> pool & 1u))
            continue;
        if (saving)
            runner->pool_before[pool] = runner->pool_phase[pool];
        runner->pool_phase[pool] = instant;
    }
    sim_memory_context(runner->sim, (uint32_t)instant);
    enter_phases(runner, (int64_t)lane->flight->samples.count);
}

/* What was staged has gone. */
void runner_leave_saving(struct forecast_runner *runner, const struct forecast_lane *lane) {
    if (runner->options->files == NULL)
        return;
    for (size_t pool = 0; pool < runner->plan->pool_count; pool++)
        if (lane->pools >> pool & 1u)
            runner->pool_phase[pool] = runner->pool_before[pool];
    enter_phases(runner, (int64_t)lane->flight->samples.count);
}
