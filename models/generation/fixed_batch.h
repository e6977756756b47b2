/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_GENERATION_FIXED_BATCH_H
#define MODELS_GENERATION_FIXED_BATCH_H

/*
 * Engines without continuous batching (plain `generate`, DeepSpeed-Chat's hybrid engine). The
 * requests are cut into batches in their order, each as large as max_sequences and the cache allow
 * when every answer is as long as the limit. In a batch all prompts are padded to the longest and
 * computed in one iteration; then all decode until the longest answer ends (PADDED_TO_BATCH) or the
 * limit is reached (PADDED_TO_LIMIT), and end together. Nothing is shared between prompts, and
 * nobody is preempted.
 */

#include "models/generation/batch.h"

/* Runs the next batch: its end, in seconds since the beginning. */
double generation_fixed_batch_plan(struct generation_batch *batch);

/* Ends it. */
void generation_fixed_batch_finish(struct generation_batch *batch);

#endif
