/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * The order in which a framework asks the communication stream: the first gather; then with each
 * block, the reduction of the block before it and the gather of the block behind it; at the end the
 * last reduction. The scheduler knows nothing of this: it is given streams, orders and
 * dependencies, and takes the earliest task that can start until none is left.
 */

#include "tests/oracle/two_streams.h"

#include <check.h>
#include <stdbool.h>
#include <stdlib.h>

enum stream { COMPUTE, COMMUNICATION, STREAMS };

#define NOTHING (-1)

struct task {
    enum stream stream;
    double seconds;
    int waits_for; /* a task, or NOTHING */
    bool done;
    double end_s;
};

struct graph {
    struct task *tasks;
    int count;
};

static int add(struct graph *graph, enum stream stream, double seconds, int waits_for) {
    struct task task = {.stream = stream, .seconds = seconds, .waits_for = waits_for};
    graph->tasks[graph->count] = task;
    return graph->count++;
}

static int first_waiting(const struct graph *graph, enum stream stream) {
    for (int i = 0; i < graph->count; i++)
        if (!graph->tasks[i].done && graph->tasks[i].stream == stream)
            return i;
    return NOTHING;
}

/* Whether what a task waits for is done, and when it was. */
static bool ready(const struct graph *graph, int index, double *ready_s) {
    int other = graph->tasks[index].waits_for;
    *ready_s = other == NOTHING ? 0.0 : graph->tasks[other].end_s;
    return other == NOTHING || graph->tasks[other].done;
}

/* Does the task that can start first; false when nothing can. */
static bool step(struct graph *graph, double free_s[STREAMS]) {
    int chosen = NOTHING;
    double chosen_s = 0.0;
    for (int stream = 0; stream < STREAMS; stream++) {
        int index = first_waiting(graph, (enum stream)stream);
        double start_s;
        if (index == NOTHING || !ready(graph, index, &start_s))
            continue;
        if (free_s[stream] > start_s)
            start_s = free_s[stream];
        if (chosen == NOTHING || start_s < chosen_s) {
            chosen = index;
            chosen_s = start_s;
        }
    }
    if (chosen == NOTHING)
        return false;
    struct task *task = &graph->tasks[chosen];
    task->done = true;
    task->end_s = chosen_s + task->seconds;
    free_s[task->stream] = task->end_s;
    return true;
}

static double play(struct graph *graph) {
    double free_s[STREAMS] = {0.0, 0.0}, end_s = 0.0;
    int played = 0;
    while (step(graph, free_s))
        played++;
    ck_assert_int_eq(played, graph->count);
    for (int i = 0; i < graph->count; i++)
        if (graph->tasks[i].end_s > end_s)
            end_s = graph->tasks[i].end_s;
    return end_s;
}

double two_streams_gathered_s(int blocks, const double *compute_s, const double *gather_s,
                              const double *reduce_s) {
    struct graph graph = {calloc((size_t)blocks * 3, sizeof(struct task)), 0};
    int *computed = malloc((size_t)blocks * sizeof(int));
    int *gathered = malloc((size_t)blocks * sizeof(int));
    ck_assert(graph.tasks != NULL && computed != NULL && gathered != NULL);
    gathered[0] = add(&graph, COMMUNICATION, gather_s[0], NOTHING);
    for (int i = 0; i < blocks; i++) {
        if (i > 0)
            add(&graph, COMMUNICATION, reduce_s[i - 1], computed[i - 1]);
        if (i + 1 < blocks)
            gathered[i + 1] =
                add(&graph, COMMUNICATION, gather_s[i + 1], i > 0 ? computed[i - 1] : NOTHING);
        computed[i] = add(&graph, COMPUTE, compute_s[i], gathered[i]);
    }
    add(&graph, COMMUNICATION, reduce_s[blocks - 1], computed[blocks - 1]);
    double end_s = play(&graph);
    free(graph.tasks);
    free(computed);
    free(gathered);
    return end_s;
}

double two_streams_reduced_s(int blocks, const double *compute_s, const double *reduce_s) {
    struct graph graph = {calloc((size_t)blocks * 2, sizeof(struct task)), 0};
    ck_assert(graph.tasks != NULL);
    for (int i = 0; i < blocks; i++) {
        int computed = add(&graph, COMPUTE, compute_s[i], NOTHING);
        add(&graph, COMMUNICATION, reduce_s[i], computed);
    }
    double end_s = play(&graph);
    free(graph.tasks);
    return end_s;
}
