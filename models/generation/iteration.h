/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_GENERATION_ITERATION_H
#define MODELS_GENERATION_ITERATION_H

/*
 * Seconds of one engine iteration. Groups of work are added; max() only inside a group:
 *
 *     fixed   host time + launches of L x kernels (a CUDA graph makes them small) + collectives'
 * start dense   max(weights read once, 2 FLOPs x weights x tokens)                   per linear
 * layer head    the vocabulary, for every sequence that yields a token kv      keys and values of
 * the running contexts read once prefill attention FLOPs of the prompt chunks tp      two
 * all-reduces a layer of tokens x hidden
 */

#include "models/generation/engine.h"

/* For a decode batch of n sequences: t = base_s + kv_token_s x (context tokens of all). */
struct generation_decode_cost {
    double base_s;
    double kv_token_s;
};
void generation_decode_cost(const struct generation_plan *plan, int64_t sequences,
                            struct generation_decode_cost *cost);

/* An iteration that decodes `sequences` with `context_tokens` of context and prefills
 * `prefill_tokens` new tokens with `prefill_pairs` query-key pairs, finishing
 * `prompts_finished` prompts (whose first token is computed). */
double generation_mixed_iteration_s(const struct generation_plan *plan, int64_t sequences,
                                    double context_tokens, double prefill_tokens,
                                    double prefill_pairs, int64_t prompts_finished);

#endif
