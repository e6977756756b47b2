/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_RESULTS_TRACE_H
#define MODELS_RESULTS_TRACE_H

/*
 * trace.json, which Perfetto and chrome://tracing open: the Trace Event Format's JSON object with
 * an array `traceEvents`, one event a line.
 *
 * - A process for every node ("node0/cpu" belongs to node0) and for every kind of resource outside
 *   one ("gpu0" to "gpu"); a thread for every resource. `M` events name both, before their first
 *   use.
 * - `X` events are the spans. Spans on one thread never overlap: where a resource serves several
 *   tasks at once they are laid out on threads of their own ("node0/cpu 2").
 * - `C` events are what a memory holds by owner, one after every instant at which it changed.
 *
 * Times are in microseconds and exact to the nanosecond.
 */

#include "models/results/files.h"
#include "models/results/output.h"

struct results_trace_resource;
struct results_trace_memory;

struct results_trace {
    struct results_output *output;
    const struct results_names *names;
    bool has_events;
    bool no_memory; /* events are missing; the trace must not be published */
    struct results_trace_resource *resources; /* by id */
    size_t resource_count;
    struct results_trace_memory *memories; /* by id */
    size_t memory_count;
    char **processes; /* by pid - 1 */
    size_t process_count;
    int64_t thread_count;
};

/* The output is open; it and the names outlive the trace. */
void results_trace_begin(struct results_trace *trace, struct results_output *output,
                         const struct results_names *names);
void results_trace_span(struct results_trace *trace, const struct sim *sim,
                        const struct sim_span *span);
void results_trace_memory(struct results_trace *trace, const struct sim *sim,
                          const struct sim_memory_change_record *change);
/* Writes what is left, with the end of the file. */
void results_trace_end(struct results_trace *trace);
void results_trace_free(struct results_trace *trace);

#endif
