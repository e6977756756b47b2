/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Flows come, wait for their latency, move and end. What is left of a flow is kept as (remaining,
 * rate, since) and brought up only when its rate changes. One calendar event stands for the next
 * end of all flows: ends are kept in an array that is scanned, which for thousands of flows is
 * cheaper than moving as many events at every new rate. Where all links of a flow are its own, its
 * rate is known at once and no solve is due; flow_solve.c has the rest.
 *
 * At an instant: flows that end leave their links, all of them, before any on_done is called, so
 * that what a callback starts meets the links as they are then.
 */

#include "sim/flow.h"

#include "sim/contract.h"
#include "sim/flow_solve.h"

#include <math.h>
#include <string.h>

/* ---- arrays ---------------------------------------------------------------------------------- */

/* For arrays of slots and link numbers. */
static bool reserve(struct sim *sim, uint32_t **array, uint32_t count, uint32_t *capacity) {
    void *block = *array;
    bool room = sim_array_reserve(sim, &block, count, capacity, sizeof **array);
    *array = block;
    return room;
}

void sim_flows_free(struct sim *sim) {
    struct sim_flows *flows = &sim->flows;
    for (uint32_t i = 0; flows->pool_ready && i < flows->pool.used; i++) {
        struct sim_flow *flow = sim_flow_at(sim, i);
        if (flow->more_hops != NULL)
            sim_reallocate(sim, flow->more_hops, flow->hop_count * sizeof *flow->more_hops, 0);
    }
    if (flows->pool_ready)
        sim_pool_free(&flows->pool);
    for (uint32_t i = 0; i < flows->link_count; i++) {
        struct sim_link *link = &flows->links[i];
        sim_reallocate(sim, link->crossings, link->room * sizeof *link->crossings, 0);
        sim_name_free(sim, link->name);
    }
    sim_reallocate(sim, flows->links, flows->link_capacity * sizeof *flows->links, 0);
    sim_reallocate(sim, flows->moving, flows->moving_capacity * sizeof *flows->moving, 0);
    sim_reallocate(sim, flows->ends, flows->ends_capacity * sizeof *flows->ends, 0);
    sim_reallocate(sim, flows->changed, flows->changed_capacity * sizeof *flows->changed, 0);
    sim_reallocate(sim, flows->ended, flows->ended_capacity * sizeof *flows->ended, 0);
    sim_flows_free_solver(sim);
}

/* ---- links ----------------------------------------------------------------------------------- */

enum sim_status sim_link_new(struct sim *sim, const char *name, double capacity, sim_link_id *id) {
    struct sim_flows *flows = &sim->flows;
    CONTRACT(capacity > 0.0 && isfinite(capacity), "a link carries something");
    void *links = flows->links;
    bool room = sim_array_reserve(sim, &links, flows->link_count, &flows->link_capacity,
                                  sizeof *flows->links);
    flows->links = links;
    char *copy = room ? sim_name_new(sim, name) : NULL;
    if (copy == NULL)
        return SIM_NO_MEMORY;
    flows->links[flows->link_count] =
        (struct sim_link){.capacity = capacity, .since = sim->now, .name = copy};
    *id = flows->link_count++;
    return SIM_OK;
}

static struct sim_link *link_at(const struct sim *sim, sim_link_id id) {
    CONTRACT(id < sim->flows.link_count, "there is no such link");
    return &sim->flows.links[id];
}

size_t sim_link_count(const struct sim *sim) {
    return sim->flows.link_count;
}

const char *sim_link_name(const struct sim *sim, sim_link_id id) {
    return link_at(sim, id)->name;
}

double sim_link_capacity(const struct sim *sim, sim_link_id id) {
    return link_at(sim, id)->capacity;
}

double sim_link_load(const struct sim *sim, sim_link_id id) {
    return link_at(sim, id)->load;
}

double sim_link_carried(const struct sim *sim, sim_link_id id) {
    const struct sim_link *link = link_at(sim, id);
    return link->carried + link->load * sim_time_to_s(sim->now - link->since);
}

/* ---- changes --------------------------------------------------------------------------------- */

static sim_event_func end_flows;

static void schedule_end(struct sim *sim) {
    struct sim_flows *flows = &sim->flows;
    sim_time first = SIM_TIME_MAX;
    for (uint32_t i = 0; i < flows->moving_count; i++)
        first = flows->ends[i] < first ? flows->ends[i] : first;
    if (first == SIM_TIME_MAX) {
        (void)sim_cancel(sim, flows->end_event);
        return;
    }
    if (!sim_move(sim, flows->end_event, first) &&
        sim_schedule(sim, first, SIM_PHASE_COMPLETION, end_flows, NULL, 0, &flows->end_event) !=
            SIM_OK)
        sim_fail(sim, SIM_NO_MEMORY);
}

static void solve(struct sim *sim, void *subject, uint64_t argument) {
    (void)subject;
    (void)argument;
    sim_flows_solve(sim);
    schedule_end(sim);
}

/* Once at the end of this instant. */
static void ask_for_solve(struct sim *sim) {
    struct sim_flows *flows = &sim->flows;
    if (sim_is_pending(sim, flows->solve_event))
        return;
    if (sim_schedule(sim, sim->now, SIM_PHASE_RATES, solve, NULL, 0, &flows->solve_event) != SIM_OK)
        sim_fail(sim, SIM_NO_MEMORY);
}

static void mark_changed(struct sim *sim, sim_link_id id) {
    struct sim_flows *flows = &sim->flows;
    struct sim_link *link = &flows->links[id];
    if (link->changed)
        return;
    if (!reserve(sim, &flows->changed, flows->changed_count, &flows->changed_capacity)) {
        sim_fail(sim, SIM_NO_MEMORY);
        return;
    }
    link->changed = true;
    flows->changed[flows->changed_count++] = id;
}

void sim_link_set_capacity(struct sim *sim, sim_link_id id, double capacity) {
    CONTRACT(capacity > 0.0 && isfinite(capacity), "a link carries something");
    link_at(sim, id)->capacity = capacity;
    mark_changed(sim, id);
    ask_for_solve(sim);
}

/* ---- flows on links -------------------------------------------------------------------------- */

static bool enter_link(struct sim *sim, uint32_t slot, uint32_t index) {
    struct sim_flow *flow = sim_flow_at(sim, slot);
    struct sim_hop *hop = &sim_flow_hops(flow)[index];
    struct sim_link *link = &sim->flows.links[hop->link];
    void *crossings = link->crossings;
    bool room =
        sim_array_reserve(sim, &crossings, link->count, &link->room, sizeof *link->crossings);
    link->crossings = crossings;
    if (!room)
        return false;
    hop->at = link->count;
    link->crossings[link->count++] = (struct sim_crossing){slot, index, flow->weight * hop->use};
    return true;
}

static void leave_link(struct sim *sim, const struct sim_hop *hop, double rate) {
    struct sim_link *link = &sim->flows.links[hop->link];
    struct sim_crossing last = link->crossings[--link->count];
    link->crossings[hop->at] = last;
    sim_flow_hops(sim_flow_at(sim, last.flow))[last.hop].at = hop->at;
    sim_link_settle(sim, link);
    link->load = link->count == 0 ? 0.0 : link->load - hop->use * rate;
}

static void leave_links(struct sim *sim, struct sim_flow *flow) {
    const struct sim_hop *hops = sim_flow_hops(flow);
    for (uint32_t i = 0; i < flow->hop_count; i++) {
        leave_link(sim, &hops[i], flow->rate);
        if (sim->flows.links[hops[i].link].count > 0)
            mark_changed(sim, hops[i].link);
    }
}

static bool is_private(const struct sim *sim, struct sim_flow *flow) {
    const struct sim_hop *hops = sim_flow_hops(flow);
    for (uint32_t i = 0; i < flow->hop_count; i++) {
        const struct sim_link *link = &sim->flows.links[hops[i].link];
        if (link->count > 1 || link->changed)
            return false;
    }
    return true;
}

/* ---- moving ---------------------------------------------------------------------------------- */

static void run_alone(struct sim *sim, struct sim_flow *flow) {
    const struct sim_hop *hops = sim_flow_hops(flow);
    flow->rate = sim_flow_private_rate(sim, flow);
    for (uint32_t i = 0; i < flow->hop_count; i++) {
        struct sim_link *link = &sim->flows.links[hops[i].link];
        sim_link_settle(sim, link);
        link->load = hops[i].use * flow->rate;
    }
    sim_flow_foresee(sim, flow);
}

static bool make_moving(struct sim *sim, uint32_t slot) {
    struct sim_flows *flows = &sim->flows;
    void *ends = flows->ends;
    bool room = reserve(sim, &flows->moving, flows->moving_count, &flows->moving_capacity) &&
                sim_array_reserve(sim, &ends, flows->moving_count, &flows->ends_capacity,
                                  sizeof *flows->ends);
    flows->ends = ends;
    if (!room)
        return false;
    sim_flow_at(sim, slot)->place = flows->moving_count;
    flows->moving[flows->moving_count] = slot;
    flows->ends[flows->moving_count++] = SIM_TIME_MAX;
    return true;
}

/* The latency is over: the flow takes its place on its links. */
static void begin(struct sim *sim, uint32_t slot) {
    struct sim_flow *flow = sim_flow_at(sim, slot);
    const struct sim_hop *hops = sim_flow_hops(flow);
    bool good = make_moving(sim, slot);
    for (uint32_t i = 0; good && i < flow->hop_count; i++)
        good = enter_link(sim, slot, i);
    if (!good) {
        sim_fail(sim, SIM_NO_MEMORY);
        return;
    }
    flow->state = SIM_FLOW_MOVING;
    flow->since = sim->now;
    if (is_private(sim, flow)) {
        run_alone(sim, flow);
    } else {
        for (uint32_t i = 0; i < flow->hop_count; i++)
            mark_changed(sim, hops[i].link);
    }
    ask_for_solve(sim); /* at the least, the next end may be another */
}

static void arrive(struct sim *sim, void *subject, uint64_t argument) {
    (void)subject;
    begin(sim, (uint32_t)argument);
}

/* ---- starting -------------------------------------------------------------------------------- */

static bool copy_hops(struct sim *sim, struct sim_flow *flow, const struct sim_flow_spec *spec) {
    if (spec->hop_count > SIM_FLOW_INLINE_HOPS) {
        flow->more_hops = sim_reallocate(sim, NULL, 0, spec->hop_count * sizeof *flow->more_hops);
        if (flow->more_hops == NULL)
            return false;
    }
    struct sim_hop *hops = sim_flow_hops(flow);
    for (uint32_t i = 0; i < spec->hop_count; i++) {
        sim_link_id link = spec->route != NULL ? spec->route[i] : spec->hops[i].link;
        hops[i] = (struct sim_hop){spec->route != NULL ? 1.0 : spec->hops[i].use, link, 0};
        CONTRACT(link < sim->flows.link_count && hops[i].use > 0.0, "a hop over a link that is");
    }
    flow->hop_count = spec->hop_count;
    return true;
}

/* A slot that was never used has no generation yet. */
static uint32_t take_slot(struct sim *sim) {
    struct sim_flows *flows = &sim->flows;
    if (!flows->pool_ready)
        sim_pool_init(&flows->pool, &sim->allocator, sizeof(struct sim_flow),
                      offsetof(struct sim_flow, next));
    flows->pool_ready = true;
    uint32_t used = flows->pool.used;
    uint32_t slot = sim_pool_take(&flows->pool);
    if (slot != SIM_NONE && slot == used)
        *sim_flow_at(sim, slot) = (struct sim_flow){.state = SIM_FLOW_ENDED};
    return slot;
}

static void give_slot(struct sim *sim, uint32_t slot) {
    struct sim_flow *flow = sim_flow_at(sim, slot);
    if (flow->more_hops != NULL)
        sim_reallocate(sim, flow->more_hops, flow->hop_count * sizeof *flow->more_hops, 0);
    flow->more_hops = NULL;
    flow->state = SIM_FLOW_ENDED;
    flow->generation++;
    sim->flows.unfinished--;
    sim_pool_give(&sim->flows.pool, slot);
}

static void check(const struct sim_flow_spec *spec) {
    CONTRACT(spec->amount >= 0.0 && isfinite(spec->amount), "an amount below 0");
    CONTRACT(spec->weight >= 0.0 && spec->cap >= 0.0, "a weight or a cap below 0");
    CONTRACT(spec->latency_ns >= 0, "a latency below 0");
    CONTRACT(spec->hop_count > 0 || spec->cap > 0.0, "nothing holds the flow");
}

enum sim_status sim_flow_start(struct sim *sim, const struct sim_flow_spec *spec, sim_flow_id *id) {
    check(spec);
    uint32_t slot = take_slot(sim);
    if (slot == SIM_NONE)
        return SIM_NO_MEMORY;
    struct sim_flow *flow = sim_flow_at(sim, slot);
    *flow = (struct sim_flow){.remaining = spec->amount,
                              .weight = spec->weight > 0.0 ? spec->weight : 1.0,
                              .cap = spec->cap > 0.0 ? spec->cap : (double)INFINITY,
                              .generation = flow->generation + 1,
                              .state = SIM_FLOW_WAITING,
                              .on_done = spec->on_done,
                              .subject = spec->subject,
                              .argument = spec->argument};
    sim->flows.unfinished++;
    enum sim_status status = copy_hops(sim, flow, spec) ? SIM_OK : SIM_NO_MEMORY;
    if (status == SIM_OK && spec->latency_ns > 0)
        status = sim_schedule(sim, sim_time_sum(sim->now, spec->latency_ns), SIM_PHASE_UPDATE,
                              arrive, NULL, slot, &flow->arrival);
    if (status != SIM_OK) {
        give_slot(sim, slot);
        return status;
    }
    if (id != NULL)
        *id = (sim_flow_id){slot, flow->generation};
    if (spec->latency_ns == 0)
        begin(sim, slot);
    return sim->failure;
}

/* ---- ending ---------------------------------------------------------------------------------- */

/* Takes those that end now out of the moving ones, whose order stays. */
static uint32_t collect_ended(struct sim *sim) {
    struct sim_flows *flows = &sim->flows;
    uint32_t kept = 0, ended = 0;
    for (uint32_t i = 0; i < flows->moving_count; i++) {
        uint32_t slot = flows->moving[i];
        if (flows->ends[i] <= sim->now) {
            if (!reserve(sim, &flows->ended, ended, &flows->ended_capacity)) {
                sim_fail(sim, SIM_NO_MEMORY);
                return 0;
            }
            flows->ended[ended++] = slot;
            continue;
        }
        flows->moving[kept] = slot;
        flows->ends[kept] = flows->ends[i];
        sim_flow_at(sim, slot)->place = kept++;
    }
    flows->moving_count = kept;
    return ended;
}

static void end_flows(struct sim *sim, void *subject, uint64_t argument) {
    (void)subject;
    (void)argument;
    uint32_t ended = collect_ended(sim);
    for (uint32_t i = 0; i < ended; i++)
        leave_links(sim, sim_flow_at(sim, sim->flows.ended[i]));
    for (uint32_t i = 0; i < ended; i++) {
        uint32_t slot = sim->flows.ended[i];
        struct sim_flow *flow = sim_flow_at(sim, slot);
        sim_flow_func *on_done = flow->on_done;
        void *of = flow->subject;
        uint64_t with = flow->argument;
        give_slot(sim, slot);
        if (on_done != NULL)
            on_done(sim, of, with);
    }
    ask_for_solve(sim);
}

static struct sim_flow *known(const struct sim *sim, sim_flow_id id) {
    if (!sim->flows.pool_ready || id.slot >= sim->flows.pool.used)
        return NULL;
    struct sim_flow *flow = sim_flow_at(sim, id.slot);
    return flow->generation == id.generation && flow->state != SIM_FLOW_ENDED ? flow : NULL;
}

static void take_out(struct sim_flows *flows, const struct sim *sim, uint32_t place) {
    for (uint32_t i = place + 1; i < flows->moving_count; i++) {
        flows->moving[i - 1] = flows->moving[i];
        flows->ends[i - 1] = flows->ends[i];
        sim_flow_at(sim, flows->moving[i - 1])->place = i - 1;
    }
    flows->moving_count--;
}

double sim_flow_cancel(struct sim *sim, sim_flow_id id) {
    struct sim_flow *flow = known(sim, id);
    if (flow == NULL)
        return 0.0;
    if (flow->state == SIM_FLOW_WAITING) {
        (void)sim_cancel(sim, flow->arrival);
    } else {
        sim_flow_settle(sim, flow);
        leave_links(sim, flow);
        take_out(&sim->flows, sim, flow->place);
        ask_for_solve(sim);
    }
    double left = fmax(flow->remaining, 0.0);
    give_slot(sim, id.slot);
    return left;
}

double sim_flow_rate(const struct sim *sim, sim_flow_id id) {
    const struct sim_flow *flow = known(sim, id);
    return flow == NULL ? 0.0 : flow->rate;
}

size_t sim_flows_unfinished(const struct sim *sim) {
    return sim->flows.unfinished;
}
