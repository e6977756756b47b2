/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_GENERATION_ITERATION_H
#define MODELS_GENERATION_ITERATION_H

/*
 * Seconds of one engine iteration. Groups of work are added; max() only inside a group (a kernel is
 * as slow as the slower of its FLOPs and its traffic):
 *
 *     host        time of the engine's process: once an iteration, and for every sequence
 *     linear      four products a layer: weights read once, or 2 FLOPs x weights x tokens
 *     experts     the same for the experts that a batch of tokens goes to
 *     head        the vocabulary, for every sequence that yields a token
 *     kv          keys and values of the contexts of all decoded sequences, read once; layers with
 *                 a window read the last tokens of each only
 *     prefill     attention FLOPs of the prompt chunks
 *     small       norms, rotary embedding, activation; launches, gaps between kernels
 *     tp, ep      two all-reduces a layer of tokens x hidden, or the tokens' way to the experts and
 *                 back; one all-gather of the logits
 *     pp          stages: see iteration.c
 */

#include "models/generation/plan.h"

/* What an iteration has to do. */
struct generation_step {
    int64_t sequences;        /* that decode; may be 0 */
    double context_tokens;    /* what their new tokens attend to, themselves included */
    double window_tokens;     /* the same, at most the window of each */
    double prefill_tokens;    /* new tokens of prompts */
    double prefill_pairs;     /* their query-key pairs */
    double window_pairs;      /* the same within the window */
    int64_t prompts_finished; /* prompts that yield their first token */
};

/* For a decode batch of n >= 1 sequences,
 *     t = base_s + kv_token_s x context tokens + window_token_s x window tokens. */
struct generation_decode_cost {
    double base_s;
    double kv_token_s;
    double window_token_s;
};
void generation_decode_cost(const struct generation_plan *plan, int64_t sequences,
                            struct generation_decode_cost *cost);

/* An iteration of at least one token. With nothing to prefill it is the decode iteration above. */
double generation_iteration_s(const struct generation_plan *plan,
                              const struct generation_step *step);

/* Seconds in which one block of a sequence goes to the host's memory or comes back. */
double generation_swap_block_s(const struct generation_plan *plan);

/* Tokens of a window that some layers have; 0 without. */
int64_t generation_window(const struct generation_plan *plan);

/* Read from HBM by each GPU of the replica: the weights that every token needs, once an iteration;
 * those of the experts that an iteration of so many tokens finds; keys and values of one token of
 * context, in the layers that see everything, and in those that have a window. */
double generation_weight_bytes(const struct generation_plan *plan);
double generation_expert_bytes(const struct generation_plan *plan, double tokens);
double generation_kv_token_bytes(const struct generation_plan *plan);
double generation_window_token_bytes(const struct generation_plan *plan);

#endif
