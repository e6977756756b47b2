/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * The trace of a long run has some 10^5 events, so they are parsed one at a time: the top-level
 * object and its array by hand, each event by jansson.
 */
#include "tests/tools/check_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct trace_span {
    json_int_t pid, tid;
    int64_t start, end; /* ns */
};

struct trace {
    struct check *check;
    FILE *file;
    size_t events;
    struct trace_span *spans;
    size_t count, room;
};

/* ---- one event -------------------------------------------------------------------------------*/

static bool finite_at_least_0(const json_t *value) {
    double number = json_number_value(value);
    return json_is_number(value) && isfinite(number) && number >= 0.0;
}

static int64_t nanoseconds(const json_t *microseconds) {
    return (int64_t)llround(json_number_value(microseconds) * 1e3);
}

static void add_span(struct trace *trace, const json_t *event) {
    if (trace->count == trace->room) {
        trace->room = trace->room == 0 ? 1024 : 2 * trace->room;
        trace->spans = realloc(trace->spans, trace->room * sizeof *trace->spans);
    }
    int64_t start = nanoseconds(json_object_get(event, "ts"));
    trace->spans[trace->count++] =
        (struct trace_span){json_integer_value(json_object_get(event, "pid")),
                            json_integer_value(json_object_get(event, "tid")), start,
                            start + nanoseconds(json_object_get(event, "dur"))};
}

static void check_counter(struct trace *trace, json_t *event) {
    const char *owner;
    json_t *value;
    json_t *values = json_object_get(event, "args");
    if (json_object_size(values) == 0)
        check_fault(trace->check, "trace.json: event %zu: a counter without args", trace->events);
    json_object_foreach(values, owner, value) {
        if (!finite_at_least_0(value))
            check_fault(trace->check, "trace.json: event %zu: counter %s is no finite number",
                        trace->events, owner);
    }
}

static void check_event(struct trace *trace, json_t *event) {
    const char *ph = json_string_value(json_object_get(event, "ph"));
    trace->events++;
    if (ph == NULL || !json_is_integer(json_object_get(event, "pid")) ||
        !json_is_integer(json_object_get(event, "tid")) ||
        !finite_at_least_0(json_object_get(event, "ts")) ||
        !json_is_string(json_object_get(event, "name"))) {
        check_fault(trace->check, "trace.json: event %zu lacks name, ph, pid, tid or a finite ts",
                    trace->events);
        return;
    }
    if (strcmp(ph, "C") == 0) {
        check_counter(trace, event);
    } else if (strcmp(ph, "X") == 0) {
        if (finite_at_least_0(json_object_get(event, "dur")))
            add_span(trace, event);
        else
            check_fault(trace->check, "trace.json: event %zu: dur is not at least 0",
                        trace->events);
    } else if (strcmp(ph, "M") != 0) {
        check_fault(trace->check, "trace.json: event %zu: ph is '%s'", trace->events, ph);
    }
}

/* ---- spans on one thread ---------------------------------------------------------------------*/

static int compare(int64_t a, int64_t b) {
    return (a > b) - (a < b);
}

/* By thread and start; what starts with another and lasts longer comes first. */
static int compare_trace_spans(const void *left, const void *right) {
    const struct trace_span *a = left, *b = right;
    int order = compare(a->pid, b->pid);
    if (order == 0)
        order = compare(a->tid, b->tid);
    if (order == 0)
        order = compare(a->start, b->start);
    return order != 0 ? order : compare(b->end, a->end);
}

/* Keeps the ends of the spans that are open on a thread. */
static void check_nesting(struct trace *trace) {
    int64_t *open = calloc(trace->count + 1, sizeof *open);
    size_t depth = 0;
    if (trace->count > 0)
        qsort(trace->spans, trace->count, sizeof *trace->spans, compare_trace_spans);
    for (size_t i = 0; i < trace->count; i++) {
        const struct trace_span *span = &trace->spans[i];
        if (i > 0 && (span->pid != span[-1].pid || span->tid != span[-1].tid))
            depth = 0;
        while (depth > 0 && open[depth - 1] <= span->start)
            depth--;
        if (depth > 0 && span->end > open[depth - 1])
            check_fault(trace->check, "trace.json: spans of thread %lld overlap at %lld ns",
                        (long long)span->tid, (long long)span->start);
        open[depth++] = span->end;
    }
    free(open);
}

/* ---- the file --------------------------------------------------------------------------------*/

static int next_character(FILE *file) {
    int c = getc(file);
    while (c == ' ' || c == '\t' || c == '\n' || c == '\r')
        c = getc(file);
    return c;
}

static bool expect(FILE *file, int wanted) {
    return next_character(file) == wanted;
}

/* "[" EVENT {"," EVENT} "]" */
static bool read_events(struct trace *trace) {
    int c = next_character(trace->file);
    if (c != '[')
        return false;
    c = next_character(trace->file);
    if (c == ']')
        return true;
    ungetc(c, trace->file);
    do {
        json_t *event = json_loadf(trace->file, JSON_DISABLE_EOF_CHECK, NULL);
        if (event == NULL)
            return false;
        check_event(trace, event);
        json_decref(event);
        c = next_character(trace->file);
    } while (c == ',');
    return c == ']';
}

/* The other members are strings; the format has numbers in none of them. */
static bool read_member(struct trace *trace, bool *has_events) {
    const size_t flags = JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK;
    json_t *key = json_loadf(trace->file, flags, NULL);
    bool good = json_is_string(key) && expect(trace->file, ':');
    if (good && strcmp(json_string_value(key), "traceEvents") == 0) {
        *has_events = true;
        good = read_events(trace);
    } else if (good) {
        json_t *value = json_loadf(trace->file, flags, NULL);
        good = json_is_string(value);
        json_decref(value);
    }
    json_decref(key);
    return good;
}

static bool read_trace(struct trace *trace) {
    bool has_events = false;
    int c;
    if (!expect(trace->file, '{'))
        return false;
    do {
        if (!read_member(trace, &has_events))
            return false;
        c = next_character(trace->file);
    } while (c == ',');
    return c == '}' && next_character(trace->file) == EOF && has_events;
}

void check_trace(struct check *check) {
    struct trace trace = {.check = check, .file = check_open(check, "trace.json")};
    if (trace.file == NULL)
        return;
    if (!read_trace(&trace))
        check_fault(check, "trace.json: not a JSON object with traceEvents (after event %zu)",
                    trace.events);
    fclose(trace.file);
    check_nesting(&trace);
    if (trace.count != check->spans)
        check_fault(check, "trace.json: %zu spans, timeline.csv has %zu", trace.count,
                    check->spans);
    free(trace.spans);
}
