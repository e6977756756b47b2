/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * The format: "Trace Event Format" of the Chromium project (the JSON that chrome://tracing reads);
 * complete events ("X"), counters ("C") and metadata ("M").
 *
 * Spans of a resource that serves several tasks arrive in the order of their ends and may overlap.
 * Each goes to the lane (thread) of that resource which became free last before the span begins,
 * or to a new lane when none is free: within a lane no two spans overlap.
 */
#include "models/results/trace.h"

#include "models/results/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct lane {
    int64_t tid;
    sim_time end; /* of its last span */
};

struct results_trace_resource {
    int64_t pid; /* 0: not seen yet */
    struct lane *lanes;
    size_t lane_count;
};

/* What one owner holds in one category of a memory; sorted by owner, then category. */
struct cell {
    uint32_t owner, category;
    double bytes;
};

struct results_trace_memory {
    char *name; /* NULL: not seen yet */
    int64_t pid;
    struct cell *cells;
    size_t cell_count;
    bool changed; /* at `time`, and not written yet */
    sim_time time;
};

/* Grows a zero-filled array to at least `wanted` members. NULL, and *array as it was, when memory
 * is exhausted. */
static void *grow(void *array, size_t *count, size_t wanted, size_t size) {
    if (wanted <= *count)
        return array;
    size_t larger = wanted > 2 * *count ? wanted : 2 * *count;
    char *grown = realloc(array, larger * size);
    if (grown == NULL)
        return NULL;
    memset(grown + *count * size, 0, (larger - *count) * size);
    *count = larger;
    return grown;
}

/* ---- pieces of JSON --------------------------------------------------------------------------*/

static void put(struct results_trace *trace, const char *text) {
    results_output_text(trace->output, text);
}

static void put_integer(struct results_trace *trace, const char *key, int64_t value) {
    char text[RESULTS_NUMBER_SIZE];
    put(trace, key);
    results_output_write(trace->output, text, results_format_integer(value, text));
}

static void put_number(struct results_trace *trace, const char *key, double value) {
    char text[RESULTS_NUMBER_SIZE];
    put(trace, key);
    results_output_write(trace->output, text, results_format_number(value, text));
}

static void put_microseconds(struct results_trace *trace, const char *key, sim_time time) {
    char text[RESULTS_NUMBER_SIZE];
    put(trace, key);
    results_output_write(trace->output, text, results_format_decimal(time, 3, text));
}

static bool needs_escape(char c) {
    return c == '"' || c == '\\' || (unsigned char)c < 0x20;
}

/* The text in quotes. */
static void put_string(struct results_trace *trace, const char *text) {
    put(trace, "\"");
    for (const char *c = text; *c != '\0';) {
        const char *plain = c;
        while (*c != '\0' && !needs_escape(*c))
            c++;
        results_output_write(trace->output, plain, (size_t)(c - plain));
        if (*c == '\0')
            break;
        char escape[8];
        snprintf(escape, sizeof escape, "\\u%04x", (unsigned)(unsigned char)*c++);
        put(trace, escape);
    }
    put(trace, "\"");
}

/* Every event is a line of its own. */
static void begin_event(struct results_trace *trace) {
    put(trace, trace->has_events ? ",\n{\"name\":" : "\n{\"name\":");
    trace->has_events = true;
}

static void end_event(struct results_trace *trace) {
    put(trace, "}}");
}

/* ---- processes and threads -------------------------------------------------------------------*/

static void name_event(struct results_trace *trace, const char *what, int64_t pid, int64_t tid,
                       const char *name) {
    begin_event(trace);
    put_string(trace, what);
    put_integer(trace, ",\"ph\":\"M\",\"ts\":0,\"pid\":", pid);
    put_integer(trace, ",\"tid\":", tid);
    put(trace, ",\"args\":{\"name\":");
    put_string(trace, name);
    end_event(trace);
}

static void sort_event(struct results_trace *trace, int64_t pid, int64_t tid, int64_t place) {
    begin_event(trace);
    put_integer(trace, "\"thread_sort_index\",\"ph\":\"M\",\"ts\":0,\"pid\":", pid);
    put_integer(trace, ",\"tid\":", tid);
    put_integer(trace, ",\"args\":{\"sort_index\":", place);
    end_event(trace);
}

/* The part of a name that says to which process it belongs: what stands before the "/", else the
 * name without the number at its end. */
static size_t process_length(const char *name) {
    const char *slash = strchr(name, '/');
    if (slash != NULL)
        return (size_t)(slash - name);
    size_t length = strlen(name);
    while (length > 1 && '0' <= name[length - 1] && name[length - 1] <= '9')
        length--;
    return length;
}

/* The pid, from 1, of the process that `name` belongs to; 0 when memory is exhausted. */
static int64_t process_of(struct results_trace *trace, const char *name) {
    size_t length = process_length(name);
    size_t i = 0;
    for (; i < trace->process_count; i++)
        if (strlen(trace->processes[i]) == length && memcmp(trace->processes[i], name, length) == 0)
            return (int64_t)i + 1;
    char *process = strndup(name, length);
    char **processes = realloc(trace->processes, (i + 1) * sizeof *processes);
    if (processes != NULL)
        trace->processes = processes;
    if (process == NULL || processes == NULL) {
        free(process);
        trace->no_memory = true;
        return 0;
    }
    processes[i] = process;
    trace->process_count++;
    name_event(trace, "process_name", (int64_t)i + 1, 0, process);
    return (int64_t)i + 1;
}

/* ---- spans -----------------------------------------------------------------------------------*/

static struct results_trace_resource *resource_of(struct results_trace *trace,
                                                  const struct sim *sim, sim_resource_id id) {
    struct results_trace_resource *resources =
        grow(trace->resources, &trace->resource_count, (size_t)id + 1, sizeof *resources);
    if (resources == NULL) {
        trace->no_memory = true;
        return NULL;
    }
    trace->resources = resources;
    if (resources[id].pid == 0)
        resources[id].pid = process_of(trace, sim_resource_name(sim, id));
    return resources[id].pid != 0 ? &resources[id] : NULL;
}

static void name_lane(struct results_trace *trace, const struct sim *sim, sim_resource_id id,
                      size_t place) {
    const struct results_trace_resource *resource = &trace->resources[id];
    char name[128];
    if (place == 0)
        snprintf(name, sizeof name, "%s", sim_resource_name(sim, id));
    else
        snprintf(name, sizeof name, "%s %zu", sim_resource_name(sim, id), place + 1);
    name_event(trace, "thread_name", resource->pid, resource->lanes[place].tid, name);
    sort_event(trace, resource->pid, resource->lanes[place].tid, (int64_t)id);
}

static struct lane *new_lane(struct results_trace *trace, const struct sim *sim,
                             sim_resource_id id) {
    struct results_trace_resource *resource = &trace->resources[id];
    struct lane *lanes = realloc(resource->lanes, (resource->lane_count + 1) * sizeof *lanes);
    if (lanes == NULL) {
        trace->no_memory = true;
        return NULL;
    }
    resource->lanes = lanes;
    lanes[resource->lane_count] = (struct lane){.tid = ++trace->thread_count};
    name_lane(trace, sim, id, resource->lane_count);
    return &lanes[resource->lane_count++];
}

static struct lane *free_lane(const struct results_trace_resource *resource, sim_time start) {
    struct lane *best = NULL;
    for (size_t i = 0; i < resource->lane_count; i++) {
        struct lane *lane = &resource->lanes[i];
        if (lane->end <= start && (best == NULL || lane->end > best->end))
            best = lane;
    }
    return best;
}

static void span_event(struct results_trace *trace, const struct sim_span *span, int64_t pid,
                       int64_t tid) {
    begin_event(trace);
    put_string(trace, trace->names->activity(span->tag.activity));
    put(trace, ",\"cat\":");
    put_string(trace, trace->names->owner(span->tag.owner));
    put_microseconds(trace, ",\"ph\":\"X\",\"ts\":", span->start);
    put_microseconds(trace, ",\"dur\":", span->end - span->start);
    put_integer(trace, ",\"pid\":", pid);
    put_integer(trace, ",\"tid\":", tid);
    put_integer(trace, ",\"args\":{\"step\":", span->tag.step);
    if (span->tag.bytes > 0.0)
        put_number(trace, ",\"bytes\":", span->tag.bytes);
    if (span->tag.flops > 0.0)
        put_number(trace, ",\"flops\":", span->tag.flops);
    end_event(trace);
}

void results_trace_span(struct results_trace *trace, const struct sim *sim,
                        const struct sim_span *span) {
    const struct results_trace_resource *resource = resource_of(trace, sim, span->resource);
    if (resource == NULL)
        return;
    struct lane *lane = free_lane(resource, span->start);
    if (lane == NULL)
        lane = new_lane(trace, sim, span->resource);
    if (lane == NULL)
        return;
    lane->end = span->end;
    span_event(trace, span, resource->pid, lane->tid);
}

/* ---- memory ----------------------------------------------------------------------------------*/

/* Cells are sorted by owner, so an owner's total is the sum of a run of them. */
static void counter_event(struct results_trace *trace, struct results_trace_memory *memory) {
    begin_event(trace);
    put_string(trace, memory->name);
    put_microseconds(trace, ",\"ph\":\"C\",\"ts\":", memory->time);
    put_integer(trace, ",\"pid\":", memory->pid);
    put(trace, ",\"tid\":0,\"args\":{");
    for (size_t i = 0; i < memory->cell_count;) {
        uint32_t owner = memory->cells[i].owner;
        double bytes = 0.0;
        put(trace, i > 0 ? "," : "");
        for (; i < memory->cell_count && memory->cells[i].owner == owner; i++)
            bytes += memory->cells[i].bytes;
        put_string(trace, trace->names->owner(owner));
        put_number(trace, ":", bytes);
    }
    end_event(trace);
    memory->changed = false;
}

static char *counter_name(const char *device) {
    static const char suffix[] = " memory";
    size_t size = strlen(device) + sizeof suffix;
    char *name = malloc(size);
    if (name != NULL)
        snprintf(name, size, "%s%s", device, suffix);
    return name;
}

static struct results_trace_memory *memory_of(struct results_trace *trace, const struct sim *sim,
                                              sim_memory_id id) {
    struct results_trace_memory *memories =
        grow(trace->memories, &trace->memory_count, (size_t)id + 1, sizeof *memories);
    if (memories == NULL) {
        trace->no_memory = true;
        return NULL;
    }
    trace->memories = memories;
    if (memories[id].name != NULL)
        return &memories[id];
    memories[id].pid = process_of(trace, sim_memory_name(sim, id));
    memories[id].name = counter_name(sim_memory_name(sim, id));
    if (memories[id].pid == 0 || memories[id].name == NULL) {
        trace->no_memory = true;
        return NULL;
    }
    return &memories[id];
}

static bool comes_before(const struct cell *cell, uint32_t owner, uint32_t category) {
    return cell->owner != owner ? cell->owner < owner : cell->category < category;
}

/* The cell, new ones at 0; NULL when memory is exhausted. */
static struct cell *cell_of(struct results_trace_memory *memory, uint32_t owner,
                            uint32_t category) {
    size_t place = 0;
    while (place < memory->cell_count && comes_before(&memory->cells[place], owner, category))
        place++;
    if (place < memory->cell_count && memory->cells[place].owner == owner &&
        memory->cells[place].category == category)
        return &memory->cells[place];
    struct cell *cells = realloc(memory->cells, (memory->cell_count + 1) * sizeof *cells);
    if (cells == NULL)
        return NULL;
    memory->cells = cells;
    memmove(cells + place + 1, cells + place, (memory->cell_count - place) * sizeof *cells);
    memory->cell_count++;
    cells[place] = (struct cell){.owner = owner, .category = category};
    return &cells[place];
}

void results_trace_memory(struct results_trace *trace, const struct sim *sim,
                          const struct sim_memory_change_record *change) {
    struct results_trace_memory *memory = memory_of(trace, sim, change->memory);
    if (memory == NULL)
        return;
    if (memory->changed && memory->time < change->time)
        counter_event(trace, memory);
    struct cell *cell = cell_of(memory, change->owner, change->category);
    if (cell == NULL) {
        trace->no_memory = true;
        return;
    }
    cell->bytes = change->bytes;
    memory->changed = true;
    memory->time = change->time;
}

/* ---- the whole file --------------------------------------------------------------------------*/

void results_trace_begin(struct results_trace *trace, struct results_output *output,
                         const struct results_names *names) {
    *trace = (struct results_trace){.output = output, .names = names};
    put(trace, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
}

void results_trace_end(struct results_trace *trace) {
    for (size_t i = 0; i < trace->memory_count; i++)
        if (trace->memories[i].changed)
            counter_event(trace, &trace->memories[i]);
    put(trace, "\n]}\n");
}

void results_trace_free(struct results_trace *trace) {
    for (size_t i = 0; i < trace->resource_count; i++)
        free(trace->resources[i].lanes);
    for (size_t i = 0; i < trace->memory_count; i++) {
        free(trace->memories[i].cells);
        free(trace->memories[i].name);
    }
    for (size_t i = 0; i < trace->process_count; i++)
        free(trace->processes[i]);
    free(trace->resources);
    free(trace->memories);
    free(trace->processes);
    *trace = (struct results_trace){0};
}
