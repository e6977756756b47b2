/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * A pass is three stages in a row: embedding, layers, head; backward in reverse. Each block has its
 * seconds on the compute stream (kernels, and the tensor-parallel collectives that these wait for)
 * and its collectives over the data-parallel ranks, which overlap by the laws of overlap.c.
 *
 * Data-parallel traffic of a GPU, in units of its bytes of weights P (dp large), M micro-batches to
 * an optimizer step: ZeRO-0 all-reduces gradients once, 2P; ZeRO-1 reduce-scatters them once and
 * gathers new weights, 2P; ZeRO-2 reduce-scatters in every micro-batch, (M+1)P; ZeRO-3 gathers
 * weights twice and reduce-scatters once in every micro-batch, 3MP (Rajbhandari et al., "ZeRO",
 * 2020, section 7, for M = 1). ZeRO-3 treats embedding and head as blocks like any other: gathered
 * in both directions, though a framework may keep the head between them.
 */

#include "models/training/pass.h"

#include "models/hardware/kernel.h"
#include "models/network/collective.h"
#include "models/training/block.h"
#include "models/training/overlap.h"
#include "sim/contract.h"

/* Collectives of reduced or gathered activations between tensor-parallel ranks: a pair around
 * attention and a pair around the feed-forward; one after the embedding, one before the head. */
static const double tensor_collectives[] = {
    [TRAINING_EMBEDDING] = 1.0, [TRAINING_LAYER] = 4.0, [TRAINING_HEAD] = 1.0};

/* ---- collectives --------------------------------------------------------------------------- */

static double ring_share(int ranks) {
    return (double)(ranks - 1) / (double)ranks;
}

/* One all-gather or reduce-scatter of a micro-batch's activations over the tensor-parallel ranks,
 * which are neighbours. */
static double activation_bytes(const struct training_plan *plan, const struct llm_batch *batch) {
    return batch->tokens * (double)plan->architecture->hidden * training_element_bytes(plan);
}

static double tensor_collective_s(const struct training_plan *plan, const struct llm_batch *batch) {
    struct network_group group = network_group_strided(plan->cluster, plan->tp, 1);
    return network_collective_s(plan->cluster, NETWORK_ALL_GATHER, group,
                                activation_bytes(plan, batch));
}

static struct network_group data_group(const struct training_plan *plan) {
    return network_group_strided(plan->cluster, plan->dp, plan->tp);
}

/* A collective over the data-parallel ranks, tp GPU numbers apart, of this many parameters. */
static double data_collective_s(const struct training_plan *plan, struct network_group group,
                                enum network_collective kind, double parameters) {
    double bytes = parameters * training_element_bytes(plan) / (double)plan->tp;
    return network_collective_s(plan->cluster, kind, group, bytes);
}

/* Bytes each GPU sends when this many parameters are gathered or reduce-scattered. */
static double data_bytes(const struct training_plan *plan, double parameters) {
    return parameters * training_element_bytes(plan) / (double)plan->tp * ring_share(plan->dp);
}

static bool shards_weights(const struct training_plan *plan) {
    return plan->zero_stage >= TRAINING_SHARDED_WEIGHTS;
}

static double gather_s(const struct training_plan *plan, struct network_group group,
                       const struct training_segment *segment) {
    if (!shards_weights(plan))
        return 0.0;
    return data_collective_s(plan, group, NETWORK_ALL_GATHER,
                             training_segment_parameters(plan, segment));
}

static double reduce_s(const struct training_plan *plan, struct network_group group,
                       const struct training_segment *segment) {
    enum network_collective kind =
        plan->zero_stage == 0 ? NETWORK_ALL_REDUCE : NETWORK_REDUCE_SCATTER;
    return data_collective_s(plan, group, kind, training_segment_trained_parameters(plan, segment));
}

/* ---- time ---------------------------------------------------------------------------------- */

/* What each segment computes and communicates in one micro-batch. */
struct pass {
    int count;
    struct training_segment segments[TRAINING_SEGMENTS];
    struct training_block blocks[TRAINING_SEGMENTS];
    double tensor_s[TRAINING_SEGMENTS]; /* tensor-parallel collectives of one direction */
    struct network_group data;          /* the data-parallel ranks */
};

static void pass_make(const struct training_plan *plan, const struct llm_batch *batch,
                      struct pass *pass) {
    double collective_s = tensor_collective_s(plan, batch);
    pass->data = data_group(plan);
    pass->count = training_segments(plan, pass->segments);
    for (int i = 0; i < pass->count; i++) {
        training_block_compute(plan, batch, &pass->segments[i], &pass->blocks[i]);
        pass->tensor_s[i] = tensor_collectives[pass->segments[i].part] * collective_s;
    }
}

static double stages_s(const struct training_plan *plan, const struct training_stage *stages,
                       int count) {
    return shards_weights(plan) ? training_overlap_gathered_s(stages, count)
                                : training_overlap_reduced_s(stages, count);
}

static void add_forward(const struct training_plan *plan, const struct pass *pass,
                        struct training_cost *cost) {
    struct training_stage stages[TRAINING_SEGMENTS];
    for (int i = 0; i < pass->count; i++) {
        const struct training_segment *segment = &pass->segments[i];
        double forward_s = pass->blocks[i].forward_s;
        stages[i] = (struct training_stage){.blocks = segment->blocks,
                                            .compute_s = forward_s + pass->tensor_s[i],
                                            .gather_s = gather_s(plan, pass->data, segment)};
        cost->compute_s += (double)segment->blocks * forward_s;
    }
    cost->total_s += stages_s(plan, stages, pass->count);
}

/* Directions in which a block's tensor-parallel collectives run in a backward: its own, and the
 * forward's again where all of the block is made again. */
static double backward_directions(const struct training_plan *plan, enum training_part part) {
    bool again = part == TRAINING_LAYER && plan->recompute == TRAINING_RECOMPUTE_FULL;
    return again ? 2.0 : 1.0;
}

static void add_backward(const struct training_plan *plan, const struct pass *pass, bool reduce,
                         struct training_cost *cost) {
    struct training_stage stages[TRAINING_SEGMENTS];
    for (int i = 0; i < pass->count; i++) {
        int from_end = pass->count - 1 - i;
        const struct training_segment *segment = &pass->segments[from_end];
        double backward_s = pass->blocks[from_end].backward_s + pass->blocks[from_end].recompute_s;
        double tensor_s = backward_directions(plan, segment->part) * pass->tensor_s[from_end];
        double reduction_s = reduce ? reduce_s(plan, pass->data, segment) : 0.0;
        stages[i] = (struct training_stage){.blocks = segment->blocks,
                                            .compute_s = backward_s + tensor_s,
                                            .gather_s = gather_s(plan, pass->data, segment),
                                            .reduce_s = reduction_s};
        cost->compute_s += (double)segment->blocks * backward_s;
    }
    cost->total_s += stages_s(plan, stages, pass->count);
}

static void add_host(struct training_cost *cost, double host_s) {
    cost->compute_s += host_s;
    cost->total_s += host_s;
}

/* ---- bytes and FLOPs ----------------------------------------------------------------------- */

/* Sent by a GPU for tensor parallelism in `directions` of the layers and `ends` of embedding and
 * head; each collective sends its share of the activations once. */
static double tensor_bytes(const struct training_plan *plan, const struct llm_batch *batch,
                           double directions, double ends) {
    double collectives =
        directions * (double)plan->architecture->layers * tensor_collectives[TRAINING_LAYER] +
        ends * (tensor_collectives[TRAINING_EMBEDDING] + tensor_collectives[TRAINING_HEAD]);
    return collectives * activation_bytes(plan, batch) * ring_share(plan->tp);
}

static double attention_flops(const struct training_plan *plan, const struct llm_batch *batch) {
    const struct llm_architecture *architecture = plan->architecture;
    return 4.0 * batch->score_pairs *
           ((double)architecture->heads * llm_score_width(architecture) *
            (double)architecture->layers);
}

/* Weights of adapters that a token is multiplied with: of the experts, those it goes through. */
static double adapter_weights(const struct training_plan *plan) {
    const struct llm_architecture *a = plan->architecture;
    double all = (double)llm_lora_parameters(a, plan->lora_rank);
    double idle = (double)(a->moe_layers * (a->experts - a->experts_per_token));
    double expert =
        (double)plan->lora_rank * (a->gated_ffn ? 3.0 : 2.0) * (double)(a->hidden + a->moe_ffn);
    return all - idle * expert;
}

static double adapter_flops(const struct training_plan *plan, const struct llm_batch *batch) {
    if (plan->lora_rank == 0)
        return 0.0;
    return 2.0 * batch->tokens * adapter_weights(plan);
}

static double forward_flops(const struct training_plan *plan, const struct llm_batch *batch) {
    return llm_forward_flops(plan->architecture, plan->head, batch) + adapter_flops(plan, batch);
}

/* Twice the forward's, but for the products with frozen matrices, whose weight gradients nobody
 * wants: once. Attention and adapters have both of their gradients in any case. */
static double backward_flops(const struct training_plan *plan, const struct llm_batch *batch) {
    double forward = forward_flops(plan, batch);
    if (plan->lora_rank == 0)
        return 2.0 * forward;
    return forward + attention_flops(plan, batch) + adapter_flops(plan, batch);
}

static double recompute_flops(const struct training_plan *plan, const struct llm_batch *batch) {
    double matrices = (double)llm_matrix_parameters(plan->architecture);
    switch (plan->recompute) {
    case TRAINING_RECOMPUTE_NONE:
        return 0.0;
    case TRAINING_RECOMPUTE_SELECTIVE:
        return attention_flops(plan, batch);
    case TRAINING_RECOMPUTE_FULL:
        return 2.0 * matrices * batch->tokens + attention_flops(plan, batch) +
               adapter_flops(plan, batch);
    }
    CONTRACT(false, "unknown recomputation");
    return 0.0;
}

/* ---- passes -------------------------------------------------------------------------------- */

static void finish(struct training_cost *cost) {
    cost->exposed_communication_s = cost->total_s - cost->compute_s;
    if (cost->exposed_communication_s < 0.0) /* rounding of two sums of the same terms */
        cost->exposed_communication_s = 0.0;
}

void training_forward(const struct training_plan *plan, const struct llm_batch *batch,
                      struct training_cost *cost) {
    struct training_plan inference = *plan;
    struct pass pass;
    inference.trained = false;
    *cost = (struct training_cost){0};
    pass_make(&inference, batch, &pass);
    add_forward(plan, &pass, cost);
    add_host(cost, plan->software.microbatch_host_s);
    cost->bytes = tensor_bytes(plan, batch, 1.0, 1.0);
    if (shards_weights(plan))
        cost->bytes += data_bytes(plan, training_parameters(plan));
    cost->flops = cost->hardware_flops = forward_flops(plan, batch);
    finish(cost);
}

void training_forward_backward(const struct training_plan *plan, const struct llm_batch *batch,
                               bool reduce, struct training_cost *cost) {
    CONTRACT(plan->trained, "a frozen model has no backward");
    struct pass pass;
    *cost = (struct training_cost){0};
    pass_make(plan, batch, &pass);
    add_forward(plan, &pass, cost);
    add_backward(plan, &pass, reduce, cost);
    add_host(cost, 2.0 * plan->software.microbatch_host_s);
    double directions = 1.0 + backward_directions(plan, TRAINING_LAYER);
    cost->bytes = tensor_bytes(plan, batch, directions, 2.0);
    if (shards_weights(plan))
        cost->bytes += 2.0 * data_bytes(plan, training_parameters(plan));
    if (reduce)
        cost->bytes += (plan->zero_stage == 0 ? 2.0 : 1.0) *
                       data_bytes(plan, training_trained_parameters(plan));
    cost->flops = forward_flops(plan, batch) + backward_flops(plan, batch);
    cost->hardware_flops = cost->flops + recompute_flops(plan, batch);
    finish(cost);
}

bool training_reduces(const struct training_plan *plan, bool last_microbatch) {
    return last_microbatch || plan->zero_stage >= TRAINING_SHARDED_GRADIENTS;
}

/* ---- optimizer ----------------------------------------------------------------------------- */

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
 * Adam, which reads and writes both moments and the master weight, and writes the weight. bf16:
 * 2 + 2 + 12 + 12 + 2 = 30; fp32, whose weight is its own master: 4 + 4 + 12 + 12 = 32. */
static double adam_bytes(const struct training_plan *plan) {
    double element = training_element_bytes(plan), master = training_master_bytes(plan);
    double weight = master > 0.0 ? element : 0.0;
    return 2.0 * element + 24.0 + weight;
}

static double transfer_s(const struct training_plan *plan, double bytes) {
    return bytes / plan->cluster->gpu.host_bandwidth_bytes_per_s;
}

void training_optimizer(const struct training_plan *plan, struct training_cost *cost) {
    CONTRACT(plan->trained, "a frozen model has no optimizer");
    double trained = training_trained_parameters(plan);
    double own = trained / training_shards(plan, TRAINING_SHARDED_OPTIMIZER);
    *cost = (struct training_cost){.compute_s = plan->software.optimizer_host_s};
    if (training_offloads_optimizer(plan)) { /* gradients go down, weights come up */
        cost->compute_s += HOST_ADAM_S_PER_PARAMETER * own;
        cost->exposed_communication_s = 2.0 * transfer_s(plan, own * training_element_bytes(plan));
    } else {
        cost->compute_s += hardware_memory_s(&plan->cluster->gpu, adam_bytes(plan) * own, 2.0);
    }
    if (plan->zero_stage >= TRAINING_SHARDED_OPTIMIZER && !shards_weights(plan)) {
        cost->exposed_communication_s +=
            data_collective_s(plan, data_group(plan), NETWORK_ALL_GATHER, trained);
        cost->bytes = data_bytes(plan, trained);
    }
    cost->total_s = cost->compute_s + cost->exposed_communication_s;
}

double training_parameter_transfer_s(const struct training_plan *plan) {
    if (!training_offloads_parameters(plan))
        return 0.0;
    double own = training_parameters(plan) / training_shards(plan, TRAINING_SHARDED_WEIGHTS);
    return transfer_s(plan, own * training_element_bytes(plan));
}
