/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_FORECAST_RUNNER_H
#define MODELS_FORECAST_RUNNER_H

/*
 * The state of one simulation of a plan: what run.c (the loop over steps and phases) hands to
 * work.c (what each kind of phase unfolds into). Private to forecast/.
 */

#include "models/forecast/run.h"
#include "models/forecast/samples.h"

/* Passes of all ranks between two points where they wait for each other. Segments in which all
 * ranks take equally long are run together with the next one: nobody waits. */
struct forecast_segment {
    double *seconds, *flops, *bytes; /* by rank; flops of the rank's group, bytes of each GPU */
};

struct forecast_runner {
    const struct forecast_plan *plan;
    const struct forecast_run_options *options;
    struct forecast_measures *measures;
    struct sim *sim;

    sim_resource_id first_gpu, first_cpu, store;
    sim_memory_id first_memory, first_host; /* when recorded */

    struct forecast_samples samples;
    struct forecast_split split;
    struct forecast_segment segment;
    struct training_cost last_cost; /* of the batch below: equal micro-batches are costed once */
    struct llm_batch last_batch;
    uint32_t last_key;

    struct generation_replica **replicas;
    struct generation_cost *costs; /* of all replicas */
    struct generation_request *requests;
    int replicas_running;
    size_t *shares;   /* by replica: prompts of the step */
    uint64_t *loads;  /* by replica: tokens of them */
    uint32_t *routes; /* by prompt: the replica */

    int64_t step; /* from 1; 0 before the first */
    int64_t steps_done;
    uint64_t listened; /* ends of requests so far */
    int64_t chunk;     /* of what runs before the first step */
    size_t phase;      /* index of the plan's steps; step_count: checkpoint */
    sim_time phase_start;
    double phase_busy_gpu_s;
    bool loading;        /* before the first phase */
    int reads_running;   /* of the load */
    sim_task_id writing; /* the last checkpoint that is written in the background */
    sim_task_id barrier; /* the last one; the next tasks come after it */

    uint32_t *length_counts; /* responses of each length, for the quantile */
    double stored_since_s;

    bool cancelled; /* by the user: what is under way is left as it is */
    bool too_slow;  /* at this pace it ends after the clock does */

    sim_task_func *written;    /* a checkpoint is in the store; subject: the runner */
    sim_task_func *phase_done; /* ends the current phase and starts the next; subject: the runner */
};

/* Whether the user still wants the run; false stops it. To be asked in everything that can take a
 * noticeable part of a second. */
bool runner_go_on(struct forecast_runner *runner);

/* Starts the phase's work; every path ends, at once or later, in phase_done. */
enum sim_status runner_work_start(struct forecast_runner *runner);

/* The same for a checkpoint and for what is loaded before the first step (storage.c). */
enum sim_status runner_work_checkpoint(struct forecast_runner *runner);
enum sim_status runner_work_load(struct forecast_runner *runner);

#endif
