/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_FORECAST_FOOTPRINT_H
#define MODELS_FORECAST_FOOTPRINT_H

/*
 * What every GPU and host holds in every phase: see footprint.c.
 */

#include "models/forecast/plan.h"

/* Fills plan->memory and plan->fullest. */
void forecast_plan_memory(struct forecast_plan *plan);

/* What a GPU of a place holds during a phase of a step of `samples`, and its share of the host; on
 * a pool that the phase does not keep busy, what is there anyway. The place of a GPU (pipeline
 * ranks are the slowest), and the first GPU of a place. */
void forecast_memory_at(const struct forecast_plan *plan, size_t step, struct forecast_place place,
                        int64_t samples, struct forecast_memory_state *state);
struct forecast_place forecast_place_of(const struct forecast_plan *plan, int gpu);
int forecast_place_gpu(const struct forecast_plan *plan, struct forecast_place place);

/* The place after this one; false after the last. Begins with {0, 0}. */
bool forecast_next_place(const struct forecast_plan *plan, struct forecast_place *place);

/* The phase of a step, "load" or "checkpoint". */
enum algorithm_phase forecast_memory_phase(const struct forecast_plan *plan, size_t step);

/* How many instants memory has, and the index of the i-th: every step, FORECAST_LOADING where whole
 * models are on hosts then, and FORECAST_SAVING where there are checkpoints. */
size_t forecast_memory_instants(const struct forecast_plan *plan);
size_t forecast_memory_instant(const struct forecast_plan *plan, size_t i);

/* Takes out of what the GPUs of `node` have on its host what one node alone has: what is gathered
 * on the first to be saved, what the first rank loads. */
void forecast_host_of_node(const struct forecast_plan *plan, int node,
                           struct forecast_memory_state *state);

/* What a node's host and disks hold during a step, and the sum of the host. */
void forecast_host_at(const struct forecast_plan *plan, size_t step, int node,
                      struct forecast_memory_state *host);
double forecast_host_bytes(const struct forecast_plan *plan, size_t step, int node);

/* The step at which a GPU (or host) is fullest, which one it is (the first), and how full. */
struct forecast_memory_peak {
    size_t step;
    int device; /* GPU, or node */
    double bytes;
};
struct forecast_memory_peak forecast_gpu_peak(const struct forecast_plan *plan);
/* Bytes on the fullest GPU of a pool. */
double forecast_pool_peak(const struct forecast_plan *plan, size_t pool);
struct forecast_memory_peak forecast_host_peak(const struct forecast_plan *plan);
struct forecast_memory_peak forecast_disk_peak(const struct forecast_plan *plan);

/* Whether something waits on the nodes' disks. */
bool forecast_uses_disks(const struct forecast_plan *plan);

/* Share of its memory that the fullest GPU, host, or disks of a node, hold. A host of unknown
 * memory is no limit: 0. */
double forecast_gpu_fill(const struct forecast_plan *plan);
double forecast_host_fill(const struct forecast_plan *plan);
double forecast_disk_fill(const struct forecast_plan *plan);

/* Fits: every GPU, every host, every disk, and the engine's share. */
bool forecast_plan_fits(const struct forecast_plan *plan);

#endif
