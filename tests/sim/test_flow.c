/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Flows on shared links: by hand, against the definition on random cases, rings by steps and as
 * coflows, conservation, memory. */
#include "sim/flow.h"

#include "sim/task.h"
#include "tests/oracle/max_min.h"
#include "tests/testing.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static sim_link_id link_of(struct sim *sim, double capacity) {
    sim_link_id id;
    ck_assert_int_eq(sim_link_new(sim, "wire", capacity, &id), SIM_OK);
    return id;
}

/* When a flow ended, in ns. */
static void note_end(struct sim *sim, void *subject, uint64_t argument) {
    sim_time *ends = subject;
    ends[argument] = sim_now(sim);
}

static sim_flow_id start(struct sim *sim, const sim_link_id *route, uint32_t hops, double amount,
                         sim_time *ends, uint64_t index) {
    sim_flow_id id;
    struct sim_flow_spec spec = {.route = route,
                                 .hop_count = hops,
                                 .amount = amount,
                                 .on_done = note_end,
                                 .subject = ends,
                                 .argument = index};
    ck_assert_int_eq(sim_flow_start(sim, &spec, &id), SIM_OK);
    return id;
}

/* ---- by hand --------------------------------------------------------------------------------- */

/* 100 a second: A of 100 alone for 0.5 s, then with B of 25 at 50 each: B ends at 1.0 s; A has 25
 * left and ends at 1.25 s. */
START_TEST(two_share_a_link) {
    struct sim *sim = sim_new(NULL);
    sim_link_id wire = link_of(sim, 100.0);
    sim_time ends[2] = {0};
    (void)start(sim, &wire, 1, 100.0, ends, 0);
    struct sim_flow_spec late = {.route = &wire,
                                 .hop_count = 1,
                                 .amount = 25.0,
                                 .latency_ns = 500000000,
                                 .on_done = note_end,
                                 .subject = ends,
                                 .argument = 1};
    ck_assert_int_eq(sim_flow_start(sim, &late, NULL), SIM_OK);
    ck_assert_int_eq(sim_run(sim, SIM_TIME_MAX), SIM_OK);
    ck_assert_int_eq(ends[1], 1000000000);
    ck_assert_int_eq(ends[0], 1250000000);
    assert_relative(sim_link_carried(sim, wire), 125.0, 1e-12);
    ck_assert_uint_eq(sim_flows_unfinished(sim), 0);
    sim_free(sim);
}
END_TEST

static void check_uses(struct sim *sim, void *subject, uint64_t argument) {
    (void)argument;
    const sim_flow_id *ids = subject;
    /* c uses the narrow link of 40 four times: 10, which is 20 on the wide one; 70 are left for a
     * and b, whose weight is 2. */
    assert_relative(sim_flow_rate(sim, ids[0]), 70.0 / 3, 1e-12);
    assert_relative(sim_flow_rate(sim, ids[1]), 140.0 / 3, 1e-12);
    assert_relative(sim_flow_rate(sim, ids[2]), 10.0, 1e-12);
    assert_relative(sim_link_load(sim, 0), 90.0, 1e-12);
    assert_relative(sim_link_load(sim, 1), 40.0, 1e-12);
}

/* c is held to 20 by its own cap, so 70 are left for a and b: 23.3 and 46.7. */
static void check_cap(struct sim *sim, void *subject, uint64_t argument) {
    (void)argument;
    const sim_flow_id *ids = subject;
    assert_relative(sim_flow_rate(sim, ids[0]), 70.0 / 3, 1e-12);
    assert_relative(sim_flow_rate(sim, ids[1]), 140.0 / 3, 1e-12);
    assert_relative(sim_flow_rate(sim, ids[2]), 20.0, 1e-12);
    assert_relative(sim_link_load(sim, 0), 90.0, 1e-12);
    assert_relative(sim_link_load(sim, 1), 20.0, 1e-12);
}

static void run_three(double wide_use, double narrow_use, double cap, sim_event_func *check) {
    struct sim *sim = sim_new(NULL);
    sim_link_id wide = link_of(sim, 90.0), narrow = link_of(sim, 40.0);
    sim_flow_id ids[3];
    struct sim_flow_hop one[] = {{wide, 1.0}}, two[] = {{wide, wide_use}, {narrow, narrow_use}};
    struct sim_flow_spec specs[] = {{.hops = one, .hop_count = 1, .amount = 1e6},
                                    {.hops = one, .hop_count = 1, .amount = 1e6, .weight = 2.0},
                                    {.hops = two, .hop_count = 2, .amount = 1e6, .cap = cap}};
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(sim_flow_start(sim, &specs[i], &ids[i]), SIM_OK);
    ck_assert_int_eq(sim_schedule(sim, 1, SIM_PHASE_UPDATE, check, ids, 0, NULL), SIM_OK);
    ck_assert_int_eq(sim_run(sim, 2), SIM_OK);
    sim_free(sim);
}

START_TEST(weights_uses_and_caps) {
    run_three(2.0, 4.0, 0.0, check_uses);
    run_three(1.0, 1.0, 20.0, check_cap);
}
END_TEST

START_TEST(caps_without_links_and_nothing_to_move) {
    struct sim *sim = sim_new(NULL);
    sim_link_id wire = link_of(sim, 10.0);
    sim_time ends[2] = {0};
    struct sim_flow_spec alone = {
        .amount = 30.0, .cap = 20.0, .on_done = note_end, .subject = ends, .latency_ns = 7};
    ck_assert_int_eq(sim_flow_start(sim, &alone, NULL), SIM_OK);
    struct sim_flow_spec empty = {.route = &wire,
                                  .hop_count = 1,
                                  .latency_ns = 5,
                                  .on_done = note_end,
                                  .subject = ends,
                                  .argument = 1};
    ck_assert_int_eq(sim_flow_start(sim, &empty, NULL), SIM_OK);
    ck_assert_int_eq(sim_run(sim, SIM_TIME_MAX), SIM_OK);
    ck_assert_int_eq(ends[0], 1500000007);
    ck_assert_int_eq(ends[1], 5);
    sim_free(sim);
}
END_TEST

static void cancel_first(struct sim *sim, void *subject, uint64_t argument) {
    (void)argument;
    sim_flow_id *id = subject;
    assert_relative(sim_flow_cancel(sim, *id), 75.0, 1e-12);
    ck_assert_double_eq(sim_flow_cancel(sim, *id), 0.0); /* stale */
    ck_assert_double_eq(sim_flow_rate(sim, *id), 0.0);
}

static void widen(struct sim *sim, void *subject, uint64_t argument) {
    (void)argument;
    sim_link_set_capacity(sim, *(sim_link_id *)subject, 200.0);
}

/* Two of 100 at 50 each; at 0.5 s the first is cancelled with 75 left, the second runs at 100, and
 * from 0.75 s on, with 50 left, at 200: it ends at 1.0 s. */
START_TEST(cancelled_and_widened) {
    struct sim *sim = sim_new(NULL);
    sim_link_id wire = link_of(sim, 100.0);
    sim_time ends[2] = {0};
    sim_flow_id first = start(sim, &wire, 1, 100.0, ends, 0);
    (void)start(sim, &wire, 1, 100.0, ends, 1);
    ck_assert_int_eq(sim_schedule(sim, 500000000, SIM_PHASE_UPDATE, cancel_first, &first, 0, NULL),
                     SIM_OK);
    ck_assert_int_eq(sim_schedule(sim, 750000000, SIM_PHASE_UPDATE, widen, &wire, 0, NULL), SIM_OK);
    ck_assert_int_eq(sim_run(sim, SIM_TIME_MAX), SIM_OK);
    ck_assert_int_eq(ends[0], 0);
    ck_assert_int_eq(ends[1], 1000000000);
    sim_free(sim);
}
END_TEST

/* ---- random cases against the definition ------------------------------------------------------
 */

static uint64_t draw(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static double uniform(uint64_t *state) {
    return (double)(draw(state) >> 11) * 0x1p-53;
}

#define MOST_LINKS 24
#define MOST_FLOWS 40

struct random_case {
    size_t links, flows;
    double capacity[MOST_LINKS];
    struct max_min_flow flow[MOST_FLOWS];
    sim_flow_id ids[MOST_FLOWS];
};

static void draw_case(struct random_case *c, uint64_t *state) {
    memset(c, 0, sizeof *c);
    c->links = 1 + draw(state) % MOST_LINKS;
    c->flows = 1 + draw(state) % MOST_FLOWS;
    for (size_t l = 0; l < c->links; l++) /* many equal ones: ties are the normal case */
        c->capacity[l] = draw(state) % 2 == 0 ? 100.0 : exp(10.0 * uniform(state));
    for (size_t i = 0; i < c->flows; i++) {
        struct max_min_flow *flow = &c->flow[i];
        flow->weight = draw(state) % 2 == 0 ? 1.0 : exp(4.0 * uniform(state) - 2.0);
        flow->cap = draw(state) % 3 == 0 ? exp(8.0 * uniform(state) - 1.0) : 0.0;
        for (size_t l = 0; l < c->links && flow->hops < 6; l++)
            if (draw(state) % c->links < 3) {
                flow->link[flow->hops] = l;
                flow->use[flow->hops++] =
                    draw(state) % 2 == 0 ? 1.0 : exp(2.0 * uniform(state) - 1.0);
            }
        if (flow->hops == 0 && flow->cap == 0.0)
            flow->cap = 5.0;
    }
}

static void start_case(struct sim *sim, struct random_case *c) {
    for (size_t l = 0; l < c->links; l++)
        (void)link_of(sim, c->capacity[l]);
    for (size_t i = 0; i < c->flows; i++) {
        struct sim_flow_hop hops[16];
        for (size_t h = 0; h < c->flow[i].hops; h++)
            hops[h] = (struct sim_flow_hop){(sim_link_id)c->flow[i].link[h], c->flow[i].use[h]};
        struct sim_flow_spec spec = {.hops = hops,
                                     .hop_count = (uint32_t)c->flow[i].hops,
                                     .amount = 1e6,
                                     .weight = c->flow[i].weight,
                                     .cap = c->flow[i].cap};
        ck_assert_int_eq(sim_flow_start(sim, &spec, &c->ids[i]), SIM_OK);
    }
    ck_assert_int_eq(sim_run(sim, 0), SIM_OK); /* to the end of the first instant */
}

static void assert_feasible(const struct sim *sim, const struct random_case *c, uint64_t seed) {
    for (size_t l = 0; l < c->links; l++) {
        double load = 0.0;
        for (size_t i = 0; i < c->flows; i++)
            for (size_t h = 0; h < c->flow[i].hops; h++)
                if (c->flow[i].link[h] == l)
                    load += c->flow[i].use[h] * sim_flow_rate(sim, c->ids[i]);
        ck_assert_msg(load <= c->capacity[l] * (1 + 1e-9), "seed %llu: link %zu has %.17g of %.17g",
                      (unsigned long long)seed, l, load, c->capacity[l]);
        ck_assert(fabs(load - sim_link_load(sim, (sim_link_id)l)) <= 1e-9 * c->capacity[l]);
    }
}

/* At its cap, or on a full link where no other has a higher rate for its weight. */
static bool is_held(const struct sim *sim, const struct random_case *c, size_t which) {
    const struct max_min_flow *flow = &c->flow[which];
    double rate = sim_flow_rate(sim, c->ids[which]), level = rate / flow->weight;
    if (flow->cap > 0.0 && rate >= flow->cap * (1 - 1e-9))
        return true;
    for (size_t h = 0; h < flow->hops; h++) {
        size_t l = flow->link[h];
        bool highest = true;
        for (size_t i = 0; i < c->flows; i++)
            for (size_t g = 0; g < c->flow[i].hops; g++)
                if (c->flow[i].link[g] == l &&
                    sim_flow_rate(sim, c->ids[i]) / c->flow[i].weight > level * (1 + 1e-9))
                    highest = false;
        if (highest && sim_link_load(sim, (sim_link_id)l) >= c->capacity[l] * (1 - 1e-9))
            return true;
    }
    return false;
}

START_TEST(ten_thousand_random_cases) {
    for (uint64_t seed = 1; seed <= 10000; seed++) {
        struct random_case c;
        uint64_t state = seed;
        struct sim *sim = sim_new(NULL);
        draw_case(&c, &state);
        start_case(sim, &c);
        assert_feasible(sim, &c, seed);
        max_min_rates(c.capacity, c.links, c.flow, c.flows);
        for (size_t i = 0; i < c.flows; i++) {
            ck_assert_msg(is_held(sim, &c, i), "seed %llu: flow %zu could be faster",
                          (unsigned long long)seed, i);
            assert_relative(sim_flow_rate(sim, c.ids[i]), c.flow[i].rate, 1e-9);
        }
        sim_free(sim);
    }
}
END_TEST

/* ---- a traffic that comes and goes ------------------------------------------------------------
 */

/* A hold model: each flow that ends starts another. Rates are compared with the definition at every
 * end, so that what is solved only in part is held against the whole. */
struct traffic {
    uint64_t state;
    size_t left;
    double moved;
    struct random_case *c;
    size_t of[MOST_FLOWS];
};

static void start_next(struct sim *sim, struct traffic *traffic, size_t place);

static void start_another(struct sim *sim, void *subject, uint64_t place) {
    struct traffic *traffic = subject;
    if (traffic->left > 0) {
        traffic->left--;
        start_next(sim, traffic, place);
    } else {
        traffic->c->flow[place].hops = 0;
        traffic->c->flow[place].cap = 1.0;
    }
}

static void start_next(struct sim *sim, struct traffic *traffic, size_t place) {
    struct max_min_flow *flow = &traffic->c->flow[place];
    sim_link_id route[3];
    *flow = (struct max_min_flow){.weight = 1.0};
    for (size_t l = draw(&traffic->state) % 4; l < traffic->c->links && flow->hops < 3;
         l += 1 + draw(&traffic->state) % 9) {
        route[flow->hops] = (sim_link_id)l;
        flow->link[flow->hops] = l;
        flow->use[flow->hops++] = 1.0;
    }
    double amount = -50.0 * log(1.0 - uniform(&traffic->state));
    traffic->moved += amount * (double)flow->hops;
    struct sim_flow_spec spec = {.route = route,
                                 .hop_count = (uint32_t)flow->hops,
                                 .amount = amount,
                                 .latency_ns = (sim_time)(draw(&traffic->state) % 3),
                                 .on_done = start_another,
                                 .subject = traffic,
                                 .argument = place};
    ck_assert_int_eq(sim_flow_start(sim, &spec, &traffic->c->ids[place]), SIM_OK);
}

START_TEST(traffic_by_components_is_traffic_as_a_whole) {
    struct random_case c = {.links = 16, .flows = 20};
    struct traffic traffic = {.state = 77, .left = 500, .c = &c};
    struct sim *sim = sim_new(NULL);
    for (size_t l = 0; l < c.links; l++) {
        c.capacity[l] = 10.0 + (double)l;
        (void)link_of(sim, c.capacity[l]);
    }
    for (size_t i = 0; i < c.flows; i++)
        start_next(sim, &traffic, i);
    sim_time last = -1;
    while (sim_flows_unfinished(sim) > 0 && sim_step(sim)) {
        if (sim_now(sim) == last)
            continue;
        last = sim_now(sim);
        ck_assert_int_eq(sim_run(sim, last), SIM_OK); /* the rest of the instant */
        bool waiting = false;
        for (size_t i = 0; i < c.flows; i++)
            waiting = waiting || (c.flow[i].hops > 0 && sim_flow_rate(sim, c.ids[i]) == 0.0);
        if (waiting)
            continue; /* one is in its latency */
        max_min_rates(c.capacity, c.links, c.flow, c.flows);
        for (size_t i = 0; i < c.flows; i++)
            if (c.flow[i].hops > 0)
                assert_relative(sim_flow_rate(sim, c.ids[i]), c.flow[i].rate, 1e-9);
    }
    /* What was carried is what was moved, but for the nanosecond to which ends are rounded up. */
    double carried = 0.0;
    for (size_t l = 0; l < c.links; l++)
        carried += sim_link_carried(sim, (sim_link_id)l);
    assert_relative(carried, traffic.moved, 1e-6);
    sim_free(sim);
}
END_TEST

/* ---- rings ----------------------------------------------------------------------------------- */

struct ring {
    sim_link_id *links;
    uint32_t size, steps, *step; /* of each member */
    double chunk;
    sim_time latency_ns, end;
};

static void send(struct sim *sim, struct ring *ring, uint32_t from);

/* Who has received a chunk sends on what it holds, until all steps are done. */
static void receive(struct sim *sim, void *subject, uint64_t from) {
    struct ring *ring = subject;
    uint32_t to = ((uint32_t)from + 1) % ring->size;
    ring->end = sim_now(sim);
    if (++ring->step[to] < ring->steps)
        send(sim, ring, to);
}

static void send(struct sim *sim, struct ring *ring, uint32_t from) {
    struct sim_flow_spec spec = {.route = &ring->links[from],
                                 .hop_count = 1,
                                 .amount = ring->chunk,
                                 .latency_ns = ring->latency_ns,
                                 .on_done = receive,
                                 .subject = ring,
                                 .argument = from};
    ck_assert_int_eq(sim_flow_start(sim, &spec, NULL), SIM_OK);
}

static sim_time ring_by_steps(uint32_t size, double bytes, double capacity, sim_time latency_ns) {
    struct sim *sim = sim_new(NULL);
    struct ring ring = {.links = calloc(size, sizeof(sim_link_id)),
                        .step = calloc(size, sizeof(uint32_t)),
                        .size = size,
                        .steps = 2 * (size - 1),
                        .chunk = bytes / size,
                        .latency_ns = latency_ns};
    for (uint32_t i = 0; i < size; i++)
        ring.links[i] = link_of(sim, capacity);
    for (uint32_t i = 0; i < size; i++)
        send(sim, &ring, i);
    ck_assert_int_eq(sim_run(sim, SIM_TIME_MAX), SIM_OK);
    free(ring.links);
    free(ring.step);
    sim_free(sim);
    return ring.end;
}

static sim_time ring_as_coflow(uint32_t size, double bytes, double capacity, sim_time latency_ns) {
    struct sim *sim = sim_new(NULL);
    sim_time end = 0;
    struct sim_flow_hop *hops = calloc(size, sizeof *hops);
    for (uint32_t i = 0; i < size; i++)
        hops[i] = (struct sim_flow_hop){link_of(sim, capacity), 2.0 * (size - 1) / size};
    struct sim_flow_spec spec = {.hops = hops,
                                 .hop_count = size,
                                 .amount = bytes,
                                 .latency_ns = 2 * (size - 1) * latency_ns,
                                 .on_done = note_end,
                                 .subject = &end};
    ck_assert_int_eq(sim_flow_start(sim, &spec, NULL), SIM_OK);
    ck_assert_int_eq(sim_run(sim, SIM_TIME_MAX), SIM_OK);
    free(hops);
    sim_free(sim);
    return end;
}

/* Patarasuk and Yuan: 2 (n-1)/n of the bytes over a link, 2 (n-1) latencies. Steps are rounded up
 * to nanoseconds, 2 (n-1) times. */
START_TEST(a_ring_by_steps_is_its_closed_form_and_its_coflow) {
    static const uint32_t sizes[] = {2, 3, 8, 64, 200};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint32_t n = sizes[i];
        double bytes = 1e9, capacity = 50e9, closed = 2.0 * (n - 1) / n * bytes / capacity;
        sim_time steps = ring_by_steps(n, bytes, capacity, 4000);
        sim_time coflow = ring_as_coflow(n, bytes, capacity, 4000);
        sim_time expected = sim_time_from_s(closed) + 2 * (n - 1) * 4000;
        ck_assert_int_ge(steps, expected);
        ck_assert_int_le(steps, expected + 2 * (n - 1));
        ck_assert(llabs(coflow - expected) <= 1);
    }
}
END_TEST

/* ---- memory ---------------------------------------------------------------------------------- */

struct counting {
    size_t blocks, calls, refuse_from; /* 0: never */
};

static void *counted(void *subject, void *block, size_t old_size, size_t new_size) {
    struct counting *counting = subject;
    (void)old_size;
    counting->calls++;
    if (new_size == 0) {
        counting->blocks -= block != NULL;
        free(block);
        return NULL;
    }
    if (counting->refuse_from > 0 && counting->calls >= counting->refuse_from)
        return NULL;
    counting->blocks += block == NULL;
    return realloc(block, new_size);
}

struct repeat {
    sim_link_id route[2];
    size_t left, calls_at_half;
    struct counting *counting;
};

static void repeat(struct sim *sim, void *subject, uint64_t argument) {
    struct repeat *r = subject;
    (void)argument;
    if (r->left == 500)
        r->calls_at_half = r->counting->calls;
    if (r->left == 0)
        return;
    r->left--;
    struct sim_flow_spec spec = {
        .route = r->route, .hop_count = 2, .amount = 10.0, .on_done = repeat, .subject = r};
    (void)sim_flow_start(sim, &spec, NULL);
}

START_TEST(nothing_is_allocated_once_it_runs) {
    struct counting counting = {0};
    struct sim_allocator allocator = {counted, &counting};
    struct sim *sim = sim_new(&allocator);
    struct repeat r = {.left = 1000, .counting = &counting};
    r.route[0] = link_of(sim, 5.0);
    r.route[1] = link_of(sim, 7.0);
    for (int i = 0; i < 3; i++)
        repeat(sim, &r, 0);
    ck_assert_int_eq(sim_run(sim, SIM_TIME_MAX), SIM_OK);
    ck_assert_uint_eq(counting.calls, r.calls_at_half);
    sim_free(sim);
    ck_assert_uint_eq(counting.blocks, 0);
}
END_TEST

/* Whichever allocation is refused: a status, and everything is given back. */
START_TEST(memory_that_runs_out) {
    bool whole = false;
    for (size_t refused = 1; !whole; refused++) {
        struct counting counting = {.refuse_from = refused};
        struct sim_allocator allocator = {counted, &counting};
        struct sim *sim = sim_new(&allocator);
        sim_link_id route[6];
        enum sim_status status = sim == NULL ? SIM_NO_MEMORY : SIM_OK;
        for (int i = 0; i < 6 && status == SIM_OK; i++)
            status = sim_link_new(sim, "wire", 3.0, &route[i]);
        for (int i = 0; i < 4 && status == SIM_OK; i++) {
            struct sim_flow_spec spec = {.route = route,
                                         .hop_count = (uint32_t)(i % 2 == 0 ? 2 : 6),
                                         .amount = 1.0 + i,
                                         .latency_ns = i / 2};
            status = sim_flow_start(sim, &spec, NULL);
        }
        if (status == SIM_OK)
            status = sim_run(sim, SIM_TIME_MAX);
        whole = status == SIM_OK;
        ck_assert(status == SIM_OK || status == SIM_NO_MEMORY);
        sim_free(sim);
        ck_assert_uint_eq(counting.blocks, 0);
        ck_assert_uint_lt(refused, 1000);
    }
}
END_TEST

static Suite *suite(void) {
    Suite *result = suite_create("sim.flow");
    TCase *hand = tcase_create("by hand");
    tcase_add_test(hand, two_share_a_link);
    tcase_add_test(hand, weights_uses_and_caps);
    tcase_add_test(hand, caps_without_links_and_nothing_to_move);
    tcase_add_test(hand, cancelled_and_widened);
    suite_add_tcase(result, hand);
    TCase *random = tcase_create("random");
    tcase_add_test(random, ten_thousand_random_cases);
    tcase_add_test(random, traffic_by_components_is_traffic_as_a_whole);
    tcase_set_timeout(random, 120);
    suite_add_tcase(result, random);
    TCase *rings = tcase_create("rings");
    tcase_add_test(rings, a_ring_by_steps_is_its_closed_form_and_its_coflow);
    suite_add_tcase(result, rings);
    TCase *memory = tcase_create("memory");
    tcase_add_test(memory, nothing_is_allocated_once_it_runs);
    tcase_add_test(memory, memory_that_runs_out);
    suite_add_tcase(result, memory);
    return result;
}

TESTING_MAIN(suite)
