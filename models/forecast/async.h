/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_FORECAST_ASYNC_H
#define MODELS_FORECAST_ASYNC_H

/*
 * The rollout of a fully asynchronous run: see async.c. Private to forecast/.
 */

#include "models/forecast/draw.h"
#include "models/forecast/runner.h"

/* A prompt that was handed out, with its answers. */
struct async_group {
    uint32_t replica;
    uint32_t prompt_tokens;
    uint32_t pending; /* answers that have not ended */
    bool begun;       /* some token was generated: its version stands */
    int64_t version;  /* of the weights that it began with */
    int64_t number;   /* in the order of handing out */
};

struct forecast_async {
    struct forecast_runner *runner;
    size_t capacity;            /* groups */
    size_t copies, answers;     /* of each: those that are trained; with a greedy one behind */
    double mixed_chance;        /* of a group to be trained; 1 without a selection */
    struct async_group *groups; /* slots */
    uint32_t *response, *made;  /* by slot and answer: tokens in all, and until the last stop */
    uint32_t *free, *done;      /* slots: unused; all answers ended, first ended first */
    struct async_order {
        int64_t number;
        uint32_t slot;
    } * order; /* scratch */
    size_t free_count, done_count;

    /* By replica: its slots in the order of handing out, and the batch under way. */
    struct async_replica {
        struct generation_request *requests; /* of the batch */
        uint32_t *answers;                   /* of the batch: slot x copies + copy */
        uint32_t *live;                      /* requests of the batch that have not ended */
        size_t count, live_count, capacity;
        sim_time start;
    } * replicas;
    size_t busy; /* replicas at work */

    /* Groups; filtered: their answers were all right, or all wrong. */
    int64_t handed_out, dropped, filtered, trained;
    bool syncing; /* a sync waits for the replicas */
    sim_time period_start;
    int64_t period_step; /* that its first prompts are for */
    double period_busy_gpu_s;
    double chain_s[ALGORITHM_PHASE_COUNT]; /* at the start of the period */
};

/* Freed with forecast_async_free, which takes half-made ones. */
enum rlhfsim_status forecast_async_new(struct forecast_runner *runner,
                                       struct forecast_async **async);
void forecast_async_free(struct forecast_async *async);

/* Hands out what the bound allows, after `chain_s`; at the start, and after every weight sync. Or
 * lets an idle engine go on with what it has. */
void forecast_async_hand_out(struct forecast_async *async, const double *chain_s);
void forecast_async_go_on(struct forecast_async *async, const double *chain_s);

/* Whether a step's prompts can be taken; takes them into the flight. */
bool forecast_async_may_take(struct forecast_async *async, int64_t step);
void forecast_async_take(struct forecast_async *async, struct forecast_flight *flight);

/* With an idle engine and too few prompts for a step, since some were dropped or filtered: hands
 * out others. */
void forecast_async_replace(struct forecast_async *async, const double *chain_s);

/* A sync or a validation wants the engine: interrupts it, or lets it finish. True when it is idle.
 */
bool forecast_async_yield(struct forecast_async *async);

#endif
