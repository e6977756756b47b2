/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_VALIDATION_SERVING_PROFILE_H
#define MODELS_VALIDATION_SERVING_PROFILE_H

/*
 * A run of an engine as a few kinds of iterations, for fits: who runs when is the same whatever an
 * iteration takes (all requests are there from the start), so that a run with other coefficients is
 * the same iterations with other times. Iterations of nearly the same work are one kind, which
 * stands for their mean; what that loses is made good once, by a factor.
 */

#include "models/generation/iteration.h"
#include "models/validation/serving.h"

#define SERVING_PROFILE_KINDS 40

struct serving_profile {
    struct {
        int decoding, prompts; /* classes of sequences and prompt tokens */
        double iterations;
        double sequences, finished;  /* sums of what a step has */
        struct generation_step step; /* sums, then means */
    } kinds[SERVING_PROFILE_KINDS];
    int count;
    double correction; /* seconds of the run over those of its kinds */
};

/* Runs the case. False without memory, or where it has no such profile (clients, fixed batches);
 * the case is bound. */
bool serving_profile_make(struct serving_profile *profile, const struct serving_case *serving);

/* Output tokens a second of the run under the coefficients of the case. */
double serving_profile_rate(const struct serving_profile *profile,
                            const struct serving_case *serving);

#endif
