/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_FORECAST_STORAGE_H
#define MODELS_FORECAST_STORAGE_H

/*
 * What a run writes to and reads from its store: checkpoints, and what it loads before the first
 * step.
 *
 *     weights      every node reads the files of every model once (its GPUs share them), gathered:
 *                  one node does, and sends them to all
 *     checkpoint   trained models as they were saved, each byte once; the others' weights as above,
 *                  as the frozen weights below adapters
 *     data set     every node reads all of it
 *
 * All of that shares the store (sim/flow.h). Left out: unpacking and copying to the GPUs, which
 * stream behind the reads; the engine's own reading of the weights (they are in the page cache).
 */

#include "models/algorithms/phase.h"
#include "models/reliability/checkpoint.h"
#include "sim/sim.h"

struct forecast_plan;

/* One transfer a model, and the data set: fewer than STORE_TRANSFERS. */
struct forecast_load {
    struct store_transfer transfers[STORE_TRANSFERS];
    size_t count;       /* 0: nothing is loaded */
    double broadcast_s; /* after the last read; 0: every node reads for itself */
};

/* Fills plan->checkpoint and plan->load. */
void forecast_plan_storage(struct forecast_plan *plan);

/* Bytes read, and seconds until the last is there. */
double forecast_load_bytes(const struct forecast_plan *plan);
double forecast_load_s(const struct forecast_plan *plan);

struct forecast_runner;

/* Play them, each ending in the runner's phase_done; a status of the engine. */
enum sim_status runner_work_checkpoint(struct forecast_runner *runner);
enum sim_status runner_work_load(struct forecast_runner *runner);

#endif
