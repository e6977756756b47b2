/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * A stage holds its own layers; the first also the embedding, the last the head, which is a second
 * copy of the embedding where the two are tied and a pipeline parts them. Gradients that are
 * reduced once, with the last micro-batch, stay whole until then whatever the ZeRO stage.
 *
 * 1F1B keeps pp - stage micro-batches. Interleaved, Megatron's schedule runs 2 (pp - stage - 1) +
 * (vpp - 1) pp chunks ahead (Narayanan et al., 2021); one more is under way, each 1/vpp of a stage.
 */

#include "models/training/footprint.h"

#include "models/training/chunk.h"
#include "sim/contract.h"

#include <math.h>

/* A loss over slices of the tokens has so many at a time (torchtune's chunked cross entropy cuts
 * 8,192 tokens in 8). */
#define LOGIT_CHUNK_TOKENS 1024.0
#define LOGIT_CHUNK_BYTES 10.0 /* at most: bf16, fp32 and its gradient */

/* ---- resident ------------------------------------------------------------------------------ */

static bool has_copy_of_embedding(const struct training_plan *plan, int stage) {
    return plan->pp > 1 && stage == plan->pp - 1 && plan->architecture->tied_embeddings &&
           plan->head == LLM_HEAD_VOCABULARY;
}

/* Of a stage, per GPU, what is shared as `ranks` and `expert_ranks` say. */
static double own(const struct training_plan *plan, int stage, double ranks, double expert_ranks,
                  training_segment_func *all, training_segment_func *of_experts) {
    struct training_segment segments[TRAINING_SEGMENTS];
    double experts = training_stage_sum(plan, stage, of_experts);
    double rest = training_stage_sum(plan, stage, all) - experts;
    training_segments(plan, segments);
    if (has_copy_of_embedding(plan, stage))
        rest += all(plan, &segments[0]);
    return rest / ranks + experts / expert_ranks;
}

static double shared(const struct training_plan *plan, int stage, enum training_sharded sharded,
                     training_segment_func *all, training_segment_func *of_experts) {
    return own(plan, stage, training_shards(plan, sharded), training_expert_shards(plan, sharded),
               all, of_experts);
}

/* Undivided by data-parallel ranks. */
static double whole(const struct training_plan *plan, int stage, training_segment_func *all,
                    training_segment_func *of_experts) {
    return own(plan, stage, (double)plan->tp, (double)(plan->ep * training_expert_tp(plan)), all,
               of_experts);
}

static double gradient_bytes(const struct training_plan *plan) {
    return plan->memory.gradient_bytes > 0.0 ? plan->memory.gradient_bytes
                                             : training_element_bytes(plan);
}

/* Gradients of what is updated at once: the tied embedding's, begun at the head, until the end. */
static double last_gradient(const struct training_plan *plan, int stage) {
    struct training_segment segments[TRAINING_SEGMENTS];
    int64_t blocks[TRAINING_SEGMENTS];
    double most = 0.0;
    int count = training_segments(plan, segments);
    training_stage_blocks(plan, stage, blocks);
    for (int i = 0; i < count; i++)
        if (blocks[i] > 0)
            most = fmax(most, training_segment_trained_parameters(plan, &segments[i]));
    return gradient_bytes(plan) * most / (double)plan->tp;
}

static bool keeps_gradients_whole(const struct training_plan *plan) {
    return plan->reduction == TRAINING_REDUCE_ONCE || plan->zero_stage < 2 ||
           (plan->pp > 1 && plan->zero_stage == 3 && !plan->reshard_after_forward);
}

static double gradients(const struct training_plan *plan, int stage) {
    if (plan->memory.updates_in_backward)
        return last_gradient(plan, stage);
    double trained =
        keeps_gradients_whole(plan)
            ? whole(plan, stage, training_segment_trained_parameters,
                    training_segment_trained_expert_parameters)
            : shared(plan, stage, TRAINING_SHARDED_GRADIENTS, training_segment_trained_parameters,
                     training_segment_trained_expert_parameters);
    return gradient_bytes(plan) * trained;
}

static double master_bytes(const struct training_plan *plan) {
    return training_master_bytes(plan) > 0.0 ? plan->memory.master_bytes : 0.0;
}

/* Parameters of a rank whose master weights and moments are on the host at once, when the rest is
 * on disks: the default sub_group_size of DeepSpeed's ZeRO-3 (its documentation of
 * zero_optimization). */
#define GROUP_PARAMETERS 1e9

static void offload(const struct training_plan *plan, struct training_footprint *footprint) {
    if (training_offloads_optimizer(plan)) {
        footprint->host_optimizer = footprint->master_weights + footprint->optimizer;
        footprint->master_weights = footprint->optimizer = 0.0;
        if (plan->optimizer_on_disk) {
            footprint->disk_optimizer = footprint->host_optimizer;
            footprint->host_optimizer =
                fmin(footprint->disk_optimizer,
                     GROUP_PARAMETERS * (master_bytes(plan) + plan->memory.moment_bytes));
        }
    }
    if (training_offloads_parameters(plan)) {
        footprint->host_weights = footprint->weights;
        footprint->weights = 0.0;
    }
}

void training_footprint(const struct training_plan *plan, int stage,
                        struct training_footprint *footprint) {
    double updated =
        shared(plan, stage, TRAINING_SHARDED_OPTIMIZER, training_segment_trained_parameters,
               training_segment_trained_expert_parameters);
    *footprint = (struct training_footprint){
        .weights = shared(plan, stage, TRAINING_SHARDED_WEIGHTS, training_segment_weight_bytes,
                          training_segment_expert_weight_bytes),
        .gradients = plan->trained ? gradients(plan, stage) : 0.0,
        .master_weights = master_bytes(plan) * updated,
        .optimizer = plan->memory.moment_bytes * updated,
    };
    offload(plan, footprint);
}

double training_fetched_bytes(const struct training_plan *plan,
                              const struct training_footprint *footprint) {
    return plan->memory.streams_weights ? 0.0 : footprint->host_weights;
}

/* ---- whole blocks -------------------------------------------------------------------------- */

/* Of the largest layer of a stage, and of embedding and head where they are on it, on one
 * tensor-parallel (and expert-parallel) rank. */
struct part_sizes {
    double embedding, layer, head;
};

static struct part_sizes sizes_of(const struct training_plan *plan, int stage,
                                  training_segment_func *all, training_segment_func *of_experts) {
    struct training_segment segments[TRAINING_SEGMENTS];
    int64_t blocks[TRAINING_SEGMENTS];
    int count = training_segments(plan, segments);
    double size[TRAINING_SEGMENTS] = {0};
    training_stage_blocks(plan, stage, blocks);
    for (int i = 0; i < count; i++) {
        double experts = of_experts(plan, &segments[i]);
        size[i] = (all(plan, &segments[i]) - experts) / (double)plan->tp +
                  experts / (double)(plan->ep * training_expert_tp(plan));
        size[i] = blocks[i] > 0 ? size[i] : 0.0;
    }
    struct part_sizes sizes = {.embedding = size[0], .head = size[count - 1]};
    for (int i = 1; i < count - 1; i++)
        sizes.layer = fmax(sizes.layer, size[i]);
    return sizes;
}

/* A block and its larger neighbour; the same while the head computes. */
static double pair_inside(const struct part_sizes *sizes) {
    return sizes->layer + fmax(sizes->layer, fmax(sizes->embedding, sizes->head));
}

static double pair_head(const struct part_sizes *sizes) {
    return sizes->layer + sizes->head;
}

static bool sharded(const struct training_plan *plan, enum training_sharded from) {
    return training_replicas(plan) > 1 && plan->zero_stage >= (int)from;
}

/* Weights are computed with in training's format, whatever they are stored in; frozen ones of four
 * bits are gathered as they are. */
static double gathered_weight_bytes(const struct training_plan *plan,
                                    const struct training_segment *segment) {
    double element = training_element_bytes(plan);
    return fmin(training_segment_weight_bytes(plan, segment),
                element * training_segment_parameters(plan, segment));
}

static double gathered_expert_weight_bytes(const struct training_plan *plan,
                                           const struct training_segment *segment) {
    double element = training_element_bytes(plan);
    return fmin(training_segment_expert_weight_bytes(plan, segment),
                element * training_segment_expert_parameters(plan, segment));
}

/* What ZeRO-3 has in full beside the shards. */
static void gather_weights(const struct training_plan *plan, int stage,
                           struct training_working_set *inside,
                           struct training_working_set *at_head) {
    struct part_sizes sizes =
        sizes_of(plan, stage, gathered_weight_bytes, gathered_expert_weight_bytes);
    if (!sharded(plan, TRAINING_SHARDED_WEIGHTS))
        return;
    double all = plan->reshard_after_forward
                     ? 0.0
                     : whole(plan, stage, gathered_weight_bytes, gathered_expert_weight_bytes);
    inside->gathered += fmax(all, pair_inside(&sizes));
    at_head->gathered += fmax(all, pair_head(&sizes));
}

/* Four-bit weights are widened for the products of one block. */
static double widened_bytes(const struct training_plan *plan, int stage) {
    double element = training_element_bytes(plan);
    struct part_sizes sizes =
        sizes_of(plan, stage, training_segment_parameters, training_segment_expert_parameters);
    return training_packs_weights(plan) ? element * sizes.layer / 2.0 : 0.0;
}

/* Gradients in full, of which the one of a block is in a format of its own while it is reduced. A
 * tied embedding's is whole from the head's backward to the end. */
static void gather_gradients(const struct training_plan *plan, int stage,
                             struct training_working_set *inside,
                             struct training_working_set *at_head) {
    double element = training_element_bytes(plan), reduce = plan->memory.reduce_bytes;
    struct part_sizes sizes = sizes_of(plan, stage, training_segment_trained_parameters,
                                       training_segment_trained_expert_parameters);
    bool tied = plan->architecture->tied_embeddings && plan->pp == 1;
    if (!sharded(plan, TRAINING_SHARDED_GRADIENTS) || keeps_gradients_whole(plan))
        return;
    inside->gathered += reduce * sizes.layer;
    inside->gathered +=
        element * (tied ? 2.0 * sizes.layer + sizes.embedding : pair_inside(&sizes));
    at_head->gathered += (element + reduce) * (tied ? sizes.embedding : sizes.head);
}

/* ---- activations --------------------------------------------------------------------------- */

/* Over the layers of a stage. */
struct layer_peaks {
    double kept;    /* of all of them, one micro-batch */
    double one;     /* the most that one keeps */
    double again;   /* the most that a block makes again and has in flight beside it */
    double forward; /* the widest point of a forward without gradients */
};

static struct layer_peaks peaks_of(const struct training_plan *plan, int stage,
                                   const struct llm_batch *batch) {
    struct training_segment segments[TRAINING_SEGMENTS];
    int64_t blocks[TRAINING_SEGMENTS];
    struct layer_peaks peaks = {0};
    int count = training_segments(plan, segments);
    training_stage_blocks(plan, stage, blocks);
    for (int i = 1; i < count - 1; i++) {
        struct training_block_activations block;
        training_block_activations(plan, batch, &segments[i].kind, &block);
        peaks.kept += block.kept * (double)blocks[i];
        if (blocks[i] == 0)
            continue;
        peaks.one = fmax(peaks.one, block.kept);
        peaks.again = fmax(peaks.again, block.again);
        peaks.forward = fmax(peaks.forward, block.forward);
    }
    return peaks;
}

double training_in_flight(const struct training_plan *plan, int stage, double microbatches) {
    double after = (double)(plan->pp - stage - 1);
    double ahead = plan->vpp > 1 ? 2.0 * after + (double)((plan->vpp - 1) * plan->pp) : after;
    return fmin((ahead + 1.0) / (double)plan->vpp, microbatches);
}

static double logit_bytes(const struct training_plan *plan, int stage,
                          const struct llm_batch *batch, double bytes) {
    double columns =
        plan->head == LLM_HEAD_SCALAR ? 1.0 : (double)plan->architecture->vocab / (double)plan->tp;
    double tokens = batch->logit_tokens / (double)plan->cp;
    if (stage < plan->pp - 1 || plan->logits == TRAINING_LOGITS_FUSED)
        return 0.0;
    if (plan->logits == TRAINING_LOGITS_CHUNKED)
        return fmin(bytes, LOGIT_CHUNK_BYTES) * columns * fmin(tokens, LOGIT_CHUNK_TOKENS);
    return bytes * columns * tokens;
}

/* ---- instants ------------------------------------------------------------------------------ */

static double sum(const struct training_working_set *set) {
    return set->gathered + set->activations + set->logits;
}

static struct training_working_set larger(struct training_working_set a,
                                          struct training_working_set b) {
    return sum(&a) >= sum(&b) ? a : b;
}

/* Inside a block without gradients: the residual stream, the norm's output, and what attention or
 * feed-forward makes of it. At the head: the final norm's input and output. */
void training_forward_working_set(const struct training_plan *plan, int stage,
                                  const struct llm_batch *batch, struct training_working_set *set) {
    double streams =
        2.0 * training_stream_bytes(plan, batch) + training_gathered_input_bytes(plan, batch);
    struct training_working_set inside = {.activations =
                                              streams + peaks_of(plan, stage, batch).forward};
    struct training_working_set at_head = {
        .activations = streams,
        .logits = logit_bytes(plan, stage, batch, plan->memory.logit_forward_bytes)};
    gather_weights(plan, stage, &inside, &at_head);
    inside.gathered += widened_bytes(plan, stage);
    *set = larger(inside, at_head);
}

void training_update_working_set(const struct training_plan *plan, int stage,
                                 const struct llm_batch *batch, double microbatches,
                                 struct training_working_set *set) {
    CONTRACT(plan->trained, "a frozen model is not updated");
    struct layer_peaks peaks = peaks_of(plan, stage, batch);
    double kept = peaks.kept * training_in_flight(plan, stage, microbatches), host = 0.0;
    double whole_input = training_gathered_input_bytes(plan, batch);
    if (plan->offload_activations) { /* all but those of the block that computes */
        host = fmax(0.0, kept - peaks.one);
        kept -= host;
    }
    struct training_working_set inside = {.activations = kept + peaks.again + whole_input,
                                          .host_activations = host};
    struct training_working_set at_head = {
        .activations = kept + 2.0 * training_stream_bytes(plan, batch) + whole_input,
        .logits = logit_bytes(plan, stage, batch, plan->memory.logit_update_bytes),
        .host_activations = host};
    gather_weights(plan, stage, &inside, &at_head);
    gather_gradients(plan, stage, &inside, &at_head);
    inside.gathered += widened_bytes(plan, stage);
    *set = larger(inside, at_head);
}

double training_optimizer_bytes(const struct training_plan *plan, int stage) {
    double updated =
        shared(plan, stage, TRAINING_SHARDED_OPTIMIZER, training_segment_trained_parameters,
               training_segment_trained_expert_parameters);
    return plan->memory.update_bytes * updated;
}

double training_update_bytes(const struct training_plan *plan, int stage,
                             const struct llm_batch *batch, double microbatches) {
    struct training_footprint held;
    struct training_working_set set;
    training_footprint(plan, stage, &held);
    training_update_working_set(plan, stage, batch, microbatches, &set);
    return held.weights + held.gradients + held.master_weights + held.optimizer +
           training_fetched_bytes(plan, &held) +
           fmax(sum(&set), training_optimizer_bytes(plan, stage));
}

/* ---- on disk ------------------------------------------------------------------------------- */

double training_checkpoint_bytes(const struct training_plan *plan) {
    double element = training_element_bytes(plan);
    double master = training_master_bytes(plan) > 0.0 ? plan->memory.master_bytes : 0.0;
    if (!plan->trained)
        return element * training_parameters(plan);
    return (element + master + plan->memory.moment_bytes) * training_trained_parameters(plan);
}
