/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_TRAINING_PIPELINE_H
#define MODELS_TRAINING_PIPELINE_H

/*
 * The schedule of one pipeline: which stage does which micro-batch when. Knows durations only.
 *
 * 1F1B (Narayanan et al., "PipeDream", 2019; Megatron-LM's flush after every step): stage s of p
 * does p - 1 - s forwards, then one forward and one backward in turn, then the backwards that are
 * left. Interleaved (Narayanan et al., "Efficient large-scale language model training on GPU
 * clusters", 2021): each stage has v chunks of the model, chunk c on stage c % p; micro-batches go
 * through in groups of p, all of a group through a chunk before the stage's next chunk, after
 * 2 (p - 1 - s) + (v - 1) p forwards. Without backward: forwards in that order.
 *
 * Each stage has a compute stream, two streams that send (activations on, gradients back), and one
 * for gathers and reductions of weights and gradients. A stream does one thing at a time in the
 * order in which it was asked; streams do not slow each other down.
 */

#include "models/training/pass.h"
#include "sim/sim.h"

struct training_pieces {
    struct training_piece at[TRAINING_PIECES];
    int count;
};

struct training_pipeline {
    int stages, chunks_per_stage;
    size_t microbatches; /* with several chunks a stage, a multiple of the stages */
    bool backward;

    /* Seconds of micro-batch m in chunk c at [m x stages x chunks_per_stage + c], sends from chunk
     * c to the next (and gradients back from there) likewise. */
    const double *forward_s, *backward_s, *send_s;

    /* By chunk, in place of forward_s of the first micro-batch and backward_s of the last one. NULL
     * where nothing is gathered or reduced besides. */
    const struct training_pieces *renewing, *reducing;
};

/* When a stage is through with its passes, and with its reductions as well. */
struct training_stage_end {
    double passes_s, reductions_s;
};

/* Plays the schedule; `ends` has room for every stage. SIM_OK or SIM_NO_MEMORY. */
enum sim_status training_pipeline_play(const struct training_pipeline *pipeline,
                                       struct training_stage_end *ends);

#endif
