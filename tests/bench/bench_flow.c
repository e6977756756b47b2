/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/flow.h"
#include "sim/sim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/*
 * What flows cost. One JSON object a line: name, value, unit; the best of three runs each.
 *
 * - ring_1024_steps_wall_s: an all-reduce of 1 GB round 1,024 hosts, every step of every host a
 *   flow: 2 x 1023 x 1024 of them.
 * - ring_1024_coflow_wall_s: the same as one flow over 1,024 links.
 * - random_flows_1024_s_per_event: a hold model on 1,024 hosts in a fat tree without blocking (32
 *   leaves of 32 hosts, 32 spines): 1,024 flows between random hosts with exponential amounts, each
 *   that ends starts another; seconds a flow.
 *
 * The workloads are frozen: change one and its numbers cannot be compared with older ones.
 */

#define REPEATS 3
#define HOSTS 1024u
#define LEAF 32u
#define RANDOM_FLOWS 3000u
#define HOST_CAPACITY 50e9

static double wall_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void require(bool condition, const char *what) {
    if (condition)
        return;
    fprintf(stderr, "bench_flow: %s\n", what);
    exit(EXIT_FAILURE);
}

static sim_link_id link_of(struct sim *sim) {
    sim_link_id id = 0;
    require(sim_link_new(sim, "link", HOST_CAPACITY, &id) == SIM_OK, "out of memory");
    return id;
}

static uint64_t draw(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* ---- rings ----------------------------------------------------------------------------------- */

struct ring {
    sim_link_id links[HOSTS];
    uint32_t step[HOSTS];
};

static void send(struct sim *sim, struct ring *ring, uint32_t from);

static void receive(struct sim *sim, void *subject, uint64_t from) {
    struct ring *ring = subject;
    uint32_t to = ((uint32_t)from + 1) % HOSTS;
    if (++ring->step[to] < 2 * (HOSTS - 1))
        send(sim, ring, to);
}

static void send(struct sim *sim, struct ring *ring, uint32_t from) {
    struct sim_flow_spec spec = {.route = &ring->links[from],
                                 .hop_count = 1,
                                 .amount = 1e9 / HOSTS,
                                 .on_done = receive,
                                 .subject = ring,
                                 .argument = from};
    require(sim_flow_start(sim, &spec, NULL) == SIM_OK, "out of memory");
}

static double ring_steps_s(void) {
    static struct ring ring;
    struct sim *sim = sim_new(NULL);
    require(sim != NULL, "out of memory");
    for (uint32_t i = 0; i < HOSTS; i++) {
        ring.links[i] = link_of(sim);
        ring.step[i] = 0;
    }
    double start = wall_s();
    for (uint32_t i = 0; i < HOSTS; i++)
        send(sim, &ring, i);
    require(sim_run(sim, SIM_TIME_MAX) == SIM_OK, "the ring fails");
    double spent = wall_s() - start;
    sim_free(sim);
    return spent;
}

static double ring_coflow_s(void) {
    static struct sim_flow_hop hops[HOSTS];
    struct sim *sim = sim_new(NULL);
    require(sim != NULL, "out of memory");
    for (uint32_t i = 0; i < HOSTS; i++)
        hops[i] = (struct sim_flow_hop){link_of(sim), 2.0 * (HOSTS - 1) / HOSTS};
    double start = wall_s();
    struct sim_flow_spec spec = {.hops = hops, .hop_count = HOSTS, .amount = 1e9};
    require(sim_flow_start(sim, &spec, NULL) == SIM_OK, "out of memory");
    require(sim_run(sim, SIM_TIME_MAX) == SIM_OK, "the coflow fails");
    double spent = wall_s() - start;
    sim_free(sim);
    return spent;
}

/* ---- random flows ---------------------------------------------------------------------------- */

struct traffic {
    sim_link_id up[HOSTS], down[HOSTS];           /* host to leaf, leaf to host */
    sim_link_id leaf_up[HOSTS], leaf_down[HOSTS]; /* leaf x spine */
    uint64_t state;
    uint32_t left;
};

static void start_another(struct sim *sim, void *subject, uint64_t argument) {
    struct traffic *t = subject;
    (void)argument;
    if (t->left == 0)
        return;
    t->left--;
    uint32_t from = (uint32_t)(draw(&t->state) % HOSTS);
    uint32_t to = (from + 1 + (uint32_t)(draw(&t->state) % (HOSTS - 1))) % HOSTS;
    double amount = -1e9 * log1p(-(double)(draw(&t->state) >> 11) * 0x1p-53);
    uint32_t spine = to % LEAF; /* d mod k */
    sim_link_id route[4] = {t->up[from], t->leaf_up[from / LEAF * LEAF + spine],
                            t->leaf_down[to / LEAF * LEAF + spine], t->down[to]};
    sim_link_id near[2] = {t->up[from], t->down[to]};
    bool same = from / LEAF == to / LEAF;
    struct sim_flow_spec spec = {.route = same ? near : route,
                                 .hop_count = same ? 2 : 4,
                                 .amount = amount,
                                 .on_done = start_another,
                                 .subject = t};
    require(sim_flow_start(sim, &spec, NULL) == SIM_OK, "out of memory");
}

static double random_flows_s(void) {
    static struct traffic t;
    struct sim *sim = sim_new(NULL);
    require(sim != NULL, "out of memory");
    for (uint32_t i = 0; i < HOSTS; i++) {
        t.up[i] = link_of(sim);
        t.down[i] = link_of(sim);
        t.leaf_up[i] = link_of(sim);
        t.leaf_down[i] = link_of(sim);
    }
    t.state = 1;
    t.left = HOSTS + RANDOM_FLOWS;
    for (uint32_t i = 0; i < HOSTS; i++)
        start_another(sim, &t, 0);
    double start = wall_s();
    while (t.left > 0)
        require(sim_step(sim), "the traffic ends");
    double spent = (wall_s() - start) / RANDOM_FLOWS;
    sim_free(sim);
    return spent;
}

/* ---- all ------------------------------------------------------------------------------------- */

static void measure(const char *name, double (*run)(void)) {
    double best = run();
    for (int i = 1; i < REPEATS; i++)
        best = fmin(best, run());
    printf("{\"name\": \"%s\", \"value\": %.3g, \"unit\": \"s\"}\n", name, best);
    fflush(stdout);
}

int main(void) {
    measure("ring_1024_steps_wall_s", ring_steps_s);
    measure("ring_1024_coflow_wall_s", ring_coflow_s);
    measure("random_flows_1024_s_per_event", random_flows_s);
    return 0;
}
