/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Rows of the catalog may have gaps: a figure that no source gives is left out rather than guessed.
 * Here a run that would need such a figure is refused; one that does not (a single node has no use
 * for a network) goes on.
 */
#include "models/scenario/columns.h"
#include "models/scenario/draft.h"

#include <math.h>
#include <stdio.h>

static bool several_gpus(const struct rlhfsim_scenario *scenario) {
    return scenario->cluster.gpus_per_node > 1;
}

static bool several_nodes(const struct rlhfsim_scenario *scenario) {
    return scenario->cluster.nodes > 1;
}

static bool collectives(const struct rlhfsim_scenario *scenario) {
    return hardware_cluster_gpus(&scenario->cluster) > 1;
}

static bool offloads(const struct rlhfsim_scenario *scenario) {
    for (int role = 0; role < ALGORITHM_ROLE_COUNT; role++)
        if (scenario->models[role].present &&
            scenario->models[role].offload != TRAINING_OFFLOAD_NONE)
            return true;
    return false;
}

static bool uses_host_link(const struct rlhfsim_scenario *scenario) {
    return offloads(scenario) || (scenario->algorithm.type->has_rollout &&
                                  scenario->rollout.engine.preemption == GENERATION_SWAP);
}

static bool uses_nvme(const struct rlhfsim_scenario *scenario) {
    return scenario->training.offload_optimizer_to == SCENARIO_OPTIMIZER_NVME &&
           scenario_offloads_optimizer(scenario);
}

static bool checkpoints(const struct rlhfsim_scenario *scenario) {
    bool stored =
        scenario->checkpoint.every_steps > 0 || scenario->checkpoint.load != SCENARIO_LOAD_NONE;
    return stored && scenario->checkpoint.store.name[0] == '\0';
}

/* An asynchronous save goes over PCIe to host memory. */
static bool copies_to_host(const struct rlhfsim_scenario *scenario) {
    return scenario->checkpoint.every_steps > 0 && !scenario->checkpoint.staged_on_store &&
           scenario->checkpoint.mode == SCENARIO_SAVE_ASYNCHRONOUS;
}

static bool moves_to_host(const struct rlhfsim_scenario *scenario) {
    return uses_host_link(scenario) || copies_to_host(scenario);
}

static bool computes(const struct rlhfsim_scenario *scenario, enum hardware_precision precision) {
    return scenario->training.precision == precision ||
           (scenario->algorithm.type->has_rollout &&
            generation_format_products(scenario->rollout.precision) == precision);
}

static bool computes_fp32(const struct rlhfsim_scenario *scenario) {
    return computes(scenario, HARDWARE_FP32);
}

static bool computes_fp16(const struct rlhfsim_scenario *scenario) {
    return computes(scenario, HARDWARE_FP16);
}

static bool computes_fp8(const struct rlhfsim_scenario *scenario) {
    return computes(scenario, HARDWARE_FP8);
}

struct need {
    size_t column;
    bool (*when)(const struct rlhfsim_scenario *scenario); /* NULL: always */
};

/* bf16 is always needed: the efficiencies are shares of that peak. */
static const struct need gpu_needs[] = {{GPU_BF16_TFLOPS, NULL},
                                        {GPU_FP16_TFLOPS, computes_fp16},
                                        {GPU_FP32_TFLOPS, computes_fp32},
                                        {GPU_FP8_TFLOPS, computes_fp8},
                                        {GPU_MATMUL_TFLOPS_MEASURED, NULL},
                                        {GPU_ATTENTION_EFFICIENCY, NULL},
                                        {GPU_ATTENTION_BACKWARD_EFFICIENCY, NULL},
                                        {GPU_MEMORY_GIB, NULL},
                                        {GPU_MEMORY_BANDWIDTH_GB_PER_S, NULL},
                                        {GPU_MEMORY_BANDWIDTH_MEASURED_GB_PER_S, NULL},
                                        {GPU_SCALEUP_GB_PER_S, several_gpus},
                                        {GPU_HOST_BANDWIDTH_GB_PER_S, moves_to_host},
                                        {GPU_KERNEL_LAUNCH_US, NULL}};

static const struct need node_needs[] = {{NODE_HOST_MEMORY_GIB, moves_to_host},
                                         {NODE_NETWORK_GBIT_PER_S, several_nodes},
                                         {NODE_SCALEUP_EFFICIENCY, several_gpus},
                                         {NODE_NETWORK_EFFICIENCY, several_nodes},
                                         {NODE_SCALEUP_LATENCY_US, several_gpus},
                                         {NODE_NETWORK_LATENCY_US, several_nodes},
                                         {NODE_COLLECTIVE_START_US, collectives},
                                         {NODE_STORAGE_GB_PER_S, checkpoints},
                                         {NODE_NVME_GB, uses_nvme},
                                         {NODE_NVME_READ_GB_PER_S, uses_nvme},
                                         {NODE_NVME_WRITE_GB_PER_S, uses_nvme}};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* The columns that are needed and not known, as a list; their number. */
static int list_gaps(const struct scenario_draft *draft, enum catalog_kind kind,
                     const struct column_row *row, const struct need *needs, size_t count,
                     char *buffer, size_t size) {
    size_t columns, used = 0;
    const struct column *column = catalog_columns(kind, &columns);
    int gaps = 0;
    for (size_t i = 0; i < count && used < size; i++) {
        bool needed = needs[i].when == NULL || needs[i].when(draft->scenario);
        if (!needed || !isnan(row->number[needs[i].column]))
            continue;
        int length = snprintf(buffer + used, size - used, "%s%s", gaps++ == 0 ? "" : ", ",
                              column[needs[i].column].name);
        used += length > 0 ? (size_t)length : 0;
    }
    return gaps;
}

static void check_row(struct scenario_draft *draft, enum scenario_key key, enum catalog_kind kind,
                      const struct column_row *row, const struct need *needs, size_t count) {
    char gaps[512];
    if (list_gaps(draft, kind, row, needs, count, gaps, sizeof gaps) > 0)
        scenario_blame(draft, key,
                       "%s '%s' has no %s, which this run needs and no source gives; write %s of "
                       "your own for it, or describe it in the scenario",
                       catalog_kind_name(kind), row->text[0], gaps, catalog_file_name(kind));
}

/* Disks of no room are none; those of unknown room are a gap of the row. */
static void check_disks(struct scenario_draft *draft) {
    if (uses_nvme(draft->scenario) && draft->node_row.number[NODE_NVME_GB] <= 0.0)
        scenario_blame_key(
            draft, KEY_TRAINING_OFFLOAD_OPTIMIZER_TO,
            "training.offload_optimizer_to is nvme, but node '%s' has no local disks "
            "(nvme_gb is 0); expected host",
            draft->node_row.text[NODE_NAME]);
}

void scenario_check_known(struct scenario_draft *draft) {
    bool inline_gpu = draft->values.at[KEY_CLUSTER_GPU].mapping != NULL;
    if (!draft->cluster_known || !draft->algorithm_known)
        return;
    check_row(draft, inline_gpu ? KEY_CLUSTER_GPU : KEY_CLUSTER_NODE, CATALOG_GPUS, &draft->gpu_row,
              gpu_needs, COUNT(gpu_needs));
    check_row(draft, KEY_CLUSTER_NODE, CATALOG_NODES, &draft->node_row, node_needs,
              COUNT(node_needs));
    check_disks(draft);
}
