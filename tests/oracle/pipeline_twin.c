/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * A stage lists its forwards (micro-batches in groups of as many as there are stages, a group
 * through one chunk after the other) and its backwards (the chunks from the last on). It may have
 * so many micro-batches in flight, forwards less backwards: plain 1F1B one for every stage from
 * itself to the end, interleaved 2 (p - 1 - s) + (v - 1) p + 1. As long as it may have one more it
 * goes forward, else back.
 *
 * Events are passes and sends. A pass starts after the one before it on its stage and after what it
 * is sent; a send starts after its pass and after the one before it on the same sender. Each sweep
 * recomputes all starts from all ends; there are as many sweeps as it takes for nothing to change.
 */

#include "tests/oracle/pipeline_twin.h"

#include <check.h>
#include <stdlib.h>

struct event {
    int backward, chunk, microbatch;
    double end_s, sent_s; /* of the pass; of the send behind it */
};

struct play {
    const struct pipeline_twin *twin;
    struct event *events; /* stage after stage, in the order of the stage */
    int per_stage;
};

static void list_one_way(const struct pipeline_twin *twin, int stage, int backward,
                         struct event *events) {
    int group = twin->chunks_per_stage == 1 ? twin->microbatches : twin->stages, n = 0;
    for (int first = 0; first < twin->microbatches; first += group)
        for (int turn = 0; turn < twin->chunks_per_stage; turn++)
            for (int m = first; m < first + group; m++) {
                int chunk = backward ? twin->chunks_per_stage - 1 - turn : turn;
                events[n++] = (struct event){
                    .backward = backward, .chunk = chunk * twin->stages + stage, .microbatch = m};
            }
}

static int limit(const struct pipeline_twin *twin, int stage) {
    int behind = twin->stages - 1 - stage;
    if (!twin->backward)
        return twin->microbatches * twin->chunks_per_stage;
    if (twin->chunks_per_stage == 1)
        return behind + 1;
    return 2 * behind + (twin->chunks_per_stage - 1) * twin->stages + 1;
}

static void list_stage(const struct pipeline_twin *twin, int stage, struct event *events) {
    int one_way = twin->microbatches * twin->chunks_per_stage, forwards = 0, backwards = 0, n = 0;
    struct event *there = calloc((size_t)one_way, sizeof *there);
    struct event *back = calloc((size_t)one_way, sizeof *back);
    ck_assert(there != NULL && back != NULL);
    list_one_way(twin, stage, 0, there);
    list_one_way(twin, stage, 1, back);
    while (forwards < one_way || (twin->backward && backwards < one_way)) {
        bool room = forwards - backwards < limit(twin, stage);
        events[n++] = forwards < one_way && room ? there[forwards++] : back[backwards++];
    }
    free(there);
    free(back);
}

static const struct event *find(const struct play *play, int backward, int chunk, int microbatch) {
    int stage = chunk % play->twin->stages;
    const struct event *events = play->events + stage * play->per_stage;
    for (int i = 0; i < play->per_stage; i++)
        if (events[i].backward == backward && events[i].chunk == chunk &&
            events[i].microbatch == microbatch)
            return &events[i];
    ck_abort_msg("a pass that nobody does");
    return NULL;
}

/* The send behind a pass: from its chunk on, or back from it; 0 at the ends of the model. */
static double send_of(const struct pipeline_twin *twin, const struct event *event) {
    int chunks = twin->stages * twin->chunks_per_stage;
    int chunk = event->backward ? event->chunk - 1 : event->chunk;
    if (chunk < 0 || chunk + 1 == chunks)
        return 0.0;
    return twin->send_s[event->microbatch * chunks + chunk];
}

/* When what a pass waits for on another stage is there. */
static double arrival(const struct play *play, const struct event *event) {
    int chunks = play->twin->stages * play->twin->chunks_per_stage;
    int from = event->backward ? event->chunk + 1 : event->chunk - 1;
    if (from < 0 || from == chunks)
        return 0.0;
    return find(play, event->backward, from, event->microbatch)->sent_s;
}

static double later(double a, double b) {
    return a > b ? a : b;
}

/* Recomputes a stage; true when anything changed. */
static bool sweep(const struct play *play, int stage) {
    const struct pipeline_twin *twin = play->twin;
    int chunks = twin->stages * twin->chunks_per_stage;
    double computed_s = 0.0, sender_s[2] = {0.0, 0.0};
    bool changed = false;
    for (int i = 0; i < play->per_stage; i++) {
        struct event *event = play->events + stage * play->per_stage + i;
        const double *table = event->backward ? twin->backward_s : twin->forward_s;
        double seconds = table[event->microbatch * chunks + event->chunk];
        double end_s = later(computed_s, arrival(play, event)) + seconds;
        double send_s = send_of(twin, event), sent_s = end_s;
        if (send_s > 0.0)
            sent_s = sender_s[event->backward] = later(end_s, sender_s[event->backward]) + send_s;
        changed = changed || end_s != event->end_s || sent_s != event->sent_s;
        event->end_s = computed_s = end_s;
        event->sent_s = sent_s;
    }
    return changed;
}

void pipeline_twin_ends(const struct pipeline_twin *twin, double *ends_s) {
    struct play play = {.twin = twin};
    play.per_stage = twin->microbatches * twin->chunks_per_stage * (twin->backward ? 2 : 1);
    play.events = calloc((size_t)(twin->stages * play.per_stage), sizeof *play.events);
    ck_assert(play.events != NULL);
    for (int stage = 0; stage < twin->stages; stage++)
        list_stage(twin, stage, play.events + stage * play.per_stage);
    bool changed = true;
    for (int sweeps = 0; changed; sweeps++) {
        ck_assert_int_le(sweeps,
                         twin->stages * play.per_stage + 1); /* else they wait in a circle */
        changed = false;
        for (int stage = 0; stage < twin->stages; stage++)
            changed = sweep(&play, stage) || changed;
    }
    for (int stage = 0; stage < twin->stages; stage++)
        ends_s[stage] = play.events[(stage + 1) * play.per_stage - 1].end_s;
    free(play.events);
}
