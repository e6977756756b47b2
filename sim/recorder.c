/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/internal.h"

#include "sim/contract.h"

enum sim_status sim_recorder_add(struct sim *sim, const struct sim_sink_type *type, void *state) {
    struct sim_recorder *recorder = &sim->recorder;
    if (recorder->count == SIM_SINKS)
        return SIM_NO_MEMORY;
    recorder->types[recorder->count] = type;
    recorder->states[recorder->count] = state;
    recorder->count++;
    return SIM_OK;
}

void sim_recorder_report_span(struct sim *sim, const struct sim_span *span) {
    const struct sim_recorder *recorder = &sim->recorder;
    for (uint32_t i = 0; i < recorder->count; i++)
        if (recorder->types[i]->span != NULL)
            recorder->types[i]->span(recorder->states[i], sim, span);
}

void sim_recorder_report_memory(struct sim *sim, const struct sim_memory_change_record *change) {
    const struct sim_recorder *recorder = &sim->recorder;
    for (uint32_t i = 0; i < recorder->count; i++)
        if (recorder->types[i]->memory != NULL)
            recorder->types[i]->memory(recorder->states[i], sim, change);
}

void sim_recorder_span(struct sim *sim, const struct sim_span *span) {
    CONTRACT(0 <= span->start && span->start <= span->end, "a span does not end before it starts");
    CONTRACT(span->end <= sim->now, "a span is reported once it is over");
    sim_resource_spent(sim, span->resource, span->end - span->start);
    sim_recorder_report_span(sim, span);
}
