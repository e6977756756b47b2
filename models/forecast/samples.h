/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_FORECAST_SAMPLES_H
#define MODELS_FORECAST_SAMPLES_H

/*
 * The sequences of one step, and how the trainer cuts them into micro-batches.
 *
 * Where lengths come from is in draw.h.
 *
 * Without packing a micro-batch of an online algorithm is padded to the longest prompt and the
 * longest response there can be (as verl without remove_padding and DeepSpeed-Chat do), one of an
 * offline algorithm to its own longest sequence (as TRL's DPO collator does). With packing tokens
 * are counted as they are; a token budget is filled first-fit-decreasing on every rank.
 *
 * Ranks get samples as they come, or dealt so that their tokens are about equal (deal.h).
 */

#include "models/forecast/plan.h"

struct forecast_samples {
    size_t capacity;  /* sequences there is room for */
    size_t prompts;   /* of the current step: fewer in the last of an epoch (scenario/steps.h) */
    size_t count;     /* samples of it: prompts x samples a prompt */
    size_t sequences; /* of it: samples x sequences a sample */
    uint32_t *prompt_tokens, *response_tokens;
    uint32_t *order, *scratch; /* of the packing: sequences by falling length */
    uint32_t *dealt;           /* sequences in the order in which the ranks have them */
    size_t cut;                /* responses cut at the limit */
    uint64_t draws;            /* how often sequences were drawn: tells one step's from another's */
    bool (*go_on)(void *watcher); /* asked every few thousand sequences; false: leave off, what was
                                   * made is of no use. NULL: go on */
    void *watcher;
};

enum rlhfsim_status forecast_samples_new(const struct forecast_plan *plan,
                                         struct forecast_samples *samples);
void forecast_samples_free(struct forecast_samples *samples);

/* Draws the sequences of step `step` (from 1; offline: from the step's place in the data set). */
void forecast_samples_draw(const struct forecast_plan *plan, uint32_t replicate, int64_t step,
                           struct forecast_samples *samples);

/* A precomputed reference goes once through all pairs, dropped ones too, in chunks of a step's
 * size, of which the last may be short; a run of which only the steps are known, through those. */
int64_t forecast_samples_chunks(const struct forecast_plan *plan);

/* Draws the pairs of chunk `chunk`, from 1. */
void forecast_samples_draw_chunk(const struct forecast_plan *plan, uint32_t replicate,
                                 int64_t chunk, struct forecast_samples *samples);

/* The micro-batches of one mini-batch: batches[rank * stride + k], counts[rank] of them. */
struct forecast_split {
    size_t stride;
    struct llm_batch *batches;
    double *room;   /* scratch of the packing: a tree of tokens that fit into bins */
    uint32_t *deal; /* scratch of the dealing, see deal.h */
    double *deal_tokens, *rank_tokens;
    size_t *rank_counts;
    struct llm_batch *slowest; /* scratch: of each place the largest micro-batch of all ranks */
    size_t *counts;
    size_t most;      /* the largest count */
    uint64_t of_draw; /* what it was made of, to be found again */
    size_t of_first, of_count;
    enum forecast_pass of_pass;
};

enum rlhfsim_status forecast_split_new(const struct forecast_plan *plan,
                                       struct forecast_split *split);
void forecast_split_free(struct forecast_split *split);

/* Cuts samples [first, first + count) of the step for updates or for passes without gradients,
 * dealt out to the ranks in their order, evenly: of a short mini-batch that dp does not divide, the
 * first count % dp ranks have one more than the others, which have none where there are fewer
 * samples than ranks. */
void forecast_split_make(const struct forecast_plan *plan, struct forecast_samples *samples,
                         size_t first, size_t count, enum forecast_pass pass,
                         struct forecast_split *split);

#endif
