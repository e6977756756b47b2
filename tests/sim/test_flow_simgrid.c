/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random flows on our links and on SimGrid's (Casanova et al., "Versatile, scalable, and accurate
 * simulation of distributed applications and platforms", 2014), model CM02 without cross-traffic,
 * TCP windows and correction factors: max-min fair shares of the bandwidth. There a flow over
 * latency waits for it and then has a share for 1 / latency; over none all shares are equal.
 *
 * SimGrid's engine is one a process and Check runs every case in one of its own. Without SimGrid
 * (Debian: libsimgrid-dev) the test is skipped.
 */
#include "tests/testing.h"

#ifndef TEST_WITH_SIMGRID

#include <stdio.h>
#include <stdlib.h>

int main(void) {
    puts("skipped: built without SimGrid (tools/install-packages simgrid)");
    return 77;
}

#else

#include "sim/flow.h"

#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MOST_LINKS 24
#define MOST_FLOWS 40
#define MOST_HOPS 6
#define CASES 64

/* Link i of a flow's route; each flow has a wide link of its own besides, which has its latency. */
struct drawn_flow {
    int hops, route[MOST_HOPS];
    double start_s, bytes, latency_s;
    double ours_s, theirs_s; /* the ends */
};

struct drawn {
    int links, flows;
    double bandwidth[MOST_LINKS];
    struct drawn_flow flow[MOST_FLOWS];
};

static struct drawn drawn;

static uint64_t draw(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static double uniform(uint64_t *state) {
    return (double)(draw(state) >> 11) * 0x1p-53;
}

/* Seconds of some thousands: what is rounded to nanoseconds is far below a millionth. */
static void draw_case(uint64_t seed) {
    uint64_t state = seed;
    bool latencies = seed % 2 == 0;
    drawn.links = 1 + (int)(draw(&state) % MOST_LINKS);
    drawn.flows = 1 + (int)(draw(&state) % MOST_FLOWS);
    for (int l = 0; l < drawn.links; l++)
        drawn.bandwidth[l] = draw(&state) % 2 == 0 ? 1e6 : 1e6 * exp(4.0 * uniform(&state) - 2.0);
    for (int i = 0; i < drawn.flows; i++) {
        struct drawn_flow *flow = &drawn.flow[i];
        *flow =
            (struct drawn_flow){.start_s = draw(&state) % 2 == 0 ? 0.0 : 500.0 * uniform(&state),
                                .bytes = 1e9 * -log1p(-uniform(&state)) + 1e6,
                                .latency_s = latencies ? 0.1 + uniform(&state) : 0.0};
        for (int l = 0; l < drawn.links && flow->hops < MOST_HOPS; l++)
            if (draw(&state) % (uint64_t)drawn.links < 3)
                flow->route[flow->hops++] = l;
        if (flow->hops == 0)
            flow->route[flow->hops++] = (int)(draw(&state) % (uint64_t)drawn.links);
    }
}

/* ---- ours ------------------------------------------------------------------------------------ */

static void note_end(struct sim *sim, void *subject, uint64_t flow) {
    (void)subject;
    drawn.flow[flow].ours_s = sim_time_to_s(sim_now(sim));
}

static void start_flow(struct sim *sim, void *subject, uint64_t index) {
    const struct drawn_flow *flow = &drawn.flow[index];
    sim_link_id route[MOST_HOPS];
    (void)subject;
    for (int h = 0; h < flow->hops; h++)
        route[h] = (sim_link_id)flow->route[h];
    struct sim_flow_spec spec = {.route = route,
                                 .hop_count = (uint32_t)flow->hops,
                                 .amount = flow->bytes,
                                 .weight = flow->latency_s > 0.0 ? 1.0 / flow->latency_s : 1.0,
                                 .latency_ns = sim_time_from_s(flow->latency_s),
                                 .on_done = note_end,
                                 .argument = index};
    ck_assert_int_eq(sim_flow_start(sim, &spec, NULL), SIM_OK);
}

static void run_ours(void) {
    struct sim *sim = sim_new(NULL);
    for (int l = 0; l < drawn.links; l++) {
        sim_link_id id;
        ck_assert_int_eq(sim_link_new(sim, "link", drawn.bandwidth[l], &id), SIM_OK);
    }
    for (int i = 0; i < drawn.flows; i++)
        ck_assert_int_eq(sim_schedule(sim, sim_time_from_s(drawn.flow[i].start_s), SIM_PHASE_UPDATE,
                                      start_flow, NULL, (uint64_t)i, NULL),
                         SIM_OK);
    ck_assert_int_eq(sim_run(sim, SIM_TIME_MAX), SIM_OK);
    sim_free(sim);
}

/* ---- theirs ---------------------------------------------------------------------------------- */

/* Two hosts a flow with a route of its own, one way. */
static void write_platform(FILE *file) {
    fputs("<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM "
          "\"https://simgrid.org/simgrid.dtd\">\n<platform version=\"4.1\">\n"
          "<zone id=\"all\" routing=\"Full\">\n",
          file);
    for (int i = 0; i < drawn.flows; i++)
        fprintf(file, "<host id=\"from%d\" speed=\"1Gf\"/><host id=\"to%d\" speed=\"1Gf\"/>\n", i,
                i);
    for (int l = 0; l < drawn.links; l++)
        fprintf(file, "<link id=\"link%d\" bandwidth=\"%.17gBps\" latency=\"0s\"/>\n", l,
                drawn.bandwidth[l]);
    for (int i = 0; i < drawn.flows; i++)
        fprintf(file, "<link id=\"own%d\" bandwidth=\"1e15Bps\" latency=\"%.17gs\"/>\n", i,
                drawn.flow[i].latency_s);
    for (int i = 0; i < drawn.flows; i++) {
        fprintf(file, "<route src=\"from%d\" dst=\"to%d\" symmetrical=\"NO\">", i, i);
        for (int h = 0; h < drawn.flow[i].hops; h++)
            fprintf(file, "<link_ctn id=\"link%d\"/>", drawn.flow[i].route[h]);
        fprintf(file, "<link_ctn id=\"own%d\"/></route>\n", i);
    }
    fputs("</zone>\n</platform>\n", file);
}

/* One actor a flow: its number is the argument. */
static void send_flow(int argc, char *argv[]) {
    int index = argc > 1 ? atoi(argv[1]) : 0;
    struct drawn_flow *flow = &drawn.flow[index];
    char name[32];
    sg_actor_sleep_until(flow->start_s);
    (void)snprintf(name, sizeof name, "to%d", index);
    sg_host_sendto(sg_host_self(), sg_host_by_name(name), flow->bytes);
    flow->theirs_s = simgrid_get_clock();
}

static void run_theirs(void) {
    char path[] = "/tmp/rlhfsim-simgrid-XXXXXX.xml";
    int descriptor = mkstemps(path, 4);
    ck_assert_int_ge(descriptor, 0);
    FILE *file = fdopen(descriptor, "w");
    write_platform(file);
    ck_assert_int_eq(fclose(file), 0);
    simgrid_load_platform(path);
    (void)unlink(path);
    for (int i = 0; i < drawn.flows; i++) {
        char name[32], number[16];
        (void)snprintf(name, sizeof name, "from%d", i);
        (void)snprintf(number, sizeof number, "%d", i);
        char flow_name[] = "flow";
        char *const argv[] = {flow_name, number, NULL};
        sg_actor_start(sg_actor_init(flow_name, sg_host_by_name(name)), send_flow, 2, argv);
    }
    simgrid_run();
}

static void start_simgrid(void) {
    static char program[] = "test", model[] = "--cfg=network/model:CM02",
                cross[] = "--cfg=network/crosstraffic:0", gamma[] = "--cfg=network/TCP-gamma:0",
                latency[] = "--cfg=network/latency-factor:1",
                bandwidth[] = "--cfg=network/bandwidth-factor:1",
                weight[] = "--cfg=network/weight-S:0", solver[] = "--cfg=maxmin/precision:1e-12",
                clock_[] = "--cfg=surf/precision:1e-9", quiet[] = "--log=root.thresh:error";
    char *argv[] = {program, model,  cross,  gamma, latency, bandwidth,
                    weight,  solver, clock_, quiet, NULL};
    int argc = (int)(sizeof argv / sizeof *argv) - 1;
    simgrid_init(&argc, argv);
}

START_TEST(ends_are_simgrids) {
    draw_case((uint64_t)_i + 1);
    start_simgrid();
    run_theirs();
    run_ours();
    for (int i = 0; i < drawn.flows; i++) {
        const struct drawn_flow *flow = &drawn.flow[i];
        ck_assert_msg(fabs(flow->ours_s - flow->theirs_s) <= 1e-6 * flow->theirs_s,
                      "case %d, flow %d of %d: ours %.12g s, theirs %.12g s", _i, i, drawn.flows,
                      flow->ours_s, flow->theirs_s);
    }
}
END_TEST

static Suite *suite(void) {
    Suite *result = suite_create("sim.flow_simgrid");
    TCase *tests = tcase_create("random");
    tcase_add_loop_test(tests, ends_are_simgrids, 0, CASES);
    suite_add_tcase(result, tests);
    return result;
}

TESTING_MAIN(suite)

#endif
