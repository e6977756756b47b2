/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_FORECAST_TURNS_H
#define MODELS_FORECAST_TURNS_H

/*
 * Conversations: an answer in turns, between which a tool or an environment works. Private to
 * forecast/.
 */

#include "models/forecast/draw.h"

/* Turns of a conversation of `tokens` behind its prompt, of which every observation has
 * `observation`: `most`, or as many as have room for a token of the model each; at least 1. */
uint32_t forecast_turn_count(uint32_t tokens, uint32_t observation, uint32_t most);

/* Gives the request, whose response_tokens are all tokens behind the prompt, its turns: the model's
 * tokens in equal parts, the first ones taking one more, and after each but the last the time of
 * the tool, drawn by `answer`, a number of its own within the step below 2^26, and what it says.
 * `turns` has room for rollout.turns - 1 and outlives the request. */
void forecast_turns_give(const struct forecast_draw *draw, uint64_t answer,
                         struct generation_turn *turns, struct generation_request *request);

/* The model's tokens of a request in turns, and the time of its tools. */
uint32_t forecast_turns_tokens(const struct generation_request *request);
double forecast_turns_latency_s(const struct generation_request *request);

#endif
