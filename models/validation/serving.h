/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_VALIDATION_SERVING_H
#define MODELS_VALIDATION_SERVING_H

/*
 * A measured serving point as a plan of one engine replica, and its forecast. Three ways of
 * measuring are told apart:
 *
 *   served    so many clients, each of which sends its next request when the last is answered:
 *             steady state, in closed form
 *   queued    all of a number of requests are there from the start: the engine runs them
 *   at once   one batch of so many requests: the engine runs it
 */

#include "models/generation/plan.h"

enum serving_mode { SERVING_CLIENTS, SERVING_QUEUED, SERVING_BATCH };

struct serving_case {
    struct generation_plan plan; /* points into this struct: see serving_case_bind */
    struct hardware_cluster cluster;
    struct llm_architecture architecture;
    enum serving_mode mode;
    int64_t input_tokens, output_tokens;
    int64_t requests;       /* clients, queued requests, or the batch */
    double memory_fraction; /* of a GPU, for weights and cache; of what is free (`of_free`) */
    bool of_free;           /* the fraction is of what the weights leave, for the cache alone */
    double reserved_bytes;  /* of a GPU, besides: activations, graphs */
};

struct serving_forecast {
    double tpot_s, ttft_s, output_tokens_per_s; /* NAN: not said by this way of measuring */
};

/* Lets the plan point to the cluster and the model of this copy. */
void serving_case_bind(struct serving_case *serving);

/* Sizes the cache and the limits that the benchmark chooses by itself. False: the weights leave no
 * room for a request. */
bool serving_case_size(struct serving_case *serving);

/* The requests of a run: `requests` has room for as many as the case says. */
void serving_case_requests(const struct serving_case *serving, struct generation_request *requests);

/* False without memory. The case is sized. */
bool serving_case_forecast(const struct serving_case *serving, struct serving_forecast *forecast);

#endif
