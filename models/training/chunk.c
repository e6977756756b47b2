/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/training/chunk.h"

#include "sim/contract.h"

int training_chunks(const struct training_plan *plan) {
    CONTRACT(plan->pp >= 1 && plan->vpp >= 1, "a plan has at least one stage and chunk");
    return plan->pp * plan->vpp;
}

/* Layers of the chunks before this one. What does not divide is dealt out with the embedding and
 * the loss as a layer each, so that the ends of the pipeline are the ones with less. */
static int64_t layers_before(const struct training_plan *plan, int chunk) {
    int64_t layers = plan->architecture->layers, chunks = training_chunks(plan);
    if (layers % chunks == 0)
        return layers / chunks * chunk;
    if (chunk == 0 || chunk == chunks)
        return chunk == 0 ? 0 : layers;
    return (layers + 2) * chunk / chunks - 1; /* less the embedding */
}

int64_t training_chunk_layers(const struct training_plan *plan, int chunk) {
    return layers_before(plan, chunk + 1) - layers_before(plan, chunk);
}

/* The kind whose layers are most behind an even spread at this depth. */
static int kind_at(const struct llm_layer_kind *kinds, int count, int64_t layers, int64_t depth,
                   const int64_t *placed) {
    int chosen = 0;
    int64_t most = INT64_MIN;
    for (int i = 0; i < count; i++) {
        int64_t behind = kinds[i].count * (depth + 1) - placed[i] * layers;
        if (behind > most) {
            most = behind;
            chosen = i;
        }
    }
    return chosen;
}

int training_chunk_blocks(const struct training_plan *plan, int chunk,
                          int64_t blocks[TRAINING_SEGMENTS]) {
    struct llm_layer_kind kinds[LLM_LAYER_KINDS];
    int64_t placed[LLM_LAYER_KINDS] = {0};
    int count = llm_layer_kinds(plan->architecture, kinds);
    int64_t first = layers_before(plan, chunk), end = layers_before(plan, chunk + 1);
    for (int i = 0; i < count + 2; i++)
        blocks[i] = 0;
    for (int64_t depth = 0; depth < end; depth++) {
        int kind = kind_at(kinds, count, plan->architecture->layers, depth, placed);
        placed[kind]++;
        blocks[1 + kind] += depth >= first;
    }
    blocks[0] = chunk == 0;
    blocks[count + 1] = chunk + 1 == training_chunks(plan);
    return count + 2;
}

int training_stage_blocks(const struct training_plan *plan, int stage,
                          int64_t blocks[TRAINING_SEGMENTS]) {
    int count = training_chunk_blocks(plan, stage, blocks);
    for (int chunk = stage + plan->pp; chunk < training_chunks(plan); chunk += plan->pp) {
        int64_t more[TRAINING_SEGMENTS];
        training_chunk_blocks(plan, chunk, more);
        for (int i = 0; i < count; i++)
            blocks[i] += more[i];
    }
    return count;
}

double training_stage_sum(const struct training_plan *plan, int stage,
                          training_segment_func *of_segment) {
    struct training_segment segments[TRAINING_SEGMENTS];
    int64_t blocks[TRAINING_SEGMENTS];
    int count = training_stage_blocks(plan, stage, blocks);
    double sum = 0.0;
    training_segments(plan, segments);
    for (int i = 0; i < count; i++)
        if (blocks[i] > 0)
            sum += (double)blocks[i] * of_segment(plan, &segments[i]);
    return sum;
}
