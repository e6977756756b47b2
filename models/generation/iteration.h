/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_GENERATION_ITERATION_H
#define MODELS_GENERATION_ITERATION_H

/*
 * Seconds of one engine iteration. Groups of work are added; max() only inside a group (a kernel is
 * as slow as the slower of its FLOPs and its traffic):
 *
 *     host        time of the engine's process: once an iteration, and for every sequence
 *     linear      four products a layer: weights read once, or 2 FLOPs x weights x tokens
 *     head        the vocabulary, for every sequence that yields a token
 *     kv          keys and values of the contexts of all decoded sequences, read once
 *     prefill     attention FLOPs of the prompt chunks
 *     small       norms, rotary embedding, activation; launches of the attention kernels
 *     tp          two all-reduces a layer of tokens x hidden, one all-gather of the logits
 *
 * Per GPU of the replica: tensor parallelism divides the linear layers, heads and vocabulary.
 */

#include "models/generation/plan.h"

/* For a decode batch of n >= 1 sequences: t = base_s + kv_token_s x (context tokens of all). The
 * context of a sequence is what its new token attends to, itself included. */
struct generation_decode_cost {
    double base_s;
    double kv_token_s;
};
void generation_decode_cost(const struct generation_plan *plan, int64_t sequences,
                            struct generation_decode_cost *cost);

/* An iteration that decodes `sequences` (may be 0) with `context_tokens` of context and prefills
 * `prefill_tokens` new tokens with `prefill_pairs` query-key pairs, finishing
 * `prompts_finished` prompts (whose first token is computed). At least one token in all. With
 * nothing to prefill it is the decode iteration above. */
double generation_mixed_iteration_s(const struct generation_plan *plan, int64_t sequences,
                                    double context_tokens, double prefill_tokens,
                                    double prefill_pairs, int64_t prompts_finished);

/* Read from HBM by each GPU of the replica: the weights that every token needs, once an iteration;
 * those of the experts that an iteration of so many tokens finds; keys and values of one token of
 * context. */
double generation_weight_bytes(const struct generation_plan *plan);
double generation_expert_bytes(const struct generation_plan *plan, double tokens);
double generation_kv_token_bytes(const struct generation_plan *plan);

#endif
