/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_TRAINING_CHUNK_H
#define MODELS_TRAINING_CHUNK_H

/*
 * Which blocks of the model are where in a pipeline. The model is cut into pp x vpp chunks; chunk c
 * is on stage c % pp. The first has the embedding, the last the head.
 *
 * Layers are divided evenly. Where they do not divide, embedding and head take the place of a layer
 * each, so that the ends have less (Llama 3.1 405B: 126 layers on 16 stages are 7, 14 x 8, 7).
 * Megatron, torchtitan and DeepSpeed ("transformer|embedding") all count like that; bigscience's 78
 * layers on 12 stages (tr11-176B-ml) came out 8 % slower than measured with a seventh layer beside
 * the head. No chunk has more layers than an even division would give it.
 *
 * Kinds of layers are spread evenly over the depth: where a model has its dense layers in front of
 * those with experts, the first chunks are a little off.
 */

#include "models/training/training.h"

int training_chunks(const struct training_plan *plan);

/* Layers of a chunk, of all kinds. */
int64_t training_chunk_layers(const struct training_plan *plan, int chunk);

/* How often each of the model's segments (training_segments) is in the chunk; returns how many
 * segments the model has. Over all chunks these are the segments' blocks. */
int training_chunk_blocks(const struct training_plan *plan, int chunk,
                          int64_t blocks[TRAINING_SEGMENTS]);

/* The same for all chunks of a stage. */
int training_stage_blocks(const struct training_plan *plan, int stage,
                          int64_t blocks[TRAINING_SEGMENTS]);

/* Sums over a stage of what `of_segment` says about one of its blocks. */
typedef double(training_segment_func)(const struct training_plan *plan,
                                      const struct training_segment *segment);
double training_stage_sum(const struct training_plan *plan, int stage,
                          training_segment_func *of_segment);

#endif
