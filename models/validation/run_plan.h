/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_VALIDATION_RUN_PLAN_H
#define MODELS_VALIDATION_RUN_PLAN_H

/*
 * The parallel plan of a run with Megatron that does not state it: tp and pp of 1, 2, 4 or 8, of
 * models with experts ep of 1 or 8, and recomputation where it does not fit without, each where it
 * is not stated. Of the legal plans whose memory fits the one with the fastest step; where none
 * fits, the fastest of all. FSDP divides no layers.
 */

#include "models/validation/run_case.h"

/* Replaces the cells of the run, completed but without a scenario yet, by the best plan's and notes
 * the slowest. RLHFSIM_OK, RLHFSIM_NO_MEMORY or RLHFSIM_INTERNAL. */
enum rlhfsim_status run_plan_assume(const struct catalog *catalog,
                                    struct rlhfsim_diagnostics *diagnostics, struct run_case *run);

/* The columns of a plan's cells, RUN_PLAN_CELLS of them. */
const char *run_plan_column(size_t cell);

#endif
