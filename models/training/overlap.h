/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_TRAINING_OVERLAP_H
#define MODELS_TRAINING_OVERLAP_H

/*
 * How long a chain of blocks takes on two streams, one that computes and one that communicates,
 * each doing one thing at a time in the order in which it was asked. Exact for the two schedules
 * below; tests/oracle/two_streams.c runs the same schedules task by task.
 */

#include <stdint.h>

/* Equal blocks that follow one another. Seconds of each block. */
struct training_stage {
    int64_t blocks;   /* at least 1 */
    double compute_s; /* on the compute stream */
    double gather_s;  /* all-gather of its weights, before it computes */
    double reduce_s;  /* reduction of its gradients, after it computed */
};

/*
 * Weights are gathered block by block into two buffers (ZeRO-3, FSDP with a prefetch of one). When
 * block i starts, block i-1 is done: its gradients are reduced, and then block i+1 is gathered into
 * its buffer. Block i+1 starts when block i is done and its own weights are there.
 */
double training_overlap_gathered_s(const struct training_stage *stages, int count);

/* Weights are resident (gather_s is not looked at): gradients are reduced behind the computation,
 * block by block, and nothing waits for them but the end. */
double training_overlap_reduced_s(const struct training_stage *stages, int count);

#endif
