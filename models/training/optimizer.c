/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/training/optimizer.h"

#include "models/hardware/kernel.h"
#include "models/training/chunk.h"
#include "models/training/footprint.h"
#include "models/training/links.h"
#include "sim/contract.h"

#include <math.h>

/*
 * Seconds of Adam on the host for one parameter of one GPU's shard, when every GPU of a node has
 * one: ml-engineering @744d01e (insights/when-to-upgrade-gpus), Llama-3.1-8B with ZeRO-3, full
 * recomputation and DeepSpeed 0.19.2's CPU AdamW on 8 GPUs, one sequence a GPU. Its TFLOP/s at
 * 8,192, 32,768 and 65,536 tokens are steps of 2.99, 7.16 and 16.2 s on H200, 2.52, 4.43 and 8.80 s
 * on B200. Through three points a + b s + d s^2 gives the part that does not depend on the batch,
 * a = 2.10 and 2.15 s for 1.004e9 parameters a GPU (H200's law then meets the step at 131,072,
 * 46.2 s). Of that 0.08 s are the transfers, 4 bytes at 50 GB/s, which are counted apart.
 */
#define HOST_ADAM_S_PER_PARAMETER 2.0e-9

/* HBM bytes of one updated parameter: the gradient is read for the norm that clips it and again by
 * the optimizer, which reads and writes its moments and the master weight, and writes the weight
 * (without a master reads it as well). Adam in bf16: 2 + 2 + 16 + 8 + 2 = 30; in fp32, whose weight
 * is its own master: 4 + 4 + 16 + 8 = 32; with moments of 8 bits 18, SGD 14. */
static double updated_bytes(const struct training_plan *plan) {
    double element = training_element_bytes(plan);
    double master = training_master_bytes(plan) > 0.0 ? plan->memory.master_bytes : 0.0;
    double weight = master > 0.0 ? element : 2.0 * element;
    return 2.0 * element + 2.0 * plan->memory.moment_bytes + 2.0 * master + weight;
}

static double transfer_s(const struct training_plan *plan, double bytes) {
    return bytes / hardware_host_link(plan->cluster, plan->cluster->gpus_per_node);
}

/* Master weights and moments come from the node's disks and go back, its ranks at once; DeepSpeed
 * reads, updates and writes one part after the other (aio without pipeline_read and pipeline_write,
 * its default). */
static double disk_s(const struct training_plan *plan, int stage) {
    const struct hardware_node *node = &plan->cluster->node;
    struct training_footprint footprint;
    double ranks =
        fmin(plan->cluster->gpus_per_node, (double)plan->tp * plan->cp * plan->pp * plan->dp);
    training_footprint(plan, stage, &footprint);
    return ranks * footprint.disk_optimizer *
           (1.0 / node->nvme_read_bytes_per_s + 1.0 / node->nvme_write_bytes_per_s);
}

/* Of a stage, parameters per GPU of what is shared as `sharded` says, given those of all and of
 * experts. */
static double own(const struct training_plan *plan, int stage, enum training_sharded sharded,
                  training_segment_func *all, training_segment_func *of_experts) {
    double experts = training_stage_sum(plan, stage, of_experts);
    double rest = training_stage_sum(plan, stage, all) - experts;
    return rest / training_shards(plan, sharded) + experts / training_expert_shards(plan, sharded);
}

void training_stage_optimizer(const struct training_plan *plan, int stage,
                              struct training_cost *cost) {
    CONTRACT(plan->trained, "a frozen model has no optimizer");
    double updated =
        own(plan, stage, TRAINING_SHARDED_OPTIMIZER, training_segment_trained_parameters,
            training_segment_trained_expert_parameters);
    *cost = (struct training_cost){.compute_s = plan->software.optimizer_host_s};
    if (training_offloads_optimizer(plan)) { /* gradients go down, weights come up */
        cost->compute_s += HOST_ADAM_S_PER_PARAMETER * updated;
        cost->exposed_communication_s =
            2.0 * transfer_s(plan, updated * training_element_bytes(plan));
        if (plan->optimizer_on_disk)
            cost->exposed_communication_s += disk_s(plan, stage);
    } else {
        cost->compute_s +=
            hardware_memory_s(&plan->cluster->gpu, updated_bytes(plan) * updated, 2.0);
    }
    if (training_renews(plan)) {
        cost->bytes = cost->data_bytes = training_renew_bytes(plan, stage);
        if (!plan->overlap_update)
            cost->exposed_communication_s += training_renew_s(plan, stage);
    }
    cost->total_s = cost->compute_s + cost->exposed_communication_s;
}

void training_optimizer(const struct training_plan *plan, struct training_cost *cost) {
    training_stage_optimizer(plan, 0, cost);
    for (int stage = 1; stage < plan->pp; stage++) {
        struct training_cost other;
        training_stage_optimizer(plan, stage, &other);
        if (other.total_s > cost->total_s)
            *cost = other;
    }
    cost->zone_bytes = 0.0; /* of all stages */
    for (int stage = 0; stage < plan->pp && training_renews(plan); stage++)
        cost->zone_bytes += training_renew_zone_bytes(plan, stage) / (double)plan->pp;
    training_cost_scale(plan, cost);
}

double training_parameter_transfer_s(const struct training_plan *plan) {
    double most = 0.0;
    if (!training_offloads_parameters(plan))
        return 0.0;
    for (int stage = 0; stage < plan->pp; stage++)
        most = fmax(most, own(plan, stage, TRAINING_SHARDED_WEIGHTS, training_segment_weight_bytes,
                              training_segment_expert_weight_bytes));
    return transfer_s(plan, most);
}
