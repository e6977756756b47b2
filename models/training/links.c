/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Ring attention (Liu, Zaharia and Abbeel, 2023) passes keys and values on cp - 1 times; in the
 * backward their gradients travel with them. Ulysses (Jacobs et al., 2023) trades parts of the
 * sequence for parts of the heads; with fewer key heads than ranks these are copied first.
 *
 * Experts are chosen evenly. A token's k experts are on fewer than k ranks when some share one: a
 * rank with E/ep of the E experts is missed with probability C(E - E/ep, k) / C(E, k), so that a
 * token goes to ep (1 - that) ranks, of which 1/ep is its own.
 *
 * Gradients of experts are reduced over the ranks with the same experts, other weights over all
 * dp x cp ranks; the two follow one another on one communication stream.
 *
 * Left out: contention between groups on one link; a tied head on the last stage, whose gradient is
 * added to the embedding's on the first.
 */

#include "models/training/links.h"

#include "models/network/zone_traffic.h"
#include "models/network/zones.h"
#include "models/training/chunk.h"

#include <math.h>

static double ring_share(int ranks) {
    return (double)(ranks - 1) / (double)ranks;
}

static struct network_group group(const struct training_plan *plan, int ranks, int stride) {
    return network_group_strided(plan->cluster, ranks, stride);
}

/* ---- activations ----------------------------------------------------------------------------- */

static double local_tokens(const struct training_plan *plan, const struct llm_batch *batch) {
    return batch->tokens / (double)plan->cp;
}

static double activation_bytes(const struct training_plan *plan, const struct llm_batch *batch) {
    return local_tokens(plan, batch) * (double)plan->architecture->hidden *
           training_element_bytes(plan);
}

double training_tensor_s(const struct training_plan *plan, const struct llm_batch *batch) {
    enum network_collective kind =
        plan->sequence_parallel ? NETWORK_ALL_GATHER : NETWORK_ALL_REDUCE;
    return network_collective_s(plan->cluster, kind, group(plan, plan->tp, 1),
                                activation_bytes(plan, batch));
}

double training_tensor_bytes(const struct training_plan *plan, const struct llm_batch *batch) {
    double times = plan->sequence_parallel ? 1.0 : 2.0;
    return times * ring_share(plan->tp) * activation_bytes(plan, batch);
}

/* Columns of keys and values of one rank, copies that Ulysses makes included. */
static double key_value_columns(const struct training_plan *plan) {
    const struct llm_architecture *a = plan->architecture;
    double columns = (double)(llm_key_columns(a) + llm_expanded_value_columns(a));
    double copies = 1.0;
    if (plan->context == TRAINING_CONTEXT_ULYSSES && a->kv_heads > 0)
        copies = fmax(1.0, (double)(plan->tp * plan->cp) / (double)a->kv_heads);
    return copies * columns / (double)plan->tp;
}

/* Bytes that one rank holds of what is exchanged: of keys and values all ranks' together. */
static double ring_bytes(const struct training_plan *plan, const struct llm_batch *batch,
                         bool backward) {
    double bytes = batch->tokens * key_value_columns(plan) * training_element_bytes(plan);
    return backward ? 2.0 * bytes : bytes;
}

static double ulysses_bytes(const struct training_plan *plan, const struct llm_batch *batch) {
    const struct llm_architecture *a = plan->architecture;
    double columns = (double)(llm_query_columns(a) + llm_value_columns(a)) / (double)plan->tp;
    return local_tokens(plan, batch) * (columns + key_value_columns(plan)) *
           training_element_bytes(plan);
}

double training_context_s(const struct training_plan *plan, const struct llm_batch *batch,
                          bool backward) {
    struct network_group members = group(plan, plan->cp, plan->tp);
    if (plan->context == TRAINING_CONTEXT_RING)
        return network_collective_s(plan->cluster, NETWORK_ALL_GATHER, members,
                                    ring_bytes(plan, batch, backward));
    double bytes = ulysses_bytes(plan, batch);
    return 2.0 * network_collective_s(plan->cluster, NETWORK_ALL_TO_ALL, members, bytes / 2.0);
}

double training_context_bytes(const struct training_plan *plan, const struct llm_batch *batch,
                              bool backward) {
    double bytes = plan->context == TRAINING_CONTEXT_RING ? ring_bytes(plan, batch, backward)
                                                          : ulysses_bytes(plan, batch);
    return ring_share(plan->cp) * bytes;
}

/* Ranks that a token is sent to, its own among them. */
static double destinations(const struct training_plan *plan) {
    double experts = (double)plan->architecture->experts, there = experts / (double)plan->ep;
    double missed = 1.0;
    for (int64_t i = 0; i < plan->architecture->experts_per_token; i++)
        missed *= fmax(0.0, (experts - there - (double)i) / (experts - (double)i));
    return (double)plan->ep * (1.0 - missed);
}

/* With sequence parallelism each tensor-parallel rank sends its own part of the tokens. */
static double sent_bytes(const struct training_plan *plan, const struct llm_batch *batch) {
    double parts = plan->sequence_parallel ? (double)plan->tp : 1.0;
    return destinations(plan) * activation_bytes(plan, batch) / parts;
}

double training_expert_s(const struct training_plan *plan, const struct llm_batch *batch) {
    if (plan->ep == 1)
        return 0.0;
    struct network_group members = group(plan, plan->ep, training_expert_tp(plan));
    return 2.0 * network_collective_s(plan->cluster, NETWORK_ALL_TO_ALL, members,
                                      sent_bytes(plan, batch));
}

double training_expert_copies(const struct training_plan *plan) {
    return plan->ep > 1 && training_expert_tp(plan) > 1 ? destinations(plan) : 1.0;
}

double training_expert_bytes(const struct training_plan *plan, const struct llm_batch *batch) {
    return plan->ep == 1 ? 0.0 : 2.0 * ring_share(plan->ep) * sent_bytes(plan, batch);
}

/* Without sequence parallelism every tensor-parallel rank has all of it; each sends its part, and
 * the receivers gather inside the node (Narayanan et al., 2021), which is not counted. */
double training_send_bytes(const struct training_plan *plan, const struct llm_batch *batch) {
    return activation_bytes(plan, batch) / (double)plan->tp;
}

/* GPUs of a stage whose successors are in another zone. */
static int crossing_gpus(const struct training_plan *plan, int stage) {
    int gpus = plan->tp * plan->cp * plan->dp, next = (stage + 1) % plan->pp, crossing = 0;
    if (network_zones(plan->cluster) == 1 || next == stage)
        return 0;
    for (int gpu = 0; gpu < gpus; gpu++)
        crossing += network_zone_of(plan->cluster, stage * gpus + gpu) !=
                    network_zone_of(plan->cluster, next * gpus + gpu);
    return crossing;
}

/* All of a stage send at the same time; those that leave the zone share its link. */
static void cross_zones(const struct training_plan *plan, int stage, struct network_group *pair) {
    const struct hardware_cluster *cluster = plan->cluster;
    int crossing = crossing_gpus(plan, stage);
    if (crossing == 0)
        return;
    double part = cluster->node.network_bandwidth_bytes_per_s * cluster->node.network_efficiency /
                  cluster->gpus_per_node;
    pair->zone_crossing = 1.0;
    pair->zone_share = fmin(1.0, cluster->zones.bandwidth_bytes_per_s / (crossing * part));
}

double training_send_zone_bytes(const struct training_plan *plan, const struct llm_batch *batch,
                                int stage) {
    int crossing = crossing_gpus(plan, stage);
    return crossing == 0
               ? 0.0
               : training_send_bytes(plan, batch) * crossing / hardware_cluster_gpus(plan->cluster);
}

double training_send_s(const struct training_plan *plan, const struct llm_batch *batch, int stage) {
    int gpus = plan->tp * plan->cp * plan->dp, node = plan->cluster->gpus_per_node;
    int next = (stage + 1) % plan->pp;
    bool inside = stage * gpus / node == next * gpus / node;
    if (next == stage)
        return 0.0;
    struct network_group pair = {.ranks = 2, .ranks_per_node = inside ? 2 : 1};
    cross_zones(plan, stage, &pair);
    return network_collective_s(plan->cluster, NETWORK_BROADCAST, pair,
                                training_send_bytes(plan, batch));
}

/* ---- weights and gradients ------------------------------------------------------------------- */

/* The ranks with equal weights. */
struct copies {
    int ranks, stride;
    int sharing; /* of these, neighbours that share one copy when it is sharded */
};

static struct copies copies_of(const struct training_plan *plan, bool experts) {
    struct copies copies = {.ranks = training_replicas(plan), .stride = plan->tp};
    if (experts)
        copies = (struct copies){.ranks = training_expert_replicas(plan),
                                 .stride = plan->ep * training_expert_tp(plan)};
    bool some = plan->shard_ranks > 0 && plan->shard_ranks < copies.ranks;
    copies.sharing = some ? plan->shard_ranks : copies.ranks;
    return copies;
}

/* Bytes on one rank, whole, of a block's weights that experts own or do not. */
struct parts {
    double dense, expert;
};

/* Experts that are divided as everything else is go with it. */
static struct parts parts_of(const struct training_plan *plan, double all, double experts) {
    if (plan->ep == 1 && training_expert_tp(plan) == plan->tp)
        experts = 0.0;
    return (struct parts){(all - experts) / (double)plan->tp,
                          experts / (double)(plan->ep * training_expert_tp(plan))};
}

static struct parts weights_of(const struct training_plan *plan,
                               const struct training_segment *segment) {
    return parts_of(plan, training_segment_weight_bytes(plan, segment),
                    training_segment_expert_weight_bytes(plan, segment));
}

static struct parts gradients_of(const struct training_plan *plan,
                                 const struct training_segment *segment) {
    double element = training_element_bytes(plan);
    return parts_of(plan, element * training_segment_trained_parameters(plan, segment),
                    element * training_segment_trained_expert_parameters(plan, segment));
}

static double gather_part_s(const struct training_plan *plan, struct copies copies, double bytes) {
    return network_collective_s(plan->cluster, NETWORK_ALL_GATHER,
                                group(plan, copies.sharing, copies.stride), bytes);
}

/* Whether every rank gets the sums of all gradients. */
static bool all_reduces(const struct training_plan *plan) {
    return plan->zero_stage == 0 ||
           (plan->zero_stage == TRAINING_SHARDED_OPTIMIZER && plan->reduces_whole);
}

static double reduce_part_s(const struct training_plan *plan, struct copies copies, double bytes) {
    if (all_reduces(plan))
        return network_collective_s(plan->cluster, NETWORK_ALL_REDUCE,
                                    group(plan, copies.ranks, copies.stride), bytes);
    double scatter_s = network_collective_s(plan->cluster, NETWORK_REDUCE_SCATTER,
                                            group(plan, copies.sharing, copies.stride), bytes);
    if (copies.sharing == copies.ranks)
        return scatter_s;
    struct network_group across =
        group(plan, copies.ranks / copies.sharing, copies.stride * copies.sharing);
    return scatter_s + network_collective_s(plan->cluster, NETWORK_ALL_REDUCE, across,
                                            bytes / (double)copies.sharing);
}

static double reduce_part_bytes(const struct training_plan *plan, struct copies copies,
                                double bytes) {
    if (all_reduces(plan))
        return 2.0 * ring_share(copies.ranks) * bytes;
    double across = 2.0 * ring_share(copies.ranks / copies.sharing) / (double)copies.sharing;
    return (ring_share(copies.sharing) + across) * bytes;
}

static double gather_part_zone_bytes(const struct training_plan *plan, struct copies copies,
                                     double bytes) {
    return network_zone_bytes(plan->cluster, NETWORK_ALL_GATHER, copies.sharing, copies.stride,
                              bytes);
}

static double reduce_part_zone_bytes(const struct training_plan *plan, struct copies copies,
                                     double bytes) {
    const struct hardware_cluster *cluster = plan->cluster;
    if (all_reduces(plan))
        return network_zone_bytes(cluster, NETWORK_ALL_REDUCE, copies.ranks, copies.stride, bytes);
    double scatter =
        network_zone_bytes(cluster, NETWORK_REDUCE_SCATTER, copies.sharing, copies.stride, bytes);
    return scatter + network_zone_bytes(cluster, NETWORK_ALL_REDUCE, copies.ranks / copies.sharing,
                                        copies.stride * copies.sharing,
                                        bytes / (double)copies.sharing);
}

static double gather_parts_zone_bytes(const struct training_plan *plan, struct parts parts) {
    return gather_part_zone_bytes(plan, copies_of(plan, false), parts.dense) +
           gather_part_zone_bytes(plan, copies_of(plan, true), parts.expert);
}

static double gather_parts_s(const struct training_plan *plan, struct parts parts) {
    return gather_part_s(plan, copies_of(plan, false), parts.dense) +
           gather_part_s(plan, copies_of(plan, true), parts.expert);
}

static double gather_parts_bytes(const struct training_plan *plan, struct parts parts) {
    return ring_share(copies_of(plan, false).sharing) * parts.dense +
           ring_share(copies_of(plan, true).sharing) * parts.expert;
}

double training_gather_s(const struct training_plan *plan, const struct training_segment *segment) {
    return gather_parts_s(plan, weights_of(plan, segment));
}

double training_gather_bytes(const struct training_plan *plan,
                             const struct training_segment *segment) {
    return gather_parts_bytes(plan, weights_of(plan, segment));
}

/* Weights that were trained are as wide as their gradients. */
static struct parts renewed(const struct training_plan *plan, int stage) {
    struct training_segment segments[TRAINING_SEGMENTS];
    int64_t blocks[TRAINING_SEGMENTS];
    int count = training_stage_blocks(plan, stage, blocks);
    struct parts sum = {0.0, 0.0};
    training_segments(plan, segments);
    for (int i = 0; i < count; i++) {
        struct parts parts = gradients_of(plan, &segments[i]);
        sum.dense += (double)blocks[i] * parts.dense;
        sum.expert += (double)blocks[i] * parts.expert;
    }
    return sum;
}

bool training_renews(const struct training_plan *plan) {
    return plan->zero_stage == TRAINING_SHARDED_OPTIMIZER ||
           plan->zero_stage == TRAINING_SHARDED_GRADIENTS;
}

double training_renew_s(const struct training_plan *plan, int stage) {
    return gather_parts_s(plan, renewed(plan, stage));
}

double training_renew_bytes(const struct training_plan *plan, int stage) {
    return gather_parts_bytes(plan, renewed(plan, stage));
}

double training_renew_block_s(const struct training_plan *plan,
                              const struct training_segment *segment) {
    return gather_parts_s(plan, gradients_of(plan, segment));
}

static struct parts reduced_of(const struct training_plan *plan,
                               const struct training_segment *segment) {
    struct parts parts = gradients_of(plan, segment);
    double wider =
        plan->gradient_bytes > 0.0 ? plan->gradient_bytes / training_element_bytes(plan) : 1.0;
    return (struct parts){wider * parts.dense, wider * parts.expert};
}

double training_reduce_s(const struct training_plan *plan, const struct training_segment *segment) {
    struct parts parts = reduced_of(plan, segment);
    return reduce_part_s(plan, copies_of(plan, false), parts.dense) +
           reduce_part_s(plan, copies_of(plan, true), parts.expert);
}

double training_reduce_bytes(const struct training_plan *plan,
                             const struct training_segment *segment) {
    struct parts parts = reduced_of(plan, segment);
    return reduce_part_bytes(plan, copies_of(plan, false), parts.dense) +
           reduce_part_bytes(plan, copies_of(plan, true), parts.expert);
}

double training_gather_zone_bytes(const struct training_plan *plan,
                                  const struct training_segment *segment) {
    return gather_parts_zone_bytes(plan, weights_of(plan, segment));
}

double training_reduce_zone_bytes(const struct training_plan *plan,
                                  const struct training_segment *segment) {
    struct parts parts = reduced_of(plan, segment);
    return reduce_part_zone_bytes(plan, copies_of(plan, false), parts.dense) +
           reduce_part_zone_bytes(plan, copies_of(plan, true), parts.expert);
}

double training_renew_zone_bytes(const struct training_plan *plan, int stage) {
    return gather_parts_zone_bytes(plan, renewed(plan, stage));
}
