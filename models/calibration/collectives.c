/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/calibration/collectives.h"

#include "models/calibration/pattern_search.h"
#include "models/validation/statistics.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define MIB 1048576.0
#define NONE SIZE_MAX
#define FEWEST_ERRORS 10

/* ---- the cases ------------------------------------------------------------------------------- */

bool collective_fit_start(struct collective_fit *fit, const struct catalog *catalog) {
    *fit = (struct collective_fit){0};
    while (catalog_name_at(catalog, CATALOG_FABRICS, fit->fabric_count) != NULL)
        fit->fabric_count++;
    fit->fabrics = base_arena_allocate(&fit->arena, (fit->fabric_count + 1) * sizeof *fit->fabrics);
    for (size_t i = 0; i < fit->fabric_count && fit->fabrics != NULL; i++) {
        const char *name = catalog_name_at(catalog, CATALOG_FABRICS, i);
        fit->fabrics[i] =
            (struct calibration_fabric){.fabric = *catalog_fabric(catalog, name), .name = name};
    }
    return fit->fabrics != NULL;
}

void collective_fit_release(struct collective_fit *fit) {
    free(fit->cases);
    base_arena_release(&fit->arena);
    *fit = (struct collective_fit){0};
}

static size_t index_of_name(const struct collective_fit *fit, const char *name) {
    for (size_t i = 0; i < fit->fabric_count; i++)
        if (strcmp(fit->fabrics[i].name, name) == 0)
            return i;
    return NONE;
}

static size_t index_of(const struct collective_fit *fit, const struct catalog_fabric *fabric) {
    return fabric == NULL ? NONE : index_of_name(fit, fabric->fabric.name);
}

static bool make_room(struct collective_fit *fit) {
    if (fit->case_count < fit->room)
        return true;
    size_t room = fit->room == 0 ? 1024 : 2 * fit->room;
    struct collective_case *cases = realloc(fit->cases, room * sizeof *cases);
    if (cases == NULL)
        return false;
    fit->cases = cases;
    fit->room = room;
    return true;
}

static bool is_across(const struct collective_row *row) {
    return row->group.ranks > row->group.ranks_per_node;
}

bool collective_fit_add(void *subject, const struct collective_row *row) {
    struct collective_fit *fit = subject;
    if (row->skipped != NULL || !(row->measured_s > 0.0))
        return true;
    if (!make_room(fit))
        return false;
    struct collective_case *added = &fit->cases[fit->case_count];
    *added = (struct collective_case){.row = *row,
                                      .scaleup = index_of(fit, row->scaleup),
                                      .network = index_of(fit, row->network),
                                      .host = index_of(fit, row->host)};
    struct network_estimate estimate =
        network_collective_estimate(&row->cluster, row->kind, row->group, row->bytes, &row->call);
    fit->case_count += isfinite(estimate.seconds) ? 1 : 0;
    return true;
}

/* ---- forecasts ------------------------------------------------------------------------------- */

static void put_fabrics(const struct collective_fit *fit, struct collective_case *c) {
    struct hardware_node *node = &c->row.cluster.node;
    if (c->scaleup != NONE) {
        const struct catalog_fabric *scaleup = &fit->fabrics[c->scaleup].fabric;
        node->scaleup = scaleup->fabric;
        node->scaleup_efficiency = scaleup->efficiency;
        node->scaleup_latency_s = scaleup->latency_s;
        node->collective_start_s = scaleup->start_s;
    }
    if (c->network != NONE) {
        const struct catalog_fabric *network = &fit->fabrics[c->network].fabric;
        node->network = network->fabric;
        node->network_efficiency = network->efficiency;
        node->network_latency_s = network->latency_s;
    }
    if (c->host != NONE) {
        double start = fit->fabrics[c->host].fabric.start_s;
        *(c->row.call.copied ? &c->row.call.floor_s : &c->row.call.host_s) = start;
    }
}

static double forecast(const struct collective_fit *fit, struct collective_case *c) {
    const struct collective_row *row = &c->row;
    put_fabrics(fit, c);
    return network_collective_estimate(&row->cluster, row->kind, row->group, row->bytes, &row->call)
        .seconds;
}

/* ---- one fabric at a time -------------------------------------------------------------------- */

struct step {
    struct collective_fit *fit;
    size_t fabric;
    enum catalog_fabric_use use;
};

static bool counts(const struct step *step, const struct collective_case *c) {
    const char *left_out = step->fit->left_out;
    if (left_out != NULL && strcmp(left_out, c->row.source) == 0)
        return false;
    switch (step->use) {
    case CATALOG_FABRIC_INSIDE: /* where the host is the floor, links do not show */
        return c->scaleup == step->fabric && !is_across(&c->row) && !c->row.call.copied;
    case CATALOG_FABRIC_BETWEEN:
        return c->network == step->fabric && is_across(&c->row);
    case CATALOG_FABRIC_HOST:
        return c->host == step->fabric && !is_across(&c->row);
    }
    return false;
}

static double step_loss(void *subject) {
    struct step *step = subject;
    double loss = 0.0;
    for (size_t i = 0; i < step->fit->case_count; i++) {
        struct collective_case *c = &step->fit->cases[i];
        if (counts(step, c))
            loss += search_case_loss(forecast(step->fit, c), c->row.measured_s);
    }
    return loss;
}

#define COEFFICIENTS 24
#define USUAL_HOLD 1.0
#define BASE_HOLD 4.0
#define USUAL_HOST_S 15e-6

/* Where a coefficient is, and what it usually is inside a domain and between domains. */
struct place {
    size_t offset; /* of a double in struct catalog_fabric */
    double inside, between;
    double lowest, highest;
};

#define OWN(field) offsetof(struct catalog_fabric, field)
#define FABRIC(field) offsetof(struct catalog_fabric, fabric.field)

/* Shares, then seconds. The usual figures are round numbers between what datasheets, the tuning
 * tables of NCCL and other simulators say; a fabric that names another starts from that one's. */
static const struct place places[] = {
    {OWN(efficiency), 0.8, 0.9, 1e-3, 0.97},
    {FABRIC(ring_of_2), 0.85, 1.0, 1e-2, 100.0},
    {FABRIC(ring_of_4), 0.95, 1.0, 1e-2, 100.0},
    {FABRIC(own_copy), 0.2, 1.0, 1e-3, 1.0},
    {FABRIC(alltoall), 0.9, 1.0, 1e-2, 100.0},
    {FABRIC(alltoall_of_2), 0.8, 1.0, 1e-2, 100.0},
    {FABRIC(alltoall_of_4), 0.9, 1.0, 1e-2, 100.0},
    {FABRIC(alltoall_loss), 1.0, 0.003, 1e-6, 1.0},
    {FABRIC(switch_reduce), 0.55, 1.0, 1e-2, 1.0},
    {FABRIC(tree), 1.0, 0.75, 0.3, 1.0},
    {FABRIC(tree_inside), 1.0, 0.5, 0.1, 1.0},
    {FABRIC(pair_inside), 1.0, 0.85, 0.3, 1.0},
    {FABRIC(direct), 0.5, 1.0, 1e-2, 1.0},
    {FABRIC(direct_of_2), 0.4, 1.0, 1e-2, 1.0},
    {OWN(latency_s), 1e-6, 20e-6, 1e-8, 1e-2},
    {OWN(start_s), 7e-6, 1.0, 1e-7, 1e-2},
    {FABRIC(chunk_s), 4e-6, 100e-6, 1e-9, 1.0},
    {FABRIC(alltoall_start_s), 10e-6, 1.0, 1e-7, 1e-2},
    {FABRIC(switch_chunk_s), 8e-6, 1.0, 1e-9, 1.0},
    {FABRIC(direct_start_s), 5e-6, 1.0, 1e-7, 1e-2},
    {FABRIC(direct_second_s), 4e-6, 1.0, 1e-7, 1e-2},
};

static double *coefficient_at(struct catalog_fabric *fabric, size_t offset) {
    return (double *)(void *)((char *)fabric + offset);
}

/* The coefficients that the fabric has: neither empty nor unknown. `base` is the fabric it starts
 * from, or NULL. */
static size_t list_coefficients(struct catalog_fabric *fabric, struct catalog_fabric *base,
                                struct search_coefficient list[COEFFICIENTS]) {
    size_t count = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        double *value = coefficient_at(fabric, places[i].offset);
        bool inside = fabric->use == CATALOG_FABRIC_INSIDE;
        double usual = inside ? places[i].inside : places[i].between;
        double based = base == NULL ? 0.0 : *coefficient_at(base, places[i].offset);
        if (fabric->use == CATALOG_FABRIC_HOST)
            usual = USUAL_HOST_S;
        if (*value > 0.0)
            list[count++] = (struct search_coefficient){value, based > 0.0 ? based : usual,
                                                        places[i].lowest, places[i].highest,
                                                        based > 0.0 ? BASE_HOLD : USUAL_HOLD};
    }
    return count;
}

static struct catalog_fabric *base_of(struct collective_fit *fit, size_t fabric) {
    size_t base = index_of_name(fit, fit->fabrics[fabric].fabric.fitted_with);
    return base == NONE || base == fabric ? NULL : &fit->fabrics[base].fabric;
}

/* Without rows of its own a fabric has the coefficients of its base, or keeps those of the
 * catalog. */
static void fit_fabric(struct collective_fit *fit, size_t fabric) {
    struct calibration_fabric *fitted = &fit->fabrics[fabric];
    struct catalog_fabric *base = base_of(fit, fabric);
    struct step step = {fit, fabric, fitted->fabric.use};
    struct search_coefficient list[COEFFICIENTS];
    fitted->rows = 0;
    for (size_t i = 0; i < fit->case_count; i++)
        fitted->rows += counts(&step, &fit->cases[i]) ? 1 : 0;
    size_t count = list_coefficients(&fitted->fabric, base, list);
    if (fitted->rows > 0)
        (void)search_minimise(list, count, step_loss, &step);
    else
        for (size_t i = 0; base != NULL && i < count; i++)
            *list[i].value = list[i].usual;
}

/* So that the result does not depend on what the catalog has. */
static void forget_hosts(struct collective_fit *fit) {
    for (size_t i = 0; i < fit->fabric_count; i++) {
        struct catalog_fabric *fabric = &fit->fabrics[i].fabric;
        if (fabric->use == CATALOG_FABRIC_HOST && fabric->start_s > 0.0)
            fabric->start_s = USUAL_HOST_S;
    }
}

void collective_fit_run(struct collective_fit *fit) {
    /* What hosts add and what links do is told apart in two rounds. */
    static const enum catalog_fabric_use order[] = {CATALOG_FABRIC_INSIDE, CATALOG_FABRIC_HOST,
                                                    CATALOG_FABRIC_INSIDE, CATALOG_FABRIC_HOST,
                                                    CATALOG_FABRIC_BETWEEN};
    forget_hosts(fit);
    /* A base comes before what is based on it. */
    for (size_t turn = 0; turn < 2 * sizeof order / sizeof *order; turn++)
        for (size_t i = 0; i < fit->fabric_count; i++)
            if (fit->fabrics[i].fabric.use == order[turn / 2] &&
                (base_of(fit, i) != NULL) == (turn % 2 == 1))
                fit_fabric(fit, i);
    for (size_t i = 0; i < fit->case_count; i++)
        fit->cases[i].forecast_s = forecast(fit, &fit->cases[i]);
}

bool collective_case_uses(const struct collective_case *c, size_t fabric) {
    return (is_across(&c->row) ? c->network : c->scaleup) == fabric;
}

/* Rows of its own in the present fit, or a base to take the place of them. */
static bool is_known(const struct collective_fit *fit, const struct collective_case *c) {
    size_t index = is_across(&c->row) ? c->network : c->scaleup;
    return index == NONE || fit->fabrics[index].rows > 0 ||
           fit->fabrics[index].fabric.fitted_with[0] != '\0';
}

static bool is_first_of_source(const struct collective_fit *fit, size_t index) {
    for (size_t i = 0; i < index; i++)
        if (strcmp(fit->cases[i].row.source, fit->cases[index].row.source) == 0)
            return false;
    return true;
}

void collective_fit_leave_out(struct collective_fit *fit) {
    for (size_t first = 0; first < fit->case_count; first++) {
        if (!is_first_of_source(fit, first))
            continue;
        fit->left_out = fit->cases[first].row.source;
        collective_fit_run(fit);
        for (size_t i = first; i < fit->case_count; i++)
            if (strcmp(fit->cases[i].row.source, fit->left_out) == 0)
                fit->cases[i].left_out_s =
                    is_known(fit, &fit->cases[i]) ? fit->cases[i].forecast_s : (double)NAN;
    }
    fit->left_out = NULL;
    collective_fit_run(fit);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static enum collective_class class_of(const struct collective_row *row) {
    if (row->kind == NETWORK_SEND_RECV)
        return COLLECTIVE_SEND;
    if (row->kind == NETWORK_ALL_TO_ALL)
        return COLLECTIVE_ALLTOALL;
    return row->bytes < MIB ? COLLECTIVE_SMALL : COLLECTIVE_LARGE;
}

double collective_fit_uncertainty(const struct collective_fit *fit, size_t fabric,
                                  enum collective_class class) {
    double *errors = calloc(fit->case_count + 1, sizeof *errors);
    size_t count = 0;
    double result = (double)NAN;
    if (errors == NULL)
        return result;
    for (size_t i = 0; i < fit->case_count; i++) {
        const struct collective_case *c = &fit->cases[i];
        if (collective_case_uses(c, fabric) && class_of(&c->row) == class)
            errors[count++] = fabs(c->forecast_s / c->row.measured_s - 1.0);
    }
    validation_sort(errors, count);
    if (count >= FEWEST_ERRORS)
        result = validation_quantile(errors, count, 0.9);
    free(errors);
    return result;
}
