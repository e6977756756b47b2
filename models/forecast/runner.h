/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_FORECAST_RUNNER_H
#define MODELS_FORECAST_RUNNER_H

/*
 * The state of one simulation of a plan: what run.c (what there is), schedule.c (which phase runs
 * when), work.c (what each kind of phase unfolds into) and measure.c (what phases come to) share.
 * Private to forecast/.
 */

#include "models/forecast/neighbour.h"
#include "models/forecast/pass_cache.h"
#include "models/forecast/samples.h"
#include "models/forecast/simulation.h"

/* Passes of all ranks between two points where they wait for each other. Segments in which all
 * ranks take equally long are run together with the next one: nobody waits. */
struct forecast_segment {
    double *seconds, *flops, *bytes; /* by rank; flops of the rank's group, bytes of each GPU */
    double *crowded;                 /* seconds beside a neighbour (neighbour.h) */
};

/* Steps under way at once: one is trained, the next one generates, and the one before the trained
 * may still be writing its checkpoint. */
#define FORECAST_FLIGHTS 3

/* A step under way. Sets of phases have a bit for each of the plan's steps, and one for the
 * checkpoint. */
struct forecast_flight {
    bool active;
    int64_t step; /* from 1; 0: what runs before the first */
    struct forecast_samples samples;
    uint32_t started, done;
    int64_t version; /* of the weights that its rollout began with */
    double *ends_s;  /* when its answers ended, in no order: with reward.during_rollout */
    size_t end_count;
};

/* What a pool works on: one phase at a time. A phase that keeps several pools busy is in the lane
 * of the first of them. */
struct forecast_lane {
    struct forecast_runner *runner;
    size_t pool;

    struct forecast_split split;
    struct forecast_segment segment;

    /* The phase under way. */
    bool busy;
    unsigned pools; /* that it keeps busy */
    struct forecast_flight *flight;
    size_t phase; /* index of the plan's steps; step_count: checkpoint */
    sim_time phase_start;
    double phase_busy_gpu_s;
    sim_task_id barrier; /* the last one; the next tasks come after it */
    sim_time barrier_at; /* when that is: a phase's pools are its own, nothing waits for them */
    /* By phase: seconds on the chain of phases, each begun by the end of the one before, that ends
     * with this one. Their sum is the time now. */
    double chain_s[ALGORITHM_PHASE_COUNT];
};

struct forecast_async;

struct forecast_runner {
    const struct forecast_plan *plan;
    const struct forecast_run_options *options;
    struct forecast_measures *measures;
    struct sim *sim;

    sim_resource_id first_gpu, first_cpu, store, neighbour_links;
    sim_memory_id first_memory, first_host, first_disk; /* when recorded */

    struct forecast_lane lanes[SCENARIO_POOLS];
    struct forecast_flight flights[FORECAST_FLIGHTS]; /* step s in [s % FORECAST_FLIGHTS] */
    struct forecast_pass_cache pass_cache;
    struct forecast_neighbour neighbour;

    struct generation_replica **replicas;
    struct generation_cost *costs; /* of all replicas */
    struct generation_request *requests;
    struct generation_turn *turns; /* rollout.turns - 1 of each request; NULL: a single one */
    int replicas_running;
    struct forecast_async *async; /* NULL in other placements */
    struct forecast_checks {      /* of rewards that are made one by one; else NULL */
        double *arrivals, *lengths, *free_at;
    } checks;
    size_t *shares;   /* by replica: prompts of the step */
    uint64_t *loads;  /* by replica: tokens of them */
    uint32_t *routes; /* by prompt: the replica */

    size_t pool_phase[SCENARIO_POOLS];  /* by pool: the phase whose memory it holds */
    size_t pool_before[SCENARIO_POOLS]; /* while it saves: the phase before */
    int64_t step;                       /* the last one that has begun, from 1 */
    int64_t steps_done;
    uint64_t listened; /* ends of requests so far */
    int64_t chunk;     /* of what runs before the first step */
    int64_t version;   /* weight syncs that the engine has seen */

    uint32_t *length_counts; /* responses of each length, for the quantile */
    double stored_since_s;

    bool loading;        /* before the first phase */
    int reads_running;   /* of the load */
    sim_task_id writing; /* the last checkpoint that is written in the background */

    bool cancelled; /* by the user: what is under way is left as it is */
    bool too_slow;  /* at this pace it ends after the clock does */

    sim_task_func *phase_done; /* ends a lane's phase and starts what it allows; subject: lane */
    /* Begins and starts all that can, after the chain of phases `chain_s`. */
    void (*proceed)(struct forecast_runner *runner, const double *chain_s);
};

/* Whether rewards are made one by one, each with a time of its own. */
bool runner_checks_each(const struct rlhfsim_scenario *scenario);

/* Whether the user still wants the run; false stops it. To be asked in everything that can take a
 * noticeable part of a second; runner_listen where a request ends. */
bool runner_go_on(struct forecast_runner *runner);
void runner_listen(struct forecast_runner *runner);

/* The phase that a lane works on. */
enum algorithm_phase runner_phase_of(const struct forecast_lane *lane);

/* The plan's step of that phase, where it is one of the algorithm's, and the tag of its records:
 * bytes of each GPU, model FLOPs. */
const struct algorithm_step *runner_current(const struct forecast_lane *lane);
struct sim_task_tag runner_tag(const struct forecast_lane *lane, double bytes, double flops);

#endif
