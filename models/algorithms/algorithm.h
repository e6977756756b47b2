/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_ALGORITHMS_ALGORITHM_H
#define MODELS_ALGORITHMS_ALGORITHM_H

/*
 * An algorithm is one short file that ends in one const table: which phases a step has, in which
 * order, on which model, under which condition. Adding one touches no other file but list.h.
 */

#include "models/algorithms/phase.h"

#include <stdbool.h>
#include <stddef.h>

/* What a phase does with its model. */
enum algorithm_work {
    ALGORITHM_WORK_GENERATE, /* the rollout engine answers the prompts */
    ALGORITHM_WORK_GREEDY,   /* ... once more, one answer each, without chance */
    ALGORITHM_WORK_WAKE,     /* the engine gets its memory back / gives it up */
    ALGORITHM_WORK_SLEEP,
    ALGORITHM_WORK_SCORE, /* a reward for every sample: a model's forward pass, or a rule on CPUs */
    ALGORITHM_WORK_FORWARD, /* an inference-only pass over all sequences */
    ALGORITHM_WORK_UPDATE,  /* epochs x mini-batches of forward, backward, optimizer */
    ALGORITHM_WORK_SYNC,    /* new weights into the engine */
    ALGORITHM_WORK_VALIDATE /* the engine answers a validation set; in no table, see plan.c */
};

/* A phase is left out unless its condition holds. */
enum algorithm_condition {
    ALGORITHM_ALWAYS,
    ALGORITHM_IF_KL,                   /* a KL term keeps a reference model */
    ALGORITHM_IF_REFERENCE_EVERY_STEP, /* DPO: the reference pass is not precomputed */
    ALGORITHM_IF_OLD_LOGPROBS,         /* the trainer makes the log-probs of the samples itself */
    ALGORITHM_IF_LATER_ROUND           /* of a rollout that is repeated for want of samples */
};

/* Which of the samples are trained. */
enum algorithm_selection {
    ALGORITHM_SELECT_ALL,
    ALGORITHM_SELECT_MIXED, /* of prompts whose answers are neither all right nor all wrong; rounds
                               of the rollout follow until there are enough prompts */
    ALGORITHM_SELECT_BEST   /* the best ones of each prompt */
};

/* Where a KL term is by default. */
enum algorithm_kl { ALGORITHM_KL_NONE, ALGORITHM_KL_REWARD, ALGORITHM_KL_LOSS };

struct algorithm_step {
    enum algorithm_phase phase;
    enum algorithm_work work;
    enum algorithm_role role;
    enum algorithm_condition condition;
    int passes; /* of a forward pass over all sequences; 0: one */
};

/* Whether a scenario of this algorithm must, may or must not name a model of a role. */
enum algorithm_need { ALGORITHM_FORBIDDEN, ALGORITHM_OPTIONAL, ALGORITHM_REQUIRED };

struct algorithm_type {
    const char *name;
    const char *meaning;                /* one line for the catalog */
    const struct algorithm_step *steps; /* in the order they run */
    size_t step_count;
    bool has_rollout;         /* false: offline, works on a data set of pairs */
    int sequences_per_sample; /* 1; 2 where a sample is a chosen and a rejected sequence */
    int min_samples_per_prompt;
    enum algorithm_selection selection;
    int selected_per_prompt; /* SELECT_BEST: so many; 0: the scenario says */
    enum algorithm_kl kl;    /* by default; needs a step with ALGORITHM_IF_KL */
    bool scalar_head;        /* the actor gives one number a token: a reward model in training */
    enum algorithm_need needs[ALGORITHM_ROLE_COUNT];
};

/* NULL past the last one / when there is none of that name. */
const struct algorithm_type *algorithm_at(size_t index);
const struct algorithm_type *algorithm_find(const char *name);

/* Whether a step of the algorithm, under whatever condition, is of that kind. */
bool algorithm_has_work(const struct algorithm_type *type, enum algorithm_work work);

#endif
