/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/forecast/limits.h"
#include "models/forecast/footprint.h"
#include "models/forecast/plan_storage.h"
#include "models/forecast/planning.h"
#include "models/forecast/run.h"

#include <stdlib.h>

#define SPEED_UP 1.1
#define STEPS 2 /* simulated per resource; lengths differ from step to step, resources hardly */
#define OVERLAPPED_STEPS 8 /* until rollouts and training run side by side as they go on to */

struct lever {
    const char *resource;
    void (*speed_up)(struct rlhfsim_scenario *scenario);
};

static void speed_up_compute(struct rlhfsim_scenario *scenario) {
    for (int precision = 0; precision < HARDWARE_PRECISION_COUNT; precision++)
        scenario->cluster.gpu.peak_flops_per_s[precision] *= SPEED_UP;
    scenario->cluster.gpu.fp4_flops_per_s *= SPEED_UP;
}

static void speed_up_memory(struct rlhfsim_scenario *scenario) {
    scenario->cluster.gpu.memory_bandwidth_bytes_per_s *= SPEED_UP;
}

static void speed_up_scaleup(struct rlhfsim_scenario *scenario) {
    scenario->cluster.gpu.scaleup_bandwidth_bytes_per_s *= SPEED_UP;
}

static void speed_up_network(struct rlhfsim_scenario *scenario) {
    scenario->cluster.node.network_bandwidth_bytes_per_s *= SPEED_UP;
}

static void speed_up_host_link(struct rlhfsim_scenario *scenario) {
    scenario->cluster.gpu.host_bandwidth_bytes_per_s *= SPEED_UP;
    scenario->cluster.node.host_bandwidth_bytes_per_s *= SPEED_UP;
}

static void speed_up_disks(struct rlhfsim_scenario *scenario) {
    scenario->cluster.node.nvme_read_bytes_per_s *= SPEED_UP;
    scenario->cluster.node.nvme_write_bytes_per_s *= SPEED_UP;
}

static void speed_up_store(struct rlhfsim_scenario *scenario) {
    struct store *stores[] = {&scenario->checkpoint.store, &scenario->checkpoint.staging};
    for (size_t i = 0; i < sizeof stores / sizeof stores[0]; i++) {
        stores[i]->write_bytes_per_s *= SPEED_UP;
        stores[i]->read_bytes_per_s *= SPEED_UP;
        stores[i]->client_write_bytes_per_s *= SPEED_UP;
        stores[i]->client_read_bytes_per_s *= SPEED_UP;
    }
}

static void speed_up_rewards(struct rlhfsim_scenario *scenario) {
    scenario->reward.sample_s /= SPEED_UP;
    scenario->reward.sample_p99_s /= SPEED_UP;
    scenario->reward.calls_per_s *= SPEED_UP;
}

static void speed_up_engine(struct generation_software *engine) {
    engine->iteration_host_s /= SPEED_UP;
    engine->sequence_host_s /= SPEED_UP;
    engine->expert_layer_s /= SPEED_UP;
    engine->eager_layer_s /= SPEED_UP;
}

/* Everything the framework's software adds, launches included. */
static void speed_up_software(struct rlhfsim_scenario *scenario) {
    struct catalog_framework *framework = &scenario->framework;
    hardware_scale_launches(&scenario->cluster.gpu, 1.0 / SPEED_UP);
    framework->training.microbatch_host_s /= SPEED_UP;
    framework->training.optimizer_host_s /= SPEED_UP;
    framework->step_host_s /= SPEED_UP;
    speed_up_engine(&scenario->rollout.engine);
    framework->transition_s_per_sqrt_gb /= SPEED_UP;
    framework->weight_sync_cost.pause_s /= SPEED_UP;
    framework->weight_sync_cost.tensor_s /= SPEED_UP;
    framework->weight_sync_cost.load_bandwidth_bytes_per_s *= SPEED_UP;
}

static const struct lever levers[] = {
    {"GPU compute", speed_up_compute},      {"HBM bandwidth", speed_up_memory},
    {"NVLink bandwidth", speed_up_scaleup}, {"network bandwidth", speed_up_network},
    {"PCIe bandwidth", speed_up_host_link}, {"NVMe bandwidth", speed_up_disks},
    {"checkpoint store", speed_up_store},   {"reward workers", speed_up_rewards},
    {"host software", speed_up_software},
};

int64_t forecast_short_steps(const struct rlhfsim_scenario *scenario) {
    bool overlapped = scenario->placement.mode == SCENARIO_ONE_STEP_OFF ||
                      scenario->placement.mode == SCENARIO_ASYNC;
    int64_t steps = overlapped ? OVERLAPPED_STEPS : STEPS;
    if (scenario->placement.mode == SCENARIO_ASYNC)
        steps *= scenario->placement.sync_every_steps;
    return scenario->steps < steps ? scenario->steps : steps;
}

/* Seconds of a run that its store takes: the load, and what saves keep it waiting. */
static double storage_s(const struct forecast_plan *plan, int64_t saves, double step_s) {
    double interval_s = (double)plan->checkpoint.every_steps * step_s;
    return forecast_load_s(plan) + checkpoint_run_s(&plan->checkpoint, (double)saves, interval_s);
}

/* Length of the first steps, without what the store takes; that is added by the number of saves. */
static enum rlhfsim_status short_run_s(const struct rlhfsim_scenario *scenario, int64_t saves,
                                       const struct rlhfsim_forecast_options *how,
                                       struct rlhfsim_diagnostics *diagnostics, double *step_s,
                                       double *store_s) {
    struct forecast_plan plan;
    struct forecast_measures measures;
    struct forecast_run_options options = {
        .steps = forecast_short_steps(scenario),
        .progress = how->progress,
        .progress_subject = how->progress_subject,
        .progress_from = 1.0,
        .progress_to = 1.0,
    };
    forecast_plan_make(scenario, &plan);
    struct forecast_plan working = plan;
    working.checkpoint.every_steps = 0;
    working.load.count = 0;
    enum rlhfsim_status status = forecast_run(&working, &options, diagnostics, &measures);
    if (status != RLHFSIM_OK)
        return status;
    *step_s = measures.total_s / (double)options.steps;
    *store_s = storage_s(&plan, saves, *step_s);
    return RLHFSIM_OK;
}

enum rlhfsim_status forecast_limit_find(const struct forecast_plan *plan,
                                        const struct forecast_measures *measures,
                                        const struct rlhfsim_forecast_options *how,
                                        struct rlhfsim_diagnostics *diagnostics,
                                        struct forecast_limit *limit) {
    double step_s, store_s;
    enum rlhfsim_status status =
        short_run_s(plan->scenario, measures->saves, how, diagnostics, &step_s, &store_s);
    double work_s = measures->total_s - measures->phase_s[ALGORITHM_PHASE_CHECKPOINT] -
                    measures->phase_s[ALGORITHM_PHASE_LOAD];
    struct rlhfsim_scenario *faster = malloc(sizeof *faster);
    if (faster == NULL)
        return RLHFSIM_NO_MEMORY;
    *limit = (struct forecast_limit){"none", 0.0};
    for (size_t i = 0; status == RLHFSIM_OK && i < sizeof levers / sizeof levers[0]; i++) {
        double faster_step_s, faster_store_s;
        if (levers[i].speed_up == speed_up_disks && !forecast_uses_disks(plan))
            continue;
        *faster = *plan->scenario;
        levers[i].speed_up(faster);
        status =
            short_run_s(faster, measures->saves, how, diagnostics, &faster_step_s, &faster_store_s);
        if (status != RLHFSIM_OK)
            break;
        double saved_s = (1.0 - faster_step_s / step_s) * work_s + store_s - faster_store_s;
        double gain = saved_s / measures->total_s;
        if (gain > limit->gain_fraction)
            *limit = (struct forecast_limit){levers[i].resource, gain};
    }
    free(faster);
    return status;
}
