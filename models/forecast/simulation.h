/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_FORECAST_SIMULATION_H
#define MODELS_FORECAST_SIMULATION_H

/*
 * What one simulation of a plan is asked for, and what it comes to.
 */

#include "models/forecast/plan.h"
#include "models/results/files.h"
#include "models/results/summary.h"

#include <rlhfsim/forecast.h>

#define FORECAST_STALENESS_BINS RESULTS_STALENESS_LIMIT

/* In spans, beside the phases: what a neighbour does. */
#define FORECAST_ACTIVITY_BACKGROUND ALGORITHM_PHASE_COUNT

/* What one simulation came to. Times in seconds, GPU time in GPU-seconds. */
struct forecast_measures {
    int64_t steps;           /* simulated */
    int64_t optimizer_steps; /* of the actor */
    double total_s;
    double phase_s[ALGORITHM_PHASE_COUNT];    /* sums over the steps */
    double busy_gpu_s;                        /* a GPU has a task or a rollout */
    double pool_busy_gpu_s[SCENARIO_POOLS];   /* the same by pool of the plan */
    double critical_s[ALGORITHM_PHASE_COUNT]; /* on the chain of phases that ends the run, each
                                                 begun by the end of the one before; the sum is
                                                 total_s */
    /* Trained samples by the versions that their weights were behind; the last: so many or more. */
    double stale_samples[FORECAST_STALENESS_BINS];
    double stale_versions;                  /* the sum over samples */
    double tail_floor_s;                    /* the longest sequence of each step, alone */
    double tail_idle_s;                     /* mean over GPUs: rollout over, waiting for the last */
    double samples, tokens;                 /* trained samples; prompt and response tokens */
    double training_flops, training_gpu_s;  /* model FLOPs of updates, and their length x GPUs */
    double flops;                           /* model FLOPs of everything */
    double responses, response_tokens, cut; /* seen */
    double trained_responses;
    double rounds;    /* of rollouts, sum over the steps */
    double exhausted; /* steps whose rounds ended before there were enough prompts */
    double response_p50, response_p90, response_p99, response_max; /* tokens */
    double storage_byte_s; /* checkpoints kept, integrated over the run */
    double stored_bytes;   /* at the end */
    int64_t saves;         /* checkpoints written */
    double zone_bytes;     /* sent from zone to zone */
    uint64_t preemptions;
    double interrupted; /* answers that a weight sync interrupted, each as often as it was */
    uint64_t events;
};

struct forecast_run_options {
    uint32_t replicate;
    int64_t steps;               /* how many to simulate; at most the scenario's */
    struct results_files *files; /* NULL: nothing is recorded */
    rlhfsim_progress_func *progress;
    void *progress_subject;
    double progress_from, progress_to; /* the part of the whole that this run is */
};

#endif
