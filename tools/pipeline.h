/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TOOLS_PIPELINE_H
#define TOOLS_PIPELINE_H

/*
 * Runs and checks of pipelines: every stage is a run of its own, one after the other; totals are
 * sums. What an option says holds for every stage.
 */

#include "options.h"

#include <rlhfsim/pipeline.h>

struct pipeline_request {
    const struct options *options;
    struct rlhfsim_pipeline *pipeline; /* freed here */
    struct rlhfsim_diagnostics *diagnostics;
    int replicates;  /* 0: stages are checked, not run */
    const char *out; /* a folder for each stage and a summary.json go there; NULL: no files */
};

/* Whether the scenario of the options is a pipeline. RLHFSIM_OK with request->pipeline, NULL where
 * it is not one and nothing is to be freed; else the errors are said and everything is freed. */
enum rlhfsim_status pipeline_find(struct pipeline_request *request);

/* Frees what pipeline_find has found. */
void pipeline_drop(struct pipeline_request *request);

/* All stages are read before one is run; the first that does not fit ends the pipeline. Prints, and
 * gives the exit status. */
int pipeline_execute(const struct pipeline_request *request);

#endif
