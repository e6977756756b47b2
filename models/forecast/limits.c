/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/forecast/limits.h"

#include <math.h>
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
}

static void speed_up_store(struct rlhfsim_scenario *scenario) {
    scenario->cluster.node.storage_bandwidth_bytes_per_s *= SPEED_UP;
    scenario->checkpoint.store_bandwidth_bytes_per_s *= SPEED_UP;
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
    {"PCIe bandwidth", speed_up_host_link}, {"checkpoint store", speed_up_store},
    {"reward workers", speed_up_rewards},   {"host software", speed_up_software},
};

int64_t forecast_short_steps(const struct rlhfsim_scenario *scenario) {
    bool overlapped = scenario->placement.mode == SCENARIO_ONE_STEP_OFF ||
                      scenario->placement.mode == SCENARIO_ASYNC;
    int64_t steps = overlapped ? OVERLAPPED_STEPS : STEPS;
    if (scenario->placement.mode == SCENARIO_ASYNC)
        steps *= scenario->placement.sync_every_steps;
    return scenario->steps < steps ? scenario->steps : steps;
}

/* Length of the first steps, without checkpoints: these are added by their number. */
static enum rlhfsim_status short_run_s(const struct rlhfsim_scenario *scenario,
                                       struct rlhfsim_diagnostics *diagnostics, double *step_s,
                                       double *save_s) {
    struct forecast_plan plan;
    struct forecast_measures measures;
    struct forecast_run_options options = {.steps = forecast_short_steps(scenario)};
    forecast_plan_make(scenario, &plan);
    *save_s = checkpoint_save_s(&plan.checkpoint);
    plan.checkpoint.every_steps = 0;
    enum rlhfsim_status status = forecast_run(&plan, &options, diagnostics, &measures);
    if (status == RLHFSIM_OK)
        *step_s = measures.total_s / (double)options.steps;
    return status;
}

enum rlhfsim_status forecast_limit_find(const struct forecast_plan *plan,
                                        const struct forecast_measures *measures,
                                        struct rlhfsim_diagnostics *diagnostics,
                                        struct forecast_limit *limit) {
    double step_s, save_s;
    enum rlhfsim_status status = short_run_s(plan->scenario, diagnostics, &step_s, &save_s);
    double checkpoint_s = measures->phase_s[ALGORITHM_PHASE_CHECKPOINT];
    double saves = save_s > 0.0 ? checkpoint_s / save_s : 0.0;
    struct rlhfsim_scenario *faster = malloc(sizeof *faster);
    if (faster == NULL)
        return RLHFSIM_NO_MEMORY;
    *limit = (struct forecast_limit){"none", 0.0};
    for (size_t i = 0; status == RLHFSIM_OK && i < sizeof levers / sizeof levers[0]; i++) {
        double faster_step_s, faster_save_s;
        *faster = *plan->scenario;
        levers[i].speed_up(faster);
        status = short_run_s(faster, diagnostics, &faster_step_s, &faster_save_s);
        if (status != RLHFSIM_OK)
            break;
        double saved_steps = (1.0 - faster_step_s / step_s) * (measures->total_s - checkpoint_s);
        double gain = (saved_steps + saves * (save_s - faster_save_s)) / measures->total_s;
        if (gain > limit->gain_fraction)
            *limit = (struct forecast_limit){levers[i].resource, gain};
    }
    free(faster);
    return status;
}
