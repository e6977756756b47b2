/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Max-min fair rates by filling (Bertsekas and Gallager, "Data Networks", 1992, section 6.5.2): the
 * level x rises from 0 for all flows at once, each at rate weight x; the first link to be full, or
 * the first cap to be met, stops its flows there, and the level rises for the others.
 *
 * A link with `left` of its capacity and `weight` of flows that still rise (each weight x use) is
 * full at left / weight. Both change as other flows stop, and then the level only rises: links wait
 * in a heap under the level that they had when they were put there, and one that comes out too
 * early goes back. So a solve costs flows x hops x log links, where a scan of all links at every
 * level costs levels x links.
 *
 * Only what is joined to a changed link is looked at: from there over its flows to their links, and
 * so on. Below about one flow a host that is a handful, above it nearly everything.
 */

#include "sim/flow_solve.h"
#include "sim/contract.h"

#include <math.h>
#include <string.h>

/* Keys: the bits of the level, which is not negative and so ordered as a number is, above the id of
 * a link, or of a flow with a limit. */
#define LIMITED UINT32_C(0x80000000)
#define ID_BITS 32
#define CHILDREN 4u

static bool reserve(struct sim *sim, uint32_t **array, uint32_t count, uint32_t *capacity) {
    void *block = *array;
    bool room = sim_array_reserve(sim, &block, count, capacity, sizeof **array);
    *array = block;
    return room;
}

void sim_flows_free_solver(struct sim *sim) {
    struct sim_flows *flows = &sim->flows;
    sim_reallocate(sim, flows->met_links, flows->met_links_capacity * sizeof *flows->met_links, 0);
    sim_reallocate(sim, flows->met_flows, flows->met_flows_capacity * sizeof *flows->met_flows, 0);
    sim_reallocate(sim, flows->heap, flows->heap_capacity * sizeof *flows->heap, 0);
}

double sim_flow_private_rate(const struct sim *sim, struct sim_flow *flow) {
    const struct sim_hop *hops = sim_flow_hops(flow);
    double rate = flow->cap;
    for (uint32_t i = 0; i < flow->hop_count; i++)
        rate = fmin(rate, sim->flows.links[hops[i].link].capacity / hops[i].use);
    return rate;
}

/* ---- the heap -------------------------------------------------------------------------------- */

static sim_wide key_of(double level, uint32_t id) {
    uint64_t bits;
    memcpy(&bits, &level, sizeof bits);
    return (sim_wide)bits << ID_BITS | id;
}

static double level_of(sim_wide key) {
    uint64_t bits = (uint64_t)(key >> ID_BITS);
    double level;
    memcpy(&level, &bits, sizeof level);
    return level;
}

static bool push(struct sim *sim, double level, uint32_t id) {
    struct sim_flows *flows = &sim->flows;
    sim_wide key = key_of(level, id);
    void *block = flows->heap;
    bool room =
        sim_array_reserve(sim, &block, flows->heap_count, &flows->heap_capacity, sizeof key);
    flows->heap = block;
    if (!room)
        return false;
    uint32_t at = flows->heap_count++;
    for (; at > 0 && key < flows->heap[(at - 1) / CHILDREN]; at = (at - 1) / CHILDREN)
        flows->heap[at] = flows->heap[(at - 1) / CHILDREN];
    flows->heap[at] = key;
    return true;
}

/* Puts a key into the hole at the top. */
static void sift_down(struct sim_flows *flows, sim_wide key) {
    sim_wide *heap = flows->heap;
    uint32_t at = 0, count = flows->heap_count;
    for (;;) {
        uint32_t child = CHILDREN * at + 1, least = child;
        if (child >= count)
            break;
        for (uint32_t other = child + 1; other < child + CHILDREN && other < count; other++)
            least = heap[other] < heap[least] ? other : least;
        if (heap[least] >= key)
            break;
        heap[at] = heap[least];
        at = least;
    }
    heap[at] = key;
}

static void drop_top(struct sim_flows *flows) {
    sim_wide last = flows->heap[--flows->heap_count];
    if (flows->heap_count > 0)
        sift_down(flows, last);
}

/* ---- who is joined to whom ------------------------------------------------------------------- */

/* The links and flows of the components, in the order in which they are met. */
struct met {
    uint32_t links, flows;
};

static bool meet_link(struct sim *sim, struct met *met, sim_link_id id) {
    struct sim_flows *flows = &sim->flows;
    if (flows->links[id].visited == flows->solves)
        return true;
    if (!reserve(sim, &flows->met_links, met->links, &flows->met_links_capacity))
        return false;
    flows->links[id].visited = flows->solves;
    flows->met_links[met->links++] = id;
    return true;
}

static bool meet_flow(struct sim *sim, struct met *met, uint32_t slot) {
    struct sim_flows *flows = &sim->flows;
    struct sim_flow *flow = sim_flow_at(sim, slot);
    const struct sim_hop *hops = sim_flow_hops(flow);
    if (flow->visited == flows->solves)
        return true;
    if (!reserve(sim, &flows->met_flows, met->flows, &flows->met_flows_capacity))
        return false;
    flow->visited = flows->solves;
    flow->rated = false;
    flow->limit = flow->cap;
    flows->met_flows[met->flows++] = slot;
    for (uint32_t i = 0; i < flow->hop_count; i++)
        if (!meet_link(sim, met, hops[i].link))
            return false;
    return true;
}

static bool meet_all(struct sim *sim, struct met *met) {
    struct sim_flows *flows = &sim->flows;
    flows->solves++;
    for (uint32_t i = 0; i < flows->changed_count; i++) {
        flows->links[flows->changed[i]].changed = false;
        if (!meet_link(sim, met, flows->changed[i]))
            return false;
    }
    flows->changed_count = 0;
    for (uint32_t i = 0; i < met->links; i++) {
        const struct sim_link *link = &flows->links[flows->met_links[i]];
        for (uint32_t j = 0; j < link->count; j++)
            if (!meet_flow(sim, met, link->crossings[j].flow))
                return false;
    }
    return true;
}

/* ---- filling --------------------------------------------------------------------------------- */

/* Gives its capacity back. A link with one flow is a limit of that flow, and needs no place in the
 * heap. */
static void empty_link(struct sim *sim, struct sim_link *link) {
    link->left = link->capacity;
    link->weight = 0.0;
    link->open = link->count;
    for (uint32_t i = 0; i < link->count; i++)
        link->weight += link->crossings[i].demand;
    if (link->count != 1)
        return;
    struct sim_flow *flow = sim_flow_at(sim, link->crossings[0].flow);
    double use = sim_flow_hops(flow)[link->crossings[0].hop].use;
    flow->limit = fmin(flow->limit, link->capacity / use);
}

static bool fill_heap(struct sim *sim, const struct met *met) {
    struct sim_flows *flows = &sim->flows;
    bool good = true;
    flows->heap_count = 0;
    for (uint32_t i = 0; good && i < met->links; i++) {
        struct sim_link *link = &flows->links[flows->met_links[i]];
        empty_link(sim, link);
        if (link->count > 1)
            good = push(sim, link->left / link->weight, flows->met_links[i]);
    }
    for (uint32_t i = 0; good && i < met->flows; i++) {
        const struct sim_flow *flow = sim_flow_at(sim, flows->met_flows[i]);
        if (isfinite(flow->limit))
            good = push(sim, flow->limit / flow->weight, flows->met_flows[i] | LIMITED);
    }
    return good;
}

static void give_rate(struct sim *sim, struct sim_flow *flow, double rate) {
    const struct sim_hop *hops = sim_flow_hops(flow);
    sim_flow_settle(sim, flow);
    flow->rate = rate;
    flow->rated = true;
    sim->flows.rising--;
    for (uint32_t i = 0; i < flow->hop_count; i++) {
        struct sim_link *link = &sim->flows.links[hops[i].link];
        link->left = fmax(link->left - hops[i].use * rate, 0.0);
        link->weight -= hops[i].use * flow->weight;
        link->open--;
    }
    sim_flow_foresee(sim, flow);
}

/* All that still rise on a full link stop at its level. */
static void close_link(struct sim *sim, const struct sim_link *link, double level) {
    for (uint32_t i = 0; i < link->count; i++) {
        struct sim_flow *flow = sim_flow_at(sim, link->crossings[i].flow);
        if (!flow->rated)
            give_rate(sim, flow, flow->weight * level);
    }
}

/* What the top of the heap stands for stops rising, or goes back to its present level. */
static void take_top(struct sim *sim) {
    struct sim_flows *flows = &sim->flows;
    uint32_t id = (uint32_t)flows->heap[0];
    double top = level_of(flows->heap[0]);
    if ((id & LIMITED) != 0) {
        struct sim_flow *flow = sim_flow_at(sim, id & ~LIMITED);
        drop_top(flows);
        if (!flow->rated)
            give_rate(sim, flow, flow->limit);
        return;
    }
    const struct sim_link *link = &flows->links[id];
    double level = link->open > 0 ? link->left / link->weight : 0.0;
    if (level > top) {
        sift_down(flows, key_of(level, id));
        return;
    }
    drop_top(flows);
    if (link->open > 0)
        close_link(sim, link, top);
}

void sim_flows_solve(struct sim *sim) {
    struct sim_flows *flows = &sim->flows;
    struct met met = {0};
    if (flows->changed_count == 0)
        return;
    if (!meet_all(sim, &met) || !fill_heap(sim, &met)) {
        sim_fail(sim, SIM_NO_MEMORY);
        return;
    }
    flows->rising = met.flows;
    while (flows->rising > 0)
        take_top(sim);
    for (uint32_t i = 0; i < met.links; i++) {
        struct sim_link *link = &flows->links[flows->met_links[i]];
        sim_link_settle(sim, link);
        link->load = link->count == 0 ? 0.0 : link->capacity - link->left;
    }
}
