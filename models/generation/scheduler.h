/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_GENERATION_SCHEDULER_H
#define MODELS_GENERATION_SCHEDULER_H

/* Rules 1, 3 and 4 of generation/batch.h: who runs. What that takes is in batch.c. */

#include "models/generation/batch.h"

/* What an iteration does beside decoding the sequences that decode already. */
struct generation_admission {
    int64_t budget;           /* tokens left */
    int64_t followers;        /* decode in this iteration without prefill */
    int64_t follower_context; /* of those */
    int64_t follower_window;
    int64_t prefill_tokens;
    double prefill_pairs, window_pairs;
    int64_t prompts_finished;
    int64_t swapped_blocks;        /* copied back */
    uint32_t join_begin, join_end; /* of batch->admitted: decode from the next iteration on */
};

static inline bool generation_admission_is_empty(const struct generation_admission *admission) {
    return admission->followers == 0 && admission->prefill_tokens == 0;
}

/* Tokens of an answer, the one that ends an empty one included. */
static inline uint32_t generation_answer(const struct generation_request *request) {
    return request->response_tokens > 0 ? request->response_tokens : 1;
}

/* Preempts until the decoding sequences have a block for their next token. Returns the blocks that
 * are copied to the host. */
int64_t generation_make_room(struct generation_batch *batch);

/* Sequences whose environment has answered go to the queue. */
void generation_take_returned(struct generation_batch *batch);

/* When the next one does; some are away. */
double generation_next_return_s(const struct generation_batch *batch);

/* Spends the token budget. */
struct generation_admission generation_admit(struct generation_batch *batch);

/* From now on the sequence, whose `generated` does not count the token of this iteration, makes one
 * every iteration. */
void generation_start_decoding(struct generation_batch *batch, uint32_t request);

/* Takes those out whose last token is made. */
void generation_end_finished(struct generation_batch *batch);

/* Sequences that have reached the window read no more than it. */
void generation_leave_growing(struct generation_batch *batch);

#endif
