/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TESTS_ORACLE_TWO_STREAMS_H
#define TESTS_ORACLE_TWO_STREAMS_H

/*
 * A chain of blocks on a compute and a communication stream, played task by task: what
 * models/training/overlap.h says in closed form. Each stream does its tasks one by one in the order
 * in which they were asked; a task starts when its stream is free and what it waits for is done.
 * Seconds per block in the order in which the blocks compute; `reduce_s` may be all zeros.
 */

/* Weights gathered into two buffers: a gather waits for the block before the last one that was
 * gathered to be done with its buffer. */
double two_streams_gathered_s(int blocks, const double *compute_s, const double *gather_s,
                              const double *reduce_s);

/* Weights resident. */
double two_streams_reduced_s(int blocks, const double *compute_s, const double *reduce_s);

#endif
