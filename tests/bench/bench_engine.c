/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/random.h"
#include "sim/sim.h"
#include "sim/task.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * What the engine costs. One JSON object a line: name, value, unit; the best of three runs each.
 *
 * - event_hold_*: the hold model: n pending events; take the first, schedule another a random
 *   time later. `bare` is a heap with nothing around it, as fast as we could write one: 4-ary,
 *   16-byte entries, four children a cache line, replacing the root in one pass, no handles, no
 *   payload, no function calls. `engine` is the same through sim_schedule and a handler, with
 *   handles that can be cancelled and moved. Both must take the same times in the same order.
 * - mm1: arrivals and services of an M/M/1 queue, each one event with a callback.
 * - task_graph: building and running 1,000 chains of 1,000 tasks on 1,000 exclusive resources, a
 *   task after its predecessor in its own chain and in the next chain. Build time is counted.
 *
 * The workloads are frozen: change one and its numbers cannot be compared with older ones.
 */

#define REPEATS 3
#define HOLDS 4000000
#define HOLD_MEAN_NS 1000000u
#define MM1_CUSTOMERS 2000000
#define MM1_ARRIVAL_MEAN_NS 1000.0
#define MM1_SERVICE_MEAN_NS 900.0
#define CHAINS 1000u
#define CHAIN_TASKS 1000u
#define TASK_MEAN_NS 1000000u

static double cpu_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void require(bool condition, const char *what) {
    if (condition)
        return;
    fprintf(stderr, "bench_engine: %s\n", what);
    exit(EXIT_FAILURE);
}

static void print_result(const char *name, double value, const char *unit) {
    printf("{\"name\": \"%s\", \"value\": %.0f, \"unit\": \"%s\"}\n", name, value, unit);
    fflush(stdout);
}

/* Weyl sequence through a 64-bit mixer: cheap, so that the calendar is what is measured. */
static uint64_t draw(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 32) * UINT64_C(0xD6E8FEB86659FD93);
    return z ^ z >> 32;
}

static sim_time draw_increment(uint64_t *state) {
    return (sim_time)(((draw(state) >> 32) * (2 * HOLD_MEAN_NS)) >> 32);
}

/* ---- hold, bare -------------------------------------------------------------------------------
 */

__extension__ typedef unsigned __int128 bare_key; /* time 64 | sequence 64 */

struct bare {
    bare_key *heap; /* children of i at 4i + 1 to 4i + 4, aligned to 64 bytes */
    size_t count;
    void *block;
};

static void bare_init(struct bare *bare, size_t capacity) {
    size_t bytes = (capacity + 3) * sizeof(bare_key) + 128;
    bare->block = malloc(bytes);
    require(bare->block != NULL, "out of memory");
    memset(bare->block, 0xff, bytes);
    char *line = (char *)bare->block + (64 - (uintptr_t)bare->block % 64) % 64;
    bare->heap = (bare_key *)(void *)(line + 48);
    bare->count = 0;
}

static void bare_push(struct bare *bare, bare_key key) {
    size_t at = bare->count++;
    for (; at > 0 && key < bare->heap[(at - 1) / 4]; at = (at - 1) / 4)
        bare->heap[at] = bare->heap[(at - 1) / 4];
    bare->heap[at] = key;
}

static inline void bare_replace_first(struct bare *bare, bare_key key) {
    bare_key *heap = bare->heap;
    size_t at = 0, count = bare->count;
    bool large = count > 8192; /* beyond the first cache level prefetching pays */
    for (size_t first = 1; first < count; first = 4 * at + 1) {
        if (large && 4 * first + 16 < count)
            for (size_t line = 0; line < 4; line++)
                __builtin_prefetch(heap + 4 * first + 1 + 4 * line);
        size_t left = first + (heap[first + 1] < heap[first]);
        size_t right = first + 2 + (heap[first + 3] < heap[first + 2]);
        size_t child = heap[right] < heap[left] ? right : left;
        if (heap[child] > key)
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = key;
}

static double hold_bare(size_t pending, uint64_t *hash) {
    struct bare bare;
    uint64_t random = 1, sequence = 0;
    bare_init(&bare, pending);
    for (size_t i = 0; i < pending; i++)
        bare_push(&bare, (bare_key)(uint64_t)draw_increment(&random) << 64 | sequence++);
    double start = cpu_s();
    for (int i = 0; i < HOLDS; i++) {
        uint64_t now = (uint64_t)(bare.heap[0] >> 64);
        *hash = *hash * 31 + now;
        uint64_t time = now + (uint64_t)draw_increment(&random);
        bare_replace_first(&bare, (bare_key)time << 64 | sequence++);
    }
    double elapsed = cpu_s() - start;
    free(bare.block);
    return HOLDS / elapsed;
}

/* ---- hold, engine -----------------------------------------------------------------------------
 */

struct hold {
    uint64_t random, hash;
    int left;
};

static void hold_event(struct sim *sim, void *subject, uint64_t argument) {
    struct hold *hold = subject;
    sim_time now = sim_now(sim);
    hold->hash = hold->hash * 31 + (uint64_t)now;
    if (--hold->left == 0)
        sim_stop(sim);
    sim_schedule(sim, now + draw_increment(&hold->random), SIM_PHASE_COMPLETION, hold_event,
                 subject, argument, NULL);
}

static double hold_engine(size_t pending, uint64_t *hash) {
    struct hold hold = {.random = 1, .left = HOLDS};
    struct sim *sim = sim_new(NULL);
    require(sim != NULL, "out of memory");
    for (size_t i = 0; i < pending; i++)
        require(sim_schedule(sim, draw_increment(&hold.random), SIM_PHASE_COMPLETION, hold_event,
                             &hold, i, NULL) == SIM_OK,
                "out of memory");
    double start = cpu_s();
    require(sim_run(sim, SIM_TIME_MAX) == SIM_OK, "the run failed");
    double elapsed = cpu_s() - start;
    require(sim_events_executed(sim) == HOLDS, "events are miscounted");
    sim_free(sim);
    *hash = hold.hash;
    return HOLDS / elapsed;
}

static void bench_hold(size_t pending, const char *size) {
    double bare = 0.0, engine = 0.0;
    for (int i = 0; i < REPEATS; i++) {
        uint64_t bare_hash = 0, engine_hash = 0;
        bare = fmax(bare, hold_bare(pending, &bare_hash));
        engine = fmax(engine, hold_engine(pending, &engine_hash));
        require(bare_hash == engine_hash, "the engine and the bare heap differ in order");
    }
    char name[64];
    snprintf(name, sizeof name, "event_hold_bare_%s_per_s", size);
    print_result(name, bare, "1/s");
    snprintf(name, sizeof name, "event_hold_engine_%s_per_s", size);
    print_result(name, engine, "1/s");
}

/* ---- M/M/1 ------------------------------------------------------------------------------------
 */

struct queue {
    uint64_t random;
    int waiting; /* the one in service among them */
    int to_come;
};

static sim_time draw_exponential(uint64_t *state, double mean_ns) {
    double uniform = ((double)(draw(state) >> 12) + 0.5) * 0x1p-52;
    return (sim_time)(-mean_ns * log(uniform) + 0.5);
}

static void departure(struct sim *sim, void *subject, uint64_t argument) {
    struct queue *queue = subject;
    if (--queue->waiting > 0)
        sim_schedule(sim, sim_now(sim) + draw_exponential(&queue->random, MM1_SERVICE_MEAN_NS),
                     SIM_PHASE_COMPLETION, departure, queue, argument, NULL);
}

static void arrival(struct sim *sim, void *subject, uint64_t argument) {
    struct queue *queue = subject;
    if (--queue->to_come > 0)
        sim_schedule(sim, sim_now(sim) + draw_exponential(&queue->random, MM1_ARRIVAL_MEAN_NS),
                     SIM_PHASE_UPDATE, arrival, queue, argument, NULL);
    if (queue->waiting++ == 0)
        sim_schedule(sim, sim_now(sim) + draw_exponential(&queue->random, MM1_SERVICE_MEAN_NS),
                     SIM_PHASE_COMPLETION, departure, queue, argument, NULL);
}

static void bench_mm1(void) {
    double best = 0.0;
    for (int i = 0; i < REPEATS; i++) {
        struct queue queue = {.random = 1, .to_come = MM1_CUSTOMERS};
        struct sim *sim = sim_new(NULL);
        require(sim != NULL, "out of memory");
        sim_schedule(sim, 0, SIM_PHASE_UPDATE, arrival, &queue, 0, NULL);
        double start = cpu_s();
        require(sim_run(sim, SIM_TIME_MAX) == SIM_OK, "the run failed");
        double elapsed = cpu_s() - start;
        require(sim_events_executed(sim) == 2 * MM1_CUSTOMERS, "events are miscounted");
        best = fmax(best, (double)sim_events_executed(sim) / elapsed);
        sim_free(sim);
    }
    print_result("mm1_events_per_s", best, "1/s");
}

/* ---- task graph -------------------------------------------------------------------------------
 */

struct counter {
    size_t bytes, peak;
};

static void *counting_reallocate(void *subject, void *block, size_t old_size, size_t new_size) {
    struct counter *counter = subject;
    counter->bytes += new_size - old_size;
    if (counter->bytes > counter->peak)
        counter->peak = counter->bytes;
    if (new_size > 0)
        return realloc(block, new_size);
    free(block);
    return NULL;
}

static sim_time task_duration(uint32_t chain, uint32_t task) {
    uint64_t state = (uint64_t)chain * CHAIN_TASKS + task;
    return 1 + (sim_time)(((draw(&state) >> 32) * (2 * TASK_MEAN_NS)) >> 32);
}

/* Step by step, as a model unfolds it: task j of all chains before task j + 1 of any. */
static void build_graph(struct sim *sim, sim_task_id (*before)[CHAINS]) {
    for (uint32_t j = 0; j < CHAIN_TASKS; j++)
        for (uint32_t i = 0; i < CHAINS; i++) {
            struct sim_task_spec spec = {.duration_ns = task_duration(i, j)};
            sim_task_id *id = &before[j % 2][i];
            const sim_task_id *previous = before[(j + 1) % 2];
            enum sim_status status = sim_task_new(sim, &spec, id);
            status |= sim_task_demand(sim, *id, i, 1);
            if (j > 0) {
                status |= sim_task_after(sim, *id, previous[i]);
                status |= sim_task_after(sim, *id, previous[(i + 1) % CHAINS]);
            }
            require(status == SIM_OK, "out of memory");
            sim_task_release(sim, *id);
        }
}

static void bench_task_graph(void) {
    static sim_task_id before[2][CHAINS];
    double best = 0.0;
    size_t peak = 0;
    for (int i = 0; i < REPEATS; i++) {
        struct counter counter = {0};
        struct sim_allocator allocator = {counting_reallocate, &counter};
        double start = cpu_s();
        struct sim *sim = sim_new(&allocator);
        require(sim != NULL, "out of memory");
        for (uint32_t chain = 0; chain < CHAINS; chain++)
            require(sim_resource_new(sim, "chain", 1, SIM_QUEUE_FIFO, &(sim_resource_id){0}) ==
                        SIM_OK,
                    "out of memory");
        build_graph(sim, before);
        require(sim_run(sim, SIM_TIME_MAX) == SIM_OK, "the run failed");
        double elapsed = cpu_s() - start;
        sim_free(sim);
        require(counter.bytes == 0, "memory is lost");
        best = fmax(best, CHAINS * CHAIN_TASKS / elapsed);
        peak = counter.peak;
    }
    print_result("task_graph_1e6_tasks_per_s", best, "1/s");
    print_result("task_graph_1e6_tasks_peak_bytes", (double)peak, "bytes");
}

int main(void) {
    bench_hold(1000, "1e3");
    bench_hold(100000, "1e5");
    bench_hold(1000000, "1e6");
    bench_mm1();
    bench_task_graph();
    return EXIT_SUCCESS;
}
