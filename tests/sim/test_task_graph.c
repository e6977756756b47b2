/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/recorder.h"
#include "sim/task.h"
#include "tests/sim/engine_support.h"
#include "tests/testing.h"

#include <stdio.h>

/* Random graphs, against a twin that knows no calendar, no queues and no handles: at each instant
 * it looks at every task and every resource. And what must hold of any schedule, checked on what
 * the recorder was told. */

#define TASKS 400
#define RESOURCES 12
#define MOST_PREDECESSORS 5

struct plan {
    struct job {
        sim_time duration;
        int32_t priority;
        uint32_t predecessors[MOST_PREDECESSORS];
        uint32_t predecessor_count;
        uint32_t units[RESOURCES]; /* 0: not demanded */
    } jobs[TASKS];
    uint32_t capacity[RESOURCES];
    enum sim_queue_order order[RESOURCES];
};

/* Durations are drawn from a range so wide that no two completions coincide; a tenth are barriers
 * and a tenth need no resource. */
static void draw_job(struct plan *plan, uint32_t index, uint64_t *random) {
    struct job *job = &plan->jobs[index];
    uint32_t kind = test_random_below(random, 10);
    *job = (struct job){.duration = 1 + (sim_time)(test_random(random) >> 24)};
    job->priority = (int32_t)test_random_below(random, 5) - 2;
    uint32_t wanted = test_random_below(random, MOST_PREDECESSORS + 1);
    for (uint32_t i = 0; i < wanted && index > 0; i++) {
        uint32_t back = 1 + test_random_below(random, index < 40 ? index : 40);
        job->predecessors[job->predecessor_count++] = index - back;
    }
    if (kind == 0)
        job->duration = 0;
    if (kind < 2)
        return;
    for (uint32_t i = 1 + test_random_below(random, 3); i > 0; i--) {
        uint32_t resource = test_random_below(random, RESOURCES);
        job->units[resource] = 1 + test_random_below(random, plan->capacity[resource]);
    }
    if (kind == 2)
        for (uint32_t resource = 4; resource < 9; resource++)
            job->units[resource] = 1;
}

static void draw_plan(struct plan *plan, uint64_t seed, bool priorities) {
    uint64_t random = seed;
    for (uint32_t i = 0; i < RESOURCES; i++) {
        plan->capacity[i] = i % 3 == 0 ? 1 + test_random_below(&random, 4) : 1;
        plan->order[i] = priorities && i % 2 == 0 ? SIM_QUEUE_PRIORITY : SIM_QUEUE_FIFO;
    }
    for (uint32_t i = 0; i < TASKS; i++)
        draw_job(plan, i, &random);
}

/* ---- on the engine -----------------------------------------------------------------------------
 */

struct outcome {
    sim_time start[TASKS], end[TASKS];
    uint32_t spans[TASKS];
    sim_time last_end[RESOURCES]; /* of spans told, for those of capacity 1 */
    double busy[RESOURCES];
    bool sound;
    const struct plan *plan;
};

static void hear_span(void *state, const struct sim *sim, const struct sim_span *span) {
    struct outcome *outcome = state;
    const struct job *job = &outcome->plan->jobs[span->tag.owner];
    outcome->sound &= span->end == sim_now(sim) && job->units[span->resource] > 0;
    outcome->sound &= span->end - span->start == job->duration;
    if (sim_resource_capacity(sim, span->resource) == 1)
        outcome->sound &= span->start >= outcome->last_end[span->resource];
    outcome->last_end[span->resource] = span->end;
    outcome->start[span->tag.owner] = span->start;
    outcome->spans[span->tag.owner]++;
    outcome->busy[span->resource] +=
        (double)((span->end - span->start) * job->units[span->resource]);
}

static const struct sim_sink_type listener = {.span = hear_span};

static void job_done(struct sim *sim, void *subject, uint64_t argument) {
    struct outcome *outcome = subject;
    const struct job *job = &outcome->plan->jobs[argument];
    outcome->end[argument] = sim_now(sim);
    if (outcome->spans[argument] == 0)
        outcome->start[argument] = sim_now(sim) - job->duration;
}

/* Neighbouring demands of one unit go in as one range, the others one by one. */
static void demand_all(struct sim *sim, sim_task_id task, const struct job *job) {
    for (uint32_t first = 0; first < RESOURCES;) {
        uint32_t count = 0;
        while (first + count < RESOURCES && job->units[first + count] == 1)
            count++;
        enum sim_status status = SIM_OK;
        if (count > 0)
            status = sim_task_demand_range(sim, task, first, count);
        else if (job->units[first] > 1)
            status = sim_task_demand(sim, task, first, job->units[first]);
        ck_assert_int_eq(status, SIM_OK);
        first += count > 0 ? count : 1;
    }
}

static void build(struct sim *sim, const struct plan *plan, struct outcome *outcome) {
    static sim_task_id ids[TASKS];
    for (uint32_t i = 0; i < RESOURCES; i++)
        test_resource(sim, plan->capacity[i], plan->order[i]);
    for (uint32_t i = 0; i < TASKS; i++) {
        const struct job *job = &plan->jobs[i];
        struct sim_task_spec spec = {.duration_ns = job->duration,
                                     .priority = job->priority,
                                     .recorded = true,
                                     .tag = {.owner = i},
                                     .on_done = job_done,
                                     .subject = outcome,
                                     .argument = i};
        ck_assert_int_eq(sim_task_new(sim, &spec, &ids[i]), SIM_OK);
        demand_all(sim, ids[i], job);
        for (uint32_t k = 0; k < job->predecessor_count; k++)
            ck_assert_int_eq(sim_task_after(sim, ids[i], ids[job->predecessors[k]]), SIM_OK);
    }
    for (uint32_t i = 0; i < TASKS; i++)
        sim_task_release(sim, ids[i]);
}

static void run_engine(const struct plan *plan, struct outcome *outcome) {
    *outcome = (struct outcome){.sound = true, .plan = plan};
    struct sim *sim = test_sim();
    ck_assert_int_eq(sim_recorder_add(sim, &listener, outcome), SIM_OK);
    build(sim, plan, outcome);
    ck_assert_int_eq(sim_run(sim, SIM_TIME_MAX), SIM_OK);
    ck_assert_uint_eq(sim_tasks_unfinished(sim), 0);
    test_little(sim);
    for (sim_resource_id id = 0; id < RESOURCES; id++) {
        struct sim_resource_statistics statistics;
        sim_resource_statistics(sim, id, &statistics);
        assert_relative(statistics.busy_ns, outcome->busy[id], 1e-12);
    }
    sim_free(sim);
}

/* ---- what holds of any schedule ----------------------------------------------------------------
 */

static bool respects_predecessors(const struct plan *plan, const struct outcome *outcome) {
    bool respected = true;
    for (uint32_t i = 0; i < TASKS; i++)
        for (uint32_t k = 0; k < plan->jobs[i].predecessor_count; k++)
            respected &= outcome->start[i] >= outcome->end[plan->jobs[i].predecessors[k]];
    return respected;
}

/* The units in use at the start of every task, summed over all tasks that run then. */
static bool respects_capacities(const struct plan *plan, const struct outcome *outcome) {
    bool respected = true;
    for (uint32_t i = 0; i < TASKS; i++)
        for (uint32_t resource = 0; resource < RESOURCES; resource++) {
            uint32_t units = 0;
            for (uint32_t k = 0; k < TASKS; k++)
                if (outcome->start[k] <= outcome->start[i] && outcome->start[i] < outcome->end[k])
                    units += plan->jobs[k].units[resource];
            respected &= units <= plan->capacity[resource];
        }
    return respected;
}

static bool reports_each_resource(const struct plan *plan, const struct outcome *outcome) {
    bool reported = true;
    for (uint32_t i = 0; i < TASKS; i++) {
        uint32_t demands = 0;
        for (uint32_t resource = 0; resource < RESOURCES; resource++)
            demands += plan->jobs[i].units[resource] > 0;
        reported &= outcome->spans[i] == demands;
    }
    return reported;
}

/* ---- the twin ----------------------------------------------------------------------------------
 */

enum state { WAITING, LISTED, ASKING, RUNNING, DONE };

struct twin {
    const struct plan *plan;
    enum state state[TASKS];
    uint32_t asking[TASKS]; /* resource */
    uint64_t asked[TASKS];  /* the number of the question: who asked first */
    sim_time start[TASKS], end[TASKS];
    uint32_t ready[TASKS], ready_count;
    uint32_t used[RESOURCES];
    uint64_t questions;
    sim_time now;
};

static bool twin_is_barrier(const struct twin *twin, uint32_t task) {
    const struct job *job = &twin->plan->jobs[task];
    uint32_t units = 0;
    for (uint32_t i = 0; i < RESOURCES; i++)
        units += job->units[i];
    return units == 0 && job->duration == 0;
}

static bool twin_is_ready(const struct twin *twin, uint32_t task) {
    const struct job *job = &twin->plan->jobs[task];
    bool ready = twin->state[task] == WAITING;
    for (uint32_t k = 0; k < job->predecessor_count; k++)
        ready &= twin->state[job->predecessors[k]] == DONE;
    return ready;
}

/* Ends a task and, generation by generation, the barriers that it sets free. */
static void twin_end(struct twin *twin, uint32_t task) {
    uint32_t ending[TASKS] = {task}, count = 1;
    for (uint32_t at = 0; at < count; at++) {
        uint32_t ended = ending[at];
        if (twin->state[ended] == LISTED)
            twin->start[ended] = twin->end[ended] = twin->now;
        twin->state[ended] = DONE;
        for (uint32_t i = 0; i < RESOURCES; i++)
            twin->used[i] -= twin->plan->jobs[ended].units[i];
        for (uint32_t i = 0; i < TASKS; i++) {
            if (!twin_is_ready(twin, i))
                continue;
            twin->state[i] = LISTED;
            if (twin_is_barrier(twin, i))
                ending[count++] = i;
            else
                twin->ready[twin->ready_count++] = i;
        }
    }
}

/* Who of those that ask for the resource is its head? TASKS when nobody does. */
static uint32_t twin_head(const struct twin *twin, uint32_t resource) {
    uint32_t head = TASKS;
    bool ranked = twin->plan->order[resource] == SIM_QUEUE_PRIORITY;
    for (uint32_t i = 0; i < TASKS; i++) {
        if (twin->state[i] != ASKING || twin->asking[i] != resource)
            continue;
        int32_t priority = twin->plan->jobs[i].priority;
        bool higher = head == TASKS || (ranked && priority > twin->plan->jobs[head].priority);
        bool equal = head < TASKS && (!ranked || priority == twin->plan->jobs[head].priority);
        if (higher || (equal && twin->asked[i] < twin->asked[head]))
            head = i;
    }
    return head;
}

static bool twin_take(struct twin *twin, uint32_t task, uint32_t resource) {
    uint32_t units = twin->plan->jobs[task].units[resource];
    if (twin->used[resource] + units > twin->plan->capacity[resource])
        return false;
    twin->used[resource] += units;
    return true;
}

/* Takes one resource after the other, until one that ranks its queue, or where somebody waits, or
 * that has too little; runs when there is none of these. */
static void twin_ask(struct twin *twin, uint32_t task, uint32_t from) {
    const struct plan *all = twin->plan;
    for (uint32_t resource = from; resource < RESOURCES; resource++) {
        if (all->jobs[task].units[resource] == 0)
            continue;
        if (all->order[resource] == SIM_QUEUE_FIFO && twin_head(twin, resource) == TASKS &&
            twin_take(twin, task, resource))
            continue;
        twin->state[task] = ASKING;
        twin->asking[task] = resource;
        twin->asked[task] = twin->questions++;
        return;
    }
    twin->state[task] = RUNNING;
    twin->start[task] = twin->now;
    twin->end[task] = twin->now + all->jobs[task].duration;
}

static void twin_decide(struct twin *twin) {
    for (uint32_t i = 0; i < twin->ready_count; i++) {
        if (twin_is_barrier(twin, twin->ready[i]))
            twin_end(twin, twin->ready[i]);
        else
            twin_ask(twin, twin->ready[i], 0);
    }
    twin->ready_count = 0;
    for (uint32_t resource = 0; resource < RESOURCES; resource++) {
        uint32_t head = twin_head(twin, resource);
        for (; head < TASKS && twin_take(twin, head, resource); head = twin_head(twin, resource)) {
            twin->state[head] = LISTED; /* no longer in this queue */
            twin_ask(twin, head, resource + 1);
        }
    }
}

/* The task that ends next; no two end at one instant. TASKS when none runs. */
static uint32_t twin_next(const struct twin *twin) {
    uint32_t next = TASKS;
    for (uint32_t i = 0; i < TASKS; i++)
        if (twin->state[i] == RUNNING && (next == TASKS || twin->end[i] < twin->end[next]))
            next = i;
    return next;
}

static void run_twin(const struct plan *plan, struct twin *twin) {
    *twin = (struct twin){.plan = plan};
    for (uint32_t i = 0; i < TASKS; i++)
        if (plan->jobs[i].predecessor_count == 0) {
            twin->state[i] = LISTED;
            twin->ready[twin->ready_count++] = i;
        }
    twin_decide(twin);
    for (uint32_t next = twin_next(twin); next < TASKS; next = twin_next(twin)) {
        twin->now = twin->end[next];
        twin_end(twin, next);
        twin_decide(twin);
    }
}

/* ---- tests -------------------------------------------------------------------------------------
 */

static struct plan plan;
static struct outcome outcome, second;
static struct twin twin;

START_TEST(every_schedule_is_legal) {
    draw_plan(&plan, (uint64_t)_i + 1, _i % 2 == 0);
    run_engine(&plan, &outcome);
    ck_assert(outcome.sound);
    ck_assert(respects_predecessors(&plan, &outcome));
    ck_assert(respects_capacities(&plan, &outcome));
    ck_assert(reports_each_resource(&plan, &outcome));
}
END_TEST

START_TEST(schedules_equal_those_of_the_twin) {
    draw_plan(&plan, (uint64_t)_i + 1, _i % 2 == 0);
    run_engine(&plan, &outcome);
    run_twin(&plan, &twin);
    for (uint32_t i = 0; i < TASKS; i++) {
        if (outcome.start[i] != twin.start[i] || outcome.end[i] != twin.end[i])
            ck_abort_msg("seed %d, task %u: %lld to %lld, twin says %lld to %lld", _i + 1, i,
                         (long long)outcome.start[i], (long long)outcome.end[i],
                         (long long)twin.start[i], (long long)twin.end[i]);
    }
}
END_TEST

START_TEST(the_same_graph_twice_is_identical) {
    draw_plan(&plan, 99, true);
    run_engine(&plan, &outcome);
    run_engine(&plan, &second);
    ck_assert_mem_eq(outcome.start, second.start, sizeof outcome.start);
    ck_assert_mem_eq(outcome.end, second.end, sizeof outcome.end);
}
END_TEST

static Suite *task_graph_suite(void) {
    Suite *suite = suite_create("task_graph");
    TCase *tcase = tcase_create("task_graph");
    tcase_add_loop_test(tcase, every_schedule_is_legal, 0, 20);
    tcase_add_loop_test(tcase, schedules_equal_those_of_the_twin, 0, 20);
    tcase_add_test(tcase, the_same_graph_twice_is_identical);
    suite_add_tcase(suite, tcase);
    return suite;
}

TESTING_MAIN(task_graph_suite)
