/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/forecast/layout.h"

#include "models/forecast/footprint.h"
#include "models/forecast/microbatch.h"
#include "models/forecast/tail.h"

#include <math.h>

/* ---- layout ---------------------------------------------------------------------------------- */

static void lay_trainer(const struct forecast_plan *plan, struct rlhfsim_layout *layout) {
    const struct rlhfsim_scenario *scenario = plan->scenario;
    int64_t samples =
        scenario->algorithm.prompts_per_step * scenario->algorithm.kept_samples_per_prompt;
    int64_t minibatch = scenario->algorithm.minibatch_samples;
    layout->train_tp = scenario->training.tp;
    layout->train_pp = scenario->training.pp;
    layout->train_vpp = scenario->training.vpp;
    layout->train_cp = scenario->training.cp;
    layout->train_ep = scenario->training.ep;
    layout->ranks = plan->dp;
    layout->zero_stage = scenario->training.zero_stage;
    layout->optimizer_steps = scenario->algorithm.epochs * samples / minibatch;
    layout->rank_samples = minibatch / plan->dp;
    layout->microbatch_samples = scenario->training.microbatch_samples;
    layout->microbatch_tokens = scenario->training.microbatch_tokens;
}

/* A sequence takes whole blocks. */
static void lay_engine(const struct forecast_plan *plan, struct rlhfsim_layout *layout) {
    const struct generation_plan *generation = &plan->generation;
    layout->replicas = plan->replicas;
    if (plan->replicas == 0)
        return;
    int64_t block = generation->software.block_tokens;
    int64_t blocks = (layout->longest_tokens + block - 1) / block;
    int64_t room = generation->kv_blocks / blocks;
    layout->rollout_tp = generation->tp;
    layout->kv_tokens = plan->kv_missing_bytes > 0.0 ? 0 : generation->kv_blocks * block;
    layout->max_num_seqs = generation->max_sequences;
    layout->longest_at_once = room < layout->max_num_seqs ? room : layout->max_num_seqs;
    if (plan->kv_missing_bytes > 0.0)
        layout->longest_at_once = 0;
    layout->weight_sync = plan->scenario->framework.weight_sync->name;
    layout->weight_sync_bytes = plan->sync_bytes * generation_plan_gpus(generation);
    layout->weight_sync_adapters = plan->scenario->framework.weight_sync->adapters;
}

static void lay_checkpoints(const struct forecast_plan *plan, struct rlhfsim_layout *layout) {
    layout->checkpoint_bytes = plan->checkpoint.bytes;
    layout->checkpoint_every_steps = plan->checkpoint.every_steps;
    layout->checkpoint_keep = plan->checkpoint.keep;
    if (plan->checkpoint.every_steps == 0)
        return;
    const char *provenance = plan->scenario->checkpoint.store_provenance;
    layout->checkpoint_s = checkpoint_blocking_s(&plan->checkpoint);
    if (plan->checkpoint.asynchronous)
        layout->checkpoint_write_s = checkpoint_write_s(&plan->checkpoint);
    layout->checkpoint_writers = plan->checkpoint.clients;
    layout->node_store_bytes_per_s = plan->checkpoint.store.client_write_bytes_per_s;
    layout->node_store_provenance =
        provenance != NULL ? provenance : plan->scenario->node_provenance;
    layout->shared_store_bytes_per_s = plan->checkpoint.store.write_bytes_per_s;
}

static void lay_worst_batch(const struct forecast_plan *plan, struct rlhfsim_layout *layout) {
    struct llm_batch batch =
        forecast_largest_batch(plan, FORECAST_PASS_UPDATE, forecast_fullest_step(plan->scenario));
    layout->largest_sequences = batch.sequences;
    layout->largest_tokens = batch.tokens;
    layout->largest_probability = forecast_batch_probability(plan, (double)layout->longest_tokens);
    if (forecast_plan_fits(plan))
        return;
    layout->fitting_tokens = forecast_fitting_tokens(plan);
    layout->overflow_probability =
        forecast_batch_probability(plan, (double)(layout->fitting_tokens + 1));
}

void forecast_layout_make(const struct forecast_plan *plan, struct rlhfsim_layout *layout) {
    const struct rlhfsim_scenario *scenario = plan->scenario;
    *layout = (struct rlhfsim_layout){
        .longest_tokens = plan->prompt_limit + plan->response_limit,
        .host_bytes = scenario->cluster.node.host_memory_bytes,
        .nvme_bytes = forecast_uses_disks(plan) ? scenario->cluster.node.nvme_bytes : 0.0,
        .nvme_peak_bytes = forecast_disk_peak(plan).bytes,
        .node_usd_per_hour = scenario->prices.node_hour_usd,
        .usd_per_hour = scenario->prices.node_hour_usd * scenario->cluster.nodes,
        .price_source = scenario->prices.node_source,
    };
    lay_trainer(plan, layout);
    layout->microbatches = forecast_microbatches(plan, forecast_fullest_step(plan->scenario));
    lay_worst_batch(plan, layout);
    lay_engine(plan, layout);
    lay_checkpoints(plan, layout);
}

/* ---- phases ---------------------------------------------------------------------------------- */

static void add_up(const struct forecast_plan *plan, size_t step, struct forecast_phase *phase) {
    const struct forecast_memory_state *state = &plan->memory[step];
    *phase = (struct forecast_phase){.memory.phase =
                                         algorithm_phase_name(forecast_memory_phase(plan, step))};
    for (int owner = 0; owner < FORECAST_OWNER_COUNT; owner++) {
        for (int category = 0; category < FORECAST_CATEGORY_COUNT; category++) {
            phase->categories[category] += state->gpu[owner][category];
            phase->memory.gpu_bytes += state->gpu[owner][category];
        }
    }
    struct forecast_place place = {0, 0};
    do {
        int node = forecast_place_gpu(plan, place) / plan->scenario->cluster.gpus_per_node;
        phase->memory.host_bytes =
            fmax(phase->memory.host_bytes, forecast_host_bytes(plan, step, node));
    } while (forecast_next_place(plan, &place));
}

/* The place of a phase: the earlier one of its name, or the next free one. */
static struct forecast_phase *claim(struct forecast_phases *phases, const char *name) {
    for (size_t i = 0; i < phases->count; i++)
        if (phases->at[i].memory.phase == name)
            return &phases->at[i];
    return &phases->at[phases->count++];
}

void forecast_phases_make(const struct forecast_plan *plan, struct forecast_phases *phases) {
    *phases = (struct forecast_phases){0};
    for (size_t i = 0; i < forecast_memory_instants(plan); i++) {
        struct forecast_phase phase;
        add_up(plan, forecast_memory_instant(plan, i), &phase);
        struct forecast_phase *place = claim(phases, phase.memory.phase);
        if (phase.memory.gpu_bytes >= place->memory.gpu_bytes)
            *place = phase;
    }
}
