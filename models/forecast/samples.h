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

#include "models/forecast/microbatch.h"

struct forecast_samples {
    size_t capacity;  /* sequences there is room for */
    size_t prompts;   /* of the current round: fewer in the last of an epoch (scenario/steps.h) */
    size_t count;     /* samples that are trained, the first ones: prompts x samples a prompt, until
                         some are selected */
    size_t sequences; /* that there are: those of the samples, and greedy ones behind them */
    size_t fresh;     /* the first one of the current round: from here on they are new */
    int64_t round;    /* from 1 */
    int64_t taken;    /* prompts that all rounds and steps took, where chance decides how many */
    bool exhausted;   /* the rounds ended before there were enough prompts */
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

/* The place of prompt (pair) number `place` in the data set, which is a circle where the steps are
 * written. */
uint64_t forecast_data_set_place(const struct forecast_plan *plan, int64_t place);

/* Draws the sequences of step `step` (from 1; offline: from the step's place in the data set). */
void forecast_samples_draw(const struct forecast_plan *plan, uint32_t replicate, int64_t step,
                           struct forecast_samples *samples);

/* After the rewards of a round: keeps the sequences that are trained. True where there are not
 * enough, and another round was drawn, whose sequences are the fresh ones. */
bool forecast_samples_select(const struct forecast_plan *plan, uint32_t replicate, int64_t step,
                             struct forecast_samples *samples);

/* The chance that a prompt's answers are neither all right nor all wrong, 1 - E[p^K + (1 - p)^K]
 * with a pass rate p of a Beta law of that mean and concentration a + b:
 * E[p^K] = product over i < K of (a + i) / (a + b + i). */
double forecast_mixed_chance(double mean, double concentration, int64_t answers);

/* A precomputed reference goes once through all pairs, dropped ones too, in chunks of a step's
 * size, of which the last may be short; a run of which only the steps are known, through those. */
int64_t forecast_samples_chunks(const struct forecast_plan *plan);

/* Draws the pairs of chunk `chunk`, from 1. */
void forecast_samples_draw_chunk(const struct forecast_plan *plan, uint32_t replicate,
                                 int64_t chunk, struct forecast_samples *samples);

/* The micro-batches of one mini-batch: batches[rank * stride + k], counts[rank] of them. */
struct forecast_split {
    size_t ranks, stride;
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

/* For passes of `ranks` data-parallel ranks. */
enum rlhfsim_status forecast_split_new(const struct forecast_plan *plan, int ranks,
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
